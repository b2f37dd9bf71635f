"""ClassicMergeExecutor: find the touched files, then rewrite them (paths C and D of R-402)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from merge.errors import multiple_source_rows_matched
from merge.executors.output import (
    SOURCE_ROW_INDEX,
    TARGET_ROW_INDEX,
    TARGET_ROW_PRESENT,
    describe_clauses,
    generate_output,
    hide_source_index,
    needs_deduplication,
)
from merge.executors.run import (
    candidate_files,
    fit_in_one_task,
    is_matched_only,
    is_small,
    is_sole_unconditional_delete,
    runs_in_one_task,
    source_for,
)
from merge.executors.source import SOURCE_ROW_PRESENT
from merge.logs import TRACE
from merge.metrics import ExecutionPath, PathResult, TimedPart
from merge.table.scan import FILE_NAME, ROW_INDEX, location_of, scan_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from merge.executors.run import MergeRun
    from merge.resolution.resolved import ResolvedMerge
    from merge.table.snapshot import DataFile

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedFiles:
    """What the first scan found.

    Attributes:
        files: the touched files (R-410).
        candidates: the files that were scanned.
        num_source_rows: |S| (R-504).
        num_multiple_matches: target rows with two or more pairs (R-320).
        overcount: pairs beyond the first of each such row (R-530).
    """

    files: tuple[DataFile, ...]
    candidates: tuple[DataFile, ...]
    num_source_rows: int
    num_multiple_matches: int
    overcount: int


def find_touched_files(run: MergeRun) -> TouchedFiles:
    """Scan once for touched files, ambiguous matches and the number of source rows.

    Everything comes from aggregates and one collect, so that a retried task cannot count twice.

    Raises:
        ExecutionError: some target row matches several source rows (R-320); nothing was written.
    """
    with run.stopwatch.part(TimedPart.SCAN):
        candidates = candidate_files(run)
        query = _scan_for_matches(run, candidates)
        rows = [] if query is None else query.collect()
    touched = _touched_files(rows, candidates, num_source_rows=run.source.num_rows)
    _logger.log(TRACE, "findTouchedFiles: matched files:\n\t%s", "\n\t".join(file.path for file in touched.files))
    check_multiple_matches(run.merge, touched)
    return touched


def check_multiple_matches(merge: ResolvedMerge, touched: TouchedFiles) -> None:
    """Raise if a target row matches several source rows; clause conditions do not matter (R-320, R-321)."""
    if touched.num_multiple_matches > 0 and not is_sole_unconditional_delete(merge):
        raise multiple_source_rows_matched()


def find_touched_join_type(merge: ResolvedMerge) -> str:
    """Choose the join of the first scan (R-404)."""
    return "right_outer" if merge.not_matched_by_source else "inner"


def matched_predicate(merge: ResolvedMerge) -> str:
    """Write which pairs touch their file: in a matched-only merge those on which a clause may fire (R-410)."""
    if not is_matched_only(merge):
        return "TRUE"
    conditions = [clause.condition for clause in merge.matched]
    return " OR ".join("TRUE" if condition is None else f"({condition.sql})" for condition in conditions)


def counted_pair() -> str:
    """Write what is counted per target row to find multiple matches: every pair, by ON alone (R-320, R-321)."""
    return SOURCE_ROW_PRESENT


def first_scan_columns(merge: ResolvedMerge) -> frozenset[int]:
    """List the target columns that the first scan reads (R-422)."""
    found = merge.condition.target_columns
    if is_matched_only(merge):
        for clause in merge.matched:
            found |= clause.condition.target_columns if clause.condition else frozenset()
    return found


def _scan_for_matches(run: MergeRun, candidates: tuple[DataFile, ...]) -> DataFrame | None:
    """Build the query of the first scan: a row per file, and one with |S| unless that is known; None for no query."""
    source_count = _source_count(run)
    if not candidates:
        return source_count
    per_file = _matches_per_file(run, candidates)
    return per_file if source_count is None else per_file.unionAll(source_count)


def _source_count(run: MergeRun) -> DataFrame | None:
    counted = run.source.counted_by_scan
    if counted is None:
        return None
    return counted.selectExpr(
        f"CAST(NULL AS STRING) AS {FILE_NAME}",
        "num_source_rows AS num_rows",
        "CAST(0 AS BIGINT) AS overcount",
        "FALSE AS touched",
    )


def _matches_per_file(run: MergeRun, candidates: tuple[DataFile, ...]) -> DataFrame:
    merge = run.merge
    target = scan_files(run.spark, run.snapshot, candidates, positions=first_scan_columns(merge))
    if fit_in_one_task(run, candidates):
        target = target.coalesce(1)  # tells Spark that neither aggregate needs a shuffle
    joined = source_for(run, candidates).join(target, F.expr(merge.condition.sql), find_touched_join_type(merge))
    per_row = joined.groupBy(FILE_NAME, ROW_INDEX).agg(
        F.expr(f"count({counted_pair()}) AS matches"),
        F.expr(f"coalesce(bool_or({matched_predicate(merge)}), FALSE) AS touched"),
    )
    return per_row.groupBy(FILE_NAME).agg(
        F.expr("count_if(matches > 1) AS num_rows"),
        F.expr("coalesce(sum(CASE WHEN matches > 1 THEN matches - 1 END), CAST(0 AS BIGINT)) AS overcount"),
        F.expr("bool_or(touched) AS touched"),
    )


def _touched_files(rows: list[Row], candidates: tuple[DataFile, ...], *, num_source_rows: int | None) -> TouchedFiles:
    by_location = {file.location: file for file in candidates}
    files = [row for row in rows if row[FILE_NAME] is not None]
    if num_source_rows is None:
        num_source_rows = sum(row["num_rows"] for row in rows if row[FILE_NAME] is None)
    return TouchedFiles(
        # An unknown name raises KeyError: a file must never drop out of the result silently.
        files=tuple(by_location[location_of(row[FILE_NAME])] for row in files if row["touched"]),
        candidates=candidates,
        num_source_rows=num_source_rows,
        num_multiple_matches=sum(row["num_rows"] for row in files),
        overcount=sum(row["overcount"] for row in files),
    )


def rewriting_join_type(run: MergeRun) -> str:
    """Choose the join of the second scan: D1 is right outer, D2 full outer (R-402, R-404)."""
    if is_matched_only(run.merge) and run.conf.optimize_matched_only_merge:
        return "right_outer"
    return "full_outer"


def write_all_changes(run: MergeRun, touched: TouchedFiles) -> PathResult:
    """Rewrite the touched files and write the change rows in the same pass (path D)."""
    with run.stopwatch.part(TimedPart.REWRITE):
        deduplicates = needs_deduplication(
            run.merge, multiple_matches=touched.num_multiple_matches > 0, change_data=run.records_changes
        )
        join_type = rewriting_join_type(run)
        joined = _join_for_rewriting(run, touched, join_type, with_indexes=deduplicates)
        output = generate_output(
            joined,
            run.merge,
            change_data=run.records_changes,
            deduplicate_deletes=deduplicates,
            string_partitions=run.string_partitions,
        )
        _log_output(run, joined, output)
        source_count = run.source.counted_by_scan if join_type == "full_outer" else None
        written = run.writer.write(
            output,
            change_data=run.records_changes,
            is_small=is_small(num_source_rows=touched.num_source_rows, rewritten=touched.files),
            in_one_task=runs_in_one_task(run, touched.files),
            source_count=source_count,
        )
    second = touched.num_source_rows if source_count is None else written.num_source_rows
    return PathResult(
        path=ExecutionPath.D,
        written=written,
        num_source_rows=touched.num_source_rows,
        num_source_rows_in_second_scan=second if join_type == "full_outer" else None,
        candidates=touched.candidates,
        removed=touched.files,
        delete_overcount=0 if deduplicates else touched.overcount,
    )


def _join_for_rewriting(run: MergeRun, touched: TouchedFiles, join_type: str, *, with_indexes: bool) -> DataFrame:
    source = source_for(run, touched.files)
    target = scan_files(
        run.spark,
        run.snapshot,
        touched.files,
        with_row_identity=with_indexes,
        constants=(f"TRUE AS {TARGET_ROW_PRESENT}",),
    )
    if runs_in_one_task(run, touched.files):
        target = target.coalesce(1)
    if with_indexes:
        source = source.selectExpr("*", f"monotonically_increasing_id() AS {SOURCE_ROW_INDEX}")
        target = target.selectExpr("*", f"struct({FILE_NAME}, {ROW_INDEX}) AS {TARGET_ROW_INDEX}")
        target = target.drop(FILE_NAME, ROW_INDEX)
    joined = source.join(target, F.expr(run.merge.condition.sql), join_type)
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


def _log_output(run: MergeRun, joined: DataFrame, output: DataFrame) -> None:
    if not _logger.isEnabledFor(logging.DEBUG):
        return
    expressions = "\n\t".join(describe_clauses(run.merge))
    _logger.debug("writeAllChanges: expressions\n\t%s", expressions)
    _logger.debug("writeAllChanges: join output plan:\n%s\n%s", joined, output)
