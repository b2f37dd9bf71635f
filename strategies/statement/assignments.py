"""Lists of assignments: SET of an UPDATE, columns and values of an INSERT (R-210 to R-225, R-231, R-232)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import StructType
from mergecheck.strategies.choices import chance, draw_some
from mergecheck.strategies.expression.assigned_values import draw_value
from mergecheck.strategies.expression.scopes import draw_reference
from mergecheck.strategies.expression.slots import Slot, draw_slot, field_slot
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax.columns import Column, Domain, Schemas
from mergecheck.strategies.syntax.expressions import NULL, Cast, Literal, MergeTable, Reference
from mergecheck.strategies.syntax.statement import Assignment
from mergecheck.strategies.table.constraints import substituted
from mergecheck.strategies.table.names import in_other_case
from mergecheck.strategies.table.nested import cased_path, field_paths
from mergecheck.strategies.table.schemas import in_some_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.expression.scopes import Scope
    from mergecheck.strategies.syntax.expressions import Expression

_BY_SOURCE_PERCENT = 15
_PATHS_PERCENT = 80


def draw_set_list(draw: DrawFn, scope: Scope, schemas: Schemas) -> tuple[Assignment, ...]:
    """Draw the SET list of an UPDATE: one column at least, keys only by a feature; shrinks to one plain assignment."""
    features = scope.features
    keys = {name for name, _ in schemas.keys}
    columns = [
        column
        for column in schemas.target
        if (Feature.KEY_UPDATE in features or column.name not in keys) and column.computed is None
    ]
    if Feature.EXPRESSIONS in features and (swap := _swap(draw, scope, columns, schemas)):
        return swap
    chosen = list(columns if chance(draw, 15) else draw_some(draw, columns))
    nested = [column for column in columns if isinstance(column.type, StructType) and column not in chosen]
    if Feature.NESTED_UPDATE in features and nested and chance(draw, _PATHS_PERCENT):
        chosen += nested
    if Feature.VIOLATIONS in features and chance(draw, 60):
        chosen += [column for column in columns if (column.required or column.bounded) and column not in chosen]
    assigned = [
        assignment
        for column in in_some_order(draw, tuple(chosen), features)
        for assignment in _set(draw, scope, schemas, column)
    ]
    assigned += _new_columns(draw, scope, schemas, qualifiable=True)
    return (*assigned, *_generated(draw, scope, schemas, assigned, inserts=False))


def draw_insert_list(draw: DrawFn, scope: Scope, schemas: Schemas) -> tuple[Assignment, ...]:
    """Draw columns and values of an INSERT: all columns, or by a feature a part of them (R-220)."""
    features = scope.features
    columns = tuple(column for column in schemas.target if column.computed is None)
    if Feature.PARTIAL_INSERT in features and not chance(draw, 40):
        some = draw_some(draw, columns, percent=60)
        # a column that must not be NULL and has no default is mostly listed
        forgets = Feature.VIOLATIONS in features and draw(st.booleans())
        columns = tuple(c for c in columns if c in some or (c.required and c.default is None and not forgets))
    assigned = [
        Assignment(
            column=in_other_case(draw, column.name, features),
            value=draw_value(draw, draw_slot(draw, scope, schemas, column)),
        )
        for column in in_some_order(draw, columns, features)
    ]
    assigned += _new_columns(draw, scope, schemas, qualifiable=False)
    return (*assigned, *_generated(draw, scope, schemas, assigned, inserts=True))


def _set(draw: DrawFn, scope: Scope, schemas: Schemas, column: Column) -> Iterator[Assignment]:
    """Draw ``column = value``, or by a feature one assignment per drawn field of a struct column (R-212, R-215)."""
    features = scope.features
    name = in_other_case(draw, column.name, features)
    if (
        isinstance(column.type, StructType)
        and Feature.NESTED_UPDATE in features
        and chance(draw, _PATHS_PERCENT)
        and not column.required
    ):
        # an unqualified ``column.field`` could be read as ``alias.column``
        for path, data_type in draw(field_paths(column.type)):
            leaf = Column(name=path[-1], type=data_type, domain=Domain.WIDE)
            value = draw_value(draw, field_slot(scope, leaf))
            yield Assignment(column=name, path=cased_path(draw, path, features), value=value, qualified=True)
        yield from _new_fields(draw, scope, schemas, column)
        return
    value = draw_value(draw, draw_slot(draw, scope, schemas, column))
    by_source = _reads_as_source(scope, schemas, column) and chance(draw, _BY_SOURCE_PERCENT)
    qualified = chance(draw, 20)
    yield Assignment(column=name, value=value, qualified=qualified and not by_source, by_source=by_source)


def _new_fields(draw: DrawFn, scope: Scope, schemas: Schemas, column: Column) -> Iterator[Assignment]:
    """Assign a field that only the source's struct has: evolution adds it (R-231, R-233)."""
    meant = schemas.namesake(column.name)
    if meant is None or not _reads_as_source(scope, schemas, column) or not chance(draw, 60):
        return
    if isinstance(meant.type, StructType) and isinstance(column.type, StructType):
        own = {field.name.lower() for field in column.type.fields}
        for field in meant.type.fields:
            if field.name.lower() not in own:
                leaf = Column(name=field.name, type=field.type, domain=Domain.WIDE)
                # the target's alias would look for it in the target
                yield Assignment(
                    column=meant.name,
                    path=(field.name,),
                    value=draw_value(draw, field_slot(scope, leaf)),
                    by_source=chance(draw, _BY_SOURCE_PERCENT),
                )


def _reads_as_source(scope: Scope, schemas: Schemas, column: Column) -> bool:
    """Return whether evolution reads ``s.column = ...`` as an assignment to the target's column (R-232)."""
    sees_source = any(candidate.side is MergeTable.SOURCE for candidate in scope.candidates)
    meant = schemas.namesake(column.name)
    if not schemas.evolves or not sees_source or meant is None:
        return False
    return schemas.folded(meant.name) == schemas.folded(column.name)


def _new_columns(draw: DrawFn, scope: Scope, schemas: Schemas, *, qualifiable: bool) -> list[Assignment]:
    """Assign columns that evolution adds because the source has them; the value may be anything (R-231)."""
    sees_source = any(candidate.side is MergeTable.SOURCE for candidate in scope.candidates)
    if not (schemas.evolves and sees_source and schemas.new_columns) or not chance(draw, 45):
        return []
    return [
        Assignment(
            column=column.name,
            value=draw_value(draw, draw_slot(draw, scope, schemas, column)),
            by_source=qualifiable and chance(draw, 30),
        )
        for column in draw_some(draw, schemas.new_columns)
    ]


def _generated(
    draw: DrawFn, scope: Scope, schemas: Schemas, assigned: list[Assignment], *, inserts: bool
) -> list[Assignment]:
    """Draw whether a generated column is listed: with the value that it must have, or by a feature without (R-222)."""
    found = [column for column in schemas.target if column.computed is not None]
    if not found or Feature.LISTED_GENERATED not in scope.features or not chance(draw, 32):
        return []
    column = found[0]
    if Feature.VIOLATIONS in scope.features and chance(draw, 50):
        return [Assignment(column=column.name, value=NULL)]
    if Feature.STRICT_POLICY in scope.features or column.computed is None:
        return []
    new = {a.column.lower(): a.value for a in assigned if not a.path}
    given = {base.name: _new_value(base, new, inserts=inserts) for base in schemas.target}
    return [Assignment(column=column.name, value=substituted(column.computed, given))]


def _new_value(base: Column, new: dict[str, Expression], *, inserts: bool) -> Expression:
    """Return the value of a column after the clause: the value assigned, else the old one or the default."""
    if base.name.lower() in new:
        return Cast(new[base.name.lower()], base.type)
    if inserts:
        return base.default or Literal(None, base.type)
    return Reference(side=MergeTable.TARGET, name=base.name)


def _swap(draw: DrawFn, scope: Scope, columns: list[Column], schemas: Schemas) -> tuple[Assignment, ...] | None:
    """Assign two target columns to each other: both values are those before the merge (R-116)."""
    slots = [draw_slot(draw, scope, schemas, column) for column in columns]
    pairs = [(one, other) for one in slots for other in slots if _swappable(one, other)]
    if not pairs or not chance(draw, 20):
        return None
    one, other = draw(st.sampled_from(pairs))
    own = {found.column.name: found for found in scope.candidates if found.side is MergeTable.TARGET}
    return tuple(
        Assignment(column=to.column.name, value=draw_reference(draw, scope, own[origin.column.name]))
        for to, origin in ((one, other), (other, one))
    )


def _swappable(one: Slot, other: Slot) -> bool:
    return one.column.name < other.column.name and all(
        any(fit.side is MergeTable.TARGET and fit.column.name == origin.column.name for fit in to.fitting)
        for to, origin in ((one, other), (other, one))
    )
