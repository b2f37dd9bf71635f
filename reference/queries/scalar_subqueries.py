"""Uncorrelated scalar subqueries in assigned values (R-134): evaluated once, before the merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import VOID
from mergecheck.model.types.typed import Typed, typed_null
from mergecheck.reference.expressions.literals import value_literal
from mergecheck.reference.queries.source_query import source_relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.expressions.names import Scope

CORRELATED = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarSubqueries:
    """Evaluates scalar subqueries over the tables as they are before the merge.

    Attributes:
        tables: the tables that a subquery may read, by lower-case name.
        connection: a DuckDB whose time zone is UTC.
    """

    tables: Mapping[str, tuple[Schema, tuple[Row, ...]]]
    connection: DuckDBPyConnection

    def __call__(self, query: exp.Expr, outer: Scope) -> Typed:
        """Give the one value of a query; NULL if it has no row.

        Raises:
            RejectedError: for a query that uses columns of the merge (R-134), or a table that does not exist.
            UnsupportedByReferenceError: for anything else that the reference does not know.
        """
        try:
            found = source_relation(
                query, self.tables, self.connection, case_sensitive=outer.case_sensitive, named=False
            )
        except RejectedError as rejected:
            if rejected.error_class == "TABLE_OR_VIEW_NOT_FOUND":
                raise
            if rejected.error_class == "UNRESOLVED_COLUMN" and uses_outer_names(query, outer):
                raise RejectedError(
                    CORRELATED, f"correlated scalar subquery: {query.sql(dialect='databricks')}"
                ) from None
            raise UnsupportedByReferenceError("a subquery that does not resolve") from None
        schema, rows = found.schema, found.rows
        if len(schema.columns) != 1 or len(rows) > 1:
            raise UnsupportedByReferenceError("a subquery that gives more than one value")
        data_type = schema.columns[0].type
        if data_type == VOID:
            return Typed(sql="NULL", type=VOID)
        value = rows[0][0] if rows else None
        return Typed(sql=typed_null(data_type) if value is None else value_literal(value, data_type), type=data_type)


def uses_outer_names(query: exp.Expr, outer: Scope) -> bool:
    """Return whether a name in a query means a column outside of it."""
    for column in query.find_all(exp.Column):
        try:
            outer.resolve(tuple(part.name for part in column.parts))
        except (RejectedError, UnsupportedByReferenceError):
            continue
        return True
    return False
