"""Assigned values: columns of either side, constants, small sums, CASE, COALESCE, array functions, explicit NULL.

Every value has the column's type, a type that was drawn to feed it, or an integer type whose values fit (R-250,
R-251). Partition columns get small values only.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.types.data_types import BIGINT, INT, INTEGER_BITS, STRING, ArrayType, StructType
from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.conditions import conditions_over
from mergecheck.strategies.expression.nested_conditions import struct_constant
from mergecheck.strategies.expression.scopes import constants_of, draw_reference
from mergecheck.strategies.expression.slots import Slot, divisors, draw_partial, field_slot, fitting_fields
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax.columns import Column, Domain
from mergecheck.strategies.syntax.expressions import (
    NULL,
    ArrayCall,
    CaseWhen,
    Cast,
    Coalesce,
    Literal,
    NamedStruct,
    Sum,
)
from mergecheck.strategies.syntax.literals import writable
from mergecheck.strategies.table.domains import domain
from mergecheck.strategies.table.nested import has_constants

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.reference.types.data_types import DataType
    from mergecheck.strategies.expression.scopes import Candidate
    from mergecheck.strategies.syntax.expressions import Expression

_FEW_CONSTANTS = 5
_OF_TWO_ARRAYS = ("array_union", "array_except", "array_intersect")


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


@st.composite
def values_for(draw: DrawFn, slot: Slot) -> Expression:
    """Values that are assigned to a slot; they shrink to the column meant for it."""
    rich = Feature.EXPRESSIONS in slot.scope.features
    forms = (*_PLAIN, *_RICH) if rich else _PLAIN
    if rich and any(True for _ in fitting_fields(slot)):
        forms = (*forms, *(_Form.FIELD,) * 4)
    if rich and _array_operands(slot):
        forms = (*forms, *(_Form.ARRAY,) * 6)
    if Feature.PARTIAL_VALUES in slot.scope.features and divisors(slot):
        forms = (*forms, *(_Form.PARTIAL,) * 8)
    match draw(st.sampled_from(forms)):
        case _Form.PARTIAL:
            return draw_partial(draw, slot, _constant(draw, slot))
        case _Form.NULL:
            return NULL if slot.nullable else _constant(draw, slot)
        case _Form.SUM:
            return _sum(draw, slot)
        case _Form.CAST:
            return _cast(draw, slot)
        case _Form.CASE:
            condition = draw(conditions_over(slot.scope, depth=1))
            return CaseWhen(condition, *_two(draw, slot))
        case _Form.COALESCE:
            return Coalesce(*_two(draw, slot))
        case _Form.ARRAY:
            return _array_call(draw, slot)
        case _Form.FIELD:
            return draw(st.sampled_from(tuple(fitting_fields(slot)))).access
        case _Form.COLUMN:
            return _column(draw, slot)
        case _Form.LITERAL:
            return _constant(draw, slot)
        case _Form.NAMESAKE:
            return draw_reference(draw, slot.scope, slot.namesake) if slot.namesake else _constant(draw, slot)


def _two(draw: DrawFn, slot: Slot) -> tuple[Expression, Expression]:
    """Draw two values of one type, or of integer types."""
    alike = [
        found
        for found in slot.fitting
        if found.column.type == slot.column.type or (found.column.is_integer and slot.column.is_integer)
    ]
    first = draw_reference(draw, slot.scope, draw(st.sampled_from(alike))) if alike else _constant(draw, slot)
    if draw(st.booleans()) and alike:
        return first, draw_reference(draw, slot.scope, draw(st.sampled_from(alike)))
    # CASE and COALESCE have no common type for structs whose fields have another order
    return first, NULL if slot.column.nested else _constant(draw, slot)


def _column(draw: DrawFn, slot: Slot) -> Expression:
    if not slot.fitting:
        return _constant(draw, slot)
    return draw_reference(draw, slot.scope, draw(st.sampled_from(slot.fitting)))


def _constant(draw: DrawFn, slot: Slot) -> Expression:
    """Draw a constant: a value of some row or a small one; a struct, but NULL for an array or a map."""
    column = slot.column
    if isinstance(column.type, StructType):
        return _struct(draw, slot, column.type)
    if column.nested:
        return NULL
    observed = constants_of(slot.fitting, column.type)
    small = domain(column.type)[:_FEW_CONSTANTS]
    return Literal(draw(st.sampled_from((*small, *observed[:_FEW_CONSTANTS]))), column.type)


def _struct(draw: DrawFn, slot: Slot, struct: StructType) -> Expression:
    """Draw ``NAMED_STRUCT`` with all fields, also in another order (R-242); NULL if a field has no constant."""
    if not has_constants(struct) or (Feature.NESTED_UPDATE not in slot.scope.features and slot.nullable):
        return NULL
    fields = struct.fields if draw(st.booleans()) else struct.fields[::-1]
    values: list[Expression] = []
    for field in fields:
        inner = field_slot(slot.scope, Column(name=field.name, type=field.type, domain=Domain.WIDE))
        # all parts have types: a struct inside is written out, an atomic NULL gets a cast
        null = not isinstance(field.type, StructType) and chance(draw, 30)
        values.append(Literal(None, field.type) if null else _constant(draw, replace(inner, nullable=False)))
    return NamedStruct(tuple(field.name for field in fields), tuple(values))


def _sum(draw: DrawFn, slot: Slot) -> Expression:
    found = [candidate for candidate in slot.scope.candidates if candidate.column.summable]
    if Feature.STRICT_POLICY in slot.scope.features:
        # a sum is an INT or a BIGINT, and STRICT narrows nothing
        bits = INTEGER_BITS.get(slot.column.type, 0)
        found = [candidate for candidate in found if INTEGER_BITS[candidate.column.type] <= bits]
    # a sum of small numbers fits every integer type; sums are not assigned to other types
    if not found or not slot.column.is_integer:
        return _column(draw, slot)
    left = draw_reference(draw, slot.scope, draw(st.sampled_from(found)))
    right: Expression = Literal(draw(st.sampled_from((1, 2, 10))), INT)
    if draw(st.booleans()):
        right = draw_reference(draw, slot.scope, draw(st.sampled_from(found)))
    return Sum(left=left, right=right, minus=chance(draw, 30))


def _cast(draw: DrawFn, slot: Slot) -> Expression:
    found = [fit for fit in slot.fitting if fit.column.is_integer and fit.column.domain is Domain.SMALL]
    if not found or not slot.column.is_integer:
        return _column(draw, slot)
    wide = slot.column.type if Feature.STRICT_POLICY in slot.scope.features else BIGINT
    return Cast(
        draw_reference(draw, slot.scope, draw(st.sampled_from(found))), draw(st.sampled_from((slot.column.type, wide)))
    )


def _array_operands(slot: Slot) -> tuple[Candidate, ...]:
    """Return the array columns whose elements every engine compares alike: integers, texts, structs of them."""
    return tuple(
        found
        for found in slot.fitting
        if isinstance(found.column.type, ArrayType) and _plainly_equal(found.column.type.element)
    )


def _array_call(draw: DrawFn, slot: Slot) -> ArrayCall:
    """Draw an array function over the columns that fit a slot (R-246); shrinks to ``array_distinct``.

    Both arrays have one type, so that only the assignment casts.
    """
    operands = _array_operands(slot)
    first = draw(st.sampled_from(operands))
    column = draw_reference(draw, slot.scope, first)
    function = draw(st.sampled_from(("array_distinct", *_OF_TWO_ARRAYS, "array_remove")))
    if function in _OF_TWO_ARRAYS:
        alike = [found for found in operands if found.column.type == first.column.type]
        across = [found for found in alike if found.side is not first.side]
        other = draw(st.sampled_from((*across, *alike)))
        return ArrayCall(function, (column, draw_reference(draw, slot.scope, other)))
    elements = _elements(first) if function == "array_remove" else ()
    if not elements:
        return ArrayCall("array_distinct", (column,))
    return ArrayCall(function, (column, draw(st.sampled_from(elements))))


def _elements(candidate: Candidate) -> tuple[Expression, ...]:
    """Return the elements of the column's arrays as constants, without NULL, which would make the result NULL."""
    array = candidate.column.type
    if not isinstance(array, ArrayType):
        return ()
    found = {repr(element): element for cell in candidate.observed for element in cell if element is not None}
    kind = array.element
    if isinstance(kind, StructType):
        structs = (struct_constant(element, kind) for element in found.values())
        return tuple(struct for struct in structs if struct is not None)
    return tuple(Literal(element, kind) for element in found.values() if writable(element))


def _plainly_equal(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return all(_plainly_equal(field.type) for field in data_type.fields)
    return data_type == STRING or data_type in INTEGER_BITS
