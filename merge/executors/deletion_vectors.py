"""ClassicMergeExecutor with deletion vectors: mark changed rows, write only their new versions (path E of R-402).

Delta Lake finds the rows to mark by another scan. Here the workers that write the changed rows report which rows of
which files these were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.merge.executors.cdc import (
    SOURCE_ROW_INDEX,
    TARGET_ROW_INDEX,
    hide_source_index,
    needs_deduplication,
    rows_to_write,
)
from mergecheck.merge.executors.clauses import CLAUSE, COPIED
from mergecheck.merge.executors.merge_run import has_inserts
from mergecheck.merge.executors.source import referenced_source_columns
from mergecheck.merge.executors.target import scan_target
from mergecheck.merge.metrics import ExecutionPath, PathResult, TimedPart
from mergecheck.merge.table.reading.scan import FILE_NAME, ROW_INDEX, location_of
from mergecheck.merge.table.writing.modified_rows import (
    MODIFIED_FILE,
    MODIFIED_ROW,
    MODIFIED_ROWS,
    write_modified_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.first_scan import TouchedFiles
    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge


def writing_join_type(merge: ResolvedMerge) -> str:
    """Choose the join of the writing scan (R-404)."""
    if merge.not_matched_by_source:
        return "full_outer" if has_inserts(merge) else "right_outer"
    return "left_outer" if has_inserts(merge) else "inner"


def mark_changed_rows(run: MergeRun, touched: TouchedFiles) -> PathResult:
    """Write the changed and the inserted rows, and mark the old versions in the touched files (R-460 to R-462)."""
    with run.stopwatch.part(TimedPart.REWRITE):
        deduplicates = needs_deduplication(
            run.merge, multiple_matches=touched.num_multiple_matches > 0, change_data=run.records_changes
        )
        source_count = run.source.counted_by_scan if has_inserts(run.merge) else None
        written = run.writer.write(
            rows_to_write(
                run,
                _join_for_marking(run, touched, with_indexes=deduplicates),
                kept=f"{CLAUSE} <> {COPIED}",  # which excludes NULL
                deduplicate_deletes=deduplicates,
                further_columns=(f"{FILE_NAME} AS {MODIFIED_FILE}", f"{ROW_INDEX} AS {MODIFIED_ROW}"),
            ),
            change_data=run.records_changes,
            in_one_task=run.joins.writes_in_one_task(touched.files, num_source_rows=touched.num_source_rows),
            source_count=source_count,
            function=write_modified_rows,
        )
        packed: dict[str, list[str]] = {}
        for name, rows in written.reported(MODIFIED_ROWS):
            packed.setdefault(location_of(name), []).append(rows or "")
        removed, marked = run.writer.mark_rows(touched.files, packed)
    second = touched.num_source_rows if source_count is None else written.num_source_rows
    return PathResult(
        path=ExecutionPath.E,
        written=written,
        num_source_rows=touched.num_source_rows,
        num_source_rows_in_second_scan=second if has_inserts(run.merge) else None,
        removed=removed,
        marked=marked,
        delete_overcount=0 if deduplicates else touched.overcount,
    )


def _join_for_marking(run: MergeRun, touched: TouchedFiles, *, with_indexes: bool) -> DataFrame:
    source = run.source.frame
    target = scan_target(run, touched.files)
    if with_indexes:
        source = source.selectExpr("*", f"monotonically_increasing_id() AS {SOURCE_ROW_INDEX}")
        target = target.selectExpr("*", f"struct({FILE_NAME}, {ROW_INDEX}) AS {TARGET_ROW_INDEX}")
    columns = referenced_source_columns(run.merge)
    joined = run.joins.join(source, target, writing_join_type(run.merge), files=touched.files, source_columns=columns)
    if not with_indexes:
        return joined
    kept = [name for name in joined.columns if name != SOURCE_ROW_INDEX]
    return joined.selectExpr(*kept, hide_source_index())
