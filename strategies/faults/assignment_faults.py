"""Faults of SET and INSERT lists (R-108, R-117, R-119, R-134, R-201, R-210 to R-227, R-243, R-251)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import INT, ArrayType, MapType, StructType, quote
from mergecheck.strategies.faults.condition_faults import NOWHERE
from mergecheck.strategies.syntax.expressions import NULL, Literal, MergeTable, Reference, Verbatim
from mergecheck.strategies.syntax.spark_sql import expression_text, qualifier
from mergecheck.strategies.syntax.statement import Action, Assignment, Clause, ClauseKind, Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.faults.condition_faults import Break
    from mergecheck.strategies.syntax.columns import Column, Schemas

_ONE = Literal(1, INT)


def _relisted(
    draw: DrawFn, statement: Statement, edited: Callable[[Clause], Sequence[Assignment]], *actions: Action
) -> Statement | None:
    """Give a clause of some actions, by default of all, another list; None if no clause has a list."""
    found = [
        place
        for place, clause in enumerate(statement.clauses)
        if clause.assignments and clause.action in (actions or tuple(Action))
    ]
    if not found:
        return None
    place = draw(st.sampled_from(found))
    clause = statement.clauses[place]
    return statement.with_clause(place, replace(clause, assignments=tuple(edited(clause))))


def _instead(clause: Clause, column: Column, *assignments: Assignment) -> Sequence[Assignment]:
    """Replace the value that a clause assigns to a column."""
    return *(a for a in clause.assignments if a.column.lower() != column.name.lower()), *assignments


def value_of(text: str) -> Break:
    """Return a fault that replaces a value (R-117, R-134, R-227).

    Args:
        text: of the value. ``{table}`` is replaced by a table in scope, ``{column}`` by a column of it.
    """

    def breaks(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
        def edited(clause: Clause) -> Sequence[Assignment]:
            first, *rest = clause.assignments
            table = qualifier(clause.side, statement.aliases)
            column = (schemas.source if clause.side is MergeTable.SOURCE else schemas.target)[0]
            value = text.format(table=table, column=f"{table}.{quote(column.name)}")
            return replace(first, value=Verbatim(value)), *rest

        return _relisted(draw, statement, edited)

    return breaks


def unresolved_column(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement | None:
    """Assign to a column that does not exist (R-117)."""
    added = Assignment(column=NOWHERE, value=_ONE)
    return _relisted(draw, statement, lambda clause: (*clause.assignments, added))


def source_on_the_left(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Qualify a left side by the source's alias, without evolution (R-119)."""

    def edited(clause: Clause) -> Sequence[Assignment]:
        first, *rest = clause.assignments
        return replace(first, qualified=False, by_source=True), *rest

    return None if schemas.evolves else _relisted(draw, statement, edited, Action.UPDATE)


def arity(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement | None:
    """Give an INSERT one value more than it has columns (R-108)."""

    def edited(clause: Clause) -> Sequence[Assignment]:
        *others, last = clause.assignments
        return *others, replace(last, value=Verbatim(f"{expression_text(last.value, statement.aliases)}, 1"))

    return _relisted(draw, statement, edited, Action.INSERT)


def doubled(action: Action) -> Break:
    """Return a fault that assigns a column twice (R-210, R-225); a star is replaced by such a list."""

    def breaks(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
        found = [place for place, clause in enumerate(statement.clauses) if clause.action is action]
        free = [column for column in schemas.target if column.computed is None]
        if not found or not free:
            return None
        place = draw(st.sampled_from(found))
        clause = statement.clauses[place]
        once = clause.assignments or (Assignment(column=draw(st.sampled_from(free)).name, value=NULL),)
        return statement.with_clause(place, replace(clause, star=False, assignments=(*once, once[0])))

    return breaks


def field_of_struct(action: Action) -> Break:
    """Return a fault that assigns a field: besides its struct in an UPDATE (R-210), alone in an INSERT (R-224)."""

    def breaks(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
        column = next((column for column in schemas.target if isinstance(column.type, StructType)), None)
        if column is None or not isinstance(column.type, StructType):
            return None
        name, updates = column.name, action is Action.UPDATE
        field = Assignment(column=name, path=(column.type.fields[0].name,), value=NULL, qualified=updates)
        whole = Assignment(column=name, value=Reference(side=MergeTable.TARGET, name=name))
        added = (whole, field) if updates else (field,)
        return _relisted(draw, statement, lambda clause: _instead(clause, column, *added), action)

    return breaks


def through_no_struct(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Assign to a field of a column that is no struct (R-214)."""
    # arrays and maps first: these look like structs
    columns = sorted(schemas.target, key=lambda column: not isinstance(column.type, ArrayType | MapType))
    column = next(column for column in columns if not isinstance(column.type, StructType))
    field = Assignment(column=column.name, path=("x",), value=_ONE, qualified=True)
    return _relisted(draw, statement, lambda clause: _instead(clause, column, field), Action.UPDATE)


def star_without_column(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Write a star though the source lacks a column, without evolution (R-201)."""
    found = [
        place
        for place, clause in enumerate(statement.clauses)
        if clause.kind is not ClauseKind.NOT_MATCHED_BY_SOURCE and clause.action is not Action.DELETE
    ]
    if schemas.allows_star or not found:
        return None
    place = draw(st.sampled_from(found))
    return statement.with_clause(place, replace(statement.clauses[place], star=True, assignments=()))


def assigned(text: str, *, to: Callable[[Column], bool]) -> Break:
    """Return a fault that assigns a value of a type that some columns cannot take (R-243, R-251)."""

    def breaks(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
        columns = [column for column in schemas.target if to(column) and column.computed is None]

        def edited(clause: Clause) -> Sequence[Assignment]:
            column = draw(st.sampled_from(columns))
            return _instead(clause, column, Assignment(column=column.name, value=Verbatim(text)))

        return _relisted(draw, statement, edited) if columns else None

    return breaks
