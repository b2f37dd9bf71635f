"""Faults of sides: a clause that refers to the table of which it has no row (R-115, R-117)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.syntax.expressions import And, IsNull, Reference, Side
from mergecheck.strategies.syntax.rewriting import with_clause
from mergecheck.strategies.syntax.statement import ClauseKind

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.statement import Clause, Statement

_WRONG = {ClauseKind.NOT_MATCHED: Side.TARGET, ClauseKind.NOT_MATCHED_BY_SOURCE: Side.SOURCE}


def wrong_side(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Use a target column in a NOT MATCHED clause, or a source column in a NOT MATCHED BY SOURCE clause."""
    places = [place for place, clause in enumerate(statement.clauses) if clause.kind in _WRONG]
    if not places:
        return None
    place = pick(draw, places)
    clause = statement.clauses[place]
    wrong = _reference(draw, statement, schemas, _WRONG[clause.kind])
    if clause.assignments and chance(draw, 50):
        first, *rest = clause.assignments
        return with_clause(statement, place, replace(clause, assignments=(replace(first, value=wrong), *rest)))
    return with_clause(statement, place, _with_condition(clause, wrong))


def _reference(draw: DrawFn, statement: Statement, schemas: Schemas, side: Side) -> Reference:
    """Draw a column of a side, without its alias where the other table has no column of the name."""
    columns, others = schemas.target, schemas.source
    if side is Side.SOURCE:
        columns, others = others, columns
    own = {column.name.lower() for column in others}
    free = [column.name for column in columns if column.name.lower() not in own]
    if free and not statement.self_merge and chance(draw, 50):
        return Reference(side=side, name=pick(draw, free), qualified=False)
    return Reference(side=side, name=pick(draw, [column.name for column in columns]))


def _with_condition(clause: Clause, wrong: Reference) -> Clause:
    test = IsNull(operand=wrong, negated=True)
    return replace(clause, condition=test if clause.condition is None else And(clause.condition, test))
