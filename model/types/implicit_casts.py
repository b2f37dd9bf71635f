"""Between which types Spark casts by itself, without a CAST in the text (R-236, R-255)."""

from __future__ import annotations

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    Field,
    StructType,
    type_word,
)

_TIMES = frozenset({DATE, TIMESTAMP, TIMESTAMP_NTZ})
_TIME_ORDER = frozenset({(DATE, TIMESTAMP), (DATE, TIMESTAMP_NTZ)})
_FLOATING = (FLOAT, DOUBLE)
_MAX_PRECISION = 38
INTEGER_DIGITS = dict(zip(INTEGER_BITS, (3, 5, 10, 20), strict=True))
"""The digits of the decimal that Spark takes each integer type for; the longest BIGINT has 19."""


def is_numeric(data_type: DataType) -> bool:
    """Return whether a type is a numeric type of Spark."""
    return data_type in INTEGER_BITS or data_type in _FLOATING or isinstance(data_type, DecimalType)


def has_implicit_cast(source: DataType, target: DataType) -> bool:
    """Return whether Spark casts values of ``source`` to ``target`` implicitly (R-236).

    Structs, arrays and maps have none but to themselves: schemas merge their members one by one (R-234).
    """
    if source in (target, VOID):
        return True
    if is_numeric(target):
        return is_numeric(source) or source == STRING
    if target in _TIMES:
        return source in _TIMES or source == STRING
    if target == BINARY:
        return source == STRING
    if target == STRING:
        return isinstance(source, AtomicType | DecimalType)
    return False


def common_type(left: DataType, right: DataType) -> DataType:
    """Give the type to which Spark brings two operands of a comparison, CASE or COALESCE.

    Raises:
        UnsupportedByReferenceError: for pairs that the reference does not compare.
    """
    if right in (left, VOID):
        return left
    if left == VOID:
        return right
    if left in INTEGER_BITS and right in INTEGER_BITS:
        return left if INTEGER_BITS[left] >= INTEGER_BITS[right] else right
    if is_numeric(left) and is_numeric(right):
        if left in _FLOATING or right in _FLOATING:
            return DOUBLE
        return _wider_decimal(as_decimal(left), as_decimal(right))
    if (left, right) in _TIME_ORDER:
        return right
    if (right, left) in _TIME_ORDER:
        return left
    if isinstance(left, StructType) and isinstance(right, StructType) and _same_names(left, right):
        pairs = zip(left.fields, right.fields, strict=True)
        return StructType(tuple(Field(a.name, common_type(a.type, b.type)) for a, b in pairs))
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        return ArrayType(common_type(left.element, right.element))
    raise UnsupportedByReferenceError(f"{type_word(left)} beside {type_word(right)}")


def as_decimal(data_type: DataType) -> DecimalType:
    """Give the decimal that holds every value of a decimal or integer type."""
    if isinstance(data_type, DecimalType):
        return data_type
    return DecimalType(INTEGER_DIGITS[data_type], 0)


def _same_names(left: StructType, right: StructType) -> bool:
    return [field.name for field in left.fields] == [field.name for field in right.fields]


def _wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale)
    if digits + scale > _MAX_PRECISION:
        raise UnsupportedByReferenceError("decimals wider than 38 digits together")
    return DecimalType(digits + scale, scale)
