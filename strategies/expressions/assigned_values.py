"""Assigned values: columns of either side, constants, small sums, CASE, COALESCE, explicit NULL (part 9.5).

Every value has the column's type, a type that was drawn to feed it, or an integer type whose values fit (R-250,
R-251). Partition columns take small values only.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import BIGINT, INT, INTEGER_BITS, StructType
from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import Feature
from mergecheck.strategies.expressions.array_calls import array_operands, draw_array_call
from mergecheck.strategies.expressions.conditions import draw_condition
from mergecheck.strategies.expressions.partial_values import divisors, draw_partial
from mergecheck.strategies.expressions.scopes import draw_reference
from mergecheck.strategies.expressions.slots import Slot, field_slot, fitting_fields
from mergecheck.strategies.syntax.columns import Column, Domain
from mergecheck.strategies.syntax.expressions import NULL, CaseWhen, Cast, Coalesce, Literal, NamedStruct, Sum
from mergecheck.strategies.syntax.literals import writable
from mergecheck.strategies.tables.domains import domain
from mergecheck.strategies.tables.nested import has_constants

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.expressions import Expression

_FEW_CONSTANTS = 5
_NULL_FIELD_PERCENT = 30


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
    ARRAY = "array function"
    PARTIAL = "quotient"


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


def draw_value(draw: DrawFn, slot: Slot) -> Expression:
    """Draw what is assigned to a slot; shrinks to the column meant for it."""
    rich = Feature.EXPRESSIONS in slot.scope.features
    forms = (*_PLAIN, *_RICH) if rich else _PLAIN
    if rich and any(True for _ in fitting_fields(slot)):
        forms = (*forms, *(_Form.FIELD,) * 4)
    if rich and array_operands(slot):
        forms = (*forms, *(_Form.ARRAY,) * 6)
    if Feature.PARTIAL_VALUES in slot.scope.features and divisors(slot):
        forms = (*forms, *(_Form.PARTIAL,) * 8)
    match pick(draw, forms):
        case _Form.PARTIAL:
            return draw_partial(draw, slot, constant(draw, slot))
        case _Form.NULL:
            return NULL if slot.nullable else constant(draw, slot)
        case _Form.SUM:
            return _sum(draw, slot)
        case _Form.CAST:
            return _cast(draw, slot)
        case _Form.CASE:
            condition = draw_condition(draw, slot.scope, depth=1)
            return CaseWhen(condition, *_two(draw, slot))
        case _Form.COALESCE:
            return Coalesce(*_two(draw, slot))
        case _Form.ARRAY:
            return draw_array_call(draw, slot)
        case _Form.FIELD:
            return _field(draw, slot)
        case _Form.COLUMN:
            return _column(draw, slot)
        case _Form.LITERAL:
            return constant(draw, slot)
        case _Form.NAMESAKE:
            return draw_reference(draw, slot.scope, slot.namesake) if slot.namesake else constant(draw, slot)


def _two(draw: DrawFn, slot: Slot) -> tuple[Expression, Expression]:
    """Draw two values of one type, or of integer types."""
    alike = [
        found
        for found in slot.fitting
        if found.column.type == slot.column.type or (found.column.is_integer and slot.column.is_integer)
    ]
    first = draw_reference(draw, slot.scope, pick(draw, alike)) if alike else constant(draw, slot)
    if alike and chance(draw, 50):
        return first, draw_reference(draw, slot.scope, pick(draw, alike))
    # a struct with its fields in another order is another type, which CASE and COALESCE do not bring together
    return first, NULL if slot.column.nested else constant(draw, slot)


def _column(draw: DrawFn, slot: Slot) -> Expression:
    if not slot.fitting:
        return constant(draw, slot)
    return draw_reference(draw, slot.scope, pick(draw, slot.fitting))


def constant(draw: DrawFn, slot: Slot) -> Expression:
    """Draw a constant: a value that some row has, or a small one; of nested types structs only, else NULL."""
    column = slot.column
    if isinstance(column.type, StructType):
        return _struct(draw, slot, column.type)
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


def _struct(draw: DrawFn, slot: Slot, struct: StructType) -> Expression:
    """Draw ``NAMED_STRUCT`` with all fields, in another order too (R-242), or NULL where a field has no constant."""
    if not has_constants(struct) or (Feature.NESTED_UPDATE not in slot.scope.features and slot.nullable):
        return NULL
    fields = struct.fields if chance(draw, 50) else struct.fields[::-1]
    values: list[Expression] = []
    for field in fields:
        inner = field_slot(slot.scope, Column(name=field.name, type=field.type, domain=Domain.WIDE))
        # all parts typed: a struct inside is written out, an atomic NULL gets a cast
        null = not isinstance(field.type, StructType) and chance(draw, _NULL_FIELD_PERCENT)
        values.append(Literal(None, field.type) if null else constant(draw, replace(inner, nullable=False)))
    return NamedStruct(tuple(field.name for field in fields), tuple(values))


def _sum(draw: DrawFn, slot: Slot) -> Expression:
    found = [candidate for candidate in slot.scope.candidates if candidate.column.summable]
    if Feature.STRICT_POLICY in slot.scope.features:
        # a sum is an INT or a BIGINT, and STRICT narrows nothing
        bits = INTEGER_BITS.get(slot.column.type, 0)
        found = [candidate for candidate in found if INTEGER_BITS[candidate.column.type] <= bits]
    # a sum of small numbers fits every integer type; what it means beyond integers is not drawn
    if not found or not slot.column.is_integer:
        return _column(draw, slot)
    left = draw_reference(draw, slot.scope, pick(draw, found))
    right: Expression = Literal(pick(draw, (1, 2, 10)), INT)
    if chance(draw, 50):
        right = draw_reference(draw, slot.scope, pick(draw, found))
    return Sum(left=left, right=right, minus=chance(draw, 30))


def _cast(draw: DrawFn, slot: Slot) -> Expression:
    found = [fit for fit in slot.fitting if fit.column.is_integer and fit.column.domain is Domain.SMALL]
    if not found or not slot.column.is_integer:
        return _column(draw, slot)
    wide = slot.column.type if Feature.STRICT_POLICY in slot.scope.features else BIGINT
    return Cast(draw_reference(draw, slot.scope, pick(draw, found)), pick(draw, (slot.column.type, wide)))


def _field(draw: DrawFn, slot: Slot) -> Expression:
    found = tuple(fitting_fields(slot))
    return pick(draw, found).access if found else _column(draw, slot)
