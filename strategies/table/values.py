"""Values of a type: everything that the type holds, simple values first.

Small overlapping values for keys and sums are in ``mergecheck.strategies.table.domains``.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timezone
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Literal

from hypothesis import strategies as st

from mergecheck.model.types import data_types as t
from mergecheck.strategies.choices import or_null

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

    from mergecheck.model.case import Value

_MAX_ELEMENTS = 3
_MAX_TEXT = 6
# Quotes, escapes, wildcards, path separators, letters whose case or normal form is special, four UTF-8 bytes.
_TEXTS = (
    *("a", "", "b", " a", "a ", "A", "it's", '"', "back\\slash", "`", "%", "a/b", "a=b", "line\nfeed", "\t"),
    *("NULL", "null", "0", "é", "e\u0301", "ß", "İ", "列", "🙂", "\u2028", "a\0b", "${x}", "--", "/*", ";"),
)
_LONG = "\u5217" * 32
# alike in what statistics keep of them, and greater than nearly every other text
LONG_TEXTS = (_LONG, _LONG + "a", _LONG + "b", _LONG + "\u00e9", _LONG[1:], _LONG + "\U0010ffff", "a")
"""Texts that differ behind their 32nd character, if at all."""

_DIGITS = Context(prec=76)
_NEAR = 200


def values(data_type: t.DataType, *, nullable: bool = False) -> SearchStrategy[Value]:
    """Return a strategy of a type's values; about one in five is NULL if ``nullable``.

    FLOAT values are exact in 32 bits; map keys are unique, never NULL or NaN. See ``model.case`` for the
    Python type of each SQL type. Values shrink to simple ones, such as 0, FALSE, "a" and empty lists, and not to NULL.

    Raises:
        ValueError: for a type that no table column has, such as VOID.
    """
    if data_type in _ATOMIC:
        return (_NULLABLE if nullable else _ATOMIC)[data_type]
    present = _nested(data_type)
    return or_null(present) if nullable else present


def _nested(data_type: t.DataType) -> SearchStrategy[Value]:
    match data_type:
        case t.DecimalType():
            return _decimals(data_type)
        case t.StructType(fields):
            return st.tuples(*(values(field.type, nullable=field.nullable) for field in fields))
        case t.ArrayType(element):
            return st.lists(values(element, nullable=True), max_size=_MAX_ELEMENTS).map(tuple)
        case t.MapType(key, value):
            # Spark takes -0.0 and 0.0 for one key of a map; so does Python's equality
            keys = values(key).filter(lambda drawn: drawn == drawn)  # noqa: PLR0124 - NaN is no key of a map
            return st.dictionaries(keys, values(value, nullable=True), max_size=_MAX_ELEMENTS).map(
                lambda entries: tuple(entries.items())
            )
    raise ValueError(f"{data_type.ddl()} is not a type of a table's column; use one of model.types")


def decimal(unscaled: int, scale: int) -> Decimal:
    """Return the decimal of ``unscaled`` units of 10 to the power of minus ``scale``, with exactly that scale."""
    return Decimal(unscaled).scaleb(-scale, context=_DIGITS)


def _mostly(listed: Sequence[Value], others: SearchStrategy[Value]) -> SearchStrategy[Value]:
    """Return a strategy of listed values, simplest first, and about one time in three of others."""
    return st.one_of(st.sampled_from(listed), st.sampled_from(listed), others)


def _decimals(data_type: t.DecimalType) -> SearchStrategy[Decimal]:
    largest = 10**data_type.precision - 1
    near = min(largest, _NEAR)
    unscaled = st.one_of(
        st.sampled_from((0, 1, -1, largest, -largest)), st.integers(-near, near), st.integers(-largest, largest)
    )
    return unscaled.map(lambda digits: decimal(digits, data_type.scale))


def _integers(bits: int) -> SearchStrategy[int]:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return _mostly((0, 1, -1, 2, -2, 3, -3, high, low, high - 1, low + 1), st.integers(low, high))


def _floats(width: Literal[32, 64], *, largest: float, least: float) -> SearchStrategy[float]:
    special = (0.0, -0.0, 1.0, -1.5, math.nan, math.inf, -math.inf, largest, -largest, least)
    # one NaN only: the bits of a NaN are not specified
    return _mostly(special, st.floats(width=width, allow_nan=False))


def _moments(zone: timezone | None) -> SearchStrategy[datetime]:
    edges = (
        datetime(2020, 1, 1, tzinfo=zone),
        datetime(1970, 1, 1, tzinfo=zone),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=zone),
        datetime.min.replace(tzinfo=zone),
        datetime.max.replace(tzinfo=zone),
    )
    near = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001 - the zone is added below
    return _mostly(edges, near.map(lambda moment: moment.replace(tzinfo=zone)))


def _dates() -> SearchStrategy[date]:
    edges = (date(2020, 1, 1), date(1970, 1, 1), date(1969, 12, 31), date(2020, 2, 29), date(1582, 10, 4))
    return _mostly((*edges, date(1582, 10, 15), date.min, date.max), st.dates(date(1920, 1, 1), date(2100, 1, 1)))


_ATOMIC: dict[t.DataType, SearchStrategy[Value]] = {
    t.BOOLEAN: st.sampled_from((False, True)),
    **{data_type: _integers(bits) for data_type, bits in t.INTEGER_BITS.items()},
    t.FLOAT: _floats(32, largest=2.0**127 * (2 - 2.0**-23), least=2.0**-149),
    t.DOUBLE: _floats(64, largest=2.0**1023 * (2 - 2.0**-52), least=2.0**-1074),
    t.STRING: _mostly(_TEXTS, st.text(st.characters(exclude_categories=["Cs"]), max_size=_MAX_TEXT)),
    t.BINARY: _mostly((b"a", b"", b"\x00", b"\xff\x00", b"'"), st.binary(max_size=_MAX_TEXT)),
    t.DATE: _dates(),
    t.TIMESTAMP: _moments(UTC),
    t.TIMESTAMP_NTZ: _moments(None),
}
_NULLABLE = {data_type: or_null(present) for data_type, present in _ATOMIC.items()}
