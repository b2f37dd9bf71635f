"""Source types other than the target's, and values that mostly survive the cast (R-236, R-251 to R-253).

Each pair of types has values that fit and values that do not, for a column whose cast is to fail: text that is no
number, numbers out of range. The policy and schema evolution decide which pairs are allowed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types import data_types as t
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax.columns import Column, Domain
from mergecheck.strategies.table.domains import domain

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Value

_CENTS, _FINE = t.DecimalType(10, 2), t.DecimalType(12, 4)
_WHOLE_DIGITS = 5
_INTEGERS = (t.INT, t.BIGINT, t.SMALLINT, t.TINYINT)
_FLOATING = (t.DOUBLE, t.FLOAT)
_TIMES = (t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)
_ORIGINS: dict[t.DataType, tuple[t.DataType, ...]] = {
    **dict.fromkeys(
        _INTEGERS, (t.STRING, t.BIGINT, t.DOUBLE, _CENTS, t.BOOLEAN, t.INT, t.TINYINT, t.FLOAT, t.TIMESTAMP)
    ),
    t.DOUBLE: (t.INT, t.STRING, _CENTS, t.FLOAT, t.BIGINT),
    t.FLOAT: (t.INT, t.DOUBLE, t.STRING),
    t.STRING: (t.INT, t.BIGINT, t.DATE, t.BOOLEAN, _CENTS, t.TIMESTAMP, t.BINARY),
    t.BOOLEAN: (t.STRING, t.INT),
    t.DATE: (t.TIMESTAMP, t.STRING),
    t.TIMESTAMP: (t.DATE, t.STRING),
    t.TIMESTAMP_NTZ: (t.DATE, t.TIMESTAMP),
    t.BINARY: (t.STRING,),
}
_DECIMAL_ORIGINS = (t.INT, t.STRING, _FINE, t.DOUBLE, t.BIGINT, t.TIMESTAMP)
_NUMBERS = (Decimal("1.00"), Decimal("0.00"), Decimal("2.75"), Decimal("-3.55"))
# pairs without an implicit cast, which evolution needs; without evolution most of them can be cast
_CONFLICTS: dict[t.DataType, t.DataType] = {
    t.INT: t.BOOLEAN,
    t.BIGINT: t.BOOLEAN,
    t.BOOLEAN: t.STRING,
    t.DATE: t.INT,
    t.BINARY: t.INT,
}


def draw_origin(draw: DrawFn, column: Column, features: frozenset[Feature]) -> Column:
    """Draw a source column that feeds ``column``, of another type if the policy allows any."""
    conflict = _CONFLICTS.get(column.type)
    if Feature.SCHEMA_EVOLUTION in features and conflict is not None and chance(draw, 8):
        return replace(column, type=conflict, domain=Domain.WIDE, feeds=column.type)
    origins = origins_of(column.type, features)
    if not origins:
        return column
    if Feature.VIOLATIONS in features:
        origins = tuple(origin for origin in origins if _misfits(origin, column.type)) or origins
    origin = draw(st.sampled_from(origins))
    misfits = chance(draw, _misfits_percent(origin, column, features))
    return replace(column, type=origin, domain=Domain.WIDE, feeds=column.type, misfits=misfits)


def _misfits_percent(origin: t.DataType, column: Column, features: frozenset[Feature]) -> int:
    if Feature.LEGACY_POLICY in features:
        return 40
    # an overflow is an error of its own
    is_overflow = _is_number(origin) and column.is_integer
    if Feature.VIOLATIONS in features:
        return 80 if is_overflow else 30
    return 25 if is_overflow else 12


def origins_of(to: t.DataType, features: frozenset[Feature]) -> tuple[t.DataType, ...]:
    """Return the other types whose values may be assigned to an atomic type, likeliest first."""
    found = _ORIGINS.get(to, ())
    if isinstance(to, t.DecimalType):
        # hardly any number fits into few digits before the point
        found = _DECIMAL_ORIGINS if to.precision - to.scale >= _WHOLE_DIGITS else ()
    return tuple(origin for origin in found if origin != to and origin_allowed(origin, to, features))


def origin_allowed(origin: t.DataType, to: t.DataType, features: frozenset[Feature]) -> bool:
    """Return whether the policy and schema evolution allow values of one type in a column of another (R-236, R-251)."""
    if Feature.STRICT_POLICY in features and not is_up_cast(origin, to):
        return False
    return Feature.SCHEMA_EVOLUTION not in features or is_implicit(origin, to)


def is_up_cast(origin: t.DataType, to: t.DataType) -> bool:
    """Return whether a cast loses nothing: STRICT allows no other (R-251)."""
    if origin == to:
        return True
    if origin in t.INTEGER_BITS:
        if isinstance(to, t.DecimalType):
            return to.precision - to.scale >= len(str(2 ** t.INTEGER_BITS[origin]))
        wider = to in t.INTEGER_BITS and t.INTEGER_BITS[origin] < t.INTEGER_BITS[to]
        return wider or to in (*_FLOATING, t.STRING)
    if isinstance(origin, t.DecimalType) and isinstance(to, t.DecimalType):
        return to.scale >= origin.scale and to.precision - to.scale >= origin.precision - origin.scale
    return (origin, to) in ((t.FLOAT, t.DOUBLE), (t.DATE, t.TIMESTAMP), (t.DATE, t.TIMESTAMP_NTZ), (t.DATE, t.STRING))


def is_implicit(origin: t.DataType, to: t.DataType) -> bool:
    """Return whether there is an implicit cast, which schema evolution needs to keep the target's type (R-236)."""
    if to == t.STRING or (_is_number(origin) and _is_number(to)) or (origin in _TIMES and to in _TIMES):
        return True
    return origin == t.STRING and (_is_number(to) or to in (t.DATE, t.TIMESTAMP, t.BINARY))


def _is_number(data_type: t.DataType) -> bool:
    return data_type in t.INTEGER_BITS or data_type in _FLOATING or isinstance(data_type, t.DecimalType)


def castable(origin: t.DataType, to: t.DataType, *, misfits: bool) -> tuple[Value, ...]:
    """Return values of an atomic type that survive the cast to another; if ``misfits``, also some that do not."""
    return (*_fitting(origin, to), *(_misfits(origin, to) if misfits else ()))


def _fitting(origin: t.DataType, to: t.DataType) -> tuple[Value, ...]:
    if origin == t.STRING:
        return _TEXTS.get(to, ("1", "0", "-3.5", "2.756", "7"))
    if origin == t.DOUBLE:
        # halves and quarters are exact, so that every engine rounds them alike
        return (1.0, 0.0, 2.75, -2.75, 0.5, -0.0, *_bounds(to)) if to in t.INTEGER_BITS else (1.5, 0.0, -2.25, 3.0)
    if origin == _CENTS:
        return _NUMBERS
    if origin == _FINE:
        return (Decimal("1.0000"), Decimal("1.2355"), Decimal("-0.0050"), Decimal("2.5000"))
    if origin == t.FLOAT:
        return (1.5, 0.0, -2.25, 3.0, *(_bounds(to) if to == t.BIGINT else ()))
    if origin == t.TIMESTAMP and to not in (*_TIMES, t.STRING):
        return tuple(datetime(1970, 1, 1, 0, 0, second, micros, tzinfo=UTC) for second, micros in _SECONDS)
    if origin in t.INTEGER_BITS:
        return (1, 0, 2, -1, 7)
    return domain(origin)[:4]


_SECONDS = ((0, 0), (1, 0), (2, 5_000), (59, 999_999), (7, 500_000))


def _bounds(to: t.DataType) -> tuple[float, ...]:
    """Return the bounds of an integer type: its least value, and the greatest that a DOUBLE has below its bound.

    2^63 itself is inside BIGINT for Spark (R-253).
    """
    high = 2.0 ** (t.INTEGER_BITS[to] - 1)
    return (-high, high if to == t.BIGINT else high - 0.5)


_TEXTS: dict[t.DataType, tuple[Value, ...]] = {
    **dict.fromkeys(_INTEGERS, ("1", "0", "-1", "12", "7")),
    **dict.fromkeys(_FLOATING, ("1", "1.5", "-2", "0", "1e3")),
    t.BOOLEAN: ("true", "false", "TRUE", "f", "1", "no"),
    t.DATE: ("2020-01-01", "1969-12-31", "2020-02-29"),
    t.TIMESTAMP: ("2020-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2020-01-01"),
    t.BINARY: ("a", "", "é"),
}


def _misfits(origin: t.DataType, to: t.DataType) -> tuple[Value, ...]:
    if to == t.STRING:
        return (b"\xff",) if origin == t.BINARY else ()
    if origin == t.STRING:
        return () if to == t.BINARY else ("x", "", "99999999999999999999999999999999999999999")
    if to in t.INTEGER_BITS and origin in _FLOATING:
        high = 2.0 ** (t.INTEGER_BITS[to] - 1)
        return (float("nan"), float("-inf"), high * 2, *(() if to == t.BIGINT else (high,)))
    if origin == t.DOUBLE and to != t.FLOAT:
        return (1e30, float("nan"), float("-inf"))
    if origin == t.BIGINT:
        return (2**40, -(2**62))
    if origin == t.TIMESTAMP and to in t.INTEGER_BITS:
        return (datetime(9999, 12, 31, tzinfo=UTC),)
    if origin == t.INT and (to in (t.TINYINT, t.SMALLINT) or isinstance(to, t.DecimalType)):
        return (2**31 - 1,)
    if origin == _CENTS and to in (t.TINYINT, t.SMALLINT):
        return (Decimal("99999999.99"),)
    if isinstance(origin, t.DecimalType) and isinstance(to, t.DecimalType):
        return (Decimal("99999999.9999"),)
    return (date.max,) if origin == t.DATE and to == t.TIMESTAMP else ()
