"""Unit tests of the values that columns are filled with."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from mergecheck.model.types.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from mergecheck.strategies import values
from mergecheck.strategies.table.domains import domain, neighbour

ATOMIC = (
    *(BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ),
    *(DecimalType(10, 2), DecimalType(38, 38), DecimalType(38, 0), DecimalType(1, 0)),
)
NESTED = (
    StructType((Field("a", INT), Field("b", StructType((Field("c", STRING),))))),
    ArrayType(DOUBLE),
    MapType(DOUBLE, ArrayType(INT)),
)
QUICK = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def fits(value: Any, data_type: Any) -> bool:
    """Return whether a value has the Python type that ``mergecheck.model.case`` promises."""
    match data_type:
        case StructType():
            return isinstance(value, tuple) and all(
                part is None or fits(part, field.type) for part, field in zip(value, data_type.fields, strict=True)
            )
        case ArrayType():
            return isinstance(value, tuple) and all(part is None or fits(part, data_type.element) for part in value)
        case MapType():
            keys = [key for key, _ in value]
            assert len(set(keys)) == len(keys)
            return all(key == key and fits(key, data_type.key) for key in keys)  # noqa: PLR0124 - NaN is no key
        case DecimalType():
            parts = value.as_tuple()
            short = len(parts.digits) <= data_type.precision
            return isinstance(value, Decimal) and parts.exponent == -data_type.scale and short
    if data_type == FLOAT and value == value:  # noqa: PLR0124 - NaN
        return bool(struct.unpack("f", struct.pack("f", value))[0] == value)
    if data_type == STRING:
        return isinstance(value, str) and value == value.encode().decode()
    if data_type == TIMESTAMP:
        return isinstance(value, datetime) and value.tzinfo is UTC
    if data_type == TIMESTAMP_NTZ:
        return isinstance(value, datetime) and value.tzinfo is None
    bits = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}.get(data_type)
    if bits:
        return type(value) is int and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)
    python: dict[object, type] = {BOOLEAN: bool, FLOAT: float, DOUBLE: float, BINARY: bytes, DATE: date}
    return type(value) is python[data_type]


@pytest.mark.parametrize("data_type", [*ATOMIC, *NESTED], ids=lambda data_type: data_type.ddl())
def test_values_are_what_the_case_promises(data_type: Any) -> None:
    """Every drawn value has the Python type, the range and the scale of its SQL type."""

    @QUICK
    @given(values(data_type))
    def check(value: object) -> None:
        assert fits(value, data_type)

    check()


@pytest.mark.parametrize(
    ("data_type", "wanted"),
    [
        (BIGINT, lambda value: value == -(2**63)),
        (TINYINT, lambda value: value == 127),
        (DOUBLE, lambda value: value != value),  # noqa: PLR0124 - NaN
        (FLOAT, lambda value: str(value) == "-0.0"),
        (DOUBLE, lambda value: value == float("-inf")),
        (STRING, lambda value: value == ""),
        (STRING, lambda value: "\0" in value),
        (STRING, lambda value: any(ord(character) > 0xFFFF for character in value)),
        (DATE, lambda value: value == date(9999, 12, 31)),
        (TIMESTAMP, lambda value: value.microsecond % 1000 != 0),
        (DecimalType(38, 0), lambda value: value == 10**38 - 1),
        (ArrayType(INT), lambda value: None in value),
        (MapType(STRING, INT), lambda value: any(item is None for _, item in value)),
    ],
)
def test_special_values_are_found(data_type: Any, wanted: Any) -> None:
    """The values that break engines are within easy reach."""
    try:
        find(values(data_type), wanted, settings=settings(QUICK, max_examples=2000))
    except NoSuchExample:
        pytest.fail(f"no such {data_type.ddl()} in 2000 draws")


def test_null_is_drawn_only_on_request() -> None:
    """Columns decide about NULL; values alone never are."""
    assert find(values(INT, nullable=True), lambda value: value is None, settings=QUICK) is None
    with pytest.raises(NoSuchExample):
        find(values(INT), lambda value: value is None, settings=QUICK)


def test_a_type_without_columns_is_refused() -> None:
    """VOID has no values to draw."""
    with pytest.raises(ValueError, match="VOID"):
        values(VOID)


@pytest.mark.parametrize("data_type", ATOMIC, ids=lambda data_type: data_type.ddl())
def test_small_domains_fit_their_type_and_every_partition(data_type: Any) -> None:
    """A small value is a value of the type, unlike its neighbours, and never the empty string (R-744)."""
    found = domain(data_type)
    assert all(fits(value, data_type) for value in found)
    assert "" not in found
    assert len({repr(value) for value in found}) == len(found) >= 2
    assert repr(neighbour(found[0], data_type, step=1)) != repr(found[0])


def test_neighbours_of_null_and_of_the_last_value() -> None:
    """NULL has no near miss; the last value has one."""
    assert neighbour(None, INT, step=1) is None
    assert neighbour(max(domain(INT)), INT, step=1) in domain(INT)


def test_nested_types_have_no_small_domain() -> None:
    """Nested columns are payload only."""
    with pytest.raises(ValueError, match="no small domain"):
        domain(ArrayType(INT))


@QUICK
@given(st.data())
def test_nullable_nested_values_stay_plain_data(data: st.DataObject) -> None:
    """A printed case can be read back: tuples all the way, no lists."""
    assert "[" not in repr(data.draw(values(NESTED[2], nullable=True)))
