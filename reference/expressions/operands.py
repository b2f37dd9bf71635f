"""What functions that are found by their names have in common: their operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import INT, INTEGER_BITS, STRING, type_word
from mergecheck.reference.casts.cast_sql import unsupported
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.literals import plain_text, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from mergecheck.model.types.data_types import DataType
    from mergecheck.model.types.typed import Typed

Translate: TypeAlias = "Callable[[exp.Expr], Typed]"
Call: TypeAlias = "Callable[[Sequence[exp.Expr], Translate], Typed]"

_ASCII = r"'[\x01-\x7f]*'"


def count(operands: Sequence[exp.Expr], fewest: int, most: int | None = None) -> None:
    """Refuse a wrong number of operands.

    Raises:
        UnsupportedByReferenceError: if there are fewer or more.
    """
    if not fewest <= len(operands) <= (fewest if most is None else most):
        raise UnsupportedByReferenceError("a function with another number of operands")


def text(node: exp.Expr, translate: Translate) -> Typed:
    """Translate a text.

    Raises:
        UnsupportedByReferenceError: for any other type.
    """
    operand = translate(node)
    if operand.type != STRING:
        raise UnsupportedByReferenceError(f"a text function of {type_word(operand.type)}")
    return operand


def whole(node: exp.Expr, translate: Translate, wanted: DataType = INT) -> Typed:
    """Translate a whole number that fits a type without loss.

    Raises:
        UnsupportedByReferenceError: for any other type.
    """
    operand = translate(node)
    if operand.type not in INTEGER_BITS or INTEGER_BITS[operand.type] > INTEGER_BITS[wanted]:
        raise UnsupportedByReferenceError(f"a number of type {type_word(operand.type)}")
    return cast_value(operand, wanted)


def literal_number(node: exp.Expr, least: int = -(1 << 31)) -> int:
    """Read a whole number that is a literal.

    Raises:
        UnsupportedByReferenceError: for anything else, and for numbers below the least one.
    """
    number = whole_number(node)
    if number is None or not least <= number < 1 << 31:
        raise UnsupportedByReferenceError("a number that is no literal, or none of the usual ones")
    return number


def literal_text(node: exp.Expr) -> str:
    """Read a text that is a literal and not empty.

    Raises:
        UnsupportedByReferenceError: for anything else.
    """
    found = plain_text(node)
    if not found:
        raise UnsupportedByReferenceError("a text that is no literal, or an empty one")
    return found


def if_ascii(value: str, body: str) -> str:
    """Evaluate ``body`` of a text, unless it has characters beyond ASCII."""
    plain = f"({value}) IS NULL OR regexp_full_match({value}, {_ASCII})"
    return f"CASE WHEN {plain} THEN {body} ELSE {unsupported('a text function of other than ASCII letters')} END"


def bound(values: dict[str, str], body: str) -> str:
    """Evaluate ``body`` with values bound to ``p.<name>``, so that long operands are written once."""
    packed = ", ".join(f"{name} := {value}" for name, value in values.items())
    return f"(list_transform([struct_pack({packed})], lambda p: {body})[1])"
