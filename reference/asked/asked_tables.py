"""The two sides of a merge by their names: tables of the case, or a query over them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.layout import physical_rows
from mergecheck.model.storage import RowIds
from mergecheck.model.types.data_types import ArrayType, MapType, StructType
from mergecheck.reference.queries.source_query import SourceRelation, source_relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Case, Row, Target, Value
    from mergecheck.model.types.data_types import DataType, Schema
    from mergecheck.reference.asked.asker import Asker
    from mergecheck.reference.syntax.merge_text import Travel
    from mergecheck.reference.syntax.statement import Statement

_BEFORE_EVERY_COMMIT, _BEHIND_EVERY_COMMIT = 2020, 2900
TARGET_NAME, SOURCE_NAME = "target", "source"


def known_tables(case: Case) -> dict[str, tuple[Schema, tuple[Row, ...]]]:
    """Give the tables that a statement may name, with their rows before the merge."""
    tables = {TARGET_NAME: (case.target.schema, physical_rows(case.target))}
    if case.source is not None:
        tables[SOURCE_NAME] = (case.source.schema, case.source.rows)
    return tables | {name: (table.schema, table.rows) for name, table in case.tables.items()}


def find_source(
    case: Case, statement: Statement, connection: DuckDBPyConnection, asker: Asker, *, case_sensitive: bool
) -> SourceRelation:
    """Give the source; a self-merge reads the table before the merge (R-810).

    Raises:
        RejectedError: if a table does not exist, or Spark refuses the source query.
        UnsupportedByReferenceError: if the reference has no meaning for the query.
    """
    tables = known_tables(case)
    _check_maps(tables)
    _check_travels(statement.travels, case.target, frozenset(case.tables))
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


def _check_travels(travels: Sequence[Travel], target: Target, others: frozenset[str]) -> None:
    """Let a query read a table in the version that the merge reads, and no other (R-139).

    The target is version 0. The source and the other tables are views, which have no versions.

    Raises:
        RejectedError: for another version of the target, and for any version of another table.
        UnsupportedByReferenceError: if it depends on the time of a commit, or on commits before the one with the rows.
    """
    for travel in travels:
        asked = travel.key.removesuffix("ASOF")
        if asked not in ("VERSION", "TIMESTAMP"):
            raise UnsupportedByReferenceError(f"the option {travel.key} of a table in a query")
        if travel.table.lower() in {SOURCE_NAME} | others:
            raise RejectedError("UNSUPPORTED_FEATURE.TIME_TRAVEL", f"Time travel on the view {travel.table}.")
        if travel.table.lower() != TARGET_NAME:
            raise UnsupportedByReferenceError("time travel on what is no table of the case")
        if target.layout.row_ids is RowIds.STORED:
            raise UnsupportedByReferenceError("time travel on a table of several versions")
        if asked == "TIMESTAMP":
            raise _not_in_time(travel.value)
        if not travel.value.isdecimal():
            raise UnsupportedByReferenceError("a version that is no number")
        if int(travel.value):
            raise RejectedError("DELTA_VERSION_NOT_FOUND", f"There is no version {travel.value} of target.")


def _not_in_time(value: str) -> RejectedError | UnsupportedByReferenceError:
    """Give the error for a moment that is years before or behind the one commit of the table."""
    try:
        year = dt.datetime.fromisoformat(value).year
    except ValueError:
        year = 0
    if 1 < year < _BEFORE_EVERY_COMMIT:
        return RejectedError("DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", f"No version is as old as {value}.")
    if year > _BEHIND_EVERY_COMMIT:
        return RejectedError("DELTA_TIMESTAMP_GREATER_THAN_COMMIT", f"No version is as new as {value}.")
    return UnsupportedByReferenceError("time travel to a moment")


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
