"""What can be seen of a merge in the Delta table that the harness wrote at version 0 and an engine merged into."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.compare.table_outcome import TableOutcome, records_metrics
from mergecheck.harness.delta.change_feed import change_rows, has_change_files
from mergecheck.harness.delta.check_actions import require_types
from mergecheck.harness.delta.check_commit import commit_faults
from mergecheck.harness.delta.check_statistics import file_faults
from mergecheck.harness.delta.check_table import table_faults
from mergecheck.harness.delta.commit_record import commit_record, size_faults
from mergecheck.harness.delta.file_work import file_work
from mergecheck.harness.delta.read import (
    merge_version,
    newest_version,
    num_removed_records,
    operation_metrics,
    paths_named_again,
    read_actions,
    read_table,
    table_at,
)
from mergecheck.harness.delta.table_files import changed_files
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mergecheck.harness.delta.read import LiveFile, TableState
    from mergecheck.harness.delta.table_files import TableFiles
    from mergecheck.model.case import Row, Target
    from mergecheck.model.outcome import MergePath

UNREADABLE_TABLE = "MERGECHECK_UNREADABLE_TABLE"
"""Error class of a merge that committed an unreadable table."""


def observe(
    path: Path,
    *,
    metrics: Mapping[str, int],
    taken: MergePath | None,
    conf: Mapping[str, str],
    before: TableFiles,
    result_row: Mapping[str, int] | None = None,
) -> TableOutcome | Rejection:
    """Read the table after a merge that claims success, or report that it cannot be read.

    Args:
        path: the table.
        metrics: the command's own metrics; used only if the history has no metrics, because nothing was committed
            (R-502) or history metrics are off (R-501).
        taken: the execution path, which leaves no trace in the table.
        conf: the settings of the case.
        before: the table's files before the merge.
        result_row: the row that the command returned, if it returns one.
    """
    try:
        return replace(_read_outcome(path, metrics, taken, conf, before), result_row=result_row)
    except (DeltaError, pa.ArrowException, duckdb.Error, OSError, ValueError, LookupError) as error:
        message = f"the merge succeeded, but its table cannot be read: {type(error).__name__}: {error}"
        return Rejection(error_class=UNREADABLE_TABLE, message=message, unchanged=False)


def is_unchanged(target: Target, path: Path, *, before: TableFiles) -> bool:
    """Return whether a failed merge left version, schema and rows as they were (P-30), and the files of before."""
    if newest_version(path) != before.version or any(changed_files(path, before)):
        return False
    state = read_table(path)
    return state.schema == target.schema and same_rows(physical_rows(target), state.rows, target.schema)


def _read_outcome(
    path: Path, metrics: Mapping[str, int], taken: MergePath | None, conf: Mapping[str, str], before: TableFiles
) -> TableOutcome:
    newest, since = read_table(path), before.version
    version = merge_version(path, since=since)
    # the rows are those that readers see now; all else comes from the commit of the merge
    state = newest if newest.version == version else table_at(path, version)
    committed = state.version > since
    actions = read_actions(path, state.version) if committed else ()
    require_types(actions)
    added = {action["add"]["path"] for action in actions if "add" in action}
    written = [file for file in state.files if file.add["path"] in added] if committed else []
    again = paths_named_again(actions)
    kept = sum(len(file.rows) for file in written if file.add["path"] in again)  # P-10: V
    return TableOutcome(
        schema=state.schema,
        rows=newest.rows,
        metrics=operation_metrics(actions) or dict(metrics),
        cdf=_feed(path, state, since),
        committed=committed,
        path=taken,
        num_records_added=sum(len(file.rows) for file in written) - kept,
        num_records_removed=num_removed_records(path, state.version) - kept if committed else 0,
        num_files_added=len(added - again) if committed else None,
        members_not_null=state.members_not_null,
        history_metrics=records_metrics(conf),
        commit_faults=(
            *(commit_faults(actions, conf) if committed else ()),
            *table_faults(path, state, before=before, conf=conf),
        ),
        file_faults=faults_of_files(path, state, written) if committed else (),
        record=commit_record(path, since=since),
        work=file_work(path, since=since, version=state.version),
    )


def faults_of_files(path: Path, state: TableState, written: Iterable[LiveFile]) -> tuple[str, ...]:
    """List entries in which the newest commit contradicts the files that it wrote: sizes and statistics.

    Args:
        path: the table.
        state: its newest version.
        written: the data files that the commit added.
    """
    written = tuple(written)
    of_rows = (
        fault
        for file in written
        for fault in file_faults(file, schema=state.stored, partition_by=state.stored_partition_by)
    )
    return (*size_faults(path, state.version), *of_rows)


def _feed(path: Path, state: TableState, since: int) -> tuple[Row, ...] | None:
    """Read the change rows of the merge; change files of a table whose feed is off are shown too (R-601)."""
    if state.version == since:
        return () if state.change_data_feed else None
    if state.change_data_feed or has_change_files(path, state.version):
        return change_rows(path, version=state.version, state=state)
    return None
