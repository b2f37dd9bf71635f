"""The tables that a statement reads: a source may be ``source``, the target, another table, or a query over any."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.properties.merge_text import words_of
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.statement import parse_statement

if TYPE_CHECKING:
    from mergecheck.model.case import Case, Source, Target
    from mergecheck.reference.syntax.statement import Statement

TARGET = "target"
_BEHIND_USING = re.compile(r"\bUSING\b(.*?)\bON\b", re.IGNORECASE | re.DOTALL)


def source_table(case: Case) -> Source | Target | None:
    """Return the table that USING names; None if it is a query, or no table of the case."""
    statement = _parsed(case)
    if statement is None or statement.source_query is not None:
        return None
    name = statement.source.lower()
    return case.target if name == TARGET else case.read_tables.get(name)


def reads_target(case: Case) -> bool:
    """Return whether the source is the target, or a query that reads it."""
    return TARGET in tables_of_source(case)


def tables_of_source(case: Case) -> frozenset[str]:
    """Name the tables that the source reads, in lower case.

    If the reference cannot read the text, these are all tables of the case whose names stand between USING and the
    next ON.
    """
    statement = _parsed(case)
    if statement is None:
        behind = _BEHIND_USING.search(case.sql)
        return frozenset() if behind is None else words_of(behind.group(1)) & case.relations.keys()
    return tables_read_by_source(statement)


def tables_read_by_source(statement: Statement) -> frozenset[str]:
    """Name the tables that the source of a statement reads, in lower case."""
    if statement.source_query is None:
        return frozenset({statement.source.lower()})
    return _tables_in(statement.source_query)


def tables_of_queries(case: Case) -> frozenset[str]:
    """Name the tables that queries read in ON, conditions and values; all of the case if they cannot be read."""
    statement = _parsed(case)
    if statement is None:
        return frozenset(case.relations)
    parts = [statement.on]
    for clause in statement.clauses:
        parts += [] if clause.condition is None else [clause.condition]
        parts += [assignment.value for assignment in clause.assignments]
    return frozenset().union(*map(_tables_in, parts))


def most_source_rows(case: Case) -> int:
    """Return the number of rows of the largest table that the source may be."""
    return max([len(table.rows) for table in case.read_tables.values()] or [len(case.target.rows)])


def _parsed(case: Case) -> Statement | None:
    try:
        return parse_statement(case.sql)
    except (RejectedError, UnsupportedByReferenceError):
        return None


def _tables_in(tree: exp.Expr) -> frozenset[str]:
    own = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    return frozenset(table.name.lower() for table in tree.find_all(exp.Table)) - own
