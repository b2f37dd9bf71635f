"""Type widening: which types may become which (R-237, R-716)."""

from __future__ import annotations

from enum import Enum

from mergecheck.model.types.data_types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
)

_INT_BITS = 32
_WHOLE_DIGITS_OF_INT, _WHOLE_DIGITS_OF_BIGINT = 10, 20


class WideningMode(Enum):
    """Which types evolution widens (R-237); the value is the setting's value."""

    ALWAYS = "always"
    SAME_FAMILY_TYPE = "same_family_type"
    NEVER = "never"


def widens(old: DataType, new: DataType, mode: WideningMode) -> bool:
    """Return whether evolution changes a column of the first type to the second."""
    match mode:
        case WideningMode.ALWAYS:
            return is_widening(old, new)
        case WideningMode.SAME_FAMILY_TYPE:
            return is_widening(old, new) and (old in INTEGER_BITS) == (new in INTEGER_BITS)
        case WideningMode.NEVER:
            return False


def is_widening(old: DataType, new: DataType) -> bool:
    """Return whether the table of R-237 has a change of one atomic type to another."""
    if old in INTEGER_BITS:
        if new in INTEGER_BITS:
            return INTEGER_BITS[old] < INTEGER_BITS[new]
        if isinstance(new, DecimalType):
            needed = _WHOLE_DIGITS_OF_INT if INTEGER_BITS[old] <= _INT_BITS else _WHOLE_DIGITS_OF_BIGINT
            return new.precision - new.scale >= needed
        return new == DOUBLE and INTEGER_BITS[old] <= _INT_BITS
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        more_before = (new.precision - new.scale) - (old.precision - old.scale)
        return old != new and more_before >= 0 and new.scale >= old.scale
    return (old, new) in ((FLOAT, DOUBLE), (DATE, TIMESTAMP_NTZ))


def was_widened(old: DataType, new: DataType) -> bool:
    """Return whether a column without structs can have had another type once: one part of it was widened at least."""
    return old != new and _is_old(old, new)


def _is_old(old: DataType, new: DataType) -> bool:
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return _is_old(old.element, new.element)
    if isinstance(old, MapType) and isinstance(new, MapType):
        return _is_old(old.key, new.key) and _is_old(old.value, new.value)
    return old == new or is_widening(old, new)
