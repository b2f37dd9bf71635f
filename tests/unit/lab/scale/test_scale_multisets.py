"""Multisets of rows compared in SQL: every planted difference is found, and nothing else is."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.lab.scale.multisets import ROWS_PER_PASS, Sums, compare_multisets, multiset_sums, num_passes
from mergecheck.harness.lab.scale.tables.spec import SCHEMA
from mergecheck.model.arrow import rows_to_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.lab.scale.multisets import MultisetDiff
    from mergecheck.model.case import Row

DAY = dt.date(2021, 3, 4)
ROWS: tuple[Row, ...] = (
    (1, 2, 3, Decimal("4.50"), 0.5, "a", DAY),
    (1, 2, 3, Decimal("4.50"), 0.5, "a", DAY),
    (2, None, None, None, None, None, None),
    (None, 7, 0, Decimal("0.00"), 0.0, "", DAY),
    (4, 7, 0, Decimal("-0.01"), math.nan, "ä", DAY),
    (5, 7, 0, Decimal("9.99"), -0.0, "b", DAY),
    (6, 7, 0, Decimal("9.99"), -math.inf, " b", DAY),
)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def query(connection: duckdb.DuckDBPyConnection, name: str, rows: tuple[Row, ...]) -> str:
    table = rows_to_table(rows, SCHEMA).rename_columns([f"c{i}" for i in range(len(SCHEMA.columns))])
    connection.register(f"{name}_rows", table)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM {name}_rows")
    return f"SELECT * FROM {name}"


def compared(
    connection: duckdb.DuckDBPyConnection, wanted: tuple[Row, ...], found: tuple[Row, ...], *, passes: int = 1
) -> MultisetDiff:
    queries = query(connection, "wanted", wanted), query(connection, "found", found)
    return compare_multisets(connection, *queries, SCHEMA, passes=passes)


def with_cell(number: int, place: int, value: Any) -> tuple[Row, ...]:
    row = ROWS[number]
    return (*ROWS[:number], (*row[:place], value, *row[place + 1 :]), *ROWS[number + 1 :])


@pytest.mark.parametrize("passes", [1, 3])
def test_equal_bags_agree_in_any_order(connection: duckdb.DuckDBPyConnection, passes: int) -> None:
    assert not compared(connection, ROWS, tuple(reversed(ROWS)), passes=passes)


@pytest.mark.parametrize("passes", [1, 5])
@pytest.mark.parametrize("number", range(len(ROWS)))
def test_a_missing_row_is_found(connection: duckdb.DuckDBPyConnection, number: int, passes: int) -> None:
    found = compared(connection, ROWS, ROWS[:number] + ROWS[number + 1 :], passes=passes)
    assert (1, 0) == (found.num_missing, found.num_extra)
    assert same_rows((ROWS[number],), found.missing, SCHEMA)
    assert (ROWS[number][0],) == found.keys


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_a_doubled_row_is_found(connection: duckdb.DuckDBPyConnection, number: int) -> None:
    found = compared(connection, ROWS, (*ROWS, ROWS[number], ROWS[number]))
    assert (0, 2) == (found.num_missing, found.num_extra)
    assert same_rows((ROWS[number],) * 2, found.extra, SCHEMA)


@pytest.mark.parametrize(
    ("number", "place", "value"),
    [
        pytest.param(0, 2, 4, id="another number"),
        pytest.param(0, 3, Decimal("4.51"), id="a cent"),
        pytest.param(0, 6, dt.date(2021, 3, 5), id="a day"),
        pytest.param(0, 0, None, id="no key"),
        pytest.param(2, 5, "", id="an empty text for NULL"),
        pytest.param(3, 5, None, id="NULL for an empty text"),
        pytest.param(2, 2, 0, id="zero for NULL"),
        pytest.param(2, 4, math.nan, id="NaN for NULL"),
        pytest.param(4, 4, None, id="NULL for NaN"),
        pytest.param(4, 4, math.inf, id="infinity for NaN"),
        pytest.param(5, 4, 0.0, id="the sign of zero"),
        pytest.param(3, 4, -0.0, id="another sign of zero"),
        pytest.param(6, 5, "b", id="a space"),
        pytest.param(4, 5, "a\N{COMBINING DIAERESIS}", id="another spelling of one letter"),
    ],
)
@pytest.mark.parametrize("passes", [1, 4])
def test_a_changed_cell_is_found(
    connection: duckdb.DuckDBPyConnection, number: int, place: int, value: Any, passes: int
) -> None:
    found = with_cell(number, place, value)
    difference = compared(connection, ROWS, found, passes=passes)
    assert (1, 1) == (difference.num_missing, difference.num_extra)
    assert same_rows((ROWS[number],), difference.missing, SCHEMA)
    assert same_rows((found[number],), difference.extra, SCHEMA)


def test_every_pair_of_bags_is_told_apart_as_the_comparator_of_small_cases_does(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """Cells have the identity of ``mergecheck.harness.compare.cell_identity``."""
    multisets = [ROWS[:i] + ROWS[j:] for i in range(len(ROWS)) for j in range(i, len(ROWS) + 1)]
    for left in multisets:
        right = multisets[0]
        same = Counter(row_identity(row, SCHEMA) for row in left) == Counter(row_identity(row, SCHEMA) for row in right)
        assert bool(compared(connection, left, right)) is not same


def test_swapped_cells_of_two_rows_are_found(connection: duckdb.DuckDBPyConnection) -> None:
    """Column by column, the multisets are equal."""
    left = ((1, 0, 0, None, None, "a", None), (2, 0, 0, None, None, "b", None))
    right = ((1, 0, 0, None, None, "b", None), (2, 0, 0, None, None, "a", None))
    assert compared(connection, left, right).num_missing == 2


def test_of_many_differences_all_are_counted_and_some_are_shown(connection: duckdb.DuckDBPyConnection) -> None:
    many = tuple((i, 0, 0, None, None, None, None) for i in range(100))
    found = compared(connection, many, (), passes=3)
    assert found.num_missing == 100
    assert [row[0] for row in found.missing] == list(range(40))


def test_sums_are_those_of_the_parts(connection: duckdb.DuckDBPyConnection) -> None:
    whole = multiset_sums(connection, query(connection, "whole", ROWS), SCHEMA)
    parts = [multiset_sums(connection, query(connection, "part", part), SCHEMA) for part in (ROWS[:3], ROWS[3:])]
    assert whole == parts[0] + parts[1]
    assert parts[1] == whole - parts[0]
    assert Sums(rows=7, first=whole.first, second=whole.second) == whole


@pytest.mark.parametrize(("number", "place", "value"), [(0, 2, 4), (3, 5, None), (5, 4, 0.0), (2, 4, math.nan)])
def test_sums_tell_a_changed_cell(connection: duckdb.DuckDBPyConnection, number: int, place: int, value: Any) -> None:
    one, other = (
        multiset_sums(connection, query(connection, "multiset", rows), SCHEMA)
        for rows in (ROWS, with_cell(number, place, value))
    )
    assert one.first != other.first
    assert one.second != other.second


def test_large_bags_take_several_passes() -> None:
    assert [1, 1, 2] == [num_passes(n) for n in (0, ROWS_PER_PASS, ROWS_PER_PASS + 1)]
