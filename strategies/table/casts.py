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

from mergecheck.reference.types.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DecimalType,
)
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax.columns import Column, Domain
from mergecheck.strategies.table.domains import domain

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Value
    from mergecheck.reference.types.data_types import DataType

_CENTS, _FINE = DecimalType(10, 2), DecimalType(12, 4)
_WHOLE_DIGITS = 5
_INTEGERS = (INT, BIGINT, SMALLINT, TINYINT)
_FLOATING = (DOUBLE, FLOAT)
_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_ORIGINS: dict[DataType, tuple[DataType, ...]] = {
    **dict.fromkeys(_INTEGERS, (STRING, BIGINT, DOUBLE, _CENTS, BOOLEAN, INT, TINYINT)),
    DOUBLE: (INT, STRING, _CENTS, FLOAT, BIGINT),
    FLOAT: (INT, DOUBLE, STRING),
    STRING: (INT, BIGINT, DATE, BOOLEAN, _CENTS, TIMESTAMP),
    BOOLEAN: (STRING, INT),
    DATE: (TIMESTAMP, STRING),
    TIMESTAMP: (DATE, STRING),
    TIMESTAMP_NTZ: (DATE, TIMESTAMP),
    BINARY: (STRING,),
}
_DECIMAL_ORIGINS = (INT, STRING, _FINE, DOUBLE, BIGINT)
_NUMBERS = (Decimal("1.00"), Decimal("0.00"), Decimal("2.75"), Decimal("-3.55"))
# pairs without an implicit cast, which evolution needs; without evolution most of them can be cast
_CONFLICTS: dict[DataType, DataType] = {INT: BOOLEAN, BIGINT: BOOLEAN, BOOLEAN: STRING, DATE: INT, BINARY: INT}


def draw_origin(draw: DrawFn, column: Column, features: frozenset[Feature]) -> Column:
    """Draw a source column that feeds ``column``, of another type if the policy allows any."""
    conflict = _CONFLICTS.get(column.type)
    if Feature.SCHEMA_EVOLUTION in features and conflict is not None and chance(draw, 8):
        return replace(column, type=conflict, domain=Domain.WIDE, feeds=column.type)
    origins = origins_of(column.type, features)
    if not origins:
        return column
    origin = draw(st.sampled_from(origins))
    # an overflow is an error of its own
    percent = 25 if _is_number(origin) and column.is_integer else 12
    misfits = chance(draw, 40 if Feature.LEGACY_POLICY in features else percent)
    return replace(column, type=origin, domain=Domain.WIDE, feeds=column.type, misfits=misfits)


def origins_of(to: DataType, features: frozenset[Feature]) -> tuple[DataType, ...]:
    """Return the other types whose values may be assigned to an atomic type, likeliest first."""
    found = _ORIGINS.get(to, ())
    if isinstance(to, DecimalType):
        # hardly any number fits into few digits before the point
        found = _DECIMAL_ORIGINS if to.precision - to.scale >= _WHOLE_DIGITS else ()
    return tuple(origin for origin in found if origin != to and origin_allowed(origin, to, features))


def origin_allowed(origin: DataType, to: DataType, features: frozenset[Feature]) -> bool:
    """Tell whether the policy and schema evolution allow values of one type in a column of another (R-236, R-251)."""
    if Feature.STRICT_POLICY in features and not is_up_cast(origin, to):
        return False
    return Feature.SCHEMA_EVOLUTION not in features or is_implicit(origin, to)


def is_up_cast(origin: DataType, to: DataType) -> bool:
    """Tell whether a cast loses nothing: STRICT allows no other (R-251)."""
    if origin == to:
        return True
    if origin in INTEGER_BITS:
        if isinstance(to, DecimalType):
            return to.precision - to.scale >= len(str(2 ** INTEGER_BITS[origin]))
        wider = to in INTEGER_BITS and INTEGER_BITS[origin] < INTEGER_BITS[to]
        return wider or to in (*_FLOATING, STRING)
    if isinstance(origin, DecimalType) and isinstance(to, DecimalType):
        return to.scale >= origin.scale and to.precision - to.scale >= origin.precision - origin.scale
    return (origin, to) in ((FLOAT, DOUBLE), (DATE, TIMESTAMP), (DATE, TIMESTAMP_NTZ), (DATE, STRING))


def is_implicit(origin: DataType, to: DataType) -> bool:
    """Tell whether there is an implicit cast, which schema evolution needs to keep the target's type (R-236)."""
    if to == STRING or (_is_number(origin) and _is_number(to)) or (origin in _TIMES and to in _TIMES):
        return True
    return origin == STRING and (_is_number(to) or to in (DATE, TIMESTAMP, BINARY))


def _is_number(data_type: DataType) -> bool:
    return data_type in INTEGER_BITS or data_type in _FLOATING or isinstance(data_type, DecimalType)


def castable(origin: DataType, to: DataType, *, misfits: bool) -> tuple[Value, ...]:
    """Return values of an atomic type that survive the cast to another; if ``misfits``, also some that do not."""
    return (*_fitting(origin, to), *(_misfits(origin, to) if misfits else ()))


def _fitting(origin: DataType, to: DataType) -> tuple[Value, ...]:
    if origin == STRING:
        return _TEXTS.get(to, ("1", "0", "-3.5", "2.756", "7"))
    if origin == DOUBLE:
        # halves and quarters are exact, so that every engine rounds them alike
        return (1.0, 0.0, 2.75, -2.75, 0.5, -0.0) if to in INTEGER_BITS else (1.5, 0.0, -2.25, 3.0)
    if origin == _CENTS:
        return _NUMBERS
    if origin == _FINE:
        return (Decimal("1.0000"), Decimal("1.2355"), Decimal("-0.0050"), Decimal("2.5000"))
    if origin == FLOAT:
        return (1.5, 0.0, -2.25, 3.0)
    if origin in INTEGER_BITS:
        return (1, 0, 2, -1, 7)
    return domain(origin)[:4]


_TEXTS: dict[DataType, tuple[Value, ...]] = {
    **dict.fromkeys(_INTEGERS, ("1", "0", "-1", "12", "7")),
    **dict.fromkeys(_FLOATING, ("1", "1.5", "-2", "0", "1e3")),
    BOOLEAN: ("true", "false", "TRUE", "f", "1", "no"),
    DATE: ("2020-01-01", "1969-12-31", "2020-02-29"),
    TIMESTAMP: ("2020-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2020-01-01"),
    BINARY: ("a", "", "é"),
}


def _misfits(origin: DataType, to: DataType) -> tuple[Value, ...]:
    if to == STRING:
        return ()
    if origin == STRING:
        return () if to == BINARY else ("x", "", "99999999999999999999999999999999999999999")
    if origin == DOUBLE and to != FLOAT:
        return (1e30, float("nan"), float("-inf"))
    if origin == BIGINT:
        return (2**40, -(2**62))
    if origin == TIMESTAMP and to in INTEGER_BITS:
        return (datetime(9999, 12, 31, tzinfo=UTC),)
    if origin == INT and (to in (TINYINT, SMALLINT) or isinstance(to, DecimalType)):
        return (2**31 - 1,)
    if origin == _CENTS and to in (TINYINT, SMALLINT):
        return (Decimal("99999999.99"),)
    if isinstance(origin, DecimalType) and isinstance(to, DecimalType):
        return (Decimal("99999999.9999"),)
    return (date.max,) if origin == DATE and to == TIMESTAMP else ()
