"""InsertOnlyMergeExecutor: merges that only add rows (paths A and B of R-402), and path C, which adds none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mergecheck.merge.executors.clauses import (
    CLAUSE,
    IGNORED,
    generate_clause_output_exprs,
    generate_precomputed_conditions_and_df,
)
from mergecheck.merge.executors.merge_run import has_inserts
from mergecheck.merge.executors.output import OutputCols, named_output_columns, row_action
from mergecheck.merge.executors.source import referenced_source_columns
from mergecheck.merge.metrics import ExecutionPath, PathResult, TimedPart
from mergecheck.merge.table.reading.scan import scan_files
from mergecheck.merge.table.writing.row_records import ACTION
from mergecheck.merge.table.writing.write import WriteResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.clauses import PrecomputedClause
    from mergecheck.merge.executors.first_scan import TouchedFiles
    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.snapshot.data_files import DataFile

_logger = logging.getLogger(__name__)


def write_only_inserts(
    run: MergeRun,
    *,
    filter_matched_rows: bool,
    files: tuple[DataFile, ...] | None = None,
    first_scan: TouchedFiles | None = None,
) -> PathResult:
    """Insert source rows and leave every file of the target alone.

    Args:
        run: the merge under way.
        filter_matched_rows: look for matches and insert the other source rows only (path A). Otherwise all of them are
            known to match nothing (path B); then, without an insert clause, nothing is done (path C, R-A20).
        files: the files that may hold matches; by default every candidate.
        first_scan: what ``find_touched_files`` found, if it was asked before: no touched file.
    """
    if not filter_matched_rows and not has_inserts(run.merge):
        return _result(run, ExecutionPath.C, None, first_scan)
    joined_files = (run.candidates if files is None else files) if filter_matched_rows else ()
    num_source_rows = run.source.num_rows if first_scan is None else first_scan.num_source_rows
    with run.stopwatch.part(TimedPart.REWRITE):
        source = prepare_rows_to_insert(run, joined_files)
        output = generate_inserts_only_output_df(source, run.merge, string_partitions=run.string_partitions)
        operation = "writeInsertsOnlyWhenNoMatchedClauses" if filter_matched_rows else "writeInsertsOnlyWhenNoMatches"
        _logger.debug("%s: output plan:\n%s", operation, output)
        written = run.writer.write(
            output,
            change_data=False,  # readers of the feed take the added rows for inserts
            in_one_task=run.joins.writes_in_one_task(joined_files, num_source_rows=num_source_rows),
            source_count=run.source.counted_by_scan,
        )
    path = ExecutionPath.A if filter_matched_rows else ExecutionPath.B
    return _result(run, path, written, first_scan)


def _result(
    run: MergeRun, path: ExecutionPath, written: WriteResult | None, first_scan: TouchedFiles | None
) -> PathResult:
    counted = run.source.num_rows
    if counted is None and written is not None:
        counted = written.num_source_rows
    return PathResult(
        path=path,
        written=written or WriteResult(),
        num_source_rows=counted or 0 if first_scan is None else first_scan.num_source_rows,
        num_source_rows_in_second_scan=None if first_scan is None or written is None else counted,
    )


def prepare_rows_to_insert(run: MergeRun, files: tuple[DataFile, ...]) -> DataFrame:
    """Choose the source rows that an insert clause may fire on (R-424, R-A21).

    A single clause's condition is a filter, and comes before the join. The files may hold matches; there are none if it
    is known that nothing matches.
    """
    source = run.source.frame
    condition = run.merge.not_matched[0].condition if len(run.merge.not_matched) == 1 else None
    if condition is not None:
        source = source.where(f"({condition.sql}) IS TRUE")
    return without_matches(run, source, files) if files else source


def without_matches(run: MergeRun, source: DataFrame, files: tuple[DataFile, ...]) -> DataFrame:
    """Keep the source rows that match no target row (SU of R-004): a left anti join (R-404)."""
    columns = run.merge.condition.target_columns
    target = scan_files(run.spark, run.snapshot, files, positions=columns, with_row_identity=False)
    return run.joins.join(source, target, "left_anti", files=files, source_columns=referenced_source_columns(run.merge))


def generate_inserts_only_output_df(
    source: DataFrame, merge: ResolvedMerge, *, string_partitions: frozenset[int]
) -> DataFrame:
    """Build the rows to insert: ``_action_`` and the columns of the final schema (R-424, R-A22).

    A single clause fires on every row, since its condition has been a filter. Of several the first that holds fires,
    and rows on which none does are dropped. Clauses of other kinds, which path B may have, need a target row.
    """
    if len(merge.not_matched) == 1:
        columns = named_output_columns(merge.not_matched[0].values, string_partitions)
        _log_columns(columns)
        return source.selectExpr(f"{int(row_action(merge.not_matched[0]))} AS {ACTION}", *columns)
    frame, clauses = generate_precomputed_conditions_and_df(source, merge.not_matched)
    output_cols = generate_inserts_only_output_cols(clauses, string_partitions=string_partitions)
    _log_columns(output_cols.columns)
    frame = frame.selectExpr("*", f"{output_cols.clause} AS {CLAUSE}").where(f"{CLAUSE} IS NOT NULL")
    return frame.selectExpr(f"{output_cols.action} AS {ACTION}", *output_cols.columns)


def generate_inserts_only_output_cols(
    clauses: Sequence[PrecomputedClause], *, string_partitions: frozenset[int]
) -> OutputCols:
    """Write every output column for several insert clauses together, whose conditions are precomputed (R-A22)."""
    actions = " ".join(f"WHEN {c.position} THEN {int(row_action(c.clause))}" for c in clauses)
    by_column = zip(*(c.clause.values for c in clauses), strict=True)
    branches = (
        " ".join(f"WHEN {c.position} THEN {value}" for c, value in zip(clauses, values, strict=True))
        for values in by_column
    )
    return OutputCols(
        clause=generate_clause_output_exprs(clauses, otherwise=IGNORED),
        action=f"CASE {CLAUSE} {actions} END",
        columns=named_output_columns((f"CASE {CLAUSE} {cases} END" for cases in branches), string_partitions),
    )


def _log_columns(columns: Sequence[str]) -> None:
    _logger.debug("prepareInsertsOnlyOutputDF: not matched expressions\n\t%s", "\n\t".join(columns))
