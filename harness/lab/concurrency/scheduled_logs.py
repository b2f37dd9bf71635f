"""The logs as a merge sees them whose turn is decided by a chooser: a filling of ``TableLogs``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.harness.lab.concurrency.points import Point, PointKind
from mergecheck.merge.table.commit.table_logs import DELTA_LOGS, CommitLog, TableLogs
from mergecheck.merge.table.storage.paths import table_identity, table_location

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from mergecheck.merge.table.snapshot.snapshot import Snapshot
    from mergecheck.merge.table.storage.log_store import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledLogs:
    """Logs whose user waits for its turn before it asks for the newest version of a table, or commits to it.

    Attributes:
        path: the table; others, such as a source without writers, are reached without waiting.
        wait: waits for the turn.
        said: takes the result of every point.
        versions_read: takes the versions that were read, the first one first.
    """

    path: str
    wait: Callable[[Point], None]
    said: Callable[[str], None]
    kept: TableLogs = field(default=DELTA_LOGS)
    versions_read: list[int] = field(default_factory=list)

    def snapshot(
        self, spark: SparkSession, path: str, *, version: int | None = None, app_id: str | None = None
    ) -> Snapshot:
        """See ``TableLogs``; a version that is given exists, so there is nothing to wait for."""
        if version is not None or not self._is_table(table_location(path)):
            return self.kept.snapshot(spark, path, version=version, app_id=app_id)
        self.wait(Point(PointKind.SNAPSHOT))
        found = self.kept.snapshot(spark, path, app_id=app_id)
        self.versions_read.append(found.version)
        self.said(f"reads version {found.version}")
        return found

    def commits(self, snapshot: Snapshot) -> CommitLog:
        """See ``TableLogs``."""
        kept = self.kept.commits(snapshot)
        if not self._is_table(snapshot.location):
            return kept
        return _ScheduledCommits(kept=kept, wait=self.wait, said=self.said)

    def _is_table(self, location: str) -> bool:
        return table_identity(location) == table_identity(table_location(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScheduledCommits:
    kept: CommitLog
    wait: Callable[[Point], None]
    said: Callable[[str], None]

    def is_there(self) -> bool:
        """See ``CommitLog``; no writer removes the log."""
        return self.kept.is_there()

    def try_create(self, version: int, actions: Sequence[Action]) -> bool:
        """See ``CommitLog``."""
        self.wait(Point(PointKind.CREATE, version))
        created = self.kept.try_create(version, actions)
        self.said(f"commits version {version}" if created else f"finds version {version} taken")
        return created

    def read(self, version: int) -> tuple[Action, ...]:
        """See ``CommitLog``."""
        self.wait(Point(PointKind.READ, version))
        return self.kept.read(version)
