"""The engine ``pyspark``: this project's own MERGE on Spark, against real Delta tables."""

from __future__ import annotations

import importlib.metadata
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from mergecheck.harness.delta.observe import is_unchanged, observe
from mergecheck.harness.engine import Capabilities, UnreadableByEngineError, Written
from mergecheck.harness.engines.executed_plans import recording
from mergecheck.harness.engines.merge_axes import MERGE_AXES, with_ways
from mergecheck.harness.engines.read_rows import rows_in
from mergecheck.harness.engines.scheduled_logs import ScheduledLogs
from mergecheck.harness.engines.spark.class_archive import diagnose_classes
from mergecheck.harness.engines.spark.connect import make_active
from mergecheck.harness.engines.spark.java_home import diagnose_java
from mergecheck.harness.engines.spark_axes import SPARK_AXES
from mergecheck.harness.engines.spark_case import RESULT_COLUMNS, SOURCE_VIEW, is_read_by_merge, require_alive
from mergecheck.harness.engines.spark_engine import SparkEngine
from mergecheck.harness.engines.spark_values.error_classes import class_of
from mergecheck.harness.engines.spark_versions.own_merge import diagnose_merge_release, merge_release_engine
from mergecheck.harness.oracles.transformations.delta import DELTA_AXES
from mergecheck.harness.verdict import EngineDownError
from mergecheck.merge import DeltaTable, merge_sql
from mergecheck.merge.errors import (
    InternalMergeError,
    MergeError,
    SparkFailedError,
    StoreError,
    UnsupportedStatementError,
    UnsupportedTableError,
)
from mergecheck.merge.table.commit.table_logs import DELTA_LOGS
from mergecheck.model.outcome import MergePath, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mergecheck.harness.engine import Diagnosis, Engine, Point
    from mergecheck.harness.engines.spark_engine import StagedCase
    from mergecheck.merge.command import MergeResult
    from mergecheck.merge.table.commit.table_logs import TableLogs
    from mergecheck.model.case import Row
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema


class PySparkEngine(SparkEngine):
    """Runs a case through ``mergecheck.merge.merge_sql`` on a fresh Delta table."""

    name = "pyspark"
    capabilities = Capabilities(
        exact_metric_names=True,
        table_features=True,
        conflicts_by_rule=True,
        axes=(*DELTA_AXES, *MERGE_AXES, *SPARK_AXES),
    )

    def __init__(self, spark: SparkSession | None = None, *, owns_session: bool = False) -> None:
        super().__init__(spark, owns_session=owns_session)
        self.version = importlib.metadata.version("mergecheck")

    @classmethod
    def at_version(cls, version: str) -> Engine:
        """Return the merge on another Spark, such as ``0.1.0+spark4.1``.

        Raises:
            UserInputError: if the text names no Spark, or another release of mergecheck.
            EngineDownError: if it cannot be had here.
        """
        return merge_release_engine(version)

    @classmethod
    def diagnose(cls, version: str | None) -> tuple[Diagnosis, ...]:
        """List the merge's requirements on this machine.

        Raises:
            UserInputError: as for ``at_version``.
        """
        return (diagnose_java(), diagnose_classes()) if version is None else diagnose_merge_release(version)

    def takes_setting(self, name: str) -> bool:
        """Return whether the merge or Spark's planner reads a setting."""
        return is_read_by_merge(name)

    def session(self) -> SparkSession:
        """Return the engine's session, which becomes its thread's active session."""
        session = super().session()
        make_active(session)
        return session

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:
        """Read a table with these columns, as a merge reads it.

        Raises:
            UnreadableByEngineError: the merge cannot.
            EngineDownError: as for ``run``.
        """
        spark = self.session()
        try:
            return rows_in(DeltaTable.forPath(spark, str(table)).toDF().toArrow(), schema)
        except StoreError as error:
            raise EngineDownError(error.message) from error
        except (MergeError, PySparkException) as error:
            require_alive(spark, error)
            raise UnreadableByEngineError(f"{type(error).__name__}: {error}") from error

    def merge(self, staged: StagedCase) -> EngineResult:
        """Merge by ``merge_sql``, and read the table by its log."""
        with _tables(staged) as tables:
            with recording(staged.spark, staged.plans):
                result = _merge(staged.spark, staged.case.sql, tables)
            staged.staged.download(staged.path)
            return _answer(staged, result)

    def merge_in_steps(self, staged: StagedCase, at: Callable[[Point], None]) -> Written | Rejection | Unsupported:
        """Merge by ``merge_sql`` with logs that stop before each access."""
        with _tables(staged) as tables:
            result = _merge(staged.spark, staged.case.sql, tables, ScheduledLogs(path=staged.location, at=at))
        if isinstance(result, Exception):
            return _failed(result)
        return Written(committed=result.version is not None, result_row=_result_row(result))


@contextmanager
def _tables(staged: StagedCase) -> Iterator[dict[str, str]]:
    """Give the paths of the case's tables; a source that no table holds is a view while this lasts."""
    source = staged.publish_source()
    try:
        yield {"target": staged.location} | ({} if source is None else {"source": source})
    finally:
        if source is None and staged.case.source is not None:
            staged.spark.catalog.dropTempView(SOURCE_VIEW)


def _merge(
    spark: SparkSession, sql: str, tables: dict[str, str], logs: TableLogs = DELTA_LOGS
) -> MergeResult | Exception:
    """Run the merge; an error that escapes from it is its answer."""
    try:
        # the text of a case also represents a call of the builder, which may interleave the kinds
        return merge_sql(spark, sql, tables=tables, interleaved=True, logs=logs)
    except StoreError as error:
        raise EngineDownError(error.message) from error
    except (SparkFailedError, InternalMergeError) as error:
        require_alive(spark, error)
        return error
    except MergeError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a defect: every error of a merge is a MergeError
        require_alive(spark, error)
        return error


def _answer(staged: StagedCase, result: MergeResult | Exception) -> EngineResult:
    if isinstance(result, Exception):
        failed = _failed(result)
        if isinstance(failed, Unsupported):
            return failed
        return replace(failed, unchanged=is_unchanged(staged.case.target, staged.path, before=staged.before))
    taken = None if result.path is None else MergePath(result.path.value)
    seen = observe(
        staged.path,
        metrics=result.metrics,
        taken=taken,
        conf=staged.case.conf,
        result_row=_result_row(result),
        before=staged.before,
    )
    return with_ways(seen, result.ways)


def _failed(error: Exception) -> Rejection | Unsupported:
    if isinstance(error, UnsupportedTableError):
        return Unsupported(f"table feature {', '.join(error.features)}")
    if isinstance(error, UnsupportedStatementError):
        return Unsupported(error.feature)
    if isinstance(error, MergeError):
        return Rejection(error_class=error.error_class, message=error.message)
    return Rejection(error_class=class_of(error), message=str(error))


def _result_row(result: MergeResult) -> dict[str, int] | None:
    return None if result.row is None else dict(zip(RESULT_COLUMNS, result.row, strict=True))
