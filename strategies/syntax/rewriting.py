"""Small changes of a drawn statement: what the faults of ``mergecheck.strategies.faults.invalid`` are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.strategies.choices.chance import pick
from mergecheck.strategies.syntax.expressions import Reference, Side
from mergecheck.strategies.syntax.spark_sql import expression_text
from mergecheck.strategies.syntax.statement import Action, Clause, ClauseKind, Statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.columns import Schemas

NOWHERE = "no_such_column"
"""A name that no drawn table has."""

Break: TypeAlias = "Callable[[DrawFn, Statement, Schemas], Statement | None]"
"""Breaks one rule of a valid statement; None where it finds nothing to break."""


def table(statement: Statement, side: Side) -> str:
    """Write how the statement calls a table."""
    return expression_text(Reference(side=side, name=NOWHERE), statement.aliases).removesuffix(f".{NOWHERE}")


def with_clause(statement: Statement, place: int, clause: Clause) -> Statement:
    """Put another clause in the place of one."""
    clauses = (*statement.clauses[:place], clause, *statement.clauses[place + 1 :])
    return replace(statement, clauses=clauses)


def explicit(draw: DrawFn, statement: Statement, *actions: Action) -> tuple[int, Clause] | None:
    """Pick a clause with a list of assignments."""
    found = [
        (place, clause)
        for place, clause in enumerate(statement.clauses)
        if clause.assignments and clause.action in (actions or tuple(Action))
    ]
    return pick(draw, found) if found else None


def side_of(clause: Clause) -> Side:
    """Name a table whose columns a clause may use (R-115)."""
    return Side.SOURCE if clause.kind is ClauseKind.NOT_MATCHED else Side.TARGET
