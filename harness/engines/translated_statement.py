"""A MERGE for an engine with SQL of its own, read without a verdict: the engine has to find its faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.statement import read_statement

if TYPE_CHECKING:
    from collections.abc import Collection

    from mergecheck.reference.syntax.statement import Statement

_CHANCE = (exp.Rand, exp.Randn, exp.Randstr, exp.Shuffle, exp.Uniform, exp.Uuid)


def statement_to_translate(sql: str) -> Statement:
    """Read a MERGE by Spark's grammar.

    Raises:
        UnsupportedByReferenceError: for text that Spark's parser refuses, or that has parts unknown here.
    """
    try:
        statement = read_statement(sql)
    except RejectedError:
        raise UnsupportedByReferenceError("text that is no MERGE") from None
    if statement.travels:
        raise UnsupportedByReferenceError("time travel")
    return statement


def draws_by_chance(statement: Statement) -> bool:
    """Return whether a statement has a function whose values differ from run to run."""
    conditions = [clause.condition for clause in statement.clauses if clause.condition is not None]
    values = [value for clause in statement.clauses for value in clause.values]
    query = [] if statement.source_query is None else [statement.source_query]
    parts = [statement.on, *conditions, *values, *query]
    return any(node.find(*_CHANCE) is not None for node in parts)


def extension(statement: Statement, columns: Collection[str]) -> str:
    """Name the construct of a statement that Delta refuses and DuckDB and PostgreSQL document; empty if there is none.

    Args:
        statement: the merge.
        columns: the names of the columns of target and source.
    """
    conditions = [statement.on, *(c.condition for c in statement.clauses if c.condition is not None)]
    if any(node.find(exp.Query) is not None for node in conditions):
        return "subqueries in conditions"
    if any(node.find(exp.Rand) is not None for node in conditions):
        return "conditions that are not deterministic"
    values = [value for clause in statement.clauses for value in clause.values]
    tables = {
        (statement.target_alias or statement.target).lower(),
        (statement.source_alias or statement.source).lower(),
    }
    if any(_reads(query, tables) for value in values for query in value.find_all(exp.Query)):
        return "subqueries that read the row of a clause"
    rows = tables - {name.lower() for name in columns}
    if any(name.name.lower() in rows and not name.table for part in (*conditions, *values) for name in _names(part)):
        return "a table's name as the value of its row"
    return ""


def _reads(query: exp.Expr, tables: Collection[str]) -> bool:
    own = {table.alias_or_name.lower() for table in query.find_all(exp.Table, exp.Subquery)}
    return any(name.table.lower() in tables and name.table.lower() not in own for name in query.find_all(exp.Column))


def _names(part: exp.Expr) -> list[exp.Column]:
    """List the columns of an expression without its queries."""
    return [name for name in part.find_all(exp.Column) if name.find_ancestor(exp.Query) is None]
