"""In-commit timestamps: the time of a commit, later than the time of the commit before (R-707)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.merge.errors import DamagedLogError
from mergecheck.merge.table.commit.actions import IN_COMMIT_TIMESTAMP, now_millis

if TYPE_CHECKING:
    from mergecheck.merge.table.commit.table_logs import CommitLog
    from mergecheck.merge.table.snapshot.snapshot import Snapshot


def timestamp_after(version: int, log: CommitLog, snapshot: Snapshot) -> int:
    """Return the time of a commit that follows a version, in milliseconds since the epoch.

    Raises:
        DamagedLogError: the version's commit is not there, or has no in-commit timestamp.
    """
    try:
        infos = [action["commitInfo"] for action in log.read(version) if "commitInfo" in action]
    except FileNotFoundError:
        infos = []
    found = infos[0].get(IN_COMMIT_TIMESTAMP) if infos else None
    if not isinstance(found, int):
        raise DamagedLogError(
            f"version {version} has no {IN_COMMIT_TIMESTAMP}, although the table property "
            "delta.enableInCommitTimestamps is true",
            where=snapshot.location,
        )
    return max(now_millis(), found + 1)
