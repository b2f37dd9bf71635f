"""Values of a type: everything that the type holds, simple values first.

Small overlapping values for keys and arithmetic live in ``mergecheck.strategies.tables.domains``.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Context, Decimal
from functools import cache
from typing import TYPE_CHECKING, Literal

from hypothesis import strategies as st

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
    ArrayType,
    DecimalType,
    MapType,
    StructType,
)
from mergecheck.strategies.choices.options import one_of, or_null, with_further

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from mergecheck.reference.case.model import Value
    from mergecheck.reference.types.data_types import DataType
    from mergecheck.strategies.choices.options import Options

_EPOCH = date(2020, 1, 1)
_MOMENT = datetime(2020, 1, 1, tzinfo=UTC)
_DATE_SPAN = 365 * 100
_MICROSECONDS = 120 * 365 * 86_400 * 10**6
_MAX_ELEMENTS = 3
_MAX_TEXT = 6
# Quotes, escapes, wildcards, path separators, letters whose case or normal form is special, four UTF-8 bytes.
_TEXTS = (
    "a",
    "",
    "b",
    " a",
    "a ",
    "A",
    "it's",
    '"',
    "back\\slash",
    "`",
    "%",
    "a/b",
    "a=b",
    "line\nfeed",
    "\t",
    "NULL",
    "null",
    "0",
    "é",
    "e\u0301",
    "ß",
    "İ",
    "列",
    "🙂",
    "\u2028",
    "a\0b",
    "${x}",
    "--",
    "/*",
    ";",
)  # fmt: skip - one list of texts
_LONG = "\u5217" * 32
# alike in what statistics keep of them, and greater than nearly every other text
LONG_TEXTS = (_LONG, _LONG + "a", _LONG + "b", _LONG + "\u00e9", _LONG[1:], _LONG + "\U0010ffff", "a")
"""Texts that differ behind their 32nd character, if at all."""

_DIGITS = Context(prec=76)
_SINGLE = 32
_LARGEST_SINGLE = 2.0**127 * (2 - 2.0**-23)
_LARGEST_DOUBLE = 2.0**1023 * (2 - 2.0**-52)


@cache
def values(data_type: DataType, *, nullable: bool = False) -> SearchStrategy[Value]:
    """Return a strategy of a type's values; about one in five is NULL where ``nullable``.

    FLOAT values are exact in 32 bits; map keys are unique, never NULL or NaN. See ``reference.case.model`` for the
    Python type of each SQL type.

    Raises:
        ValueError: for a type that no table column has, such as VOID.
    """
    options = value_options(data_type)
    return one_of(or_null(options) if nullable else options)


@cache
def value_options(data_type: DataType) -> Options:
    """Return what ``values`` draws from, NULL left out.

    Raises:
        ValueError: for a type that no table column has, such as VOID.
    """
    if data_type == BOOLEAN:
        return (False, True)
    if data_type in INTEGER_BITS:
        return _integers(INTEGER_BITS[data_type])
    if isinstance(data_type, DecimalType):
        return _decimals(data_type)
    if data_type in (FLOAT, DOUBLE):
        return _floats(32 if data_type == FLOAT else 64)
    if data_type == STRING:
        return with_further(_TEXTS, st.text(st.characters(exclude_categories=["Cs"]), max_size=_MAX_TEXT))
    if data_type == BINARY:
        return with_further((b"a", b"", b"\x00", b"\xff\x00", b"'"), st.binary(max_size=_MAX_TEXT))
    if data_type == DATE:
        return _dates()
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        return _moments(UTC if data_type == TIMESTAMP else None)
    return (_nested(data_type),)


def _nested(data_type: DataType) -> SearchStrategy[Value]:
    if isinstance(data_type, StructType):
        return st.tuples(*(values(field.type, nullable=field.nullable) for field in data_type.fields))
    if isinstance(data_type, ArrayType):
        return _listed(values(data_type.element, nullable=True))
    if isinstance(data_type, MapType):
        keys = values(data_type.key).filter(lambda key: key == key)  # noqa: PLR0124 - NaN is no key of a map
        # Spark takes -0.0 and 0.0 for one key of a map; so does Python's equality
        return _pairs(keys, values(data_type.value, nullable=True))
    raise ValueError(f"{data_type.ddl()} is not a type of a table's column; use one of reference.types")


@st.composite
def _listed(draw: st.DrawFn, elements: SearchStrategy[Value]) -> tuple[Value, ...]:
    return tuple(draw(st.lists(elements, max_size=_MAX_ELEMENTS)))


@st.composite
def _pairs(
    draw: st.DrawFn, keys: SearchStrategy[Value], items: SearchStrategy[Value]
) -> tuple[tuple[Value, Value], ...]:
    drawn = draw(st.lists(st.tuples(keys, items), max_size=_MAX_ELEMENTS))
    return tuple(dict(drawn).items())


def _integers(bits: int) -> Options:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return with_further((0, 1, -1, 2, -2, 3, -3, high, low, high - 1, low + 1), st.integers(low, high))


def _decimals(data_type: DecimalType) -> Options:
    most = 10**data_type.precision - 1
    near = min(most, 200)
    return with_further(
        tuple(decimal(digits, data_type.scale) for digits in (0, 1, -1, most, -most)),
        *(
            st.integers(-largest, largest).map(lambda digits: decimal(digits, data_type.scale))
            for largest in (near, most)
        ),
    )


def decimal(unscaled: int, scale: int) -> Decimal:
    """Return the decimal of ``unscaled`` units of 10 to the power of minus ``scale``, with exactly that scale."""
    return Decimal(unscaled).scaleb(-scale, context=_DIGITS)


def _floats(width: Literal[32, 64]) -> Options:
    largest, least = (_LARGEST_SINGLE, 2.0**-149) if width == _SINGLE else (_LARGEST_DOUBLE, 2.0**-1074)
    special = (0.0, -0.0, 1.0, -1.5, math.nan, math.inf, -math.inf, largest, -largest, least)
    # one NaN only: what bits a NaN carries is nobody's promise
    return with_further(special, st.floats(width=width, allow_nan=False))


def _dates() -> Options:
    edges = (_EPOCH, date(1970, 1, 1), date(1969, 12, 31), date(2020, 2, 29), date(1582, 10, 4), date(1582, 10, 15))
    near = st.integers(-_DATE_SPAN, _DATE_SPAN * 4 // 5).map(lambda days: _EPOCH + timedelta(days=days))
    return with_further((*edges, date.min, date.max), near)


def _moments(zone: tzinfo | None) -> Options:
    edges = (
        _MOMENT,
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    )
    near = st.integers(-_MICROSECONDS, _MICROSECONDS * 2 // 3).map(
        lambda microseconds: (_MOMENT + timedelta(microseconds=microseconds)).replace(tzinfo=zone)
    )
    return with_further(tuple(moment.replace(tzinfo=zone) for moment in edges), near)
