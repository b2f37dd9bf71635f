"""The two sides of a merge by their names: tables of the case, or a query over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.case.layout import physical_rows
from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.queries.source_query import SourceRelation, source_relation
from mergecheck.reference.types.data_types import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.reference.asked.asker import Asker
    from mergecheck.reference.case.model import Case, Row, Value
    from mergecheck.reference.syntax.statement import Statement
    from mergecheck.reference.types.data_types import DataType, Schema

TARGET_NAME, SOURCE_NAME = "target", "source"


def known_tables(case: Case) -> dict[str, tuple[Schema, tuple[Row, ...]]]:
    """Give the tables that a statement may name, with their rows before the merge."""
    tables = {TARGET_NAME: (case.target.schema, physical_rows(case.target))}
    if case.source is not None:
        tables[SOURCE_NAME] = (case.source.schema, case.source.rows)
    return tables


def find_source(
    case: Case, statement: Statement, connection: DuckDBPyConnection, asker: Asker, *, case_sensitive: bool
) -> SourceRelation:
    """Give the source; a self-merge reads the table before the merge (R-810).

    Raises:
        RejectedError: if a table does not exist, or Spark refuses the source query.
        UnsupportedByReferenceError: if the reference does not know what the query means.
    """
    tables = known_tables(case)
    _check_maps(tables)
    if statement.target.lower() != TARGET_NAME:
        raise _not_found(statement.target)
    if (query := statement.source_query) is not None:
        return asker.source(
            query,
            statement.source_text or "",
            lambda: source_relation(query, tables, connection, case_sensitive=case_sensitive),
        )
    if statement.source.lower() not in tables:
        raise _not_found(statement.source)
    schema, rows = tables[statement.source.lower()]
    return SourceRelation(schema=schema, rows=rows)


def _check_maps(tables: Mapping[str, tuple[Schema, Sequence[Row]]]) -> None:
    """Refuse tables whose maps DuckDB cannot hold: for it 0.0 and -0.0 are one key, and so is every NaN (R-256)."""
    for schema, rows in tables.values():
        for place, column in enumerate(schema.columns):
            if any(_has_equal_keys(row[place], column.type) for row in rows):
                raise UnsupportedByReferenceError("a table with a map in which a key comes twice")


def _has_equal_keys(value: Value, data_type: DataType) -> bool:
    if value is None:
        return False
    if isinstance(data_type, StructType):
        return any(_has_equal_keys(v, field.type) for v, field in zip(value, data_type.fields, strict=True))
    if isinstance(data_type, ArrayType):
        return any(_has_equal_keys(item, data_type.element) for item in value)
    if not isinstance(data_type, MapType):
        return False
    keys = {repr(_plain_zeros(key)) for key, _ in value}
    inside = any(_has_equal_keys(k, data_type.key) or _has_equal_keys(v, data_type.value) for k, v in value)
    return len(keys) < len(value) or inside


def _plain_zeros(key: Value) -> Value:
    if isinstance(key, tuple):
        return tuple(map(_plain_zeros, key))
    return key + 0.0 if isinstance(key, float) else key


def _not_found(name: str) -> RejectedError:
    return RejectedError("TABLE_OR_VIEW_NOT_FOUND", f"The table or view {name} cannot be found.")
