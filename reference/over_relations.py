"""The reference over tables that stay where they are: what a merge of relations comes to, its rows left as queries.

The rules are those of ``merge_reference``, by the same parser, resolution and queries. What only rows in memory can
answer is unsupported here, with its reason: which of several failing rows comes first, queries inside the statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from mergecheck.reference.analysis.constraints import row_checks
from mergecheck.reference.analysis.settings import read_settings
from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.evaluation.evaluation import Evaluation
from mergecheck.reference.evaluation.written_rows import WrittenRows
from mergecheck.reference.merge_reference import (
    MULTI_MATCH,
    Settled,
    is_insert_only,
    is_matched_only,
    is_sole_delete,
    resolver_of,
    settle,
)
from mergecheck.reference.outcome import Rejection, Unsupported
from mergecheck.reference.queries.tables import SOURCE_NAME, find_source
from mergecheck.reference.syntax.statement import parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.reference.case.model import Case
    from mergecheck.reference.syntax.statement import Statement
    from mergecheck.reference.types.data_types import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """Where the tables of a merge come from: queries that number the same row the same way whenever they are read.

    Attributes:
        target: columns rid, file, t0, t1, ...
        source: columns sid, s0, s1, ...
    """

    target: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A merge that must succeed.

    Attributes:
        rows: query of the table after, columns c0, c1, ...
        changes: query of the change rows, the same columns and ``change``; None where the feed is off.
        clauses: (kind, action) of every clause of the statement.
    """

    schema: Schema
    settled: Settled
    rows: str
    changes: str | None
    clauses: frozenset[tuple[str, str]]


def evaluate_relations(
    case: Case,
    relations: Relations,
    connection: duckdb.DuckDBPyConnection,
    *,
    on_step: Callable[[str], None] = lambda _: None,
) -> Forecast | Rejection | Unsupported:
    """Say what a merge of two relations must come to.

    Args:
        case: the statement, the settings and the schemas; its tables are empty, the relations stand for them.
        relations: the tables.
        connection: a DuckDB whose time zone is UTC; it keeps what the forecast's queries read.
        on_step: is told what is computed next.
    """
    try:
        return _evaluate(case, relations, connection, on_step)
    except RejectedError as rejected:
        return Rejection(
            error_class=rejected.error_class,
            message=rejected.message,
            unchanged=True,
            other_classes=rejected.other_classes,
        )
    except UnsupportedByReferenceError as unsupported:
        return Unsupported(unsupported.reason)


def _evaluate(
    case: Case, relations: Relations, connection: duckdb.DuckDBPyConnection, on_step: Callable[[str], None]
) -> Forecast | Rejection:
    settings = read_settings(case)
    statement = parse_statement(case.sql)
    _require_plain(statement)
    source = find_source(case, statement, case_sensitive=settings.case_sensitive)
    if statement.schema_evolution or settings.schema_evolution:
        raise UnsupportedByReferenceError("schema evolution, over relations")
    merge = resolver_of(case, statement, source, settings, evolution=False).resolve(statement)
    if any(condition.partial for condition in (merge.on, *(c.condition for c in merge.clauses)) if condition):
        raise UnsupportedByReferenceError("a condition that may fail on some pair of rows, over relations")
    evaluation = Evaluation(connection=connection, target=case.target, merge=merge, is_large=True)
    evaluation.load_relations(relations.target, relations.source)
    on_step("matching")
    evaluation.match()
    path_a = is_insert_only(merge) and settings.optimize_insert_only
    if not path_a and not is_sole_delete(merge) and evaluation.has_multi_matched():
        if is_matched_only(merge) and evaluation.multi_matched_may_be_pruned():
            raise UnsupportedByReferenceError("ambiguous matches that pruning may hide (R-322), over relations")
        raise RejectedError(MULTI_MATCH, "several source rows match a target row")
    on_step("clauses")
    evaluation.fire()
    on_step("new rows")
    try:
        evaluation.act()
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        raise UnsupportedByReferenceError("a new value that fails on some row, over relations") from None
    on_step("metrics")
    checks = row_checks(merge.final_schema, case.target.properties, case_sensitive=settings.case_sensitive)
    settled = settle(evaluation, WrittenRows(evaluation=evaluation, checks=checks), settings, path_a=path_a)
    return Forecast(
        schema=merge.final_schema,
        settled=settled,
        rows=evaluation.result_query(),
        changes=evaluation.change_query() if case.target.change_data_feed else None,
        clauses=frozenset((clause.kind.value, clause.action.value) for clause in merge.clauses),
    )


def _require_plain(statement: Statement) -> None:
    """Require that the source is the other table and that no expression asks a query: the case's tables are empty."""
    if statement.source_query is not None or statement.source.lower() != SOURCE_NAME:
        raise UnsupportedByReferenceError("another source than the table itself, over relations")
    if any(expression.find(exp.Query) is not None for expression in _expressions(statement)):
        raise UnsupportedByReferenceError("a subquery, over relations")


def _expressions(statement: Statement) -> Iterator[exp.Expr]:
    yield statement.on
    for clause in statement.clauses:
        if clause.condition is not None:
            yield clause.condition
        yield from (assignment.value for assignment in clause.assignments)
