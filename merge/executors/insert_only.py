"""InsertOnlyMergeExecutor: merges that only add rows (paths A and B of R-402), and path C, which adds none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from merge.executors.output import (
    CLAUSE,
    IGNORED,
    condition_columns,
    dispatch,
    output_column,
    precompute_clauses,
    stored_value,
)
from merge.executors.run import candidate_files, has_inserts, is_small, runs_in_one_task, source_for
from merge.metrics import ExecutionPath, PathResult, TimedPart
from merge.statement import ClauseKind
from merge.table.rows import ACTION, RowAction
from merge.table.scan import scan_files
from merge.table.writing import WriteResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from merge.executors.classic import TouchedFiles
    from merge.executors.output import PrecomputedClause
    from merge.executors.run import MergeRun
    from merge.resolution.resolved import ResolvedMerge
    from merge.table.snapshot import DataFile

_logger = logging.getLogger(__name__)


def write_only_inserts(run: MergeRun) -> PathResult:
    """Insert the source rows that match nothing, without looking for touched files (path A)."""
    with run.stopwatch.part(TimedPart.REWRITE):
        candidates = candidate_files(run)
        output = generate_inserts_only_output(run, matched_with=candidates)
        _log_output_plan("writeInsertsOnlyWhenNoMatchedClauses", output)
        written = run.writer.write(
            output,
            change_data=False,
            in_one_task=runs_in_one_task(run, candidates),
            source_count=run.source.counted_by_scan,
        )
    return PathResult(
        path=ExecutionPath.A,
        written=written,
        num_source_rows=_counted(run, written) or 0,
        candidates=candidates,
    )


def write_inserts_when_nothing_matches(run: MergeRun, touched: TouchedFiles) -> PathResult:
    """Insert from the source alone, since the first scan found no touched file (path B); or stop early (path C)."""
    if not has_inserts(run.merge):  # R-A20: no second scan
        return PathResult(
            path=ExecutionPath.C,
            written=WriteResult(),
            num_source_rows=touched.num_source_rows,
            candidates=touched.candidates,
        )
    with run.stopwatch.part(TimedPart.REWRITE):
        output = generate_inserts_only_output(run, matched_with=None)
        _log_output_plan("writeInsertsOnlyWhenNoMatches", output)
        written = run.writer.write(
            output,
            change_data=False,
            is_small=is_small(num_source_rows=touched.num_source_rows),
            in_one_task=runs_in_one_task(run, ()),
            source_count=run.source.counted_by_scan,
        )
    return PathResult(
        path=ExecutionPath.B,
        written=written,
        num_source_rows=touched.num_source_rows,
        num_source_rows_in_second_scan=_counted(run, written),
        candidates=touched.candidates,
    )


def _counted(run: MergeRun, written: WriteResult) -> int | None:
    return written.num_source_rows if run.source.num_rows is None else run.source.num_rows


def generate_inserts_only_output(run: MergeRun, *, matched_with: tuple[DataFile, ...] | None) -> DataFrame:
    """Build the rows to insert: ``_action_`` and the columns of the final schema (R-424, R-A21, R-A22).

    Args:
        run: the merge under way.
        matched_with: the target files that may hold matches; None where it is known that nothing matches.
    """
    clauses = insert_clauses(run.merge)
    source = source_for(run, matched_with or ())
    single = clauses[0] if len(clauses) == 1 else None
    if single is not None and single.clause.condition is not None:
        source = source.where(f"({single.clause.condition.sql}) IS TRUE")
    if matched_with:
        source = without_matches(run, source, matched_with)
    if single is None:
        source = _dispatched(source, clauses)
    values = (_value(clauses, index) for index in range(len(run.merge.final_schema.fields)))
    columns = [
        f"{stored_value(value, is_string_partition=index in run.string_partitions)} AS {output_column(index)}"
        for index, value in enumerate(values)
    ]
    _logger.debug("prepareInsertsOnlyOutputDF: not matched expressions\n\t%s", "\n\t".join(columns))
    return source.selectExpr(f"{int(RowAction.INSERT)} AS {ACTION}", *columns)


def insert_clauses(merge: ResolvedMerge) -> tuple[PrecomputedClause, ...]:
    """Return the insert clauses; those of other kinds, which path B may have, need a target row."""
    return tuple(c for c in precompute_clauses(merge) if c.clause.kind is ClauseKind.NOT_MATCHED)


def without_matches(run: MergeRun, source: DataFrame, files: tuple[DataFile, ...]) -> DataFrame:
    """Keep the source rows that match no target row (SU of R-004): a left anti join."""
    target = scan_files(
        run.spark, run.snapshot, files, positions=run.merge.condition.target_columns, with_row_identity=False
    )
    if runs_in_one_task(run, files):
        target = target.coalesce(1)
    return source.join(target, F.expr(run.merge.condition.sql), "left_anti")


def _dispatched(source: DataFrame, clauses: tuple[PrecomputedClause, ...]) -> DataFrame:
    frame = source.selectExpr("*", *condition_columns(clauses))
    fired = dispatch(clauses, otherwise=IGNORED)
    return frame.selectExpr("*", f"{fired} AS {CLAUSE}").where(f"{CLAUSE} IS NOT NULL")


def _value(clauses: tuple[PrecomputedClause, ...], index: int) -> str:
    if len(clauses) == 1:
        return clauses[0].clause.values[index]
    return f"CASE {CLAUSE} {' '.join(f'WHEN {c.position} THEN {c.clause.values[index]}' for c in clauses)} END"


def _log_output_plan(operation: str, output: DataFrame) -> None:
    _logger.debug("%s: output plan:\n%s", operation, output)
