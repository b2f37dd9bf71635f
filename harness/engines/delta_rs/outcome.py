"""The outcome of a merge of delta-rs: rows and commit by the table's log and files, metrics by its return value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
from deltalake.exceptions import DeltaError

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.delta.change_feed import change_rows, has_change_files
from mergecheck.harness.delta.check_actions import require_types
from mergecheck.harness.delta.check_table import table_faults
from mergecheck.harness.delta.commit_record import commit_record
from mergecheck.harness.delta.file_work import file_work
from mergecheck.harness.delta.observe import UNREADABLE_TABLE, faults_of_files
from mergecheck.harness.delta.read import num_removed_records, read_actions, read_table
from mergecheck.model.arrow import arrow_schema, table_to_rows
from mergecheck.model.outcome import Rejection
from mergecheck.model.schema_json import as_nullable
from mergecheck.model.types.data_types import STRING, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mergecheck.harness.delta.table_files import TableFiles

METRICS = {
    "num_source_rows": "numSourceRows",
    "num_target_rows_inserted": "numTargetRowsInserted",
    "num_target_rows_updated": "numTargetRowsUpdated",
    "num_target_rows_deleted": "numTargetRowsDeleted",
    "num_target_rows_copied": "numTargetRowsCopied",
    "num_output_rows": "numOutputRows",
    "num_target_files_added": "numTargetFilesAdded",
    "num_target_files_removed": "numTargetFilesRemoved",
    "execution_time_ms": "executionTimeMs",
    "scan_time_ms": "scanTimeMs",
    "rewrite_time_ms": "rewriteTimeMs",
}

COMPARED_METRICS = frozenset({"numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"})
"""Metrics that a merge must count whatever files it rewrites; the others must fit the files (P-6, P-10)."""

COMMIT_INFO = frozenset(
    {
        "operation",
        "matchedPredicates",
        "notMatchedPredicates",
        "notMatchedBySourcePredicates",
        "readVersion",
        "engineInfo",
    }
)
"""Entries of a commit that match Delta's. ON is an entry ``mergePredicate``; flags and a transaction id are absent."""

_FILES_SCANNED = "num_target_files_scanned"


def observed(path: Path, metrics: Mapping[str, int], *, before: TableFiles) -> TableOutcome | Rejection:
    """Read the table after a merge that claims success, or report that it cannot be read.

    A merge that changes no row may make a version or not (R-732 is Delta's own choice), so that none was made is not
    reported: if one was needed, the rows show it.

    Args:
        path: the table.
        metrics: the library's metrics.
        before: the table's files before the merge.
    """
    try:
        return _read(path, metrics, before)
    except (DeltaError, pa.ArrowException, duckdb.Error, OSError, ValueError, LookupError) as error:
        message = f"the merge succeeded, but its table cannot be read: {type(error).__name__}: {error}"
        return Rejection(error_class=UNREADABLE_TABLE, message=message, unchanged=False)


def _read(path: Path, metrics: Mapping[str, int], before: TableFiles) -> TableOutcome:
    state, since = read_table(path), before.version
    work, scanned = file_work(path, since=since, version=state.version), metrics.get(_FILES_SCANNED)
    committed = state.version > since
    actions = read_actions(path, state.version) if committed else ()
    require_types(actions)
    added = {action["add"]["path"] for action in actions if "add" in action}
    written = [file for file in state.files if file.add["path"] in added]
    changes = None
    if state.change_data_feed or (committed and has_change_files(path, state.version)):
        changes = change_rows(path, version=state.version, state=state) if committed else ()
    return TableOutcome(
        num_files_added=len(added) if committed else None,
        schema=state.schema,
        rows=state.rows,
        metrics={METRICS[name]: number for name, number in metrics.items() if name in METRICS},
        cdf=changes,
        committed=committed or None,
        num_records_added=sum(len(file.rows) for file in written),
        num_records_removed=num_removed_records(path, state.version) if committed else 0,
        members_not_null=state.members_not_null,
        commit_faults=tuple(table_faults(path, state, before=before, conf={})),
        file_faults=faults_of_files(path, state, written) if committed else (),
        record=commit_record(path, since=since),
        work=None if work is None else replace(work, num_scanned=scanned),
    )


def with_library_feed(outcome: TableOutcome, read: pa.Table) -> TableOutcome:
    """Show the change feed as the library's own reader gives it, if that differs from the log's."""
    typed = as_nullable(Schema((*outcome.schema.columns, Field("_change_type", STRING))))
    arrow = arrow_schema(typed)
    if missing := [name for name in arrow.names if name not in read.column_names]:
        raise ValueError(f"load_cdf gives no column {', '.join(missing)}")
    rows = table_to_rows(read.select(arrow.names).cast(arrow), typed)
    return outcome if same_rows(outcome.cdf or (), rows, typed) else replace(outcome, cdf=rows)
