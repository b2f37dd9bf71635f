"""Array functions as assigned values: they keep, drop and unite elements, before or after the cast (R-246)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import INTEGER_BITS, STRING, ArrayType, StructType
from mergecheck.strategies.choices.chance import pick
from mergecheck.strategies.expressions.nested_conditions import struct_constant
from mergecheck.strategies.expressions.scopes import draw_reference
from mergecheck.strategies.syntax.expressions import ArrayCall, Literal
from mergecheck.strategies.syntax.literals import writable

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Value
    from mergecheck.reference.types.data_types import DataType
    from mergecheck.strategies.expressions.scopes import Candidate
    from mergecheck.strategies.expressions.slots import Slot
    from mergecheck.strategies.syntax.expressions import Expression

_OF_TWO = ("array_union", "array_except", "array_intersect")


def array_operands(slot: Slot) -> tuple[Candidate, ...]:
    """Return the array columns whose elements have one equality everywhere: whole numbers, text, structs of them."""
    return tuple(
        found
        for found in slot.fitting
        if isinstance(found.column.type, ArrayType) and _plainly_equal(found.column.type.element)
    )


def draw_array_call(draw: DrawFn, slot: Slot) -> ArrayCall:
    """Draw an array function over the columns that fit a slot; shrinks to ``array_distinct``.

    Both arrays are of one type, so that only the assignment casts.
    """
    operands = array_operands(slot)
    first = pick(draw, operands)
    column = draw_reference(draw, slot.scope, first)
    function = pick(draw, ("array_distinct", *_OF_TWO, "array_remove"))
    if function in _OF_TWO:
        alike = [found for found in operands if found.column.type == first.column.type]
        across = [found for found in alike if found.side is not first.side]
        other = pick(draw, (*across, *alike))
        return ArrayCall(function, (column, draw_reference(draw, slot.scope, other)))
    elements = _elements(first) if function == "array_remove" else ()
    if not elements:
        return ArrayCall("array_distinct", (column,))
    return ArrayCall(function, (column, pick(draw, elements)))


def _elements(candidate: Candidate) -> tuple[Expression, ...]:
    """Write the elements that the column's arrays have; NULL is left out, it would make the whole result NULL."""
    array = candidate.column.type
    if not isinstance(array, ArrayType):
        return ()
    found = {repr(element): element for cell in candidate.observed for element in cell if element is not None}
    constants = (_constant(element, array.element) for element in found.values())
    return tuple(constant for constant in constants if constant is not None)


def _constant(element: Value, data_type: DataType) -> Expression | None:
    if isinstance(data_type, StructType):
        return struct_constant(element, data_type)
    return Literal(element, data_type) if writable(element) else None


def _plainly_equal(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return all(_plainly_equal(field.type) for field in data_type.fields)
    return data_type == STRING or data_type in INTEGER_BITS
