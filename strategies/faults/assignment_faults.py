"""Faults of SET and INSERT lists (R-108, R-117, R-119, R-134, R-201, R-210 to R-227, R-243, R-251)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.types.data_types import BIGINT, INT, ArrayType, MapType, StructType
from mergecheck.strategies.faults.condition_faults import NOWHERE
from mergecheck.strategies.syntax.expressions import Literal, Reference, Side, Verbatim
from mergecheck.strategies.syntax.spark_sql import expression_text
from mergecheck.strategies.syntax.statement import Action, Assignment, Clause, ClauseKind, Statement

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.columns import Schemas
from mergecheck.strategies.syntax.expressions import Expression

_ONE = Literal(1, INT)


def _listing(draw: DrawFn, statement: Statement, *actions: Action) -> tuple[int, Clause] | None:
    """Draw a clause with a list of assignments, with its position; None if there is none."""
    found = [
        (place, clause)
        for place, clause in enumerate(statement.clauses)
        if clause.assignments and clause.action in (actions or tuple(Action))
    ]
    return draw(st.sampled_from(found)) if found else None


def _added(
    draw: DrawFn, statement: Statement, make: Callable[[Clause], Assignment], *actions: Action
) -> Statement | None:
    """Add an assignment to some list."""
    found = _listing(draw, statement, *actions)
    if found is None:
        return None
    place, clause = found
    return statement.with_clause(place, replace(clause, assignments=(*clause.assignments, make(clause))))


def _doubled(draw: DrawFn, statement: Statement, schemas: Schemas, action: Action) -> Statement | None:
    """Assign a column a second time; a star is replaced by two assignments of one column."""
    found = [place for place, clause in enumerate(statement.clauses) if clause.action is action]
    free = [column for column in schemas.target if column.computed is None]
    if not found or not free:
        return None
    place = draw(st.sampled_from(found))
    clause = statement.clauses[place]
    once = clause.assignments or (Assignment(column=draw(st.sampled_from(free)).name, value=Literal(None, None)),)
    return statement.with_clause(place, replace(clause, star=False, assignments=(*once, once[0])))


def _revalued(draw: DrawFn, statement: Statement, value: Callable[[Clause], Expression]) -> Statement | None:
    """Replace the value of the first assignment of some list."""
    found = _listing(draw, statement)
    if found is None:
        return None
    place, clause = found
    first, *rest = clause.assignments
    return statement.with_clause(place, replace(clause, assignments=(replace(first, value=value(clause)), *rest)))


def unresolved_value(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement | None:
    """Assign a column that does not exist (R-117)."""
    return _revalued(draw, statement, lambda clause: Reference(side=clause.side, name=NOWHERE))


def unresolved_column(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement | None:
    """Assign to a column that does not exist (R-117)."""
    return _added(draw, statement, lambda _: Assignment(column=NOWHERE, value=_ONE))


def source_on_the_left(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Qualify a left side by the source's alias, without evolution (R-119)."""
    found = _listing(draw, statement, Action.UPDATE)
    if found is None or schemas.evolves:
        return None
    place, clause = found
    first, *rest = clause.assignments
    changed = replace(first, qualified=False, by_source=True)
    return statement.with_clause(place, replace(clause, assignments=(changed, *rest)))


def arity(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement | None:
    """Give an INSERT one value more than it has columns (R-108)."""
    found = _listing(draw, statement, Action.INSERT)
    if found is None:
        return None
    place, clause = found
    last = clause.assignments[-1]
    text = expression_text(last.value, statement.aliases)
    longer = replace(last, value=Verbatim(f"{text}, 1"))
    return statement.with_clause(place, replace(clause, assignments=(*clause.assignments[:-1], longer)))


def aggregate_value(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Assign an aggregate (R-134)."""
    columns = {Side.SOURCE: schemas.source[0], Side.TARGET: schemas.target[0]}

    def value(clause: Clause) -> Expression:
        reference = Reference(side=clause.side, name=columns[clause.side].name)
        return Verbatim(f"COUNT({expression_text(reference, statement.aliases)})")

    return _revalued(draw, statement, value)


def conflict(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Assign one column twice (R-210)."""
    return _doubled(draw, statement, schemas, Action.UPDATE)


def prefix_conflict(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Assign a struct and one of its fields (R-210)."""
    found = [column for column in schemas.target if isinstance(column.type, StructType)]
    place = _listing(draw, statement, Action.UPDATE)
    if not found or place is None or not isinstance(found[0].type, StructType):
        return None
    column = found[0]
    others = tuple(a for a in place[1].assignments if a.column.lower() != column.name.lower())
    whole = Assignment(column=column.name, value=Reference(side=Side.TARGET, name=column.name))
    part = Assignment(
        column=column.name, path=(found[0].type.fields[0].name,), value=Literal(None, None), qualified=True
    )
    return statement.with_clause(place[0], replace(place[1], assignments=(*others, whole, part)))


def nested_insert(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """List a field of a struct in an INSERT (R-224)."""
    for column in schemas.target:
        if isinstance(column.type, StructType):
            path = Assignment(column=column.name, path=(column.type.fields[0].name,), value=Literal(None, None))
            found = _listing(draw, statement, Action.INSERT)
            if found is None:
                return None
            kept = tuple(a for a in found[1].assignments if a.column.lower() != column.name.lower())
            return statement.with_clause(found[0], replace(found[1], assignments=(*kept, path)))
    return None


def through_no_struct(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Assign to a field of what is no struct (R-214)."""
    found = [column for column in schemas.target if not isinstance(column.type, StructType)]
    # arrays and maps first: they are the ones that look like structs
    found.sort(key=lambda column: not isinstance(column.type, ArrayType | MapType))
    clause = _listing(draw, statement, Action.UPDATE)
    if clause is None:
        return None
    others = tuple(a for a in clause[1].assignments if a.column.lower() != found[0].name.lower())
    path = Assignment(column=found[0].name, path=("x",), value=_ONE, qualified=True)
    return statement.with_clause(clause[0], replace(clause[1], assignments=(*others, path)))


def duplicate_insert(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """List one column twice in an INSERT (R-225)."""
    return _doubled(draw, statement, schemas, Action.INSERT)


def default_keyword(draw: DrawFn, statement: Statement, _schemas: Schemas) -> Statement | None:
    """Assign the keyword DEFAULT (R-227)."""
    return _revalued(draw, statement, lambda _: Verbatim("DEFAULT"))


def star_without_column(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Write a star though the source lacks a column, without evolution (R-201)."""
    if schemas.allows_star:
        return None
    found = [p for p, c in enumerate(statement.clauses) if c.kind is not ClauseKind.NOT_MATCHED_BY_SOURCE]
    found = [place for place in found if statement.clauses[place].action is not Action.DELETE]
    if not found:
        return None
    place = draw(st.sampled_from(found))
    return statement.with_clause(place, replace(statement.clauses[place], star=True, assignments=()))


def other_fields(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Assign a struct of other fields (R-243)."""
    return _assigned(draw, statement, schemas, StructType, "NAMED_STRUCT('no_such_field', 1)")


def array_into_scalar(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Assign an array to an atomic column, which no policy allows (R-251)."""
    return _assigned(draw, statement, schemas, None, "ARRAY(1)")


def narrowed(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
    """Assign a BIGINT to a column of a narrower integer type, which STRICT does not allow (R-251)."""
    narrow = [c for c in schemas.target if c.is_integer and c.type != BIGINT and c.computed is None]
    found = _listing(draw, statement)
    if not narrow or found is None:
        return None
    column = draw(st.sampled_from(narrow))
    others = tuple(a for a in found[1].assignments if a.column.lower() != column.name.lower())
    changed = (*others, Assignment(column=column.name, value=Verbatim("CAST(1 AS BIGINT)")))
    return statement.with_clause(found[0], replace(found[1], assignments=changed))


def _assigned(
    draw: DrawFn, statement: Statement, schemas: Schemas, wanted: type[StructType] | None, text: str
) -> Statement | None:
    """Assign a value of a type that the column cannot take, to a struct or to an atomic column."""
    columns = [c for c in schemas.target if c.nested == (wanted is not None) and c.computed is None]
    columns = [c for c in columns if wanted is None or isinstance(c.type, wanted)]
    found = _listing(draw, statement)
    if not columns or found is None:
        return None
    column = draw(st.sampled_from(columns))
    others = tuple(a for a in found[1].assignments if a.column.lower() != column.name.lower())
    changed = (*others, Assignment(column=column.name, value=Verbatim(text)))
    return statement.with_clause(found[0], replace(found[1], assignments=changed))
