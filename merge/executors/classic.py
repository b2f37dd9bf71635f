"""ClassicMergeExecutor: find the touched files, then rewrite them (paths C and D of R-402)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mergecheck.merge.errors import multiple_source_rows_matched
from mergecheck.merge.executors.cdc import (
    SOURCE_ROW_INDEX,
    TARGET_ROW_INDEX,
    hide_source_index,
    needs_deduplication,
    rows_to_write,
)
from mergecheck.merge.executors.first_scan import plan_first_scan, scan_for_matches, touched_files
from mergecheck.merge.executors.merge_run import is_matched_only, is_sole_unconditional_delete
from mergecheck.merge.executors.source import referenced_source_columns
from mergecheck.merge.executors.target import scan_target
from mergecheck.merge.logs import TRACE
from mergecheck.merge.metrics import ExecutionPath, PathResult, TimedPart
from mergecheck.merge.table.reading.scan import FILE_NAME, ROW_INDEX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.first_scan import FirstScan, TouchedFiles
    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge

_logger = logging.getLogger(__name__)


def find_touched_files(run: MergeRun, scan: FirstScan | None = None) -> TouchedFiles:
    """Scan once, by default every candidate, for touched files, ambiguous matches and the number of source rows.

    Everything comes from aggregates and one collect, so that a retried task cannot count twice (R-410, R-A01).

    Raises:
        ExecutionError: a target row matches several source rows (R-320); nothing was written.
    """
    scan = scan or plan_first_scan(run)
    with run.stopwatch.part(TimedPart.SCAN):
        query = scan_for_matches(run, scan)
        rows = [] if query is None else query.collect()
    touched = touched_files(rows, scan, num_source_rows=run.source.num_rows)
    read = {file.location: file for file in (*scan.read, *touched.files)}  # those are read to be rewritten
    run.count_scan(tuple(read.values()))
    _logger.log(TRACE, "findTouchedFiles: matched files:\n\t%s", "\n\t".join(file.path for file in touched.files))
    check_multiple_matches(run.merge, touched)
    return touched


def check_multiple_matches(merge: ResolvedMerge, touched: TouchedFiles) -> None:
    """Raise if a target row matches several source rows; clause conditions do not matter (R-320, R-321)."""
    if touched.num_multiple_matches > 0 and not is_sole_unconditional_delete(merge):
        raise multiple_source_rows_matched()


def rewriting_join_type(run: MergeRun) -> str:
    """Choose the join of the second scan: D1 is right outer, D2 full outer (R-402, R-404)."""
    if is_matched_only(run.merge) and run.conf.optimize_matched_only_merge:
        return "right_outer"
    return "full_outer"


def write_all_changes(run: MergeRun, touched: TouchedFiles) -> PathResult:
    """Rewrite the touched files and write the change rows in the same pass (path D, R-412, R-620).

    Whether rows of them matched several source rows decides about de-duplication (R-A04).
    """
    with run.stopwatch.part(TimedPart.REWRITE):
        deduplicates = needs_deduplication(
            run.merge, multiple_matches=touched.num_multiple_matches > 0, change_data=run.records_changes
        )
        join_type = rewriting_join_type(run)
        joined = _join_for_rewriting(run, touched, join_type, with_indexes=deduplicates)
        output = rows_to_write(run, joined, deduplicate_deletes=deduplicates)
        source_count = run.source.counted_by_scan if join_type == "full_outer" else None
        written = run.writer.write(
            output,
            change_data=run.records_changes,
            in_one_task=run.joins.writes_in_one_task(touched.files, num_source_rows=touched.num_source_rows),
            source_count=source_count,
        )
    second = touched.num_source_rows if source_count is None else written.num_source_rows
    return PathResult(
        path=ExecutionPath.D,
        written=written,
        num_source_rows=touched.num_source_rows,
        num_source_rows_in_second_scan=second if join_type == "full_outer" else None,
        removed=touched.files,
        delete_overcount=0 if deduplicates else touched.overcount,
    )


def _join_for_rewriting(run: MergeRun, touched: TouchedFiles, join_type: str, *, with_indexes: bool) -> DataFrame:
    source = run.source.frame
    target = scan_target(run, touched.files, with_row_identity=with_indexes)
    if with_indexes:
        source = source.selectExpr("*", f"monotonically_increasing_id() AS {SOURCE_ROW_INDEX}")
        target = target.selectExpr("*", f"struct({FILE_NAME}, {ROW_INDEX}) AS {TARGET_ROW_INDEX}")
        target = target.drop(FILE_NAME, ROW_INDEX)
    columns = referenced_source_columns(run.merge)
    joined = run.joins.join(source, target, join_type, files=touched.files, source_columns=columns)
    _log_join(run, joined, source, target, join_type)
    if not with_indexes:
        return joined
    kept = [name for name in joined.columns if name != SOURCE_ROW_INDEX]
    return joined.selectExpr(*kept, hide_source_index())


def _log_join(run: MergeRun, joined: DataFrame, source: DataFrame, target: DataFrame, join_type: str) -> None:
    if not _logger.isEnabledFor(logging.DEBUG):  # column lists cost round trips
        return
    _logger.debug(
        "writeAllChanges using %s join:\n  source.output: %s\n  target.output: %s\n  condition: %s\n"
        "  newTarget.output: %s",
        join_type,
        source.columns,
        run.snapshot.schema.names,
        run.merge.condition.text,
        target.columns,
    )
    _logger.debug("writeAllChanges: join output expressions\n\t%s", "\n\t".join(joined.columns))
