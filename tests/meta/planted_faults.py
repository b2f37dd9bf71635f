"""Ten faults that can be switched on in ``merge``: what a fuzz run must be able to find.

A fault replaces named functions of ``merge`` by wrong ones, in the module that calls them, as long as its context
manager lasts. Each is a mistake that an implementation of MERGE could really make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

from harness.verdict import Check
from merge import command, metrics
from merge.executors import classic, clauses, first_scan, insert_only, output
from merge.executors.source import SOURCE_ROW_PRESENT
from merge.table import bounds, data_skipping
from merge.table.data_skipping import Truth
from merge.table.rows import UPDATES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType

    from pyspark.sql import DataFrame

    from merge.executors.clauses import PrecomputedClause
    from merge.executors.first_scan import TouchedFiles
    from merge.executors.run import MergeRun
    from merge.metrics import PathResult
    from merge.resolution.resolved import ResolvedMerge
    from merge.table.bounds import ColumnBounds, Comparable
    from merge.table.data_skipping import Truths
    from merge.table.snapshot import DataFile, FileStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """One wrong version of the merge.

    Attributes:
        name: what a test calls it.
        sentence: what is wrong, and which rule it breaks.
        checks: the observables by which a case may name it; another one would mean another fault.
        switched_on: makes ``merge`` wrong within a ``with`` block, and right again behind it.
    """

    name: str
    sentence: str
    checks: frozenset[Check]
    switched_on: Callable[[], AbstractContextManager[object]]


def switch(owner: ModuleType | type, **functions: Any) -> Callable[[], AbstractContextManager[object]]:
    """Return a switch for some functions of a module or class, under the names by which it calls them.

    A name that it does not have is an error, so that renaming a function cannot disarm a fault.
    """
    return lambda: mock.patch.multiple(owner, **functions)


def _null_holds(condition_column: str) -> str:
    return f"coalesce({condition_column}, TRUE)"


def _last_first(in_order: Sequence[PrecomputedClause]) -> Sequence[PrecomputedClause]:
    return tuple(reversed(in_order))


def _new_row(merge: ResolvedMerge, index: int) -> str:
    new = [
        f"WHEN {position} THEN {clause.values[index]}"
        for position, clause in enumerate(merge.clauses)
        if output.row_action(clause) in UPDATES
    ]
    old = merge.old_values[index]
    return f"CASE {clauses.CLAUSE} {' '.join(new)} ELSE {old} END" if new else old


def _never_deduplicates(_merge: ResolvedMerge, **_shape: bool) -> bool:
    return False


_right_copied_rows = metrics.copied_rows


def _twice_copied(result: PathResult) -> int:
    return 2 * _right_copied_rows(result)


_right_rewriting_join_type = classic.rewriting_join_type


def _inner_for_right_outer(run: MergeRun) -> str:
    return _right_rewriting_join_type(run).replace("right_outer", "inner")


_right_compare_truths = data_skipping.compare_truths


def _true_on_every_row_or_none(bounds: ColumnBounds, value: Comparable, operator: str) -> Truths:
    truths = _right_compare_truths(bounds, value, operator)
    return truths - {Truth.TRUE} if len(truths) > 1 else truths


def _finds_by_conditions(run: MergeRun) -> TouchedFiles:
    conditions = [clause.condition for clause in run.merge.matched]
    fires = " OR ".join("TRUE" if condition is None else f"({condition.sql})" for condition in conditions)
    pair = f"CASE WHEN {fires or 'FALSE'} THEN {SOURCE_ROW_PRESENT} END"
    columns = run.merge.condition.target_columns.union(
        *(condition.target_columns for condition in conditions if condition is not None)
    )
    with mock.patch.multiple(first_scan, counted_pair=lambda: pair, first_scan_columns=lambda _merge: columns):
        return classic.find_touched_files(run)


def _with_matches(_run: MergeRun, source: DataFrame, _files: tuple[DataFile, ...]) -> DataFrame:
    return source


_right_null_count_of = bounds.null_count_of


def _all_null_if_any(statistics: FileStatistics, name: str) -> int | None:
    return statistics.num_records if _right_null_count_of(statistics, name) else 0


_CHANGES = frozenset({Check.ROWS, Check.CDF, Check.METRICS})
# Rows that are not read are neither changed nor counted, and an ambiguous match among them goes unnoticed.
_UNREAD_ROWS = _CHANGES | {Check.ERROR}

PLANTED_FAULTS = (
    PlantedFault(
        name="null-condition-taken-as-true",
        sentence="A clause fires where its condition is NULL (against R-301).",
        checks=_CHANGES,
        switched_on=switch(clauses, holds=_null_holds),
    ),
    PlantedFault(
        name="last-clause-wins",
        sentence="Of several clauses that hold, the last one fires (against R-301).",
        checks=_CHANGES,
        switched_on=switch(clauses, in_firing_order=_last_first),
    ),
    PlantedFault(
        name="preimage-from-new-row",
        sentence="The pre-image of an updated row shows its new values (against R-610).",
        checks=frozenset({Check.CDF}),
        switched_on=switch(output, preimage=_new_row),
    ),
    PlantedFault(
        name="deletes-not-deduplicated",
        sentence="A deleted row stands in the change feed once per matching source row (against R-614).",
        checks=frozenset({Check.CDF}),
        switched_on=switch(classic, needs_deduplication=_never_deduplicates),
    ),
    PlantedFault(
        name="copied-rows-counted-twice",
        sentence="numTargetRowsCopied, and with it numOutputRows, counts each copied row twice (against R-510).",
        checks=frozenset({Check.METRICS}),
        switched_on=switch(metrics, copied_rows=_twice_copied),
    ),
    PlantedFault(
        name="inner-for-right-outer-join",
        sentence="Rewriting for a matched-only merge loses the unmatched rows of its files (against R-404).",
        checks=frozenset({Check.ERROR, Check.ROWS}),  # the error is the validation of record counts
        switched_on=switch(classic, rewriting_join_type=_inner_for_right_outer),
    ),
    PlantedFault(
        name="file-with-matches-skipped",
        sentence="A file is skipped unless each of its rows satisfies the predicate (against R-413, R-420).",
        checks=_UNREAD_ROWS,
        switched_on=switch(data_skipping, compare_truths=_true_on_every_row_or_none),
    ),
    PlantedFault(
        name="multi-match-check-after-conditions",
        sentence="Only pairs on which a clause may fire count as matches of a row (against R-321).",
        checks=frozenset({Check.ERROR}),
        switched_on=switch(command, find_touched_files=_finds_by_conditions),
    ),
    PlantedFault(
        name="insert-route-without-anti-join",
        sentence="An insert-only merge also inserts the source rows that match (against R-404).",
        checks=frozenset({Check.ROWS}),
        switched_on=switch(insert_only, without_matches=_with_matches),
    ),
    PlantedFault(
        name="wrong-statistics-for-null",
        sentence="A column with a NULL in a file counts as NULL throughout that file (against R-413, R-420).",
        checks=_UNREAD_ROWS,
        switched_on=switch(bounds, null_count_of=_all_null_if_any),
    ),
)
