"""Writers on Spark: the merge of this project, and Delta Lake."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.delta.write import write_source
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.spark.packages import request_delta
from mergecheck.harness.engines.spark.session import (
    JVM_FOR_SMALL_DATA,
    Profile,
    another_session,
    apply_profile,
    settings_of,
    start_session,
)
from mergecheck.harness.engines.spark_case import require_alive
from mergecheck.harness.engines.spark_values.error_classes import error_class_of
from mergecheck.harness.lab.concurrency.race.clients import Answer, AnswerKind, DeltaRsClient
from mergecheck.harness.lab.sequences.steps import Append, Delete, Merge
from mergecheck.harness.processes.temp_dirs import owned_prefix
from mergecheck.merge import merge_sql
from mergecheck.merge.errors import ConcurrentModificationError, MergeError
from mergecheck.model.case import Source
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from mergecheck.harness.lab.concurrency.race.clients import Client
    from mergecheck.harness.lab.concurrency.scenario import Writer
    from mergecheck.model.case import Target

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_JVM = {**JVM_FOR_SMALL_DATA, "spark.driver.memory": "1g"}  # of which there are several
_BY_PATH = "spark.sql.runSQLOnFiles"
_RESULT_COLUMNS = ("num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows")
_CONFLICTS = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")


def open_spark_client(engine: str) -> Client:
    """Open a client of ``pyspark`` or ``delta-spark``, with a session of its own.

    Raises:
        EngineDownError: Spark does not start.
    """
    if engine == "delta-spark":
        request_delta()
        session = DeltaSparkEngine(another_session(start_session(jvm=_JVM))).session()
        apply_profile(session, Profile.TINY)
        session.conf.set(_BY_PATH, "true")
        return DeltaSparkClient(session)
    session = another_session(start_session(jvm=_JVM))
    apply_profile(session, Profile.TINY)
    return PySparkClient(session, DeltaRsClient(MergeReference()))


@dataclass(frozen=True, slots=True)
class PySparkClient:
    """Merges by this project; appends, deletes and compactions by delta-rs."""

    spark: SparkSession
    others: DeltaRsClient

    def write(self, writer: Writer, path: Path, target: Target, tag: str) -> Answer:
        """See ``Client``."""
        action = writer.action
        if not isinstance(action, Merge):
            return self.others.write(writer, path, target, tag)
        with _source_table(action.source) as source, settings_of(self.spark, {**action.conf, _USER_METADATA: tag}):
            tables = {"target": str(path)} | ({} if source is None else {"source": str(source)})
            try:
                result = merge_sql(self.spark, action.sql, tables=tables)
            except ConcurrentModificationError as error:
                return Answer(kind=AnswerKind.CONFLICT, error=error.error_class)
            except MergeError as error:
                return Answer(kind=AnswerKind.FAILED, error=error.error_class)
            except Exception as error:  # noqa: BLE001 - whatever escapes from the merge is its answer
                require_alive(self.spark, error)
                return Answer(kind=AnswerKind.FAILED, error=error_class_of(error))
        row = None if result.row is None else dict(zip(_RESULT_COLUMNS, result.row, strict=True))
        return Answer(kind=AnswerKind.DONE, row=row)


@dataclass(frozen=True, slots=True)
class DeltaSparkClient:
    """Everything by Delta Lake: its log on a local disk may have writers of one JVM only."""

    spark: SparkSession

    def write(self, writer: Writer, path: Path, target: Target, tag: str) -> Answer:
        """See ``Client``."""
        action = writer.action
        rows = action.source if isinstance(action, Merge) else None
        if isinstance(action, Append):
            rows = Source(schema=target.schema, rows=action.rows)
        with _source_table(rows) as source, settings_of(self.spark, {_USER_METADATA: tag}):
            try:
                row = self._write(writer, f"delta.`{path}`", path, f"delta.`{source}`")
            except Exception as error:  # noqa: BLE001 - whatever escapes from the system under test is its answer
                require_alive(self.spark, error)
                error_class = error_class_of(error)
                lost = error_class.startswith(_CONFLICTS) or "Concurrent" in error_class
                return Answer(kind=AnswerKind.CONFLICT if lost else AnswerKind.FAILED, error=error_class)
        return Answer(kind=AnswerKind.DONE, row=row)

    def _write(self, writer: Writer, table: str, path: Path, source: str) -> dict[str, int] | None:
        action = writer.action
        if isinstance(action, Merge):
            sql = action.sql.replace("INTO target", f"INTO {table}").replace("FROM target", f"FROM {table}")
            row = self.spark.sql(sql.replace("USING source", f"USING {source}")).first()
            return None if row is None else row.asDict()
        if isinstance(action, Append):
            self.spark.table(source).write.format("delta").mode("append").save(str(path))
        elif isinstance(action, Delete):
            self.spark.sql(f"DELETE FROM {table} WHERE {action.column} = {action.value}")
        else:
            self.spark.sql(f"OPTIMIZE {table}")
        return None


@contextmanager
def _source_table(source: Source | None) -> Iterator[Path | None]:
    """Write a source as a table for a while; None if there are no columns."""
    if source is None or not source.schema.columns:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix=f"{owned_prefix()}source-") as folder:
        path = Path(folder) / "source"
        write_source(source, path)
        yield path
