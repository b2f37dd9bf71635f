"""Between which types Spark casts by itself, without a CAST in the text (R-236)."""

from __future__ import annotations

from reference.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    AtomicType,
    DataType,
    DecimalType,
)

_TIMES = frozenset({DATE, TIMESTAMP, TIMESTAMP_NTZ})


def is_numeric(data_type: DataType) -> bool:
    """Tell whether a type is one of Spark's numbers."""
    return data_type in INTEGER_BITS or data_type in (FLOAT, DOUBLE) or isinstance(data_type, DecimalType)


def has_implicit_cast(source: DataType, target: DataType) -> bool:
    """Tell whether Spark casts values of ``source`` to ``target`` implicitly (R-236).

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
