"""The points of our merge: a filling of its seam ``TableLogs`` that calls at each access to the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.engine import Point, PointKind
from mergecheck.merge.table.commit.table_logs import DELTA_LOGS, CommitLog, TableLogs
from mergecheck.merge.table.storage.paths import table_identity, table_location

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from mergecheck.merge.table.snapshot.snapshot import Snapshot
    from mergecheck.merge.table.storage.log_store import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledLogs:
    """Logs whose user stops before it asks for the newest version of a table, or commits to it.

    Attributes:
        path: the table; others, such as a source without writers, are reached without a stop.
        at: called at each point.
    """

    path: str
    at: Callable[[Point], None]
    kept: TableLogs = DELTA_LOGS

    def snapshot(
        self, spark: SparkSession, path: str, *, version: int | None = None, app_id: str | None = None
    ) -> Snapshot:
        """See ``TableLogs``; a version that is given exists, so there is nothing to wait for."""
        if version is not None or not self._is_table(table_location(path)):
            return self.kept.snapshot(spark, path, version=version, app_id=app_id)
        self.at(Point(PointKind.BEFORE_SNAPSHOT))
        return self.kept.snapshot(spark, path, app_id=app_id)

    def commits(self, snapshot: Snapshot) -> CommitLog:
        """See ``TableLogs``."""
        kept = self.kept.commits(snapshot)
        if not self._is_table(snapshot.location):
            return kept
        return _ScheduledCommits(kept=kept, at=self.at)

    def _is_table(self, location: str) -> bool:
        return table_identity(location) == table_identity(table_location(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScheduledCommits:
    kept: CommitLog
    at: Callable[[Point], None]

    def is_there(self) -> bool:
        """See ``CommitLog``; no writer removes the log."""
        return self.kept.is_there()

    def try_create(self, version: int, actions: Sequence[Action]) -> bool:
        """See ``CommitLog``."""
        self.at(Point(PointKind.BEFORE_COMMIT, version))
        return self.kept.try_create(version, actions)

    def read(self, version: int) -> tuple[Action, ...]:
        """See ``CommitLog``."""
        self.at(Point(PointKind.BEFORE_REREAD, version))
        return self.kept.read(version)
