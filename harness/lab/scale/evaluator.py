"""The expected result of a merge of tables that stay in their files; its rows are left as queries.

Statement, names, types and values are the reference's own; ``merge_tables`` follows them with queries made for many
rows. Questions that need rows in memory are unsupported here, with a reason: which of several failing rows comes
first, queries inside the statement, schema evolution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from mergecheck.harness.lab.scale.merge_tables import MergeTables
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.layout import partition_indexes
from mergecheck.model.outcome import Bound, MergePath, Rejection, Unsupported
from mergecheck.model.types.data_types import STRING
from mergecheck.reference import MergeReference
from mergecheck.reference.analysis.constraints import row_checks
from mergecheck.reference.asked.asked_tables import SOURCE_NAME
from mergecheck.reference.dialects import MULTI_MATCH
from mergecheck.reference.evaluation.metrics import predict_metrics
from mergecheck.reference.evaluation.rewrite import choose_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.evaluation.metrics import Counts
    from mergecheck.reference.syntax.statement import Statement


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
        changes: query of the change rows, the same columns and ``change``; None if the feed is off.
        clauses: (kind, action) of every clause of the statement.
    """

    schema: Schema
    counts: Counts
    metrics: Mapping[str, Bound]
    committed: bool
    path: MergePath
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
    """Compute the expected result of a merge of two relations.

    Args:
        case: the statement, the settings and the schemas; its tables are empty, the relations replace them.
        relations: the tables.
        connection: a DuckDB whose time zone is UTC; it keeps the tables that the forecast's queries read.
        on_step: receives the next step of the computation.
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
) -> Forecast:
    resolved = MergeReference().resolve(case)
    settings, merge = resolved.settings, resolved.merge
    _require_plain(resolved.statement)
    if case.target.transactions:
        raise UnsupportedByReferenceError("a transaction that the table may know (R-715), over relations")
    if case.target.schema.of_delta_only is not None:
        raise UnsupportedByReferenceError(f"{case.target.schema.of_delta_only}, over relations")
    if resolved.statement.schema_evolution or settings.schema_evolution:
        raise UnsupportedByReferenceError("schema evolution, over relations")
    if any(condition.partial for condition in (merge.on, *(c.condition for c in merge.clauses)) if condition):
        raise UnsupportedByReferenceError("a condition that may fail on some pair of rows, over relations")
    tables = MergeTables(connection=connection, target=case.target, merge=merge)
    tables.load(relations.target, relations.source)
    on_step("matching")
    tables.match()
    path_a = merge.is_insert_only and settings.optimize_insert_only
    if not path_a and not merge.is_sole_delete and tables.has_multi_matched():
        if merge.is_matched_only and tables.multi_matched_may_be_pruned():
            raise UnsupportedByReferenceError("ambiguous matches that pruning may hide (R-322), over relations")
        raise RejectedError(MULTI_MATCH, "several source rows match a target row")
    on_step("clauses")
    tables.apply()
    on_step("new rows")
    try:
        tables.compute()
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        raise UnsupportedByReferenceError("a new value that fails on some row, over relations") from None
    on_step("metrics")
    tables.touch(path_a=path_a)
    return _forecast(tables, settings, path_a=path_a)


def _forecast(tables: MergeTables, settings: Settings, *, path_a: bool) -> Forecast:
    target, final = tables.target, tables.merge.final_schema
    counts = tables.counts()
    if settings.marks_rows:
        raise UnsupportedByReferenceError("deletion vectors, over relations")
    path = choose_path(tables.merge, path_a=path_a, is_touched=counts.touched_files > 0, marks_rows=False)
    rewrites = path is MergePath.D
    _check_written(tables, settings, rewrites=rewrites)
    tuples = bool(target.partition_by) and settings.repartition_before_write
    metrics = predict_metrics(
        counts,
        path,
        change_data_feed=target.change_data_feed,
        written_tuples=_num_tuples(tables, _written(tables, rewrites=rewrites)) if tuples else None,
        change_tuples=_num_tuples(tables, tables.feed()) if tuples else None,
    )
    return Forecast(
        schema=final,
        counts=counts,
        metrics=metrics,
        committed=rewrites or counts.inserted > 0 or final != target.schema or settings.record_empty_commits,
        path=path,
        rows=tables.result(),
        changes=tables.feed() if target.change_data_feed else None,
        clauses=frozenset((clause.kind.value, clause.action.value) for clause in tables.merge.clauses),
    )


def _written(tables: MergeTables, *, rewrites: bool) -> str:
    """Write the query of the rows that the merge writes: new ones and, if it rewrites files, copied ones."""
    parts = [f"SELECT {tables.new_columns()} FROM {table}" for table in tables.made("updated", "inserted")]
    if rewrites or not parts:
        parts.append(f"SELECT {tables.old_columns()} FROM {tables.copied()}")
    return " UNION ALL ".join(parts)


def _check_written(tables: MergeTables, settings: Settings, *, rewrites: bool) -> None:
    """Check the constraints on all written rows (R-740), with a feed on the old images too.

    Raises:
        RejectedError: if a row breaks one, or if the merge rewrites files of a table that takes appends only.
    """
    target = tables.target
    checks = row_checks(tables.merge.final_schema, target.properties)
    if any(check.fault is not None for check in checks):
        raise UnsupportedByReferenceError("a constraint that Spark cannot evaluate, over relations")
    if checks:
        written = _written(tables, rewrites=rewrites)
        if rewrites and target.change_data_feed:
            written += f" UNION ALL SELECT {tables.new_columns()} FROM ({tables.feed()})"
        broken = ", ".join(f"count(*) FILTER (WHERE NOT ({check.sql}))" for check in checks)
        (counts,) = tables.connection.execute(f"SELECT {broken} FROM ({written})").fetchall()
        classes = sorted({check.error_class for check, count in zip(checks, counts, strict=True) if count})
        if classes:
            raise RejectedError(classes[0], "a new row breaks a constraint", frozenset(classes[1:]))
    if rewrites and settings.append_only:
        raise RejectedError("DELTA_CANNOT_MODIFY_APPEND_ONLY", "This table is configured to only allow appends.")


def _num_tuples(tables: MergeTables, rows: str) -> Bound:
    """Count the tuples of partition values of rows (R-543).

    An empty string, which is stored as NULL (R-744), may have been a tuple of its own before.
    """
    target = tables.target
    indexes = partition_indexes(target)
    texts = [index for index in indexes if target.schema.columns[index].type == STRING]
    ways = " * ".join(f"(CASE WHEN c{index} IS NULL THEN 2 ELSE 1 END)" for index in texts) or "1"
    distinct = f"SELECT DISTINCT {tables.new_columns(indexes)} FROM ({rows})"
    counting = f"SELECT count(*), coalesce(sum({ways}), 0) FROM ({distinct})"
    ((low, high),) = tables.connection.execute(counting).fetchall()
    return Bound(int(low), int(high))


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
