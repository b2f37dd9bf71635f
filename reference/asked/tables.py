"""The two sides of a merge by their names: tables of the case, or a query over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.case.layout import physical_rows
from mergecheck.reference.errors import RejectedError
from mergecheck.reference.queries.source_query import SourceRelation, source_relation

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from mergecheck.reference.asked.asker import Asker
    from mergecheck.reference.case.model import Case, Row
    from mergecheck.reference.syntax.statement import Statement
    from mergecheck.reference.types.data_types import Schema

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


def _not_found(name: str) -> RejectedError:
    return RejectedError("TABLE_OR_VIEW_NOT_FOUND", f"The table or view {name} cannot be found.")
