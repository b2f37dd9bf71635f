"""Rows of a case go into DuckDB and come back as they were, whatever their types (R-801 to R-807)."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.engines.duckdb.worker import plain
from mergecheck.model.arrow import rows_to_table, table_to_rows
from mergecheck.model.duckdb_rows import as_carrier, create_table, from_carriers, read_rows
from mergecheck.model.types.ddl import parse_schema
from mergecheck.strategies import values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

QUICK = settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
UTC = dt.UTC
ATOMIC: dict[str, tuple[Any, ...]] = {
    "BOOLEAN": (True, False),
    "TINYINT": (-128, 127),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INT": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "FLOAT": (0.0, -0.0, math.nan, math.inf, -math.inf, 3.4028234663852886e38, 1.401298464324817e-45),
    "DOUBLE": (0.0, -0.0, math.nan, math.inf, -math.inf, 1.7976931348623157e308, 5e-324, 0.1),
    "STRING": ("", " a ", "a\x00b", "\U0001f600\u0301", "'\"\\", "NULL", "\\x00"),
    "BINARY": (b"", b"\x00\xff", b"a'\"\\ \\x00 b", bytes(range(256))),
    "DATE": (dt.date.min, dt.date.max, dt.date(1582, 10, 10), dt.date(1970, 1, 1)),
    "TIMESTAMP": (
        dt.datetime.min.replace(tzinfo=UTC),
        dt.datetime.max.replace(tzinfo=UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        dt.datetime(2024, 3, 31, 2, 30, 0, 100, UTC),
    ),
    "TIMESTAMP_NTZ": tuple(
        map(dt.datetime.fromisoformat, ("0001-01-01", "9999-12-31T23:59:59.999999", "2024-03-31T02:30:00.0001"))
    ),
    "DECIMAL(38,0)": (Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0)),
    "DECIMAL(38,38)": (Decimal("0." + "9" * 38), Decimal("-0." + "0" * 37 + "1")),
    "DECIMAL(5,2)": (Decimal("999.99"), Decimal("-0.01"), Decimal("1.50")),
}
NESTED = (
    "ARRAY<DATE>",
    "ARRAY<ARRAY<BINARY>>",
    "STRUCT<a: INT, t: TIMESTAMP, n: STRUCT<b: DECIMAL(4, 1), `c d`: STRING>>",
    "ARRAY<STRUCT<a: INT, l: ARRAY<DOUBLE>>>",
    "MAP<STRING, ARRAY<TIMESTAMP>>",
    "MAP<INT, STRUCT<a: DECIMAL(3, 0), m: MAP<STRING, INT>>>",
    "MAP<STRING, MAP<BOOLEAN, FLOAT>>",
    "MAP<DATE, BINARY>",
    "MAP<STRUCT<a: DATE>, DATE>",
    "MAP<ARRAY<TIMESTAMP_NTZ>, STRUCT<b: BINARY>>",
)


@pytest.fixture(scope="module")
def connection() -> Iterator[DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def check_exact(rows: Sequence[Row], schema: Schema, connection: DuckDBPyConnection) -> None:
    """Compare the values that come back with those that went in, also as JSON, and DuckDB's values with Arrow's."""
    create_table(connection, "given", rows, schema)
    wanted = [row_identity(row, schema) for row in rows]
    assert [row_identity(row, schema) for row in read_rows(connection, "SELECT * FROM given", schema)] == wanted
    connection.register("arrow_rows", rows_to_table(rows, schema))
    assert connection.sql("FROM given").types == connection.sql("FROM arrow_rows").types
    both = (connection.sql(f"SELECT * FROM {name}").to_arrow_table() for name in ("given", "arrow_rows"))
    ours, arrows = ([row_identity(row, schema) for row in table_to_rows(table, schema)] for table in both)
    assert ours == arrows == wanted
    carriers = ", ".join(as_carrier(f"#{i}", column.type) for i, column in enumerate(schema.columns, start=1))
    answer = json.dumps(plain(connection.sql("FROM given").project(carriers).fetchall()))
    assert [row_identity(row, schema) for row in from_carriers(json.loads(answer), schema)] == wanted


@pytest.mark.parametrize("ddl", ATOMIC)
def test_the_edges_of_each_type_come_back(ddl: str, connection: DuckDBPyConnection) -> None:
    """By themselves, and inside of arrays, structs, and maps, beside NULL."""
    rows = [(value,) for value in (*ATOMIC[ddl], None)]
    check_exact(rows, parse_schema(f"v {ddl}"), connection)
    check_exact([((value, None),) for (value,) in rows], parse_schema(f"v ARRAY<{ddl}>"), connection)
    check_exact([((value, 1),) for (value,) in rows], parse_schema(f"v STRUCT<`a b`: {ddl}, c: INT>"), connection)
    check_exact([((("k", value),),) for (value,) in rows], parse_schema(f"v MAP<STRING, {ddl}>"), connection)
    check_exact([(((value, 1),),) for (value,) in rows[:-1]], parse_schema(f"v MAP<{ddl}, INT>"), connection)


@pytest.mark.parametrize("ddl", [*ATOMIC, *NESTED])
def test_drawn_values_come_back(ddl: str, connection: DuckDBPyConnection) -> None:
    """NULL at every depth, empty arrays and maps, structs of NULLs, no rows at all."""
    schema = parse_schema(f"v {ddl}")

    @QUICK
    @given(st.lists(values(schema.columns[0].type, nullable=True), max_size=6))
    def check(cells: list[Any]) -> None:
        check_exact([(cell,) for cell in cells], schema, connection)

    check()


@pytest.mark.parametrize(
    ("ddl", "sql"),
    [
        ("v DATE", "'infinity'::DATE"),
        ("v DATE", "'10000-01-01'::DATE"),
        ("v DATE", "make_date(0, 1, 1)"),
        ("v TIMESTAMP", "'-infinity'::TIMESTAMPTZ"),
        ("v TIMESTAMP", "'290000-01-01'::TIMESTAMPTZ"),
        ("v TIMESTAMP_NTZ", "'infinity'::TIMESTAMP"),
        ("v ARRAY<TIMESTAMP_NTZ>", "['10000-01-01'::TIMESTAMP]"),
    ],
)
def test_a_time_that_no_case_holds_is_an_error(ddl: str, sql: str, connection: DuckDBPyConnection) -> None:
    """To Python, DuckDB gives the last day of the year 9999 for an infinite date, and a text for a later one."""
    with pytest.raises(ValueError, match="isoformat"):
        read_rows(connection, f"SELECT {sql}", parse_schema(ddl))


@pytest.mark.parametrize(
    ("ddl", "sql"),
    [
        ("v INT", "1::BIGINT"),
        ("v DECIMAL(5,2)", "1.5::DECIMAL(5,1)"),
        ("v TIMESTAMP", "'2020-01-01'::TIMESTAMP"),
        ("v STRUCT<a: DATE>", "{'a': '2020-01-01'::DATE, 'b': 1}"),
        ("v STRUCT<a: DATE, b: DATE>", "{'b': '2020-01-01'::DATE, 'a': '2020-01-02'::DATE}"),
        ("v INT, w INT", "1"),
    ],
)
def test_a_query_of_other_types_is_not_read(ddl: str, sql: str, connection: DuckDBPyConnection) -> None:
    """A cast could lose digits, and would give the fields of a struct by their names."""
    with pytest.raises(TypeError, match="the query gives"):
        read_rows(connection, f"SELECT {sql}", parse_schema(ddl))


@pytest.mark.parametrize(
    ("ddl", "sql", "value"), [("v VOID", "NULL", None), ("v STRUCT<`NULL`: INT>", "{'NULL': 1}", (1,))]
)
def test_an_untyped_null_of_a_query_is_read(ddl: str, sql: str, value: Any, connection: DuckDBPyConnection) -> None:
    """DuckDB calls its type "NULL"; a field may have that name."""
    assert read_rows(connection, f"SELECT {sql}", parse_schema(ddl)) == ((value,),)


@pytest.mark.parametrize(
    ("ddl", "value"),
    [
        ("v STRING", 1),
        ("v INT", "1"),
        ("v DATE", "2020-01-01"),
        ("v DECIMAL(3,1)", 1),
        ("v BINARY", "a"),
        ("v ARRAY<STRING>", (b"a",)),
        ("v VOID", 1),
    ],
)
def test_a_value_of_another_kind_is_not_written(ddl: str, value: Any, connection: DuckDBPyConnection) -> None:
    with pytest.raises(TypeError, match=" is no "):
        create_table(connection, "given", [(value,)], parse_schema(ddl))


@pytest.mark.parametrize(
    ("ddl", "value"), [("v TINYINT", 128), ("v DECIMAL(3,1)", Decimal("1.25")), ("v DECIMAL(3,1)", Decimal(100))]
)
def test_a_value_beyond_its_type_is_not_written(ddl: str, value: Any, connection: DuckDBPyConnection) -> None:
    with pytest.raises((duckdb.Error, ValueError)):
        create_table(connection, "given", [(value,)], parse_schema(ddl))
