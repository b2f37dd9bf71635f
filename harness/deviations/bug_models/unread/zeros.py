"""Bug models of rows that are not read because they hold the other zero than a constant, 0.0 or -0.0 (R-802).

Iceberg skips files by bounds for which -0.0 is before 0.0. Spark's Parquet reader leaves out row groups by their
dictionaries, for which the two differ, where a merge pushes its conditions down: one that only inserts, and one that
marks rows in deletion vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.unread.comparisons import (
    comparisons,
    conditions,
    row_groups,
    rows_of_files,
    without_rows,
)
from mergecheck.harness.deviations.bug_models.unread.leaves import holds_float, leaves
from mergecheck.harness.deviations.bug_models.unread.old_rows import old_rows_stay
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import MergePath, Prediction
from mergecheck.model.types.data_types import INTEGER_BITS
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mergecheck.harness.deviations.bug_models.unread.comparisons import Comparison
    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.syntax.statement import Statement

_OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}


def _skipped_by_bounds(now: Judged) -> Judged | None:
    """Files are not read whose bounds exclude the zero of a conjunct of ON."""
    statement, rows = now.reference.trace.statement, physical_rows(now.case.target)
    if statement is None:
        return None
    unread: set[int] = set()
    for one in comparisons(conditions(statement), statement, now.case.target.schema):
        if one.constant or not one.leaf.is_float or one.operator not in (exp.EQ, exp.LTE, exp.GTE):
            continue
        for rids in rows_of_files(now).values():
            values = [_in_order(value) for value in (one.leaf.of(rows[rid]) for rid in rids) if _has_bounds(value)]
            if values and one.excludes(min(values), max(values), _in_order(float(one.constant))):
                unread.update(rids)
    return without_rows(now, unread)


def _not_in_dictionary(now: Judged) -> Judged | None:
    """Row groups are not read in which no value fulfils the pushed-down condition."""
    answer, statement = now.reference.answer, now.reference.trace.statement
    if not isinstance(answer, Prediction) or statement is None or answer.path not in (MergePath.A, MergePath.E):
        return None
    kinds = (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE) if answer.path is MergePath.E else ()
    return without_rows(now, _left_out(now, statement, conditions(statement, *kinds)))


def _may_be_left_out(now: Judged) -> set[int]:
    """Number the rows that a scan by the condition of some clause leaves out."""
    statement = now.reference.trace.statement
    if statement is None:
        return set()
    of_clauses = [clause.condition for clause in statement.clauses if clause.condition is not None]
    return _left_out(now, statement, [statement.on, *of_clauses])


def _left_out(now: Judged, statement: Statement, pushed: Iterable[exp.Expr]) -> set[int]:
    """Number the rows of row groups that hold a zero, and no value of which fulfils any of some conditions."""
    target, rows, asked = now.given.target, physical_rows(now.given.target), list(pushed)
    found: set[int] = set()
    for number, rids in rows_of_files(now).items():
        for group in row_groups(rids, number, target.layout):
            values = _RowGroup(statement, target.schema, [rows[rid] for rid in group])
            if values.has_zero() and not all(map(values.may_fulfil, asked)):
                found.update(group)
    return found


@dataclass(frozen=True, slots=True)
class _RowGroup:
    """The rows of a row group, as the dictionaries of its columns show them."""

    statement: Statement
    schema: Schema
    rows: Sequence[Row]

    def has_zero(self) -> bool:
        """Return whether a DOUBLE or FLOAT is 0.0 or -0.0."""
        known = leaves(self.schema)
        return any(holds_float(row, known, lambda value: value == 0) for row in self.rows)

    def may_fulfil(self, condition: exp.Expr) -> bool:
        """Return whether the condition may be TRUE for some row, for which each comparison is looked at by itself."""
        inner = _without_truth(condition.unnest())
        if isinstance(inner, exp.Not):
            inner = _negated(inner.this.unnest())
        if isinstance(inner, exp.And):
            return self.may_fulfil(inner.this) and self.may_fulfil(inner.expression)
        if isinstance(inner, exp.Or):
            return self.may_fulfil(inner.this) or self.may_fulfil(inner.expression)
        if isinstance(inner, exp.Between):
            low = exp.GTE(this=inner.this, expression=inner.args["low"])
            high = exp.LTE(this=inner.this, expression=inner.args["high"])
            return self.may_fulfil(low) and self.may_fulfil(high)
        if isinstance(inner, exp.In) and inner.expressions:
            return any(self.may_fulfil(exp.EQ(this=inner.this, expression=one)) for one in inner.expressions)
        return not any(map(self._excludes, comparisons([inner], self.statement, self.schema)))

    def _excludes(self, one: Comparison) -> bool:
        values = [value for value in map(one.leaf.of, self.rows) if value is not None]
        if one.leaf.is_float:
            constant = _in_order(float(one.constant))
            return all(one.excludes(key, key, constant) for key in map(_in_order, values))
        return one.leaf.type in INTEGER_BITS and all(one.excludes(value, value, one.constant) for value in values)


def _without_truth(condition: exp.Expr) -> exp.Expr:
    """Write a condition that is compared with TRUE or FALSE without them, as Spark's optimizer does."""
    if not isinstance(condition, exp.EQ):
        return condition
    for side, truth in ((condition.this, condition.expression), (condition.expression, condition.this)):
        if isinstance(truth.unnest(), exp.Boolean):
            return side.unnest() if truth.unnest().this else exp.Not(this=side)
    return condition


def _negated(condition: exp.Expr) -> exp.Expr:
    """Move NOT into a condition, as Spark's optimizer does; TRUE if nothing follows from that here."""
    if isinstance(condition, exp.Not):
        return condition.this.unnest()  # type: ignore[no-any-return] # sqlglot's arguments have no types
    if isinstance(condition, exp.And | exp.Or):
        sides = (exp.Not(this=condition.this), exp.Not(this=condition.expression))
        other = exp.Or if isinstance(condition, exp.And) else exp.And
        return other(this=sides[0], expression=sides[1])
    opposite = _OPPOSITE.get(type(condition))
    return exp.true() if opposite is None else opposite(this=condition.this, expression=condition.expression)


def _has_bounds(value: Value) -> bool:
    return value is not None and not math.isnan(value)


def _in_order(value: float) -> tuple[float, float]:
    """Give a key that sorts -0.0 before 0.0, and NaN after all others."""
    return (math.inf, math.inf) if math.isnan(value) else (value, math.copysign(1, value))


BUG_MODELS = (
    BugModel(
        name="files with the other zero than a constant of ON are not read",
        phase=Phase.REWRITE,
        apply=_skipped_by_bounds,
    ),
    BugModel(
        name="row groups with the other zero than a constant are not read",
        phase=Phase.REWRITE,
        apply=_not_in_dictionary,
    ),
    BugModel(
        name="if rows are marked in vectors rows with the other zero than a constant stay",
        phase=Phase.REPAIR,
        apply=old_rows_stay(_may_be_left_out),
    ),
)
