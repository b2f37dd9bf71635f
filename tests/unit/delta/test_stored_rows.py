"""Rows of data files: a value inside of another one has the type of the table's schema, or the file is unreadable."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from mergecheck.harness.delta.tables.stored_rows import rows_in
from mergecheck.model.types.ddl import parse_schema

FILE = {"path": "part-0.parquet"}
MOMENT = dt.datetime(2020, 1, 2, tzinfo=dt.UTC)


def rows(ddl: str, value: object, found: pa.DataType) -> tuple[tuple[object, ...], ...]:
    return rows_in(pa.table({"c": pa.array([value], found)}), FILE, schema=parse_schema(ddl), partition_by=())


@pytest.mark.parametrize(
    ("ddl", "value", "found"),
    [
        ("c ARRAY<DECIMAL(10,2)>", [1.5], pa.list_(pa.float64())),
        ("c ARRAY<DECIMAL(10,2)>", ["1.5"], pa.list_(pa.string())),
        ("c STRUCT<a: DECIMAL(10,2)>", {"a": 1.5}, pa.struct([("a", pa.float64())])),
        ("c MAP<STRING, DECIMAL(10,2)>", [("a", 1.5)], pa.map_(pa.string(), pa.float64())),
        ("c ARRAY<TIMESTAMP>", [5], pa.list_(pa.int64())),
        ("c STRUCT<a: STRUCT<b: INT>>", {"a": 1}, pa.struct([("a", pa.int32())])),
        ("c ARRAY<INT>", 1, pa.int32()),
        ("c MAP<STRING, INT>", ["a"], pa.list_(pa.string())),
    ],
)
def test_a_value_inside_has_the_type_of_the_schema(ddl: str, value: object, found: pa.DataType) -> None:
    with pytest.raises(ValueError, match="a data file holds"):
        rows(ddl, value, found)


def test_earlier_types_and_variants_of_a_type_are_read() -> None:
    """R-716: files keep the types of before a column was widened; text types and units of time are the writer's."""
    assert rows("c ARRAY<DECIMAL(12,2)>", [Decimal("1.50")], pa.list_(pa.decimal128(10, 2))) == (((Decimal("1.50"),),),)
    assert rows("c ARRAY<DECIMAL(12,0)>", [7], pa.list_(pa.int32())) == (((Decimal(7),),),)
    assert rows("c ARRAY<TIMESTAMP>", [MOMENT], pa.list_(pa.timestamp("ms", "UTC"))) == (((MOMENT,),),)
    assert rows("c ARRAY<STRING>", ["a"], pa.large_list(pa.large_string())) == ((("a",),),)
    assert rows("c STRUCT<a: ARRAY<INT>>", None, pa.struct([("a", pa.list_(pa.int32()))])) == ((None,),)
