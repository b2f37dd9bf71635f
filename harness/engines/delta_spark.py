"""The engine ``delta-spark``: Delta Lake's own MERGE on Spark, by SQL."""

from __future__ import annotations

import json
import uuid
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from py4j.protocol import Py4JError

from mergecheck.harness.compare.commit_info import COMMIT_INFO
from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.delta.observe import UNREADABLE_TABLE, is_unchanged, observe
from mergecheck.harness.engine import Capabilities, UnreadableByEngineError, Written
from mergecheck.harness.engines.executed_plans import recording
from mergecheck.harness.engines.read_rows import rows_in
from mergecheck.harness.engines.spark.class_archive import diagnose_classes
from mergecheck.harness.engines.spark.config import current_place
from mergecheck.harness.engines.spark.connect import is_remote
from mergecheck.harness.engines.spark.delta_jars import (
    DELTA_SESSION_SETTINGS,
    EXTENSION_SETTINGS,
    delta_version,
    maven_coordinates,
)
from mergecheck.harness.engines.spark.java_home import diagnose_java
from mergecheck.harness.engines.spark.packages import has_delta, request_delta
from mergecheck.harness.engines.spark.session import another_session, settings_of
from mergecheck.harness.engines.spark.transactions import observed_transaction
from mergecheck.harness.engines.spark_axes import SPARK_AXES
from mergecheck.harness.engines.spark_case import (
    AS_STORED,
    COMPILED_PROFILES,
    SOURCE_VIEW,
    draw,
    full_name,
    named_tables,
    require_alive,
)
from mergecheck.harness.engines.spark_engine import SparkEngine
from mergecheck.harness.engines.spark_values.error_classes import class_of, error_class_of, error_message
from mergecheck.harness.engines.spark_versions.delta import delta_release_engine, diagnose_delta_release
from mergecheck.harness.engines.statement_forms import in_sql_order
from mergecheck.harness.oracles.transformations.delta import DELTA_AXES
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.arrow import table_to_rows
from mergecheck.model.outcome import MergePath, Outcome, Rejection
from mergecheck.model.schema_json import schema_from_json
from mergecheck.model.types.data_types import STRING, Field, Schema
from mergecheck.reference.analysis.settings import marks_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.harness.compare.table_outcome import CommitRecord
    from mergecheck.harness.engine import Diagnosis, Engine, Point
    from mergecheck.harness.engines.spark_engine import StagedCase
    from mergecheck.model.case import Row
    from mergecheck.model.outcome import EngineResult, Unsupported

_TARGET = "target"
_WAYS = {
    MergePath.A: "insert_only",
    MergePath.B: "append",
    MergePath.C: "nothing_written",
    MergePath.D: "rewrite",
    MergePath.E: "marked_rows",
}
_MARKS = {"materialized": "Scan ExistingRDD", "repartitioned": "REPARTITION_BY_"}
_READ = ("numTargetFilesAfterSkipping", "numTargetBytesAfterSkipping")
_NO_PATH = "the path shows in the commit only, and there is none"


class DeltaSparkEngine(SparkEngine):
    """Runs a case through ``MERGE INTO`` of Delta Lake on a fresh table that the harness writes.

    Change rows come from ``readChangeFeed``, the rows of the table from its files, and metrics from its log. For one
    case in four Spark reads the rows as well, and metrics come from DESCRIBE HISTORY; two readers that differ are a
    rejection of class ``MERGECHECK_UNREADABLE_TABLE``.

    Args:
        spark: the session to use, started with Delta Lake; without one, the session of this process.
        owns_session: stop the given session with ``close``.
        database: the current database of the session if it is the engine's own; dropped by ``close``.
    """

    name = "delta-spark"
    capabilities = Capabilities(
        exact_metric_names=True,
        table_features=True,
        commit_info=COMMIT_INFO - {"dataChange"},
        axes=(*DELTA_AXES, *SPARK_AXES),
        reasons={"path": _NO_PATH, "log": "commitInfo of Delta Lake 4.4 has no dataChange"},
    )
    profiles = COMPILED_PROFILES

    def __init__(
        self, spark: SparkSession | None = None, *, owns_session: bool = False, database: str | None = None
    ) -> None:
        super().__init__(spark, owns_session=owns_session)
        self.version = delta_version()
        self._is_set_up = False
        self._database = database
        if spark is None:
            request_delta()

    @classmethod
    def at_version(cls, version: str) -> Engine:
        """Return an engine that runs another release of Delta Lake on its own Spark, such as ``3.3.2+spark3.5``.

        Raises:
            UserInputError: if there is no such release.
            EngineDownError: if it cannot be installed here.
        """
        return delta_release_engine(version)

    @classmethod
    def diagnose(cls, version: str | None) -> tuple[Diagnosis, ...]:
        """List a release's requirements and whether they are met.

        Raises:
            UserInputError: if the text names no release.
        """
        return (diagnose_java(), diagnose_classes()) if version is None else diagnose_delta_release(version)

    def takes_setting(self, name: str) -> bool:
        """Return whether a setting is Spark's or Delta's."""
        return full_name(name).startswith("spark.")

    def session(self) -> SparkSession:
        """Return the engine's session, which has Delta Lake.

        Raises:
            EngineDownError: when it has not.
        """
        session = super().session()
        if not self._is_set_up:
            if not has_delta(session):
                raise EngineDownError(_without_delta(session))
            for name, value in DELTA_SESSION_SETTINGS.items():
                session.conf.set(name, value)
            self._is_set_up = True
        return session

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:
        """Read a table with these columns.

        Raises:
            UnreadableByEngineError: Spark cannot.
            EngineDownError: as for ``run``.
        """
        spark = self.session()
        try:
            with settings_of(spark, AS_STORED):
                return rows_in(spark.read.format("delta").load(str(table)).toArrow(), schema)
        except Exception as error:  # what escapes from Delta Lake is its answer
            require_alive(spark, error)
            raise UnreadableByEngineError(f"{error_class_of(error)}: {error_message(error)}") from error

    def fork(self) -> Self:
        """Return another engine on the same Spark, for another thread; its tables have a database of their own."""
        session = another_session(self.session())
        database = f"mergecheck_{uuid.uuid4().hex}"
        session.sql(f"CREATE DATABASE {database}")
        session.sql(f"USE {database}")
        return type(self)(session, owns_session=is_remote(session), database=database)

    def close(self) -> None:
        """Drop the engine's own database, and stop the session if this engine started it."""
        if self._spark is not None and self._database is not None:
            with suppress(Exception):  # a lost session has nothing left to clean up
                self._spark.sql(f"DROP DATABASE IF EXISTS {self._database} CASCADE")
        super().close()

    def merge(self, staged: StagedCase) -> EngineResult:
        """Merge by SQL over the tables ``target`` and ``source``, and read the table by Delta Lake."""
        spark = staged.spark
        try:
            with _tables(staged):
                with recording(spark, staged.plans):
                    returned = spark.sql(in_sql_order(staged.case.sql))
                row = returned.first()
        except EngineDownError:
            raise
        except Exception as error:  # noqa: BLE001 - what escapes from the system under test is its answer
            staged.staged.download(staged.path)
            return _rejection(staged, error)
        staged.staged.download(staged.path)
        observed = _observed(staged, None if row is None else row.asDict())
        if not isinstance(observed, Outcome):
            return observed
        work = observed.work
        if work is not None and (read := _read_by_command(spark, returned)) is not None:
            work = replace(work, num_scanned=read[0], bytes_scanned=read[1])
        return replace(observed, paths=ways_taken(observed.metrics, observed.path, staged.plans or ()), work=work)

    def merge_in_steps(self, staged: StagedCase, at: Callable[[Point], None]) -> Written | Rejection | Unsupported:
        """Merge by SQL, and stop where Delta Lake's transaction lets an observer look on."""
        spark = staged.spark
        try:
            with _tables(staged), observed_transaction(spark, at) as observer:
                row = spark.sql(in_sql_order(staged.case.sql)).first()
        except EngineDownError:
            raise
        except Exception as error:  # noqa: BLE001 - what escapes from the system under test is its answer
            require_alive(spark, error)
            return Rejection(error_class=error_class_of(error), message=error_message(error))
        return Written(committed=observer.committed, result_row=None if row is None else row.asDict())


def _read_by_command(spark: SparkSession, returned: DataFrame) -> tuple[int, int] | None:
    """Return how many files a merge read, and their bytes; None if Spark or its release does not give it.

    They are metrics of the command in the executed plan only, not of the commit.
    """
    if is_remote(spark):
        return None
    frame: Any = returned
    try:
        metrics = frame._jdf.queryExecution().executedPlan().commandPhysicalPlan().metrics()  # noqa: SLF001 - no public way leads to an executed plan
        found = [metrics.get(name) for name in _READ]
        return None if any(one.isEmpty() for one in found) else (found[0].get().value(), found[1].get().value())
    except Py4JError:
        return None


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
def _tables(staged: StagedCase) -> Iterator[None]:
    """Name the case's tables ``target`` and ``source`` while this lasts."""
    spark = staged.spark
    with named_tables(spark, {_TARGET: staged.location}):
        try:
            if (source := staged.publish_source()) is not None:
                spark.read.format("delta").load(source).createOrReplaceTempView(SOURCE_VIEW)
            yield
        finally:
            with suppress(Exception):  # the next call reports a JVM that is gone
                spark.catalog.dropTempView(SOURCE_VIEW)


def _rejection(staged: StagedCase, error: Exception) -> Rejection:
    require_alive(staged.spark, error)
    unchanged = is_unchanged(staged.case.target, staged.path, before=staged.before)
    return Rejection(error_class=error_class_of(error), message=error_message(error), unchanged=unchanged)


def _observed(staged: StagedCase, row: Mapping[str, int] | None) -> Outcome | Rejection:
    spark, place = staged.spark, staged.location
    seen = observe(staged.path, metrics={}, taken=None, conf=staged.case.conf, result_row=row, before=staged.before)
    if isinstance(seen, Rejection):
        return seen
    version = staged.before.version + 1
    try:
        with settings_of(spark, AS_STORED):
            asks_spark = draw(staged.case, "reader") % 4 == 0
            if asks_spark and (other := _other_rows(spark, seen, place)) is not None:
                return other
            if not seen.committed:
                return seen
            changes = _change_feed(spark, seen, place, version=version)
        metrics = _history_metrics(spark, place, version=version) if asks_spark else seen.metrics
        path = path_taken(metrics, seen.record, marks_rows=marks_rows(staged.case))
        return replace(seen, metrics=metrics, cdf=changes, path=path)
    except Exception as error:  # noqa: BLE001 - a table that Delta cannot read after its own merge is its answer
        require_alive(spark, error)
        message = f"the merge succeeded, but Spark cannot read the table: {class_of(error)}: {error_message(error)}"
        return Rejection(error_class=UNREADABLE_TABLE, message=message, unchanged=False)


def path_taken(
    metrics: Mapping[str, int], record: CommitRecord | None, *, marks_rows: bool = False
) -> MergePath | None:
    """Return the path that Delta took, by a commit's metrics and actions (R-402, R-512, R-701).

    A part that did not run took no time. Of the paths with a scan and a write, only the rewriting one removes files;
    with deletion vectors a file is also removed when it is added again.

    Args:
        metrics: of the commit.
        record: its entry in the log.
        marks_rows: whether path E is taken in place of D.
    """
    if record is None or not {"scanTimeMs", "rewriteTimeMs"} <= metrics.keys():
        return None
    if metrics["scanTimeMs"] == 0:
        return MergePath.A
    if metrics["rewriteTimeMs"] == 0:
        return MergePath.C
    if any(metrics.get(f"numTargetDeletionVectors{what}") for what in ("Added", "Removed", "Updated")):
        return MergePath.E
    if marks_rows:  # without a new vector, E ends all rows of files, or only inserts, as B does
        return MergePath.E if record.count("remove") else None
    return MergePath.D if record.count("remove") else MergePath.B


def ways_taken(metrics: Mapping[str, int], path: MergePath | None, plans: Sequence[str]) -> dict[str, int]:
    """Return the ways inside Delta Lake that a merge took, as far as a commit's metrics and its plans show them.

    Args:
        metrics: of the commit; none if there is no commit.
        path: the path that they show.
        plans: of the merge's queries; empty if they were not recorded, and then the ways that only they show are not
            reported.
    """
    ways = {} if path is None else {_WAYS[path]: 1}
    if metrics:
        ways |= {
            "no_source_rows": int(metrics.get("numSourceRows") == 0),
            "rows_copied": metrics.get("numTargetRowsCopied", 0),
            "deletion_vectors": sum(metrics.get(f"numTargetDeletionVectors{what}", 0) for what in ("Added", "Updated")),
            "change_files": metrics.get("numTargetChangeFilesAdded", 0),
        }
    if plans:
        ways |= {name: sum(mark in plan for plan in plans) for name, mark in _MARKS.items()}
    return {name: number for name, number in ways.items() if number}


def _other_rows(spark: SparkSession, seen: Outcome, place: str) -> Rejection | None:
    """Read the table by Spark too; None if it sees the same rows as the files show."""
    if not seen.schema.columns:
        return None
    rows = _collect(spark.read.format("delta").load(place), seen.schema)
    if same_rows(seen.rows, rows, seen.schema):
        return None
    message = f"Spark reads {len(rows)} rows that differ from the {len(seen.rows)} rows of the table's files"
    return Rejection(error_class=UNREADABLE_TABLE, message=message, unchanged=False)


def _history_metrics(spark: SparkSession, place: str, *, version: int) -> dict[str, int]:
    history = spark.sql(f"DESCRIBE HISTORY '{place}'").where(f"version = {version}").select("operationMetrics").first()
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
