"""Faults of conditions, of the clauses as a whole and of the source (R-106, R-107, R-117, R-118, R-130 to R-135)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import INT, quote
from mergecheck.strategies.choices.chance import pick
from mergecheck.strategies.syntax.expressions import And, IsNull, Literal, Reference, Side, Verbatim
from mergecheck.strategies.syntax.rewriting import NOWHERE, side_of, table, with_clause

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.syntax.rewriting import Break
    from mergecheck.strategies.syntax.statement import Statement


def _with_condition(draw: DrawFn, statement: Statement, text: Callable[[str], Expression]) -> Statement:
    """Add a conjunct to ON or to the condition of some clause; ``text`` gets a column that is in scope there."""
    place = pick(draw, (None, *range(len(statement.clauses))))
    if place is None:
        return replace(statement, condition=And(statement.condition, text(table(statement, Side.TARGET))))
    clause = statement.clauses[place]
    fault = text(table(statement, side_of(clause)))
    condition = fault if clause.condition is None else And(clause.condition, fault)
    return with_clause(statement, place, replace(clause, condition=condition))


def unresolved_condition(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement:
    """Use a column that does not exist in ON or in a condition (R-117)."""
    return _with_condition(draw, statement, lambda name: Verbatim(f"({name}.{NOWHERE} = 1)"))


def ambiguous(_draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Use a name that both tables have without a qualifier (R-118)."""
    source = {column.name.lower() for column in schemas.source}
    both = [column.name for column in schemas.target if column.name.lower() in source]
    if not both:
        return None
    bare = IsNull(operand=Reference(side=Side.TARGET, name=both[0], qualified=False), negated=True)
    return replace(statement, condition=And(statement.condition, bare))


def early_unconditional(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement:
    """Put a clause without condition before another of its kind (R-107)."""
    place = pick(draw, range(len(statement.clauses)))
    bare = replace(statement.clauses[place], condition=None)
    clauses = (*statement.clauses[:place], bare, *statement.clauses[place:])
    return replace(statement, clauses=clauses)


def condition_of(text: str) -> Break:
    """Make a fault that adds a condition; ``{column}`` stands for a column in scope (R-130 to R-133)."""

    def breaks(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement:
        target, source = map(quote, schemas.keys[0])
        places = {table(statement, Side.SOURCE): source, table(statement, Side.TARGET): target}
        return _with_condition(
            draw, statement, lambda name: Verbatim("(" + text.format(column=f"{name}.{places[name]}") + ")")
        )

    return breaks


def subquery_of_a_table(text: str) -> Break:
    """Make a fault that compares a key with a subquery over a table of the merge (R-133)."""

    def breaks(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement:
        inside = Side.TARGET if statement.self_merge else Side.SOURCE
        places = dict(zip((Side.TARGET, Side.SOURCE), map(quote, schemas.keys[0]), strict=True))
        columns = {table(statement, side): name for side, name in places.items()}
        return _with_condition(
            draw,
            statement,
            lambda name: Verbatim(
                f"({text.format(column=f'{name}.{columns[name]}', other=places[inside], table=inside.value)})"
            ),
        )

    return breaks


def not_boolean(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement:
    """Put a number in the place of a condition (R-135)."""
    place = pick(draw, (None, *range(len(statement.clauses))))
    if place is None:
        return replace(statement, condition=Literal(5, INT))
    return with_clause(statement, place, replace(statement.clauses[place], condition=Literal(5, INT)))


def duplicate_source_columns(_draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Give the source two columns of one name under a star (R-118, R-238)."""
    if statement.self_merge or statement.source_query or not any(clause.star for clause in statement.clauses):
        return None
    twice = quote(schemas.source[-1].name)
    aliases = replace(statement.aliases, source=statement.aliases.source or "s")
    return replace(statement, source_query=f"SELECT *, {twice} FROM source", aliases=aliases)


def no_clause(_draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement:
    """Leave out every clause (R-106)."""
    return replace(statement, clauses=())
