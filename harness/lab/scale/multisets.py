"""Compare two multisets of rows in SQL, however large: exactly, and within the memory of one pass.

Rows are grouped by all of their cells, wanted rows counted up and found ones down; what does not come to zero differs.
That needs memory for the distinct rows, so it is done in passes over a part of the rows each, chosen by a hash of the
first cell: equal rows always meet in the same pass. Two zeros differ by their sign, NaN equals NaN (as in
``mergecheck.harness.compare.cell_identity``); texts are compared by their bytes.

The sums of a multiset (its number of rows, and two sums of hashes) serve invariants about three multisets. Multisets of
different sums differ for certain; different multisets have equal sums only if 128 bits collide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.model.arrow import table_to_rows
from mergecheck.model.types.data_types import DOUBLE, FLOAT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

ROWS_PER_PASS = 40_000_000
"""Of both multisets together."""
MAX_ROWS_FETCHED = 40
_DIFFERENCE = "multiset_diff"


@dataclass(frozen=True, slots=True, kw_only=True)
class MultisetDiff:
    """How two multisets of rows differ.

    Attributes:
        num_missing: rows that are wanted and not there, occurrence by occurrence. num_extra: the other way round.
        missing: the first of them. extra: the same.
        keys: the distinct values of the key column in the first rows that differ, of both sorts.
    """

    num_missing: int
    num_extra: int
    missing: tuple[Row, ...]
    extra: tuple[Row, ...]
    keys: tuple[Any, ...]

    def __bool__(self) -> bool:
        return bool(self.num_missing or self.num_extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """The sums of a multiset of rows; the sums of a union are the sums of its parts."""

    rows: int
    first: int
    second: int

    def __add__(self, other: Sums) -> Sums:
        return Sums(rows=self.rows + other.rows, first=self.first + other.first, second=self.second + other.second)

    def __sub__(self, other: Sums) -> Sums:
        return Sums(rows=self.rows - other.rows, first=self.first - other.first, second=self.second - other.second)


def num_passes(num_rows: int) -> int:
    """Return in how many passes multisets of so many rows are compared."""
    return max(1, -(-num_rows // ROWS_PER_PASS))


def compare_multisets(
    connection: DuckDBPyConnection, wanted: str, found: str, schema: Schema, *, passes: int = 1
) -> MultisetDiff:
    """Compare the rows of two queries.

    Args:
        connection: keeps the differing rows in a temporary table meanwhile.
        wanted: a query; it has the columns of the schema in order, under the names c0, c1, ...
        found: another one.
        schema: the types of the columns; the first one is the key.
        passes: into how many parts the rows are split.
    """
    width = len(schema.columns)
    columns = ", ".join(f"c{i}" for i in range(width))
    grouped = ", ".join([columns, *_signs(schema)])
    connection.execute(f"DROP TABLE IF EXISTS {_DIFFERENCE}")
    for number in range(passes):
        here = "" if passes == 1 else f"WHERE hash(c0) % {passes} = {number}"
        both = f"SELECT {columns}, 1 AS n FROM ({wanted}) {here} UNION ALL SELECT {columns}, -1 FROM ({found}) {here}"
        query = f"SELECT {columns}, CAST(sum(n) AS BIGINT) AS n FROM ({both}) GROUP BY {grouped} HAVING sum(n) <> 0"
        how = f"INSERT INTO {_DIFFERENCE}" if number else f"CREATE TEMP TABLE {_DIFFERENCE} AS"
        connection.execute(f"{how} {query}")
    try:
        return _read(connection, columns, schema)
    finally:
        connection.execute(f"DROP TABLE {_DIFFERENCE}")


def _read(connection: DuckDBPyConnection, columns: str, schema: Schema) -> MultisetDiff:
    missing, extra = connection.execute(
        f"SELECT coalesce(sum(greatest(n, 0)), 0), coalesce(sum(greatest(-n, 0)), 0) FROM {_DIFFERENCE}"
    ).fetchall()[0]
    keys = f"SELECT DISTINCT c0 FROM {_DIFFERENCE} ORDER BY c0 NULLS LAST LIMIT {MAX_ROWS_FETCHED}"

    def rows(condition: str) -> tuple[Row, ...]:
        occurrences = f"FROM {_DIFFERENCE}, range(abs(n)) WHERE {condition}"
        query = f"SELECT {columns} {occurrences} ORDER BY ALL NULLS LAST LIMIT {MAX_ROWS_FETCHED}"
        return table_to_rows(connection.sql(query).to_arrow_table(), schema)

    return MultisetDiff(
        num_missing=int(missing),
        num_extra=int(extra),
        missing=rows("n > 0"),
        extra=rows("n < 0"),
        keys=tuple(key for (key,) in connection.execute(keys).fetchall()),
    )


def multiset_sums(connection: DuckDBPyConnection, rows: str, schema: Schema) -> Sums:
    """Sum up the rows of a query whose columns are c0, c1, ..."""
    cells = [*(f"c{i}" for i in range(len(schema.columns))), *_signs(schema)]
    first, second = f"hash({', '.join(cells)})", f"hash('again', {', '.join(reversed(cells))})"
    query = f"SELECT count(*), coalesce(sum({first}), 0), coalesce(sum({second}), 0) FROM ({rows})"
    number, one, two = connection.execute(query).fetchall()[0]
    return Sums(rows=int(number), first=int(one), second=int(two))


def _signs(schema: Schema) -> list[str]:
    """Distinguish -0.0 from 0.0, which DuckDB takes for equal; the sign of NaN means nothing."""
    floating = [i for i, column in enumerate(schema.columns) if column.type in (DOUBLE, FLOAT)]
    return [f"(c{i} = 0 AND signbit(c{i}))" for i in floating]
