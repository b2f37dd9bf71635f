"""Small overlapping values of a type: keys, numbers that are summed, partition values (techniques T23, P22).

A domain is short and ordered: its neighbours are near misses, its end is what no target key has at first. It never
holds the empty string, which a partition column has by flag only (R-744).
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
)
from mergecheck.strategies.tables.values import decimal

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Value
    from mergecheck.reference.types.data_types import DataType

_INTEGERS = (*range(9), -1, *range(9, 29))
_STRINGS = ("a", "b", "A", "a ", "b c", "a/b", "x=y", "50%", "é", "it's", "back\\slash", "null", "列 🙂")
_FLOATS = (1.0, 0.0, -0.0, float("nan"), 1.5, float("inf"), -1.0, float("-inf"))
_DATES = (
    date(2020, 1, 1),
    date(2020, 1, 2),
    date(2020, 2, 29),
    date(1969, 12, 31),
    date(1970, 1, 1),
    date(9999, 12, 31),
)
_MOMENTS = (
    datetime(2020, 1, 1, tzinfo=UTC),
    datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2020, 1, 1, 0, 0, 0, 1000, tzinfo=UTC),
    datetime(2020, 1, 1, 0, 0, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2019, 12, 31, tzinfo=UTC),
)
_BYTES = (b"a", b"b", b"", b"\x00", b"\xff", b"ab")

FRESH = 3
"""How many values at the end of the used part of a domain are kept for keys that the target does not have."""


@cache
def domain(data_type: DataType) -> tuple[Value, ...]:
    """Return the small values of an atomic or decimal type, simplest first.

    Raises:
        ValueError: for nested types, whose values never serve as keys.
    """
    if data_type in INTEGER_BITS:
        return _INTEGERS
    if isinstance(data_type, DecimalType):
        return _decimals(data_type)
    if data_type == TIMESTAMP_NTZ:
        return tuple(moment.replace(tzinfo=None) for moment in _MOMENTS)
    for types, found in _DOMAINS:
        if data_type in types:
            return found
    raise ValueError(f"{data_type.ddl()} has no small domain; keys and partition values are atomic")


_DOMAINS: tuple[tuple[tuple[DataType, ...], tuple[Value, ...]], ...] = (
    ((STRING,), _STRINGS),
    ((FLOAT, DOUBLE), _FLOATS),
    ((DATE,), _DATES),
    ((TIMESTAMP,), _MOMENTS),
    ((BOOLEAN,), (False, True)),
    ((BINARY,), _BYTES),
)


def _decimals(data_type: DecimalType) -> tuple[Value, ...]:
    one = 10**data_type.scale if data_type.precision > data_type.scale else 1
    most = 10**data_type.precision - 1
    unscaled = dict.fromkeys((0, one, 2 * one, one + 1, -one, 3 * one, most, -most))
    return tuple(decimal(digits, data_type.scale) for digits in unscaled if abs(digits) <= most)


@cache
def small_values(data_type: DataType, *, span: int, null_weight: int = 0) -> tuple[Value, ...]:
    """Return the first ``span`` values of a domain; NULL counts as ``null_weight`` further values."""
    return (*domain(data_type)[:span], *((None,) * null_weight))


def neighbour(value: Value, data_type: DataType, *, step: int) -> Value:
    """Return the value ``step`` places away in the domain: a near miss, or the first value. NULL stays NULL."""
    if value is None:
        return None
    found = domain(data_type)
    if data_type in INTEGER_BITS:
        return max(-1, min(value + step, max(found)))
    # by text, because NaN equals nothing and -0.0 equals 0.0
    texts = [repr(each) for each in found]
    # a value that was rescaled need not be in the domain
    return found[(texts.index(repr(value)) + step) % len(found)] if repr(value) in texts else found[0]


def rescaled(value: Value, data_type: DataType) -> Value:
    """Return a decimal with the scale of another decimal type, rounded, or zero where it does not fit."""
    if value is None or not isinstance(data_type, DecimalType):
        return value
    digits = int((value * 10**data_type.scale).to_integral_value())
    return decimal(digits if abs(digits) < 10**data_type.precision else 0, data_type.scale)
