"""The query of ``findTouchedFiles``: which files have to be rewritten, and is a match ambiguous (R-410, R-A01)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from mergecheck.merge.executors.merge_run import is_matched_only
from mergecheck.merge.executors.source import SOURCE_ROW_PRESENT
from mergecheck.merge.table.reading.scan import FILE_NAME, ROW_INDEX, location_of, scan_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, Row

    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedExpression, ResolvedMerge
    from mergecheck.merge.table.snapshot.data_files import DataFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScan:
    """The input of the first scan: candidates that may hold matches, and how the source is joined with their rows.

    Attributes:
        touches: which joined rows touch their file, as SQL over the conditions.
        conditions: ON and the conditions in ``touches``; only their columns are read (R-422).
        touched: files that are known to be touched before the scan (R-410, R-414).
        unmatched: files without a match, which a row touches on which a by-source clause fires (R-414).
    """

    files: tuple[DataFile, ...]
    join_type: str
    touches: str
    conditions: tuple[ResolvedExpression, ...]
    touched: tuple[DataFile, ...] = ()
    unmatched: tuple[DataFile, ...] = ()

    @property
    def read(self) -> tuple[DataFile, ...]:
        """The files of which it reads rows."""
        return (*self.files, *self.unmatched)

    @property
    def target_columns(self) -> frozenset[int]:
        """The target columns that it reads (R-422); a column that evolution adds is in no file yet."""
        return frozenset[int]().union(*(condition.target_columns for condition in self.conditions))

    @property
    def source_columns(self) -> frozenset[int]:
        """The source columns that it needs."""
        return frozenset[int]().union(*(condition.source_columns for condition in self.conditions))


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedFiles:
    """The result of the first scan.

    Attributes:
        files: the touched files (R-410).
        scanned: the files that were joined with the source; no other file holds a match.
        num_source_rows: |S| (R-504).
        num_multiple_matches: target rows with two or more pairs (R-320).
        overcount: pairs beyond the first of each such row (R-530).
    """

    files: tuple[DataFile, ...]
    scanned: tuple[DataFile, ...]
    num_source_rows: int
    num_multiple_matches: int
    overcount: int


def plan_first_scan(run: MergeRun) -> FirstScan:
    """Plan to read every candidate (R-420, R-421)."""
    merge = run.merge
    return FirstScan(
        files=run.candidates,
        join_type=find_touched_join_type(merge),
        touches=matched_predicate(merge),
        conditions=_conditions(merge),
    )


def find_touched_join_type(merge: ResolvedMerge) -> str:
    """Choose the join of the first scan (R-404)."""
    return "right_outer" if merge.not_matched_by_source else "inner"


def matched_predicate(merge: ResolvedMerge) -> str:
    """Write which pairs touch their file: in a matched-only merge those on which a clause may fire (R-410)."""
    if not is_matched_only(merge):
        return "TRUE"
    return any_of_conditions(merge.matched)


def any_of_conditions(clauses: Iterable[ResolvedClause]) -> str:
    """Write whether one of several clauses may fire."""
    conditions = [clause.condition for clause in clauses]
    parts = ["TRUE" if condition is None else f"({condition.sql})" for condition in conditions]
    return " OR ".join(parts) or "FALSE"


def _conditions(merge: ResolvedMerge) -> tuple[ResolvedExpression, ...]:
    """List ON and what ``matched_predicate`` is made of."""
    matched = merge.matched if is_matched_only(merge) else ()
    return (merge.condition, *(clause.condition for clause in matched if clause.condition is not None))


def scan_for_matches(run: MergeRun, scan: FirstScan) -> DataFrame | None:
    """Build the query: a row per file, and one with |S| unless that is known; None if there is nothing to ask."""
    parts = (_matches_per_file(run, scan), _unmatched_files(run, scan), _source_count(run))
    asked = [part for part in parts if part is not None]
    return functools.reduce(lambda one, other: one.unionAll(other), asked) if asked else None


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


def _unmatched_files(run: MergeRun, scan: FirstScan) -> DataFrame | None:
    """Find the files without a match that a by-source clause touches, without a join."""
    if not scan.unmatched:
        return None
    clauses = run.merge.not_matched_by_source
    conditions = (clause.condition for clause in clauses if clause.condition is not None)
    columns = frozenset[int]().union(*(condition.target_columns for condition in conditions))
    rows = scan_files(run.spark, run.snapshot, scan.unmatched, positions=columns)
    return (
        rows.where(any_of_conditions(clauses))
        .groupBy(FILE_NAME)
        .agg(
            F.expr("CAST(0 AS BIGINT) AS num_rows"),
            F.expr("CAST(0 AS BIGINT) AS overcount"),
            F.expr("TRUE AS touched"),
        )
    )


def _matches_per_file(run: MergeRun, scan: FirstScan) -> DataFrame | None:
    if not scan.files:
        return None
    target = scan_files(run.spark, run.snapshot, scan.files, positions=scan.target_columns)
    columns = scan.source_columns
    joined = run.joins.join(run.source.frame, target, scan.join_type, files=scan.files, source_columns=columns)
    per_row = joined.groupBy(FILE_NAME, ROW_INDEX).agg(
        F.expr(f"count({SOURCE_ROW_PRESENT}) AS matches"),  # every pair, by ON alone
        F.expr(f"coalesce(bool_or({scan.touches}), FALSE) AS touched"),
    )
    return per_row.groupBy(FILE_NAME).agg(
        F.expr("count_if(matches > 1) AS num_rows"),
        F.expr("coalesce(sum(CASE WHEN matches > 1 THEN matches - 1 END), CAST(0 AS BIGINT)) AS overcount"),
        F.expr("bool_or(touched) AS touched"),
    )


def touched_files(rows: list[Row], scan: FirstScan, *, num_source_rows: int | None) -> TouchedFiles:
    """Map the rows of ``scan_for_matches`` back to the table's files (R-A03).

    One row holds |S| unless it was known before.
    """
    files = [row for row in rows if row[FILE_NAME] is not None]
    if num_source_rows is None:
        num_source_rows = sum(row["num_rows"] for row in rows if row[FILE_NAME] is None)
    found = files_of_names((row[FILE_NAME] for row in files if row["touched"]), scan.read)
    known = {file.location for file in scan.touched}
    return TouchedFiles(
        files=(*scan.touched, *(file for file in found if file.location not in known)),
        scanned=scan.files,
        num_source_rows=num_source_rows,
        num_multiple_matches=sum(row["num_rows"] for row in files),
        overcount=sum(row["overcount"] for row in files),
    )


def files_of_names(names: Iterable[str], files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    """Find files by the names that Spark has for them.

    Raises:
        KeyError: for an unknown name: a file must never drop out of a result silently.
    """
    by_location = {file.location: file for file in files}
    return tuple(by_location[location_of(name)] for name in names)
