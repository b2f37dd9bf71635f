"""Which values are one value: SQL and Python differ, in both directions."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from typing import Any

import pytest

from mergecheck.harness.compare.cell_identity import cell_identity, row_identity
from mergecheck.model.types import data_types as types
from mergecheck.model.types.ddl import parse_schema

NAN = float("nan")
(OTHER_NAN,) = struct.unpack(">d", bytes.fromhex("fff8000000000001"))
UTC_NOON = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
ELSEWHERE = dt.datetime(2020, 1, 1, 14, tzinfo=dt.timezone(dt.timedelta(hours=2)))
NAIVE_NOON = UTC_NOON.replace(tzinfo=None)


def test_values_of_equal_look_have_different_identities() -> None:
    """Python calls these equal; SQL types them apart."""
    values = [1, True, 1.0, Decimal(1), Decimal("1.0"), Decimal("1.00"), "1", b"1", (1,), None]
    identities = {cell_identity(value, types.INT) for value in values}
    assert len(identities) == len(values)


def test_values_of_two_types_are_never_one() -> None:
    """Where an engine's column has another type than the wanted one, its cells are identified by that type."""
    midnight = dt.datetime(2020, 1, 1)  # noqa: DTZ001 - a TIMESTAMP_NTZ
    cells: list[tuple[types.DataType, Any]] = [
        (types.INT, 1),
        (types.BOOLEAN, True),
        (types.DOUBLE, 1.0),
        (types.DecimalType(3, 0), Decimal(1)),
        (types.STRING, "1"),
        (types.BINARY, b"1"),
        (types.DATE, midnight.date()),
        (types.TIMESTAMP_NTZ, midnight),
        (types.TIMESTAMP, midnight.replace(tzinfo=dt.UTC)),
        (types.STRING, str(midnight.date())),
        (types.STRING, "2020-01-01 00:00:00"),
        (types.BINARY, struct.pack(">d", 1.0)),
    ]
    assert len({cell_identity(value, data_type) for data_type, value in cells}) == len(cells)
    assert cell_identity(1, types.INT) == cell_identity(1, types.BIGINT)


@pytest.mark.parametrize(
    ("ddl", "left", "right", "same"),
    [
        ("DOUBLE", NAN, OTHER_NAN, True),
        ("DOUBLE", 0.0, -0.0, False),
        ("DECIMAL(3,1)", Decimal("0.0"), Decimal("-0.0"), True),
        ("DECIMAL(3,1)", Decimal("1.0"), Decimal("-1.0"), False),
        ("TIMESTAMP", UTC_NOON, ELSEWHERE, True),
        ("TIMESTAMP", UTC_NOON, NAIVE_NOON, False),
        ("TIMESTAMP", dt.datetime.min.replace(tzinfo=ELSEWHERE.tzinfo), dt.datetime.min.replace(tzinfo=dt.UTC), False),
        ("DATE", dt.date(2020, 1, 1), dt.date(2020, 1, 2), False),
        ("STRING", "a", "A", False),
        ("STRING", "", None, False),
        ("BINARY", b"a", b"a", True),
        ("STRUCT<a: DOUBLE>", (NAN,), (OTHER_NAN,), True),
        ("STRUCT<a: INT>", (None,), None, False),
        ("STRUCT<a: INT, b: INT>", (1, 2), (1, 3), False),
        ("STRUCT<a: INT, b: INT>", (1, 2), (1,), False),
        ("STRUCT<a: INT, b: INT>", (1, 2), (1, 2, 3), False),
        ("ARRAY<DOUBLE>", (NAN, 1.0), (OTHER_NAN, 1.0), True),
        ("ARRAY<INT>", (1, 2), (2, 1), False),
        ("ARRAY<INT>", (), None, False),
        ("MAP<STRING, INT>", (("a", 1), ("b", 2)), (("b", 2), ("a", 1)), True),
        ("MAP<STRING, INT>", (("a", 1), ("b", 2)), (("a", 2), ("b", 1)), False),
        ("MAP<STRING, INT>", (("a", 1), ("a", 1)), (("a", 1),), False),
        ("MAP<STRING, INT>", (), None, False),
        ("STRUCT<m: MAP<STRING, INT>>", ((("a", 1), ("b", 2)),), ((("b", 2), ("a", 1)),), True),
        ("ARRAY<MAP<STRING, INT>>", ((("a", 1), ("b", 2)),), ((("b", 2), ("a", 1)),), True),
    ],
)
def test_one_value_or_two(ddl: str, left: Any, right: Any, same: bool) -> None:  # noqa: FBT001 - the answer
    """R-801 to R-807: NaN, zeros, instants, maps without order, NULL and empty values."""
    data_type = parse_schema(f"c {ddl}").columns[0].type
    assert (cell_identity(left, data_type) == cell_identity(right, data_type)) is same
    assert cell_identity(left, data_type) == cell_identity(left, data_type)


@pytest.mark.parametrize("ddl", ["INT", "STRUCT<a: INT>", "ARRAY<INT>", "MAP<STRING, INT>"])
@pytest.mark.parametrize("value", [[1], {"a": 1}, (("a", 1, 2),), ("a",), object])
def test_what_no_value_of_the_type_is_can_be_compared_too(ddl: str, value: Any) -> None:
    """A broken engine may hand out anything."""
    data_type = parse_schema(f"c {ddl}").columns[0].type
    assert hash(cell_identity(value, data_type)) == hash(cell_identity(value, data_type))
    assert cell_identity(value, data_type) is not None


def test_cells_beyond_the_schema_are_told_apart() -> None:
    """By their Python types and texts; NULL is NULL."""
    schema = parse_schema("a INT")
    rows = [(1,), (1, "x"), (1, "y"), (1, 1), (1, None), (1, ["x"])]
    assert len({row_identity(row, schema) for row in rows}) == len(rows)
    assert row_identity((1, None), schema) == (*row_identity((1,), schema), None)


def test_a_row_without_columns() -> None:
    """A table may have no columns (R-823)."""
    assert row_identity((), parse_schema("")) == ()
