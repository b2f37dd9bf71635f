"""Repairs of the number of source rows, which Delta Lake counts as they stream through a plan (R-504)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import MergePath, Outcome, Prediction
from mergecheck.reference.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.reference.trace import Trace

_SOURCE_ROWS = "numSourceRows"
_FACTORS: Mapping[MergePath, tuple[int, ...]] = {
    MergePath.A: (0,),
    MergePath.B: (0,),
    MergePath.D: (2,),
    MergePath.E: (2,),
}


# an optimizer that knows that no row matches may read the source in no scan
_FACTORS_OF_NO_MATCH: Mapping[MergePath, tuple[int, ...]] = {**_FACTORS, MergePath.C: (0,), MergePath.E: (0, 2)}


def _source_rows(
    happens: Callable[[Trace], bool], factors: Mapping[MergePath, tuple[int, ...]] = _FACTORS
) -> Callable[[Judged], Judged | None]:
    """Count the source's rows twice or never, depending on the path.

    Args:
        happens: whether the merge's rows are counted so.
        factors: how often, by path. Rows count twice if files are rewritten or rows marked, and never if rows are only
            inserted.
    """

    def apply(now: Judged) -> Judged | None:
        wanted, found = now.reference.answer, now.result
        if not isinstance(wanted, Prediction) or not isinstance(found, Outcome) or not happens(now.reference.trace):
            return None
        bound, known = wanted.metrics[_SOURCE_ROWS], factors.get(wanted.path, ())
        if not bound.low or found.metrics.get(_SOURCE_ROWS) not in [factor * bound.low for factor in known]:
            return None
        return replace(now, result=replace(found, metrics={**found.metrics, _SOURCE_ROWS: bound.low}))

    return apply


def _sorted_source(now: Judged) -> Judged | None:
    """Count the rows of a sorted source up to the first that is beyond the table's rows.

    A sort-merge join stops there. Only the first scan's counts are reported so: the second reads all of the source
    if unmatched rows of it, or of rewritten files, are kept.
    """
    wanted, found, trace = now.reference.answer, now.result, now.reference.trace
    if not isinstance(wanted, Prediction) or not isinstance(found, Outcome) or trace.merge is None:
        return None
    has_insert = any(clause.action is Action.INSERT for clause in trace.merge.clauses)
    is_full = {MergePath.A: True, MergePath.D: not trace.merge.is_matched_only, MergePath.E: has_insert}
    if is_full.get(wanted.path, False) or trace.matches is None or not _may_come_sorted(trace):
        return None
    num_rows, counted = wanted.metrics[_SOURCE_ROWS].low, found.metrics.get(_SOURCE_ROWS, 0)
    exact = _rows_read(now) if now.case.conf.get("spark.sql.shuffle.partitions") == "1" else None
    least = len({sid for sid, _ in trace.matches.pairs}) if exact is None else exact
    if not max(least, 1) <= counted < num_rows or counted > (exact or counted):
        return None
    return replace(now, result=replace(found, metrics={**found.metrics, _SOURCE_ROWS: num_rows}))


def _may_come_sorted(trace: Trace) -> bool:
    """Return whether the source is a query that Spark may compute in the order of a key: by a window, join or group."""
    query = None if trace.statement is None else trace.statement.source_query
    if query is None:
        return False
    lists = [one for one in query.find_all(exp.In) if one.args.get("query") is not None]
    return bool(lists) or query.find(exp.Window, exp.Join, exp.Exists, exp.Group) is not None


def _rows_read(now: Judged) -> int | None:
    """Count the rows of the source with NULL or a key up to the table's greatest, and the next one.

    Returns:
        None unless ON equates one column of the table with one column of the source, in one partition of a shuffle.
    """
    statement, source, target = now.reference.trace.statement, now.reference.trace.source, now.case.target
    on = None if statement is None else statement.on.unnest()
    if statement is None or source is None or not isinstance(on, exp.EQ):
        return None
    places: dict[bool, int] = {}
    for side in (on.left, on.right):
        if not isinstance(side, exp.Column) or not side.table:
            return None
        is_source = side.table.lower() == (statement.source_alias or statement.source).lower()
        names = [name.lower() for name in (source.schema if is_source else target.schema).names]
        if side.name.lower() not in names:
            return None
        places[is_source] = names.index(side.name.lower())
    if len(places) != 2:  # noqa: PLR2004 - both sides are of one table
        return None
    keys = [row[places[True]] for row in source.rows]
    held = [row[places[False]] for row in physical_rows(target) if row[places[False]] is not None]
    beyond = [key for key in keys if key is not None and (not held or key > max(held))]
    return len(keys) - len(beyond) + bool(beyond)


def _has_no_keys(trace: Trace) -> bool:
    return trace.merge is not None and not trace.merge.on_is_equality


def _matches_nothing(trace: Trace) -> bool:
    return trace.matches is not None and not trace.matches.pairs


def _has_no_table(trace: Trace) -> bool:
    """Return whether the source is a query of constants: the optimizer puts them into ON, and leaves no keys there."""
    query = None if trace.statement is None else trace.statement.source_query
    return query is not None and query.find(exp.From) is None


def _inserts_nothing(trace: Trace) -> bool:
    """Return whether a merge with an INSERT has no clause that can apply, whatever the values of its columns.

    A condition without a column that did not hold for one row holds for none; the entry requires that no clause
    applied.
    """
    if trace.statement is None:
        return False
    clauses = trace.statement.clauses
    return any(clause.action is Action.INSERT for clause in clauses) and all(
        clause.condition is not None
        and (clause.condition.find(exp.Column) is None or True not in _values(clause.condition))
        for clause in clauses
    )


def _values(condition: exp.Expr) -> frozenset[bool | None]:
    """List the values that a condition can have if its constants are known and its columns are not."""
    match condition:
        case exp.Paren(this=inner) | exp.Cast(this=exp.Null() as inner):
            return _values(inner)
        case exp.Boolean(this=value):
            return frozenset({bool(value)})
        case exp.Null():
            return frozenset({None})
        case exp.Not(this=inner):
            return frozenset(None if value is None else not value for value in _values(inner))
        case exp.And(this=left, expression=right):
            pairs = product(_values(left), _values(right))
            return frozenset(False if False in pair else None if None in pair else True for pair in pairs)
        case exp.Or(this=left, expression=right):
            pairs = product(_values(left), _values(right))
            return frozenset(True if True in pair else None if None in pair else False for pair in pairs)
        case _:
            return frozenset({True, False, None})


BUG_MODELS = (
    BugModel(
        name="rows of a sorted source count up to the first beyond the table's rows",
        phase=Phase.REPAIR,
        apply=_sorted_source,
    ),
    BugModel(
        name="without keys to join by source rows count twice, or never",
        phase=Phase.REPAIR,
        apply=_source_rows(_has_no_keys),
    ),
    BugModel(
        name="if no row matches source rows count twice, or never",
        phase=Phase.REPAIR,
        apply=_source_rows(_matches_nothing, _FACTORS_OF_NO_MATCH),
    ),
    BugModel(
        name="of a source of constants source rows count twice, or never",
        phase=Phase.REPAIR,
        apply=_source_rows(_has_no_table, _FACTORS_OF_NO_MATCH),
    ),
    BugModel(
        name="if no clause can apply source rows never count",
        phase=Phase.REPAIR,
        apply=_source_rows(_inserts_nothing, dict.fromkeys((MergePath.A, MergePath.B, MergePath.E), (0,))),
    ),
)
