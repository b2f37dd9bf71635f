"""Clauses that fire: the rows that each kind is tried on, and a second chance for statements that change nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.strategies.choices.chance import chance
from mergecheck.strategies.expressions.partial_values import guarded
from mergecheck.strategies.statements.matches import match_matrix
from mergecheck.strategies.syntax.expressions import And
from mergecheck.strategies.syntax.statement import ClauseKind
from mergecheck.strategies.syntax.truth import evaluator, places

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Row
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.syntax.statement import Statement

_ROUSED_PERCENT = 94


def units(
    target: tuple[Row, ...], source: tuple[Row, ...], matrix: tuple[tuple[int, ...], ...]
) -> dict[ClauseKind, list[tuple[Row, Row]]]:
    """Give the rows on which clauses are tried, by kind: (target row, source row), empty where there is none (R-004).

    Args:
        target: rows of the target.
        source: rows of the source.
        matrix: for each source row the places of the target rows that match it.
    """
    matched = {place for row in matrix for place in row}
    return {
        ClauseKind.MATCHED: [(target[t], source[s]) for s, row in enumerate(matrix) for t in row],
        ClauseKind.NOT_MATCHED: [((), row) for row, hit in zip(source, matrix, strict=True) if not hit],
        ClauseKind.NOT_MATCHED_BY_SOURCE: [(row, ()) for t, row in enumerate(target) if t not in matched],
    }


def meeting(
    draw: DrawFn, condition: Expression, schemas: Schemas, *, target: tuple[Row, ...], source: tuple[Row, ...]
) -> Expression:
    """Leave out the last parts of an ON condition until rows meet on it; mostly, whether or not it helps."""
    wanted = chance(draw, _ROUSED_PERCENT)  # before the rows are looked at: fewer rows must not move later choices
    while wanted and isinstance(condition, And) and not any(match_matrix(condition, schemas, target, source)):
        condition = condition.left
    return condition


def roused(
    draw: DrawFn, statement: Statement, schemas: Schemas, *, target: tuple[Row, ...], source: tuple[Row, ...]
) -> Statement:
    """Take the condition off the last clause of each kind where no clause would fire; mostly, and where that helps.

    A merge that changes nothing tests little (pitfall P6), but is a case too.
    """
    if not chance(draw, _ROUSED_PERCENT):
        return statement
    rows = units(target, source, match_matrix(statement.condition, schemas, target, source))
    found = places(schemas.target, schemas.source)
    for clause in statement.clauses:
        test = None if clause.condition is None else evaluator(clause.condition, found)
        if any(test is None or test(*pair) is True for pair in rows[clause.kind]):
            return statement
    last = {clause.kind: place for place, clause in enumerate(statement.clauses)}
    clauses = tuple(
        guarded(replace(clause, condition=None)) if last[clause.kind] == place else clause
        for place, clause in enumerate(statement.clauses)
    )
    return replace(statement, clauses=clauses)
