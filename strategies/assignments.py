"""Assigned values: columns of either side, constants, small sums, CASE, COALESCE, explicit NULL, swaps (part 9.5).

Every value has the column's type or an integer type whose values fit, so that no cast can overflow or differ between
engines (R-250, R-251). Partition columns take small values only, never the empty string (R-744).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from reference.types import BIGINT, INT, StructType
from strategies.chance import chance, pick, pick_some
from strategies.columns import Column, Domain, Schemas, assignable
from strategies.conditions import draw_condition
from strategies.domains import domain
from strategies.expressions import (
    NULL,
    CaseWhen,
    Cast,
    Coalesce,
    FieldAccess,
    Literal,
    Side,
    Sum,
)
from strategies.features import Feature
from strategies.literals import writable
from strategies.names import in_other_case
from strategies.scopes import Candidate, Scope, draw_reference
from strategies.statement import Assignment

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from reference.types import Field
    from strategies.expressions import Expression

_SWAP_PERCENT = 20
_QUALIFIED_PERCENT = 20
_ALL_COLUMNS_PERCENT = 40
_FEW_CONSTANTS = 5


class _Form(Enum):
    """The shapes of an assigned value, simplest first."""

    NAMESAKE = "the column meant for it"
    LITERAL = "constant"
    NULL = "null"
    COLUMN = "any column that fits"
    SUM = "sum"
    CASE = "case"
    COALESCE = "coalesce"
    CAST = "cast between integer types"
    FIELD = "field of a struct"


_PLAIN = (*[_Form.NAMESAKE] * 4, *[_Form.LITERAL] * 2, _Form.NULL)
_RICH = (
    _Form.COLUMN,
    _Form.COLUMN,
    _Form.SUM,
    _Form.SUM,
    _Form.CASE,
    _Form.COALESCE,
    _Form.CAST,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """A target column to be assigned, with what may be assigned to it."""

    column: Column
    to_partition: bool
    namesake: Candidate | None
    fitting: tuple[Candidate, ...]


def draw_update(draw: DrawFn, scope: Scope, schemas: Schemas) -> tuple[Assignment, ...]:
    """Draw the SET list of an UPDATE: one column at least, keys only by flag; shrinks to one plain assignment."""
    features = scope.features
    keys = {name for name, _ in schemas.keys}
    columns = [column for column in schemas.target if Feature.KEY_UPDATE in features or column.name not in keys]
    if Feature.EXPRESSIONS in features and (swap := _swap(draw, scope, columns, schemas)):
        return swap
    chosen = _in_some_order(draw, pick_some(draw, columns), features)
    return tuple(
        Assignment(
            column=in_other_case(draw, column.name, features),
            value=_draw_value(draw, scope, _slot(scope, schemas, column)),
            qualified=chance(draw, _QUALIFIED_PERCENT),
        )
        for column in chosen
    )


def draw_insert(draw: DrawFn, scope: Scope, schemas: Schemas) -> tuple[Assignment, ...]:
    """Draw the columns and values of an INSERT: all columns, or by flag a part of them (R-220)."""
    features = scope.features
    partial = Feature.PARTIAL_INSERT in features and not chance(draw, _ALL_COLUMNS_PERCENT)
    chosen = pick_some(draw, schemas.target, percent=60) if partial else schemas.target
    return tuple(
        Assignment(
            column=in_other_case(draw, column.name, features),
            value=_draw_value(draw, scope, _slot(scope, schemas, column)),
        )
        for column in _in_some_order(draw, chosen, features)
    )


def _in_some_order(draw: DrawFn, columns: tuple[Column, ...], features: frozenset[Feature]) -> tuple[Column, ...]:
    if Feature.COLUMN_ORDER not in features or len(columns) == 1:
        return columns
    return tuple(draw(st.permutations(columns)))


def _swap(draw: DrawFn, scope: Scope, columns: list[Column], schemas: Schemas) -> tuple[Assignment, ...] | None:
    """Assign two target columns to each other: both right sides mean the row before the merge (R-116)."""
    slots = [_slot(scope, schemas, column) for column in columns]
    pairs = [(one, other) for one in slots for other in slots if _swappable(one, other)]
    if not pairs or not chance(draw, _SWAP_PERCENT):
        return None
    one, other = pick(draw, pairs)
    own = {found.column.name: found for found in scope.candidates if found.side is Side.TARGET}
    return tuple(
        Assignment(column=to.column.name, value=draw_reference(draw, scope, own[origin.column.name]))
        for to, origin in ((one, other), (other, one))
    )


def _swappable(one: _Slot, other: _Slot) -> bool:
    return one.column.name < other.column.name and all(
        any(fit.side is Side.TARGET and fit.column.name == origin.column.name for fit in to.fitting)
        for to, origin in ((one, other), (other, one))
    )


def _slot(scope: Scope, schemas: Schemas, column: Column) -> _Slot:
    to_partition = column.name in schemas.partition_by
    fitting = tuple(
        candidate for candidate in scope.candidates if assignable(candidate.column, column, to_partition=to_partition)
    )
    meant = schemas.namesake(column.name)
    sources = [found for found in fitting if found.side is Side.SOURCE and found.column == meant]
    own = [found for found in fitting if found.side is Side.TARGET and found.column == column]
    return _Slot(
        column=column,
        to_partition=to_partition,
        namesake=next(iter((*sources, *own)), None),
        fitting=fitting,
    )


def _draw_value(draw: DrawFn, scope: Scope, slot: _Slot) -> Expression:
    forms = (*_PLAIN, *_RICH) if Feature.EXPRESSIONS in scope.features else _PLAIN
    if Feature.EXPRESSIONS in scope.features and _fields(scope, slot):
        forms = (*forms, *(_Form.FIELD,) * 4)
    match pick(draw, forms):
        case _Form.NULL:
            return NULL
        case _Form.SUM:
            return _sum(draw, scope, slot)
        case _Form.CAST:
            return _cast(draw, scope, slot)
        case _Form.CASE:
            condition = draw_condition(draw, scope, depth=1)
            return CaseWhen(condition, _column(draw, scope, slot), _simple(draw, scope, slot))
        case _Form.COALESCE:
            return Coalesce(_column(draw, scope, slot), _simple(draw, scope, slot))
        case _Form.FIELD:
            return _field(draw, scope, slot)
        case _Form.COLUMN:
            return _column(draw, scope, slot)
        case _Form.LITERAL:
            return _constant(draw, slot)
        case _Form.NAMESAKE:
            return _meant(draw, scope, slot)


def _meant(draw: DrawFn, scope: Scope, slot: _Slot) -> Expression:
    return draw_reference(draw, scope, slot.namesake) if slot.namesake else _constant(draw, slot)


def _column(draw: DrawFn, scope: Scope, slot: _Slot) -> Expression:
    if not slot.fitting:
        return _constant(draw, slot)
    return draw_reference(draw, scope, pick(draw, slot.fitting))


def _simple(draw: DrawFn, scope: Scope, slot: _Slot) -> Expression:
    return _constant(draw, slot) if chance(draw, 50) else _column(draw, scope, slot)


def _constant(draw: DrawFn, slot: _Slot) -> Expression:
    """Draw a constant: a value that some row has, or a small one; nested types have NULL only."""
    column = slot.column
    if column.nested:
        return NULL
    observed = [
        value
        for candidate in slot.fitting
        if candidate.column.type == column.type
        for value in candidate.observed
        if writable(value)
    ]
    small = domain(column.type)[:_FEW_CONSTANTS]
    return Literal(pick(draw, (*small, *observed[:_FEW_CONSTANTS])), column.type)


def _sum(draw: DrawFn, scope: Scope, slot: _Slot) -> Expression:
    found = [candidate for candidate in scope.candidates if candidate.column.summable]
    # a sum of small numbers fits every integer type; what it means beyond integers is not drawn
    if not found or not slot.column.is_integer:
        return _column(draw, scope, slot)
    left = draw_reference(draw, scope, pick(draw, found))
    right: Expression = Literal(pick(draw, (1, 2, 10)), INT)
    if chance(draw, 50):
        right = draw_reference(draw, scope, pick(draw, found))
    return Sum(left=left, right=right, minus=chance(draw, 30))


def _cast(draw: DrawFn, scope: Scope, slot: _Slot) -> Expression:
    found = [fit for fit in slot.fitting if fit.column.is_integer and fit.column.domain is Domain.SMALL]
    if not found or not slot.column.is_integer:
        return _column(draw, scope, slot)
    target_type = pick(draw, (slot.column.type, BIGINT))
    return Cast(draw_reference(draw, scope, pick(draw, found)), target_type)


def _field(draw: DrawFn, scope: Scope, slot: _Slot) -> Expression:
    found = _fields(scope, slot)
    if not found:
        return _column(draw, scope, slot)
    candidate, position, field = pick(draw, found)
    # always qualified, see strategies.conditions
    base = draw_reference(draw, replace(scope, features=frozenset()), candidate)
    return FieldAccess(base, field.name, position)


def _fields(scope: Scope, slot: _Slot) -> list[tuple[Candidate, int, Field]]:
    """Find the struct fields whose values fit a column; they are of the wide domain."""
    return [
        (candidate, position, field)
        for candidate in scope.candidates
        if isinstance(candidate.column.type, StructType)
        for position, field in enumerate(candidate.column.type.fields)
        if assignable(
            Column(name=field.name, type=field.type, domain=Domain.WIDE), slot.column, to_partition=slot.to_partition
        )
    ]
