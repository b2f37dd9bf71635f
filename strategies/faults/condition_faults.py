"""Faults of conditions, clauses and the source (R-106, R-107, R-115, R-117, R-118, R-130 to R-135, R-238)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import strategies as st

from mergecheck.model.types.data_types import INT, quote
from mergecheck.strategies.syntax.expressions import And, IsNull, Literal, MergeTable, Reference, Verbatim, conjunction
from mergecheck.strategies.syntax.spark_sql import qualifier
from mergecheck.strategies.syntax.statement import ClauseKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.syntax.statement import Statement


Break: TypeAlias = "Callable[[DrawFn, Statement, Schemas], Statement | None]"
"""Breaks one rule of a valid statement; None if the statement has nothing to break."""

NOWHERE = "no_such_column"
"""A name that no drawn table has."""

_WRONG_SIDES = {ClauseKind.NOT_MATCHED: MergeTable.TARGET, ClauseKind.NOT_MATCHED_BY_SOURCE: MergeTable.SOURCE}


def _conditioned(
    draw: DrawFn, statement: Statement, changed: Callable[[MergeTable, Expression | None], Expression]
) -> Statement:
    """Change ON or the condition of some clause; ``changed`` gets a side in scope there."""
    place = draw(st.sampled_from((None, *range(len(statement.clauses)))))
    if place is None:
        return replace(statement, condition=changed(MergeTable.TARGET, statement.condition))
    clause = statement.clauses[place]
    return statement.with_clause(place, replace(clause, condition=changed(clause.side, clause.condition)))


def unresolved_condition(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement:
    """Use a column that does not exist in ON or in a condition (R-117)."""

    def changed(side: MergeTable, condition: Expression | None) -> Expression:
        return conjunction(condition, Verbatim(f"({qualifier(side, statement.aliases)}.{NOWHERE} = 1)"))

    return _conditioned(draw, statement, changed)


def ambiguous(_draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Use a name that both tables have, without a qualifier (R-118)."""
    source = {column.name.lower() for column in schemas.source}
    both = [column.name for column in schemas.target if column.name.lower() in source]
    if not both:
        return None
    bare = IsNull(operand=Reference(side=MergeTable.TARGET, name=both[0], qualified=False), negated=True)
    return replace(statement, condition=And(statement.condition, bare))


def early_unconditional(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement:
    """Put a clause without condition before another of its kind (R-107)."""
    place = draw(st.sampled_from(range(len(statement.clauses))))
    bare = replace(statement.clauses[place], condition=None)
    clauses = (*statement.clauses[:place], bare, *statement.clauses[place:])
    return replace(statement, clauses=clauses)


def condition_of(text: str) -> Break:
    """Return a fault that adds a condition (R-130 to R-133).

    Args:
        text: of the condition. ``{column}`` is replaced by a key column in scope, ``{table}`` by a table of the merge
            and ``{other}`` by a key column of this table.
    """

    def breaks(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement:
        names = dict(zip((MergeTable.TARGET, MergeTable.SOURCE), map(quote, schemas.keys[0]), strict=True))
        table = MergeTable.TARGET if statement.self_merge else MergeTable.SOURCE

        def changed(side: MergeTable, condition: Expression | None) -> Expression:
            column = f"{qualifier(side, statement.aliases)}.{names[side]}"
            tested = text.format(column=column, other=names[table], table=table.value)
            return conjunction(condition, Verbatim(f"({tested})"))

        return _conditioned(draw, statement, changed)

    return breaks


def not_boolean(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement:
    """Replace a condition by a number (R-135)."""
    return _conditioned(draw, statement, lambda _side, _condition: Literal(5, INT))


def null_for_on(_draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement:
    """Replace ON by an untyped NULL (R-135)."""
    return replace(statement, condition=Verbatim("NULL"))


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


def wrong_side(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Use a target column in a NOT MATCHED clause, or a source column in a NOT MATCHED BY SOURCE clause (R-115)."""
    places = [place for place, clause in enumerate(statement.clauses) if clause.kind in _WRONG_SIDES]
    if not places:
        return None
    place = draw(st.sampled_from(places))
    clause = statement.clauses[place]
    wrong = _reference(draw, statement, schemas, _WRONG_SIDES[clause.kind])
    if draw(st.booleans()) and clause.assignments:
        first, *rest = clause.assignments
        return statement.with_clause(place, replace(clause, assignments=(replace(first, value=wrong), *rest)))
    condition = conjunction(clause.condition, IsNull(operand=wrong, negated=True))
    return statement.with_clause(place, replace(clause, condition=condition))


def _reference(draw: DrawFn, statement: Statement, schemas: Schemas, side: MergeTable) -> Reference:
    """Draw a column of a side, also unqualified if the other table has no column of the name."""
    columns, others = schemas.target, schemas.source
    if side is MergeTable.SOURCE:
        columns, others = others, columns
    taken = {column.name.lower() for column in others}
    free = [column.name for column in columns if column.name.lower() not in taken]
    if free and not statement.self_merge and draw(st.booleans()):
        return Reference(side=side, name=draw(st.sampled_from(free)), qualified=False)
    return Reference(side=side, name=draw(st.sampled_from(columns)).name)
