"""Small overlapping values of a type: for keys, for numbers that are summed, for partition values.

A domain is short and ordered. Its neighbours are near misses; no target key has the values at its end. It never holds
the empty string, which a partition column has by a feature only (R-744).
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types import data_types as t
from mergecheck.strategies.table.values import decimal

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from mergecheck.model.case import Value

_INTEGERS = (*range(9), -1, *range(9, 29))
_STRINGS = ("a", "b", "A", "a ", "b c", "a/b", "x=y", "50%", "é", "it's", "back\\slash", "null", "列 🙂")
_FLOATS = (1.0, 0.0, -0.0, float("nan"), 1.5, float("inf"), -1.0, float("-inf"))
_DATES = tuple(
    map(date.fromisoformat, ["2020-01-01", "2020-01-02", "2020-02-29", "1969-12-31", "1970-01-01", "9999-12-31"])
)
_MOMENTS = (
    *(datetime(2020, 1, 1, 0, 0, 0, micros, tzinfo=UTC) for micros in (0, 1, 1000)),
    datetime(2020, 1, 1, 0, 0, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2019, 12, 31, tzinfo=UTC),
)

FRESH = 3
"""How many values at the end of a domain are kept for source keys that the target does not have."""


def domain(data_type: t.DataType) -> tuple[Value, ...]:
    """Return the small values of an atomic or decimal type, simplest first.

    Raises:
        ValueError: for a nested type, which is never the type of a key.
    """
    if isinstance(data_type, t.DecimalType):
        return _decimals(data_type)
    if data_type not in _DOMAINS:
        raise ValueError(f"{data_type.ddl()} has no small domain; keys and partition values are atomic")
    return _DOMAINS[data_type]


_DOMAINS: dict[t.DataType, tuple[Value, ...]] = {
    **dict.fromkeys(t.INTEGER_BITS, _INTEGERS),
    **dict.fromkeys((t.FLOAT, t.DOUBLE), _FLOATS),
    t.STRING: _STRINGS,
    t.DATE: _DATES,
    t.TIMESTAMP: _MOMENTS,
    t.TIMESTAMP_NTZ: tuple(moment.replace(tzinfo=None) for moment in _MOMENTS),
    t.BOOLEAN: (False, True),
    t.BINARY: (b"a", b"b", b"", b"\x00", b"\xff", b"ab"),
}


def _decimals(data_type: t.DecimalType) -> tuple[Value, ...]:
    one = 10**data_type.scale if data_type.precision > data_type.scale else 1
    most = 10**data_type.precision - 1
    unscaled = dict.fromkeys((0, one, 2 * one, one + 1, -one, 3 * one, most, -most))
    return tuple(decimal(digits, data_type.scale) for digits in unscaled if abs(digits) <= most)


def small_values(data_type: t.DataType, *, span: int, null_weight: int = 0) -> SearchStrategy[Value]:
    """Return a strategy of the first ``span`` values of a domain, simplest first.

    NULL comes as often as ``null_weight`` of these values.
    """
    return st.sampled_from((*domain(data_type)[:span], *((None,) * null_weight)))


def neighbour(value: Value, data_type: t.DataType, *, step: int) -> Value:
    """Return the value that is ``step`` positions away in the domain, a near miss; NULL stays NULL."""
    if value is None:
        return None
    found = domain(data_type)
    if data_type in t.INTEGER_BITS:
        return max(-1, min(value + step, max(found)))
    # by text, because NaN equals nothing and -0.0 equals 0.0
    texts = [repr(each) for each in found]
    # a rescaled decimal need not be in the domain
    return found[(texts.index(repr(value)) + step) % len(found)] if repr(value) in texts else found[0]


def rescaled(value: Value, data_type: t.DataType) -> Value:
    """Return a decimal rounded to the scale of another decimal type, zero if it does not fit; other values stay."""
    if value is None or not isinstance(data_type, t.DecimalType):
        return value
    digits = int((value * 10**data_type.scale).to_integral_value())
    return decimal(digits if abs(digits) < 10**data_type.precision else 0, data_type.scale)
