"""The query of ``findTouchedFiles``: which files have to be rewritten, and is some match ambiguous (R-410, R-A01)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from mergecheck.merge.executors.optimizations.joins import joined_source
from mergecheck.merge.executors.run import fit_in_one_task, is_matched_only, source_for
from mergecheck.merge.executors.source import SOURCE_ROW_PRESENT
from mergecheck.merge.table.reading.scan import FILE_NAME, ROW_INDEX, location_of, scan_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, Row

    from mergecheck.merge.executors.run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.log.snapshot import DataFile


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedFiles:
    """What the first scan found.

    Attributes:
        files: the touched files (R-410).
        candidates: the files left by data skipping.
        scanned: those of them that may hold matches.
        num_source_rows: |S| (R-504).
        num_multiple_matches: target rows with two or more pairs (R-320).
        overcount: pairs beyond the first of each such row (R-530).
    """

    files: tuple[DataFile, ...]
    candidates: tuple[DataFile, ...]
    scanned: tuple[DataFile, ...]
    num_source_rows: int
    num_multiple_matches: int
    overcount: int


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
    """List the target columns that the first scan reads (R-422); a column that evolution adds is in no file yet."""
    found = merge.condition.target_columns
    if is_matched_only(merge):
        for clause in merge.matched:
            found |= clause.condition.target_columns if clause.condition else frozenset()
    return found


def first_scan_source_columns(merge: ResolvedMerge) -> frozenset[int]:
    """List the source columns that the first scan needs."""
    found = merge.condition.source_columns
    if is_matched_only(merge):
        for clause in merge.matched:
            found |= clause.condition.source_columns if clause.condition else frozenset()
    return found


def touches_every_file(run: MergeRun, candidates: tuple[DataFile, ...]) -> bool:
    """Tell whether it is known which files are touched: with NOT MATCHED BY SOURCE all that have rows (R-410).

    Then only matches have to be looked for, and only where they can be (an optimisation for large tables).
    """
    return (
        bool(run.merge.not_matched_by_source)
        and run.conf.prune_by_source_keys
        and run.is_large(candidates)
        and all(file.statistics.num_records is not None for file in candidates)
    )


def scan_for_matches(
    run: MergeRun, candidates: tuple[DataFile, ...], *, join_type: str | None = None
) -> DataFrame | None:
    """Build the query: a row per file, and one with |S| unless that is known; None where there is nothing to ask."""
    source_count = _source_count(run)
    if not candidates:
        return source_count
    per_file = _matches_per_file(run, candidates, join_type or find_touched_join_type(run.merge))
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


def _matches_per_file(run: MergeRun, candidates: tuple[DataFile, ...], join_type: str) -> DataFrame:
    merge = run.merge
    target = scan_files(run.spark, run.snapshot, candidates, positions=first_scan_columns(merge))
    if fit_in_one_task(run, candidates):
        target = target.coalesce(1)  # tells Spark that neither aggregate needs a shuffle
    if join_type == "inner":
        source = joined_source(run, candidates, first_scan_source_columns(merge))
    else:
        source = source_for(run, candidates)
    joined = source.join(target, F.expr(merge.condition.sql), join_type)
    per_row = joined.groupBy(FILE_NAME, ROW_INDEX).agg(
        F.expr(f"count({counted_pair()}) AS matches"),
        F.expr(f"coalesce(bool_or({matched_predicate(merge)}), FALSE) AS touched"),
    )
    return per_row.groupBy(FILE_NAME).agg(
        F.expr("count_if(matches > 1) AS num_rows"),
        F.expr("coalesce(sum(CASE WHEN matches > 1 THEN matches - 1 END), CAST(0 AS BIGINT)) AS overcount"),
        F.expr("bool_or(touched) AS touched"),
    )


def touched_files(
    rows: list[Row],
    candidates: tuple[DataFile, ...],
    *,
    scanned: tuple[DataFile, ...],
    num_source_rows: int | None,
) -> TouchedFiles:
    """Map the query's rows back to the table's files (R-A03).

    Args:
        rows: what ``scan_for_matches`` gave.
        candidates: the files left by data skipping.
        scanned: the files that it scanned.
        num_source_rows: |S| where it was known before; None where one of the rows holds it.
    """
    files = [row for row in rows if row[FILE_NAME] is not None]
    if num_source_rows is None:
        num_source_rows = sum(row["num_rows"] for row in rows if row[FILE_NAME] is None)
    return TouchedFiles(
        files=files_of_names((row[FILE_NAME] for row in files if row["touched"]), candidates),
        candidates=candidates,
        scanned=scanned,
        num_source_rows=num_source_rows,
        num_multiple_matches=sum(row["num_rows"] for row in files),
        overcount=sum(row["overcount"] for row in files),
    )


def files_of_names(names: Iterable[str], candidates: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    """Find files by the names that Spark has for them.

    Raises:
        KeyError: for an unknown name: a file must never drop out of a result silently.
    """
    by_location = {file.location: file for file in candidates}
    return tuple(by_location[location_of(name)] for name in names)
