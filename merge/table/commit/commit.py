"""The commit: validated, then one log file written by put-if-absent (R-720 to R-751)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.merge.errors import ConcurrentModificationError, ConflictKind, ExecutionError
from mergecheck.merge.table.commit.actions import add_action, change_action, commit_info, remove_action
from mergecheck.merge.table.commit.conflicts import check_conflicts
from mergecheck.merge.table.commit.in_commit_timestamp import timestamp_after
from mergecheck.merge.table.commit.new_schema import new_metadata, schema_actions
from mergecheck.merge.table.commit.table_logs import DELTA_LOGS
from mergecheck.merge.table.log.properties import IN_COMMIT_TIMESTAMPS
from mergecheck.merge.table.row_ids.fresh_ids import ID_ENTRIES, FreshIds, KnownIds, ids_entry
from mergecheck.merge.table.row_ids.tracking import NO_ID, PRESERVED
from mergecheck.merge.table.snapshot.data_files import total_records
from mergecheck.merge.types.identity import identities, with_marks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.commit.actions import Transaction
    from mergecheck.merge.table.commit.conflicts import ReadSet
    from mergecheck.merge.table.commit.table_logs import TableLogs
    from mergecheck.merge.table.storage.log_store import Action
    from mergecheck.merge.table.writing.vectors import MarkedFile
    from mergecheck.merge.table.writing.write import WriteResult

MAX_COMMIT_ATTEMPTS = 1_000
ONLY_MARKS = "delta.identity.schemaUpdate"
"""The tag of a commit whose metadata change only marks of identity columns (R-226)."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCommit:
    """The content of one commit; metrics are None if history metrics are off (R-501).

    Attributes:
        user_metadata: the user's own text, None without one (R-714).
        marked: files that stay, with another vector; they are among the removed files, too.
    """

    merge: ResolvedMerge
    read: ReadSet
    written: WriteResult
    metrics: Mapping[str, int] | None
    transaction: Transaction | None = None
    user_metadata: str | None = None
    marked: tuple[MarkedFile, ...] = ()

    @property
    def schema_actions(self) -> tuple[Action, ...]:
        """The new schema's actions; none if the merge does not change the schema (R-239, R-704).

        New marks of identity columns belong to the schema. Files with such values come with an action in any case, as
        Delta's do (R-226).
        """
        schema = self.merge.final_schema
        if not self.moves_marks:
            return schema_actions(self.read.snapshot, schema) if self._evolves else ()
        furthest = self.written.furthest_ids(identities(schema))
        return (new_metadata(self.read.snapshot, with_marks(schema, furthest)),)

    @property
    def moves_marks(self) -> bool:
        """Whether files were written by a merge that generates values of identity columns."""
        return bool(self.merge.generated_ids and self.written.data_files)

    @property
    def _evolves(self) -> bool:
        return self.merge.final_schema != self.merge.target_schema

    @property
    def changes_data(self) -> bool:
        """Whether a file action changes data (R-702)."""
        return bool(self.written.data_files or self.read.removed)

    @property
    def is_empty(self) -> bool:
        """Whether there is no action besides ``commitInfo`` (R-731)."""
        return not (self.changes_data or self.written.change_files or self.transaction or self.schema_actions)

    def actions(self, version: int, known: KnownIds, timestamp: int | None = None) -> tuple[Action, ...]:
        """List the actions of a version, ``commitInfo`` first (R-701).

        Args:
            version: the one that is to be made.
            known: the ids of rows that the log has given (R-724).
            timestamp: the in-commit timestamp if the table has such.
        """
        snapshot = self.read.snapshot
        schema = self.schema_actions
        mark = known.high_water_mark
        fresh = FreshIds(commit_version=version, high_water_mark=mark) if snapshot.gives_row_ids else None
        marked = [_marked_action(file, known, fresh) for file in self.marked]
        added = [
            add_action(file, None if fresh is None else fresh.give(file.num_records))
            for file in self.written.data_files
        ]
        domains = [fresh.domain_action()] if fresh is not None and fresh.high_water_mark != mark else []
        info = commit_info(
            self.merge,
            read_version=snapshot.version,
            changes_data=self.changes_data,
            changes_more=bool(schema) or self.transaction is not None,
            metrics=self.metrics,
            user_metadata=self.user_metadata,
            timestamp=timestamp,
            tags={
                **({PRESERVED: "true"} if snapshot.tracks_rows else {}),
                **({ONLY_MARKS: "true"} if self.moves_marks and not self._evolves else {}),
            },
        )
        return (
            info,
            *schema,
            *((self.transaction.action(),) if self.transaction else ()),
            *domains,
            *(remove_action(file, snapshot, known.recommitted.get(file.path, file.ids)) for file in self.read.removed),
            *marked,
            *added,
            *(change_action(file) for file in self.written.change_files),
        )


def _marked_action(file: MarkedFile, known: KnownIds, fresh: FreshIds | None) -> Action:
    """Name a file with another vector again, with the ids that it has, or gets if it has none."""
    add = {name: said for name, said in file.add.items() if name not in ID_ENTRIES}
    if fresh is None:
        return {"add": add}
    ids = known.recommitted.get(file.file.path, file.file.ids) or fresh.give(file.num_stored)
    return {"add": {**add, **ids_entry(ids)}}


def commit(pending: PendingCommit, *, skip_empty: bool, logs: TableLogs = DELTA_LOGS) -> int | None:
    """Commit a merge once, or not at all (R-730).

    If another commit takes the version first, the merge is committed after it, unless that commit changes files that
    this merge has read. With ``skip_empty``, a commit without actions makes no version (R-731): the result is None.

    Raises:
        ExecutionError: the table is append-only and rows would be removed (R-743), rows get ids and a new file has no
            statistics (R-727), or the table's log is gone.
        ConcurrentModificationError: another commit is in the way (R-750).
        DamagedLogError: the commit before has no in-commit timestamp, although the table's have one (R-707).
    """
    if pending.is_empty and skip_empty:
        return None
    _check_counted(pending)
    _check_append_only(pending)
    snapshot = pending.read.snapshot
    log = logs.commits(snapshot)
    if not log.is_there():
        raise ExecutionError(
            "DELTA_MISSING_DELTA_TABLE",
            f"The log of the table {snapshot.location} was removed while the MERGE ran. Nothing was committed. "
            "Restore the table, then run the statement again.",
        )
    timestamp = timestamp_after(snapshot.version, log, snapshot) if snapshot.flag(IN_COMMIT_TIMESTAMPS) else None
    known = KnownIds(high_water_mark=snapshot.row_tracking.high_water_mark if snapshot.row_tracking else NO_ID)
    version = snapshot.version + 1
    for _ in range(MAX_COMMIT_ATTEMPTS):
        if log.try_create(version, pending.actions(version, known, timestamp)):
            return version
        winning = log.read(version)
        check_conflicts(pending.read, version, winning)
        known = known.after(winning) if snapshot.gives_row_ids else known
        if timestamp is not None:
            timestamp = max(timestamp, timestamp_after(version, log, snapshot))
        _logger.info("Version %d was taken by a commit that does not conflict; trying the next one.", version)
        version += 1
    raise ConcurrentModificationError(
        ConflictKind.CONCURRENT_WRITE,
        f"Other commits took the next version {MAX_COMMIT_ATTEMPTS} times in a row. Run the statement again when "
        "fewer writers are active.",
    )


def _check_counted(pending: PendingCommit) -> None:
    """Refuse files without statistics if their rows get ids: a reader of the log could not count the ids."""
    if pending.read.snapshot.gives_row_ids and any(file.stats is None for file in pending.written.data_files):
        raise ExecutionError(
            "DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS",
            "Cannot assign row IDs without row count statistics. The table has row tracking, so set "
            "spark.databricks.delta.stats.collect to true, then run the statement again.",
        )


def _check_append_only(pending: PendingCommit) -> None:
    if pending.read.removed and pending.read.snapshot.append_only:
        raise ExecutionError(
            "DELTA_CANNOT_MODIFY_APPEND_ONLY",
            "This table is configured to only allow appends, but the MERGE rewrites or deletes rows. Use inserts "
            "only, or unset the table property delta.appendOnly.",
        )


def validate_record_counts(pending: PendingCommit, *, has_inserts: bool, has_deletes: bool, enabled: bool) -> None:
    """Check that rows only appear through insert clauses and only vanish through delete clauses (R-720).

    Raises:
        ExecutionError: rows were gained or lost: a defect of this program. If not ``enabled``, this is only logged.
    """
    removed = total_records(pending.read.removed)
    kept = [file.num_live for file in pending.marked]
    if removed is None or None in kept:
        return
    added = sum(file.num_records for file in pending.written.data_files) + sum(n for n in kept if n is not None)
    if added == removed:
        return
    missing, allowed = ("INSERT", has_inserts) if added > removed else ("DELETE", has_deletes)
    if allowed:
        return
    message = (
        f"Failed to validate the number of records in MERGE without {missing} clauses. Added {added} records and "
        f"removed {removed} records. This is a bug."
    )
    if enabled:
        raise ExecutionError("DELTA_NUM_RECORDS_MISMATCH", message)
    _logger.warning(message)
