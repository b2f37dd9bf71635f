"""Comparisons of two values, IN and BETWEEN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    MapType,
    StructType,
)
from mergecheck.model.types.typed import Typed, combine
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.char_padding import refuse_char, with_spaces
from mergecheck.reference.expressions.functions import same_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.types.data_types import DataType

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}
"""Spark's comparisons and their operators in DuckDB, which are the ones of standard SQL."""
_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def compare(operator: type[exp.Expr], left: Typed, right: Typed) -> Typed:
    """Compare two values after casting them to a common type.

    Raises:
        UnsupportedByReferenceError: if there is no such type, or DuckDB compares values of the type otherwise.
    """
    left, right = same_type(_read_texts(with_spaces([left, right])))
    _check_comparable(left.type, ordered=operator in _ORDERED)
    return combine(f"(({left.sql}) {COMPARISONS[operator]} ({right.sql}))", BOOLEAN, left, right)


def is_in(value: Typed, listed: Sequence[Typed]) -> Typed:
    """Return whether a value is in a list; raises as ``compare`` does."""
    operands = same_type(with_spaces([value, *listed]))
    _check_comparable(operands[0].type, ordered=False)
    items = ", ".join(operand.sql for operand in operands[1:])
    return combine(f"(({operands[0].sql}) IN ({items}))", BOOLEAN, *operands)


def is_between(value: Typed, low: Typed, high: Typed) -> Typed:
    """Return whether a value is between two others or equal to one; raises as ``compare`` does."""
    refuse_char([value, low, high], "BETWEEN")
    (value, low), (_, high) = _read_texts([value, low]), _read_texts([value, high])
    value, low, high = same_type([value, low, high])
    _check_comparable(value.type, ordered=True)
    sql = f"(({value.sql}) >= ({low.sql}) AND ({value.sql}) <= ({high.sql}))"
    return combine(sql, BOOLEAN, value, low, high)


def _read_texts(operands: list[Typed]) -> list[Typed]:
    """Cast a text beside a whole number, a date, a timestamp or a boolean as Spark does in a comparison."""
    others = {operand.type for operand in operands if operand.type not in (STRING, VOID)}
    if len(others) != 1 or all(operand.type != STRING for operand in operands):
        return operands
    (other,) = others
    wanted = BIGINT if other in INTEGER_BITS else other
    if wanted not in (BIGINT, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ):
        return operands
    return [cast_value(operand, wanted) if operand.type == STRING else operand for operand in operands]


def _check_comparable(data_type: DataType, *, ordered: bool) -> None:
    """Refuse maps, which Spark does not compare, and the order of nested values, in which NULLs sort differently."""
    if isinstance(data_type, MapType):
        raise UnsupportedByReferenceError("comparison of MAP values")
    if isinstance(data_type, ArrayType | StructType) and ordered:
        raise UnsupportedByReferenceError("the order of nested values")
    if isinstance(data_type, ArrayType):
        _check_comparable(data_type.element, ordered=False)
    if isinstance(data_type, StructType):
        for field_ in data_type.fields:
            _check_comparable(field_.type, ordered=False)
