"""How a merge reaches the logs of tables: a seam, as Delta's LogStore is.

Everything that one writer learns of others passes through it: which version of a table is the newest, and who was
first to create the next one. A caller of ``merge_sql`` may pass another filling, for a store without put-if-absent or
to decide the order in which concurrent writers go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mergecheck.merge.table.snapshot.reading import open_snapshot
from mergecheck.merge.table.storage.log_store import LogStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from mergecheck.merge.table.snapshot.snapshot import Snapshot
    from mergecheck.merge.table.storage.log_store import Action


class CommitLog(Protocol):
    """The commits of one table; ``LogStore`` documents each method and its errors."""

    def is_there(self) -> bool:
        """Return whether the table still has a log."""

    def try_create(self, version: int, actions: Sequence[Action]) -> bool:
        """Write a version unless it exists: all of it at once, or nothing. Returns whether it was written."""

    def read(self, version: int) -> tuple[Action, ...]:
        """Read the actions of a version."""


class TableLogs(Protocol):
    """The logs of all tables that a statement reads or writes."""

    def snapshot(
        self, spark: SparkSession, path: str, *, version: int | None = None, app_id: str | None = None
    ) -> Snapshot:
        """Read the table at a path at a version, the latest unless one is given; see ``open_snapshot``."""

    def commits(self, snapshot: Snapshot) -> CommitLog:
        """Return the log of a snapshot's table."""


@dataclass(frozen=True, slots=True)
class DeltaLogs:
    """The logs where the tables are."""

    def snapshot(
        self, spark: SparkSession, path: str, *, version: int | None = None, app_id: str | None = None
    ) -> Snapshot:
        """See ``TableLogs``."""
        return open_snapshot(spark, path, version=version, app_id=app_id)

    def commits(self, snapshot: Snapshot) -> CommitLog:
        """See ``TableLogs``."""
        return LogStore(snapshot.location, snapshot.access)


DELTA_LOGS = DeltaLogs()
