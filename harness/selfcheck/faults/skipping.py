"""Faults in data skipping: which files a merge reads at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from mergecheck.harness.selfcheck.fault import Area, Edit, Fault
from mergecheck.merge.executors import run
from mergecheck.merge.table.reading import bounds, data_skipping
from mergecheck.merge.table.reading.data_skipping import Truth, conjunction, target_only_conjuncts

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.log.snapshot import FileStatistics
    from mergecheck.merge.table.reading.bounds import ColumnBounds
    from mergecheck.merge.table.reading.data_skipping import Truths


def _true_on_every_row_or_none(right: Any) -> Callable[..., Truths]:
    def truths(bounds: ColumnBounds, value: Any, operator: str) -> Truths:
        found: Truths = right(bounds, value, operator)
        return found - {Truth.TRUE} if len(found) > 1 else found

    return truths


def _all_null_if_any(right: Any) -> Callable[[FileStatistics, str], int | None]:
    return lambda statistics, name: statistics.num_records if right(statistics, name) else 0


def _no_nulls(_right: Any) -> Callable[[FileStatistics, str], int | None]:
    return lambda _statistics, _name: 0


def _although_by_source(_right: Any) -> Callable[[ResolvedMerge], exp.Expr]:
    return lambda merge: conjunction(list(target_only_conjuncts(merge.condition.tree)))


def _by_first_clause(right: Any) -> Callable[[ResolvedMerge], exp.Expr]:
    def predicate(merge: ResolvedMerge) -> exp.Expr:
        if not run.is_matched_only(merge):
            answer: exp.Expr = right(merge)
            return answer
        first = merge.matched[0].condition
        parts = list(target_only_conjuncts(merge.condition.tree))
        return conjunction([*parts, *(target_only_conjuncts(first.tree) if first is not None else ())])

    return predicate


def _although_inserting(right: Any) -> Callable[[ResolvedMerge], exp.Expr]:
    def predicate(merge: ResolvedMerge) -> exp.Expr:
        answer: exp.Expr = right(merge)
        if merge.not_matched_by_source or not merge.matched or not merge.not_matched:
            return answer
        conditions = [clause.condition for clause in merge.matched]
        if any(condition is None for condition in conditions):
            return answer
        fired = [conjunction(list(target_only_conjuncts(c.tree))) for c in conditions if c is not None]
        return conjunction([answer, data_skipping.disjunction(fired)])

    return predicate


def _nan_unknown(right: Any) -> Callable[..., ColumnBounds]:
    return lambda file, field, *, is_partition: replace(right(file, field, is_partition=is_partition), may_be_nan=False)


_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def _not_mirrored(right: Any) -> Callable[..., Truths]:
    def leaf(self: Any, node: exp.Expr) -> Truths:
        if isinstance(node, _ORDERED) and not isinstance(node.this, exp.Column):
            node = type(node)(this=node.expression.copy(), expression=node.this.copy())
        answer: Truths = right(self, node)
        return answer

    return leaf


def _first_of_in(_right: Any) -> Callable[..., Truths]:
    return lambda _self, parts: parts[0]


def _null_safe_like_equal(right: Any) -> Callable[..., Truths]:
    def null_safe(self: Any, node: exp.Expr) -> Truths:
        answer: Truths = right(self, node)
        compared: Truths = self._compare(node.this, node.expression, "=")
        return compared if compared == frozenset({Truth.NULL}) else answer

    return null_safe


def _or_as_and(_right: Any) -> Callable[[Truth, Truth], Truth]:
    return data_skipping.and_truth


def _not_forgotten(_right: Any) -> Callable[[Truth], Truth]:
    return lambda value: value


def _swapped_null_test(_right: Any) -> Callable[[ColumnBounds], Truths]:
    def truths(found: ColumnBounds) -> Truths:
        kinds = {Truth.TRUE} if found.may_be_value else set()
        return frozenset(kinds | ({Truth.FALSE} if found.may_be_null else set()))

    return truths


def _null_partition_is_a_value(right: Any) -> Callable[..., ColumnBounds]:
    def found(value: Any, data_type: Any) -> ColumnBounds:
        answer: ColumnBounds = right(value, data_type)
        return bounds.ColumnBounds(may_be_null=False) if value is None else answer

    return found


def _prefix_taken_as_maximum(right: Any) -> Callable[..., Any]:
    def value_bounds(minimum: Any, maximum: Any, data_type: Any) -> Any:
        lower, upper = right(minimum, maximum, data_type)
        cut = isinstance(maximum, str) and upper is None
        return lower, maximum[: bounds.TRUNCATED_STRING_LENGTH] if cut else upper

    return value_bounds


def _edge_skipped(right: Any) -> Callable[..., Truths]:
    def truths(found: ColumnBounds, value: Any, operator: str) -> Truths:
        answer: Truths = right(found, value, operator)
        at_an_edge = found.lower != found.upper and value in (found.lower, found.upper)
        return answer - {Truth.TRUE} if operator == "=" and at_an_edge else answer

    return truths


SKIPPING_FAULTS = (
    Fault(
        name="file-with-matches-skipped",
        area=Area.SKIPPING,
        sentence="A file is skipped unless each of its rows satisfies the predicate.",
        rules=("R-413", "R-420"),
        origin="R-420",
        edits=(Edit(data_skipping, "compare_truths", _true_on_every_row_or_none),),
    ),
    Fault(
        name="all-null-if-any",
        area=Area.SKIPPING,
        sentence="A column with a NULL in a file counts as NULL throughout that file.",
        rules=("R-413", "R-420"),
        origin="R-420",
        edits=(Edit(bounds, "null_count_of", _all_null_if_any),),
    ),
    Fault(
        name="nulls-not-counted",
        area=Area.SKIPPING,
        sentence="Statistics are read as if no column held a NULL.",
        rules=("R-413", "R-420"),
        origin="R-420",
        edits=(Edit(bounds, "null_count_of", _no_nulls),),
    ),
    Fault(
        name="skipping-although-by-source",
        area=Area.SKIPPING,
        sentence="Files are skipped although NOT MATCHED BY SOURCE clauses need every row.",
        rules=("R-421", "R-004"),
        origin="danger 4; delta-rs #4535",
        edits=(Edit(run, "pruning_predicate", _although_by_source),),
    ),
    Fault(
        name="skipping-by-first-clause",
        area=Area.SKIPPING,
        sentence="Files that only later matched clauses need are skipped.",
        rules=("R-421",),
        origin="R-421",
        edits=(Edit(run, "pruning_predicate", _by_first_clause),),
    ),
    Fault(
        name="skipping-by-clauses-although-inserting",
        area=Area.SKIPPING,
        sentence="Conditions of matched clauses skip files although unmatched rows are inserted.",
        rules=("R-421",),
        origin="danger 4",
        edits=(Edit(run, "pruning_predicate", _although_inserting),),
    ),
    Fault(
        name="nan-below-bounds",
        area=Area.SKIPPING,
        sentence="NaN is not looked for above the maximum of a file.",
        rules=("R-801", "R-413"),
        origin="R-801",
        seldom="Files that the harness writes have no bounds where they hold NaN, as Delta's writer leaves them out.",
        edits=(Edit(bounds, "column_bounds", _nan_unknown), Edit(data_skipping, "column_bounds", _nan_unknown)),
    ),
    Fault(
        name="constant-on-the-left-not-mirrored",
        area=Area.SKIPPING,
        sentence="A comparison with the constant on the left is read as if it stood on the right.",
        rules=("R-420",),
        origin="R-420",
        edits=(Edit(data_skipping._Evaluator, "_leaf", _not_mirrored),),
    ),
    Fault(
        name="first-value-of-in",
        area=Area.SKIPPING,
        sentence="Of an IN list only the first value is looked for.",
        rules=("R-420",),
        origin="R-420",
        edits=(Edit(data_skipping._Evaluator, "_any_of", _first_of_in),),
    ),
    Fault(
        name="null-safe-like-equal",
        area=Area.SKIPPING,
        sentence="A null-safe comparison with NULL skips every file.",
        rules=("R-420",),
        origin="R-420",
        edits=(Edit(data_skipping._Evaluator, "_null_safe", _null_safe_like_equal),),
    ),
    Fault(
        name="or-read-as-and",
        area=Area.SKIPPING,
        sentence="A disjunction is read as a conjunction.",
        rules=("R-420",),
        origin="R-420",
        edits=(Edit(data_skipping, "or_truth", _or_as_and),),
    ),
    Fault(
        name="not-ignored",
        area=Area.SKIPPING,
        sentence="A negation is not seen.",
        rules=("R-420",),
        origin="R-420",
        edits=(Edit(data_skipping, "not_truth", _not_forgotten),),
    ),
    Fault(
        name="null-test-swapped",
        area=Area.SKIPPING,
        sentence="IS NULL looks for files with values, and skips those that hold only NULLs.",
        rules=("R-420",),
        origin="R-420",
        edits=(Edit(data_skipping, "_null_test", _swapped_null_test),),
    ),
    Fault(
        name="null-partition-is-a-value",
        area=Area.SKIPPING,
        sentence="The partition of NULL is skipped where NULL is looked for.",
        rules=("R-420",),
        origin="T19",
        seldom="A partition of NULL, and a condition that is TRUE there: one case in 500 to 1,000.",
        edits=(Edit(bounds, "_partition_bounds", _null_partition_is_a_value),),
    ),
    Fault(
        name="cut-string-taken-as-maximum",
        area=Area.SKIPPING,
        sentence="A maximum that the writer has cut is taken for the true one.",
        rules=("R-804", "R-413"),
        origin="R-804",
        seldom="A condition must ask for a value between the text that statistics keep of a maximum and the maximum.",
        edits=(Edit(bounds, "_value_bounds", _prefix_taken_as_maximum),),
    ),
    Fault(
        name="edge-of-bounds-skipped",
        area=Area.SKIPPING,
        sentence="A value that is the minimum or the maximum of a file is not found in it.",
        rules=("R-420",),
        origin="a comparison that is off by one",
        edits=(Edit(data_skipping, "compare_truths", _edge_skipped),),
    ),
)
