"""Assigned values: columns of either side, constants, small sums, CASE, COALESCE, array functions, explicit NULL.

Every value has the column's type, a type that was drawn to feed it, or an integer type whose values fit (R-250,
R-251). Partition columns get small values only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import BIGINT, INT, INTEGER_BITS, STRING, ArrayType, StructType
from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.conditions import conditions_over
from mergecheck.strategies.expression.nested_conditions import struct_constant
from mergecheck.strategies.expression.scopes import constants_of, draw_reference
from mergecheck.strategies.expression.slots import Slot, divisors, draw_partial, field_slot, fitting_fields
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax import expressions as e
from mergecheck.strategies.syntax.columns import Column, Domain
from mergecheck.strategies.syntax.literals import writable
from mergecheck.strategies.table.constraints import BOUND
from mergecheck.strategies.table.domains import domain
from mergecheck.strategies.table.nested import has_constants

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies.expression.scopes import Candidate

_FEW_CONSTANTS = 5
_OF_TWO_ARRAYS = ("array_union", "array_except", "array_intersect")


def draw_value(draw: DrawFn, slot: Slot) -> e.Expression:
    """Draw a value that is assigned to a slot; it shrinks to the column meant for it."""
    forms = [*[_namesake] * 4, *[_constant] * 2, _null]
    forms += [_null] * 8 if slot.column.required and slot.nullable else []  # breaks a constraint
    if Feature.VIOLATIONS in slot.scope.features and slot.column.bounded and slot.column.summable:
        forms += [_beyond_bound] * 4
    if Feature.EXPRESSIONS in slot.scope.features:
        forms += [_column, _column, _sum, _sum, _case, _coalesce, _cast]
        forms += [_field] * 4 if any(True for _ in fitting_fields(slot)) else []
        forms += [_array_call] * 6 if _array_operands(slot) else []
    if Feature.PARTIAL_VALUES in slot.scope.features and divisors(slot):
        forms += [_partial] * 8
    return draw(st.sampled_from(forms))(draw, slot)


def _namesake(draw: DrawFn, slot: Slot) -> e.Expression:
    return draw_reference(draw, slot.scope, slot.namesake) if slot.namesake else _constant(draw, slot)


def _null(draw: DrawFn, slot: Slot) -> e.Expression:
    return e.NULL if slot.nullable else _constant(draw, slot)


def _beyond_bound(draw: DrawFn, slot: Slot) -> e.Expression:
    """Draw a number that half of the CHECK constraints refuse, and that no drawn row has."""
    return e.Literal(draw(st.sampled_from((BOUND + 1, -BOUND - 1))), slot.column.type)


def _case(draw: DrawFn, slot: Slot) -> e.Expression:
    return e.CaseWhen(draw(conditions_over(slot.scope, depth=1)), *_two(draw, slot))


def _coalesce(draw: DrawFn, slot: Slot) -> e.Expression:
    return e.Coalesce(*_two(draw, slot))


def _field(draw: DrawFn, slot: Slot) -> e.Expression:
    return draw(st.sampled_from(tuple(fitting_fields(slot)))).access


def _partial(draw: DrawFn, slot: Slot) -> e.Expression:
    return draw_partial(draw, slot, _constant(draw, slot))


def _two(draw: DrawFn, slot: Slot) -> tuple[e.Expression, e.Expression]:
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
    return first, e.NULL if slot.column.nested else _constant(draw, slot)


def _column(draw: DrawFn, slot: Slot) -> e.Expression:
    if not slot.fitting:
        return _constant(draw, slot)
    return draw_reference(draw, slot.scope, draw(st.sampled_from(slot.fitting)))


def _constant(draw: DrawFn, slot: Slot) -> e.Expression:
    """Draw a constant: a value of some row or a small one; a struct, but NULL for an array or a map."""
    column = slot.column
    if isinstance(column.type, StructType):
        return _struct(draw, slot, column.type)
    if column.nested:
        return e.NULL
    observed = constants_of(slot.fitting, column.type)
    small = domain(column.type)[:_FEW_CONSTANTS]
    return e.Literal(draw(st.sampled_from((*small, *observed[:_FEW_CONSTANTS]))), column.type)


def _struct(draw: DrawFn, slot: Slot, struct: StructType) -> e.Expression:
    """Draw ``NAMED_STRUCT`` with all fields, also in another order (R-242); NULL if a field has no constant."""
    if not has_constants(struct) or (Feature.NESTED_UPDATE not in slot.scope.features and slot.nullable):
        return e.NULL
    fields = struct.fields if draw(st.booleans()) else struct.fields[::-1]
    values: list[e.Expression] = []
    for field in fields:
        inner = field_slot(slot.scope, Column(name=field.name, type=field.type, domain=Domain.WIDE))
        # all parts have types: a struct inside is written out, an atomic NULL gets a cast
        null = not isinstance(field.type, StructType) and chance(draw, 30)
        values.append(e.Literal(None, field.type) if null else _constant(draw, replace(inner, nullable=False)))
    return e.NamedStruct(tuple(field.name for field in fields), tuple(values))


def _sum(draw: DrawFn, slot: Slot) -> e.Expression:
    found = [candidate for candidate in slot.scope.candidates if candidate.column.summable]
    if Feature.STRICT_POLICY in slot.scope.features:
        # a sum is an INT or a BIGINT, and STRICT narrows nothing
        bits = INTEGER_BITS.get(slot.column.type, 0)
        found = [candidate for candidate in found if INTEGER_BITS[candidate.column.type] <= bits]
    # a sum of small numbers fits every integer type; sums are not assigned to other types
    if not found or not slot.column.is_integer:
        return _column(draw, slot)
    left = draw_reference(draw, slot.scope, draw(st.sampled_from(found)))
    right: e.Expression = e.Literal(draw(st.sampled_from((1, 2, 10))), INT)
    if draw(st.booleans()):
        right = draw_reference(draw, slot.scope, draw(st.sampled_from(found)))
    return e.Sum(left=left, right=right, minus=chance(draw, 30))


def _cast(draw: DrawFn, slot: Slot) -> e.Expression:
    found = [fit for fit in slot.fitting if fit.column.is_integer and fit.column.domain is Domain.SMALL]
    if not found or not slot.column.is_integer:
        return _column(draw, slot)
    wide = slot.column.type if Feature.STRICT_POLICY in slot.scope.features else BIGINT
    return e.Cast(
        draw_reference(draw, slot.scope, draw(st.sampled_from(found))), draw(st.sampled_from((slot.column.type, wide)))
    )


def _array_operands(slot: Slot) -> tuple[Candidate, ...]:
    """Return the array columns whose elements every engine compares alike: integers, texts, structs of them."""
    return tuple(
        found
        for found in slot.fitting
        if isinstance(found.column.type, ArrayType) and _plainly_equal(found.column.type.element)
    )


def _array_call(draw: DrawFn, slot: Slot) -> e.Expression:
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
        return e.ArrayCall(function, (column, draw_reference(draw, slot.scope, other)))
    elements = _elements(first) if function == "array_remove" else ()
    if not elements:
        return e.ArrayCall("array_distinct", (column,))
    return e.ArrayCall(function, (column, draw(st.sampled_from(elements))))


def _elements(candidate: Candidate) -> tuple[e.Expression, ...]:
    """Return the elements of the column's arrays as constants, without NULL, which would make the result NULL."""
    array = candidate.column.type
    if not isinstance(array, ArrayType):
        return ()
    found = {repr(element): element for cell in candidate.observed for element in cell if element is not None}
    kind = array.element
    if isinstance(kind, StructType):
        structs = (struct_constant(element, kind) for element in found.values())
        return tuple(struct for struct in structs if struct is not None)
    return tuple(e.Literal(element, kind) for element in found.values() if writable(element))


def _plainly_equal(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return all(_plainly_equal(field.type) for field in data_type.fields)
    return data_type == STRING or data_type in INTEGER_BITS
