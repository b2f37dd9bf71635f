"""``USING (SELECT ...)``: the rows of a source that is a query (R-101), evaluated in DuckDB before the merge.

Each part of a query becomes a relation whose columns are ``c0``, ``c1``, ...; names live in the schema beside it.
Whatever the reference cannot decide is unsupported: limits, windows, grouping of floating-point values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from mergecheck.model.duckdb_rows import create_table, read_rows
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import Field, Schema
from mergecheck.reference.queries.query_reader import Reader, Rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from mergecheck.model.case import Row

_TABLE = "source_query_"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRelation:
    """A source of a merge.

    Attributes:
        rows: in any order.
        origins, qualifiers: as of ``mergecheck.reference.expressions.names.Relation``.
    """

    schema: Schema
    rows: tuple[Row, ...]
    origins: tuple[int, ...] | None = None
    qualifiers: tuple[str, ...] | None = None


def source_relation(
    query: exp.Expr,
    tables: Mapping[str, tuple[Schema, tuple[Row, ...]]],
    connection: duckdb.DuckDBPyConnection,
    *,
    case_sensitive: bool,
    named: bool = True,
) -> SourceRelation:
    """Evaluate the source query of a merge.

    Args:
        query: what stands in the parentheses after USING.
        tables: the tables that it may read, by lower-case name, with their rows before the merge (R-810).
        connection: a DuckDB whose time zone is UTC; temporary names are taken away again.
        case_sensitive: ``spark.sql.caseSensitive``.
        named: whether the names of the result matter.

    Raises:
        RejectedError: if Spark's analysis refuses the query.
        UnsupportedByReferenceError: if the reference has no meaning for it, or if it fails on some row.
    """
    known = {
        name: Rows(
            sql=f"SELECT {_columns(len(schema.columns))} FROM {_TABLE}{name}",
            schema=schema.plain,
        )
        for name, (schema, _) in tables.items()
    }
    result = Reader(case_sensitive=case_sensitive).read(query, known, named=named)
    try:
        for name, (schema, rows) in tables.items():
            if not schema.columns:
                continue
            columns = tuple(Field(f"c{i}", column.type) for i, column in enumerate(schema.columns))
            create_table(connection, f"{_TABLE}{name}", rows, Schema(columns))
        for probe in result.probes:
            # counted and not fetched: the client cannot give every value to Python
            connection.execute(f"SELECT count(COLUMNS(*)) FROM ({probe})").fetchall()
        found = read_rows(connection, result.sql, result.schema)
    except duckdb.Error:
        raise UnsupportedByReferenceError("a source query that fails on some row") from None
    finally:
        for name in tables:
            connection.execute(f"DROP TABLE IF EXISTS {_TABLE}{name}")
    return SourceRelation(
        schema=result.schema,
        rows=found,
        origins=result.origins,
        qualifiers=result.qualifiers,
    )


def _columns(width: int) -> str:
    return ", ".join(f"c{i}" for i in range(width))
