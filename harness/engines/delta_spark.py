"""The engine ``delta-spark``: Delta Lake's own MERGE on Spark, by SQL."""

from __future__ import annotations

import json
import re
import uuid
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.core.clause_order import in_sql_order
from mergecheck.harness.core.schema_json import schema_from_json
from mergecheck.harness.delta.observe import UNREADABLE_TABLE, is_unchanged, observe
from mergecheck.harness.delta.read import newest_version
from mergecheck.harness.delta.write import UnwritableTableError, write_source, write_target
from mergecheck.harness.engine import Capabilities, Recorded
from mergecheck.harness.engines.executed_plans import recording
from mergecheck.harness.engines.spark_case import (
    SOURCE_VIEW,
    case_settings,
    class_of,
    down_if_gone,
    draw,
    full_name,
    is_for_harness,
    local_relation,
    profile_of,
    reads_source_from_table,
    require_alive,
)
from mergecheck.harness.errors import EngineDownError
from mergecheck.harness.spark.config import current_place, require_place, table_folder
from mergecheck.harness.spark.connect import is_remote
from mergecheck.harness.spark.delta_jars import EXTENSION_SETTINGS, delta_version, maven_coordinates
from mergecheck.harness.spark.packages import has_delta, request_delta
from mergecheck.harness.spark.session import Profile, another_session, apply_profile, start_session
from mergecheck.harness.spark.staging import staged_tables
from mergecheck.reference.case.arrow import table_to_rows
from mergecheck.reference.outcome import Outcome, Rejection, Unsupported
from mergecheck.reference.types.data_types import STRING, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.harness.spark.staging import PlacedTables
    from mergecheck.reference.case.model import Case, Row
    from mergecheck.reference.outcome import EngineResult

_TARGET = "target"
# What Spark says of a task whose own error is the cause.
_WRAPPERS = frozenset({"TASK_WRITE_FAILED", "FAILED_EXECUTE_UDF", "_LEGACY_ERROR_TEMP_2054"})
_NOT_SPARKS = re.compile(r"Cannot find main error class '([A-Z0-9_.]+)'")
_NO_PATH = "Delta Lake does not report which path of R-402 a merge took"

# A table of a few rows needs no parallel reading of its log, and a run of thousands of tables no memory of old ones.
_SESSION_SETTINGS = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.delta.log.cacheSize": "20",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
}


class DeltaSparkEngine:
    """Runs a case through ``MERGE INTO`` of Delta Lake on a fresh table that the harness writes.

    Metrics come from DESCRIBE HISTORY, change rows from ``readChangeFeed``. The rows of the table are read from its
    files; for one case in four Spark reads them as well, and two readers that differ are a rejection of class
    ``MERGECHECK_UNREADABLE_TABLE``. Profile and source are chosen as for ``pyspark``, so that both engines can be
    held against each other.

    Args:
        spark: the session to use, started with Delta Lake; without one, the session of this process.

    Raises:
        UserInputError: without a session, if Spark's place or the table root cannot be used.
    """

    name = "delta-spark"
    capabilities = Capabilities(exact_metric_names=True, reasons={"path": _NO_PATH})

    def __init__(self, spark: SparkSession | None = None) -> None:
        self.version = delta_version()
        self._spark = spark
        self._owns_session = spark is None
        self._profile: Profile | None = None
        self._database: str | None = None
        if spark is None:
            require_place()
            request_delta()

    def run(self, case: Case) -> EngineResult:
        """Run one case in a table of its own, which is gone afterwards.

        Raises:
            EngineDownError: when Spark does not start or is gone, or was started without Delta Lake.
        """
        return self._run(case, table=None)

    def run_on(self, case: Case, table: Path) -> EngineResult:
        """Run a case on a table that is there, and stays; the case's target says what it holds now.

        Raises:
            EngineDownError: as for ``run``.
        """
        return self._run(case, table=table)

    def run_recorded(self, case: Case) -> Recorded:
        """Run one case as ``run`` does, and record the plans of the merge.

        Raises:
            EngineDownError: as for ``run``.
        """
        plans: list[str] = []
        result = self._run(case, table=None, plans=plans)
        return Recorded(result=result, plans=tuple(plans))

    def _run(self, case: Case, *, table: Path | None, plans: list[str] | None = None) -> EngineResult:
        for name in case.conf:
            if not full_name(name).startswith("spark.") and not is_for_harness(name):
                return Unsupported(f"setting {name}")
        spark = self._session()
        self._switch(spark, profile_of(case))
        with ExitStack() as stack:
            directory = stack.enter_context(table_folder())
            placed = stack.enter_context(staged_tables())
            path = table or directory / _TARGET
            try:
                if table is None:
                    write_target(case.target, path)
            except UnwritableTableError as error:
                return Unsupported(f"table: {error}")
            stack.enter_context(case_settings(spark, case))
            since = newest_version(path)
            place = placed.publish(path)
            try:
                stack.enter_context(_tables(spark, case, directory, place, placed))
                with recording(spark, plans):
                    spark.sql(in_sql_order(case.sql))
            except EngineDownError:
                raise
            except Exception as error:  # noqa: BLE001 - what escapes from the system under test is its answer
                placed.download(path)
                return _rejection(spark, case, path, error, since)
            placed.download(path)
            return _observed(spark, case, path, place, since)

    def fork(self) -> DeltaSparkEngine:
        """Return another engine on the same Spark, for another thread; its tables have a database of their own.

        Raises:
            EngineDownError: as for ``run``.
        """
        session = another_session(self._session())
        database = f"mergecheck_{uuid.uuid4().hex}"
        session.sql(f"CREATE DATABASE {database}")
        session.sql(f"USE {database}")
        other = DeltaSparkEngine(session)
        other._database = database
        other._owns_session = is_remote(session)
        return other

    def close(self) -> None:
        """Stop the session, if this engine started it; a database of its own goes."""
        if self._spark is not None and self._database is not None:
            with suppress(Exception):  # a lost session has nothing left to clean up
                self._spark.sql(f"DROP DATABASE IF EXISTS {self._database} CASCADE")
        if self._spark is not None and self._owns_session:
            with suppress(OSError, Py4JError):  # a JVM that is gone has nothing left to stop
                self._spark.stop()
        self._spark = None

    def _session(self) -> SparkSession:
        if self._spark is None:
            self._spark = start_session()
        if self._profile is None:
            if not has_delta(self._spark):
                raise EngineDownError(_without_delta(self._spark))
            for name, value in _SESSION_SETTINGS.items():
                self._spark.conf.set(name, value)
        return self._spark

    def _switch(self, spark: SparkSession, profile: Profile) -> None:
        if profile is not self._profile:
            with down_if_gone(spark):
                apply_profile(spark, profile)
            self._profile = profile


def _without_delta(spark: SparkSession) -> str:
    if not is_remote(spark):
        return (
            "the Spark session of this process was started without Delta Lake; "
            "make the engine delta-spark before the session starts"
        )
    settings = " ".join(f"--conf {name}={value}" for name, value in EXTENSION_SETTINGS.items())
    return (
        f"the Spark Connect server at {current_place().url} was started without Delta Lake, which no client can add. "
        f"Start it with --packages {maven_coordinates()} {settings}, or run delta-spark with --master, or without both."
    )


@contextmanager
def _tables(spark: SparkSession, case: Case, directory: Path, target: str, placed: PlacedTables) -> Iterator[None]:
    """Name the case's tables ``target`` and ``source`` while this lasts."""
    spark.sql(f"CREATE TABLE {_TARGET} USING delta LOCATION '{target}'")
    try:
        if case.source is not None:
            _source(spark, case, directory, placed)
        yield
    finally:
        with suppress(Exception):  # the next call reports a JVM that is gone
            spark.sql(f"DROP TABLE IF EXISTS {_TARGET}")
            spark.catalog.dropTempView(SOURCE_VIEW)


def _source(spark: SparkSession, case: Case, directory: Path, placed: PlacedTables) -> None:
    source = case.source
    if source is None:
        return
    if reads_source_from_table(case):
        with suppress(UnwritableTableError):  # a local relation holds what no table can: VOID, two columns of one name
            write_source(source, directory / SOURCE_VIEW)
            path = placed.publish(directory / SOURCE_VIEW)
            spark.read.format("delta").load(path).createOrReplaceTempView(SOURCE_VIEW)
            return
    local_relation(spark, source)


def _rejection(spark: SparkSession, case: Case, path: Path, error: Exception, since: int) -> Rejection:
    require_alive(spark, error)
    unchanged = is_unchanged(case.target, path, since=since)
    return Rejection(error_class=error_class_of(error), message=error_message(error), unchanged=unchanged)


def error_class_of(error: Exception) -> str:
    """Give the class of an error: of its cause, if Spark only says that a task failed.

    PySpark 4.2 cannot make the exception for an analysis error of Delta Lake: it looks for the text of its class among
    Spark's own, does not find it, and raises that instead (docs/findings/pyspark-delta-error-class.md).
    """
    if isinstance(error, Py4JJavaError):
        hidden = _NOT_SPARKS.search(str(error.java_exception.getMessage()))
        if hidden:
            return hidden[1]
        return _condition(error.java_exception) or str(error.java_exception.getClass().getSimpleName())
    found = class_of(error)
    if found in _WRAPPERS or found == type(error).__name__:
        return _condition(getattr(error, "_origin", None)) or found
    return found


def _condition(throwable: Any) -> str | None:  # noqa: ANN401 - a Java object
    """Give the condition of the first error in a chain of causes that is more than a wrapper."""
    while throwable is not None:
        with suppress(Py4JError, TypeError):  # not every Java error has one
            condition = throwable.getCondition()
            if condition and condition not in _WRAPPERS:
                return str(condition)
        throwable = throwable.getCause()
    return None


def error_message(error: Exception) -> str:
    """Give the text of an error without the stack trace of the JVM."""
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    return text.split("\n\tat ")[0]


def _observed(spark: SparkSession, case: Case, path: Path, place: str, since: int) -> Outcome | Rejection:
    seen = observe(path, metrics={}, taken=None, since=since)
    if isinstance(seen, Rejection):
        return seen
    try:
        if draw(case, "reader") % 4 == 0 and (other := _other_rows(spark, seen, place)) is not None:
            return other
        if not seen.committed:
            return seen
        changes = _change_feed(spark, seen, place, version=since + 1)
        return replace(seen, metrics=_history_metrics(spark, place), cdf=changes)
    except Exception as error:  # noqa: BLE001 - a table that Delta cannot read after its own merge is its answer
        require_alive(spark, error)
        message = f"the merge succeeded, but Spark cannot read the table: {class_of(error)}: {error_message(error)}"
        return Rejection(error_class=UNREADABLE_TABLE, message=message, unchanged=False)


def _other_rows(spark: SparkSession, seen: Outcome, place: str) -> Rejection | None:
    """Read the table by Spark too; None if it sees the same rows as the files show."""
    if not seen.schema.columns:
        return None
    rows = _collect(spark.read.format("delta").load(place), seen.schema)
    if same_rows(seen.rows, rows, seen.schema):
        return None
    message = f"Spark reads {len(rows)} rows that differ from the {len(seen.rows)} rows of the table's files"
    return Rejection(error_class=UNREADABLE_TABLE, message=message, unchanged=False)


def _history_metrics(spark: SparkSession, place: str) -> dict[str, int]:
    history = spark.sql(f"DESCRIBE HISTORY delta.`{place}` LIMIT 1").select("operationMetrics").first()
    metrics = {} if history is None else history[0] or {}
    return {name: int(text) for name, text in metrics.items()}


def _change_feed(spark: SparkSession, seen: Outcome, place: str, *, version: int) -> tuple[Row, ...] | None:
    if seen.cdf is None:
        return None
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    feed = reader.option("startingVersion", version).option("endingVersion", version).load(place)
    schema = Schema((*seen.schema.columns, Field("_change_type", STRING)))
    return _collect(feed.drop("_commit_version", "_commit_timestamp"), schema)


def _collect(frame: DataFrame, schema: Schema) -> tuple[Row, ...]:
    found = schema_from_json(json.dumps(frame.schema.jsonValue()))
    if found.names != schema.names:
        raise ValueError(f"columns {found.names}, but the table has {schema.names}")
    return table_to_rows(frame.toArrow(), found)
