"""MERGE as SQL text against tables at paths (R-101, R-140)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.errors import PySparkException
from sqlglot import exp
from sqlglot.errors import SqlglotError

from merge.command import run_merge
from merge.errors import AnalysisError, from_spark
from merge.parser import parse_merge
from merge.sql_dialect import MergeDialect, parse_name, quote_name, syntax_error
from merge.table.scan import read_table
from merge.table.snapshot import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from merge.command import MergeResult
    from merge.statement import MergeStatement
    from merge.table.snapshot import Snapshot


def merge_sql(
    spark: SparkSession, sql: str, *, tables: Mapping[str, str] | None = None, interleaved: bool = False
) -> MergeResult:
    """Run a MERGE statement.

    Args:
        spark: the session to run in.
        sql: the statement. The target is a name of ``tables`` or ``delta.`/path```; the source is one of these, a
            table or view of the session, or a query in brackets, which may use names of ``tables`` too.
        tables: names of Delta tables, whatever their case, and their paths. They hide tables of the session.
        interleaved: take the kinds of clauses in any order; see ``parse_merge``.

    Raises:
        MergeError: what is wrong, by Delta's or Spark's error class; the target is unchanged.
    """
    return run_statement(spark, parse_merge(sql, interleaved=interleaved), tables=tables)


def run_statement(
    spark: SparkSession, statement: MergeStatement, *, tables: Mapping[str, str] | None = None
) -> MergeResult:
    """Run a parsed MERGE statement; see ``merge_sql``."""
    paths = {name.lower(): path for name, path in (tables or {}).items()}
    target = _path(statement.target, paths)
    if target is None:
        known = ", ".join(sorted(paths)) or "none"
        raise AnalysisError(
            "TABLE_OR_VIEW_NOT_FOUND",
            f"The target {statement.target} is not among the tables given ({known}). "
            "Name it in `tables`, or write delta.`/path/of/the/table`.",
        )
    with _source(spark, statement, paths) as (source, snapshot):
        return run_merge(
            spark,
            path=target,
            statement=statement,
            source=source,
            source_is_delta=snapshot is not None,
            source_num_rows=None if snapshot is None else snapshot.num_records,
        )


@contextmanager
def _source(
    spark: SparkSession, statement: MergeStatement, paths: Mapping[str, str]
) -> Iterator[tuple[DataFrame, Snapshot | None]]:
    """Open the source for the time of the merge: the rows, and the Delta snapshot that they are, if they are one."""
    if statement.source.startswith("("):
        with _query(spark, statement.source, paths) as frame:
            yield frame, None
        return
    path = _path(statement.source, paths)
    if path is not None:
        snapshot = read_snapshot(path)
        yield read_table(spark, snapshot), snapshot
        return
    try:
        frame = spark.table(statement.source)
        frame.schema  # noqa: B018 - Connect looks the table up only now
    except PySparkException as error:
        raise from_spark(error) from error
    yield frame, None


@contextmanager
def _query(spark: SparkSession, query: str, paths: Mapping[str, str]) -> Iterator[DataFrame]:
    """Run a query whose tables may be names of ``paths``: these become temporary views for the time of the merge."""
    text, views = _with_views(query, paths)
    try:
        for view, path in views.items():
            read_table(spark, read_snapshot(path)).createOrReplaceTempView(view)
        try:
            frame = spark.sql(f"SELECT * FROM {text}")
            frame.schema  # noqa: B018 - Connect analyses the query only now
        except PySparkException as error:
            raise from_spark(error) from error
        yield frame
    finally:
        for view in views:
            spark.catalog.dropTempView(view)


def _with_views(query: str, paths: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Replace the names of ``paths`` in a query by names of views; the old name stays on as the alias."""
    try:
        tree = MergeDialect().parse(query)[0]
    except SqlglotError as error:
        raise syntax_error("The source query is no SQL that can be read:", query) from error
    common = {cte.alias.lower() for cte in tree.find_all(exp.CTE)} if tree else set()
    views: dict[str, str] = {}
    edits = []
    for table in tree.find_all(exp.Table) if tree else ():
        name = table.name.lower()
        if table.db or name in common or name not in paths:
            continue
        view = f"merge_source_{uuid4().hex}"
        views[view] = paths[name]
        meta = table.this.meta
        alias = "" if table.alias else f" AS {quote_name(table.name)}"
        edits.append((meta["start"], meta["end"] + 1, view + alias))
    for start, end, replacement in sorted(edits, reverse=True):
        query = query[:start] + replacement + query[end:]
    return query, views


def _path(name: str, paths: Mapping[str, str]) -> str | None:
    """Find the path of a Delta table written as a name of ``paths`` or as ``delta.`/path```."""
    parts = parse_name(name)
    if len(parts) == 2 and parts[0].lower() == "delta":  # noqa: PLR2004 - delta and the path
        return parts[1]
    return paths.get(".".join(parts).lower())
