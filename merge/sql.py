"""MERGE as SQL text against tables at paths (R-101, R-140)."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.errors import ParseException, PySparkException

from mergecheck.merge.command import run_merge
from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.executors.source import MergeSource
from mergecheck.merge.expressions.boundary import merge_errors
from mergecheck.merge.expressions.functions import subqueries
from mergecheck.merge.expressions.spark_errors import from_spark
from mergecheck.merge.syntax.dialect import parse_name
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.merge.syntax.source_alias import find_source_alias
from mergecheck.merge.syntax.source_query import SourceQuery, plan_query
from mergecheck.merge.table.commit.table_logs import DELTA_LOGS
from mergecheck.merge.table.reading.scan import read_table
from mergecheck.merge.table.storage.paths import table_identity, table_location
from mergecheck.merge.types.nullability import demands_values_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.merge.command import MergeResult
    from mergecheck.merge.errors import MergeError
    from mergecheck.merge.syntax.statement import Clause, MergeStatement
    from mergecheck.merge.table.commit.table_logs import TableLogs
    from mergecheck.merge.table.snapshot.snapshot import Snapshot

_MERGE: Final = re.compile(r"\s*(?:WITH\b.*\b)?MERGE\b", re.IGNORECASE | re.DOTALL)


def merge_sql(
    spark: SparkSession,
    sql: str,
    *,
    tables: Mapping[str, str] | None = None,
    interleaved: bool = False,
    logs: TableLogs = DELTA_LOGS,
) -> MergeResult:
    """Run a MERGE statement.

    Args:
        spark: the session to run in.
        sql: the statement. The target is a name of ``tables`` or ``delta.`/path```; the source is such a name, a
            table or view of the session, or a query in brackets, which may use names of ``tables`` too.
        tables: names of Delta tables, whatever their case, and their paths. They hide tables of the session.
        interleaved: take the kinds of clauses in any order; see ``parse_merge``.
        logs: how the logs of Delta tables are reached.

    Raises:
        MergeError: the merge fails, with Delta's or Spark's error class; the target is unchanged.
    """
    with merge_errors("of the statement"):
        try:
            statement = parse_merge(sql, interleaved=interleaved)
        except AnalysisError as error:
            raise _as_spark_says(spark, sql, error, interleaved=interleaved) from error
        return run_statement(spark, statement, tables=tables, logs=logs)


def _as_spark_says(spark: SparkSession, sql: str, error: AnalysisError, *, interleaved: bool) -> Exception:
    """Ask Spark's own parser about a statement that ours refuses; EXPLAIN parses it and runs nothing."""
    try:
        spark.sql(f"EXPLAIN EXTENDED {sql}").collect()
    except ParseException as refusal:
        known = from_spark(refusal)
        if not isinstance(known, AnalysisError) or known.error_class == error.error_class:
            return error  # which lists the allowed values
        if interleaved and known.error_class == "PARSE_SYNTAX_ERROR":
            return error  # Spark may mean the order of the kinds, which is free here
        return AnalysisError(known.error_class, known.message.replace("EXPLAIN EXTENDED ", ""))
    if _MERGE.match(sql) is None:
        return error
    return UnsupportedStatementError(
        "this way of writing, which Spark reads",
        hint=f"Write names that are words of SQL in backticks. {error.message}",
    )


def run_statement(
    spark: SparkSession,
    statement: MergeStatement,
    *,
    tables: Mapping[str, str] | None = None,
    logs: TableLogs = DELTA_LOGS,
) -> MergeResult:
    """Run a parsed MERGE statement; see ``merge_sql``."""
    with merge_errors(statement.target):
        return _run_statement(spark, statement, tables, logs)


def _run_statement(
    spark: SparkSession, statement: MergeStatement, tables: Mapping[str, str] | None, logs: TableLogs
) -> MergeResult:
    paths = {name.lower(): path for name, path in (tables or {}).items()}
    target = _path(parse_name(statement.target), paths)
    if target is None:
        raise _no_target(spark, statement.target, paths)
    bound, in_subqueries, others = bind_subqueries(statement, lambda parts: _path(parts, paths))
    planned = _plan_source(statement.source, paths)
    named = _named(spark, (*others, *planned.others))
    snapshots = _open_once(spark, [*in_subqueries.values(), *planned.views.values()], logs)
    views = {view: read_table(spark, snapshots[path]) for view, path in in_subqueries.items()}
    with _source(spark, planned, snapshots) as source, _views(spark, views):
        if bound.source_alias is None and bound.source.startswith("("):
            bound = replace(bound, source_alias=find_source_alias(bound, source.frame))  # an alias inside is visible
        read = replace(source, reads=tuple(snapshots.values()), named=named)
        return run_merge(spark, path=target, statement=bound, source=read, logs=logs)


def bind_subqueries(
    statement: MergeStatement, path_of: Callable[[tuple[str, ...]], str | None]
) -> tuple[MergeStatement, Mapping[str, str], tuple[str, ...]]:
    """Replace the Delta tables that subqueries read by views. Conditions with subqueries are refused later (R-133).

    ``path_of`` gives the path of a Delta table by the parts of its name, None for any other table. The result has the
    temporary views to create, with the paths of the tables that they show, and the names of all other relations.

    Raises:
        UnsupportedStatementError: a subquery asks for an older version of a Delta table.
    """
    views: dict[str, str] = {}
    others: list[str] = []

    def bound(text: str) -> str:
        for query in subqueries(text):
            plan = plan_query(query, path_of)
            views.update(plan.views)
            others.extend(plan.others)
            text = text.replace(query, plan.text, 1)
        return text

    def bound_clause(clause: Clause) -> Clause:
        return replace(
            clause,
            condition=None if clause.condition is None else bound(clause.condition),
            assignments=tuple(replace(a, value=bound(a.value)) for a in clause.assignments),
        )

    clauses = tuple(bound_clause(clause) for clause in statement.clauses)
    return replace(statement, condition=bound(statement.condition), clauses=clauses), views, tuple(others)


def _named(spark: SparkSession, names: Iterable[str]) -> tuple[DataFrame, ...]:
    """Open relations of the session; other names, such as functions, are left to the analysis of the statement."""
    found = []
    for name in dict.fromkeys(names):
        with suppress(PySparkException):
            frame = spark.table(name)
            frame.schema  # noqa: B018 - asking is the analysis
            found.append(frame)
    return tuple(found)


def _plan_source(source: str, paths: Mapping[str, str]) -> SourceQuery:
    """Find the Delta tables that the source reads. A Delta table that is the source itself has a view of its name."""
    if source.startswith("("):
        return plan_query(source, lambda parts: _path(parts, paths))
    path = _path(parse_name(source), paths)
    return SourceQuery(text=source, views={} if path is None else {source: path})


def _open_once(spark: SparkSession, paths: Sequence[str], logs: TableLogs) -> dict[str, Snapshot]:
    """Open each table once, so that every part of the statement reads it at one version (R-750)."""
    opened: dict[str, Snapshot] = {}
    for path in paths:
        same = (s for s in opened.values() if table_identity(s.location) == table_identity(table_location(path)))
        opened[path] = next(same, None) or logs.snapshot(spark, path)
    return opened


@contextmanager
def _source(spark: SparkSession, source: SourceQuery, opened: Mapping[str, Snapshot]) -> Iterator[MergeSource]:
    """Open the source for the time of the merge; the Delta tables that a query reads are temporary views."""
    snapshots = {view: opened[path] for view, path in source.views.items()}
    if not source.text.startswith("("):
        snapshot = snapshots.get(source.text)
        if snapshot is None:
            yield MergeSource(frame=_analyzed(spark.table, source.text))
        else:
            yield MergeSource.of_table(read_table(spark, snapshot), snapshot)
        return
    schema = None
    if any(demands_values_inside(snapshot.schema) for snapshot in snapshots.values()):
        with _views(spark, {view: spark.createDataFrame([], s.schema) for view, s in snapshots.items()}):
            schema = _analyzed(spark.sql, source.text).schema
    with _views(spark, {view: read_table(spark, snapshot) for view, snapshot in snapshots.items()}):
        try:
            frame = _analyzed(spark.sql, source.text)
        except AnalysisError as error:
            if not source.is_read and error.error_class == "TABLE_OR_VIEW_NOT_FOUND":
                raise UnsupportedStatementError("this source query", hint="Make it a view.") from error
            raise
        yield MergeSource(frame=frame, nullability=schema, is_delta=source.is_repeatable)


@contextmanager
def _views(spark: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Show relations as temporary views of these names."""
    created = []
    try:
        for view, frame in frames.items():
            frame.createOrReplaceTempView(view)
            created.append(view)
        yield
    finally:
        for view in created:
            spark.catalog.dropTempView(view)


def _analyzed(read: Callable[[str], DataFrame], text: str) -> DataFrame:
    """Open a relation and have it analysed, which Connect would leave for later."""
    try:
        frame = read(text)
        frame.schema  # noqa: B018 - asking is the analysis
    except PySparkException as error:
        raise from_spark(error) from error
    return frame


def _no_target(spark: SparkSession, name: str, paths: Mapping[str, str]) -> MergeError:
    """Explain why a name is no target: unknown, or a table or view that a merge cannot write (R-140)."""
    if not spark.catalog.tableExists(name):
        known = ", ".join(sorted(paths)) or "none"
        return AnalysisError(
            "TABLE_OR_VIEW_NOT_FOUND",
            f"The target {name} is not among the tables given ({known}). "
            "Name it in `tables`, or write delta.`/path/of/the/table`.",
        )
    if spark.catalog.getTable(name).tableType in {"VIEW", "TEMPORARY"}:
        return UnsupportedStatementError(
            f"the view {name} as the target", hint="Merge into the table itself: name its path in `tables`."
        )
    return AnalysisError(
        "UNSUPPORTED_FEATURE.TABLE_OPERATION",
        f"Table {name} does not support MERGE INTO TABLE. MERGE destination only supports Delta sources; name the "
        "path of a Delta table in `tables`.",
    )


def _path(parts: tuple[str, ...], paths: Mapping[str, str]) -> str | None:
    """Find the path of a Delta table whose name is in ``paths`` or is ``delta.`/path```."""
    if len(parts) == 2 and parts[0].lower() == "delta":  # noqa: PLR2004 - delta and the path
        return parts[1]
    return paths.get(".".join(parts).lower())
