"""Rows of a case become Arrow tables and come back as they were, whatever their types (R-801 to R-807)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.model.arrow import rows_to_table, table_to_rows
from mergecheck.model.types.ddl import parse_schema
from mergecheck.strategies import values

COLUMNS = (
    "d DECIMAL(5, 2)",
    "t TIMESTAMP",
    "s STRUCT<a: INT, t: TIMESTAMP, n: STRUCT<b: DECIMAL(4, 1), c: STRING>>",
    "l ARRAY<STRUCT<a: INT, l: ARRAY<DOUBLE>>>",
    "m MAP<STRING, ARRAY<TIMESTAMP>>",
    "k MAP<INT, STRUCT<a: DECIMAL(3, 0), m: MAP<STRING, INT>>>",
)
QUICK = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("ddl", COLUMNS)
def test_values_come_back(ddl: str) -> None:
    """NULL at every depth, empty arrays and maps, structs of NULLs."""
    schema = parse_schema(ddl)

    @QUICK
    @given(st.lists(values(schema.columns[0].type, nullable=True), max_size=6))
    def check(cells: list[Any]) -> None:
        rows = tuple((cell,) for cell in cells)
        again = table_to_rows(rows_to_table(rows, schema), schema)
        assert [row_identity(row, schema) for row in again] == [row_identity(row, schema) for row in rows]

    check()


@pytest.mark.parametrize(
    ("ddl", "value"),
    [
        ("l ARRAY<INT>", ()),
        ("l ARRAY<ARRAY<INT>>", ((), None, (None,), (1, 2))),
        ("m MAP<STRING, INT>", ()),
        ("s STRUCT<a: INT, b: STRING>", (None, None)),
        ("s STRUCT<a: STRUCT<b: INT>>", (None,)),
    ],
)
def test_what_is_empty_is_not_null(ddl: str, value: Any) -> None:
    """Beside NULL, and beside others that are not empty."""
    schema = parse_schema(ddl)
    rows = ((value,), (None,), (value,))
    assert table_to_rows(rows_to_table(rows, schema), schema) == rows


def test_decimals_get_the_scale_of_their_type() -> None:
    """Also where Arrow hands them out with another one."""
    table = pa.table({"d": pa.array([Decimal("1.5"), None], type=pa.decimal128(5, 1))})
    ((one,), (null,)) = table_to_rows(table, parse_schema("d DECIMAL(5, 2)"))
    assert (str(one), null) == ("1.50", None)
