"""The engines that can merge large tables: both on Spark, in a session with production settings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.config import require_place
from mergecheck.harness.engines.spark.packages import request_delta
from mergecheck.harness.engines.spark.session import PROFILE_SETTINGS, Profile, start_session
from mergecheck.harness.engines.spark_case import named_tables, require_alive
from mergecheck.harness.engines.spark_values.error_classes import class_of, error_class_of, error_message
from mergecheck.harness.lab.scale.judge import Merged
from mergecheck.harness.verdict import UserInputError
from mergecheck.merge import merge_sql
from mergecheck.merge.errors import MergeError
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mergecheck.harness.engine import Engine

DEFAULT_DRIVER_MEMORY = "4g"
_NUM_PARTITIONS = str(4 * (os.cpu_count() or 1))
_SETTINGS = {
    **PROFILE_SETTINGS[Profile.PRODUCTION],
    "spark.sql.shuffle.partitions": _NUM_PARTITIONS,
    # Spark's own default: these tables have the size for it
    "spark.sql.files.maxPartitionBytes": "134217728",
    # Delta Lake's own default suits logs of a hundred thousand files
    "spark.databricks.delta.snapshotPartitions": _NUM_PARTITIONS,
}
# The optimising compiler and a parallel collector: a large merge repays them, a small case does not.
_JAVA_OPTIONS = "-XX:+UseParallelGC -XX:-UsePerfData -Xss4m -Duser.timezone=UTC"
_JVM = {"spark.driver.extraJavaOptions": _JAVA_OPTIONS, "spark.executor.extraJavaOptions": _JAVA_OPTIONS}


class ScaleEngine(Protocol):
    """A MERGE that can be run on tables that are there already."""

    name: str

    @property
    def version(self) -> str:
        """The engine's release."""

    def merge(self, tables: Mapping[str, Path], sql: str) -> Merged:
        """Merge ``source`` into ``target``, whose folders are given, and return the result.

        Raises:
            EngineDownError: when Spark is gone.
        """

    def small(self) -> Engine:
        """Return the same engine for cases of a few rows, on the same session."""

    def close(self) -> None:
        """Stop Spark."""


def open_scale_engine(name: str, *, driver_memory: str = DEFAULT_DRIVER_MEMORY) -> ScaleEngine:
    """Start an engine by name.

    Args:
        name: ``pyspark`` or ``delta-spark``.
        driver_memory: heap of Spark's JVM, in Spark's notation.

    Raises:
        UserInputError: for another name, or if Spark's place cannot be used.
        EngineDownError: if Spark does not start.
    """
    engines: dict[str, Callable[[SparkSession], ScaleEngine]] = {
        PySparkEngine.name: _PySpark,
        DeltaSparkEngine.name: _DeltaSpark,
    }
    if name not in engines:
        raise UserInputError(f"--engine {name}: large tables can be merged by {' and '.join(engines)} only")
    if name == DeltaSparkEngine.name:
        request_delta()
    require_place()
    spark = start_session(Profile.PRODUCTION, jvm={**_JVM, "spark.driver.memory": driver_memory})
    return engines[name](spark)


@dataclass(slots=True)
class _OnSpark:
    """What both have in common."""

    spark: SparkSession

    def _prepare(self) -> None:
        for name, value in _SETTINGS.items():  # small cases may have run under others
            self.spark.conf.set(name, value)

    def close(self) -> None:
        """Stop the session."""
        self.spark.stop()


class _PySpark(_OnSpark):
    """This project's own merge."""

    name = PySparkEngine.name

    @property
    def version(self) -> str:
        return self.small().version

    def merge(self, tables: Mapping[str, Path], sql: str) -> Merged:
        self._prepare()
        try:
            result = merge_sql(self.spark, sql, tables={name: str(path) for name, path in tables.items()})
        except MergeError as error:
            return Merged(rejection=Rejection(error_class=error.error_class, message=error.message))
        except Exception as error:  # noqa: BLE001 - what escapes from the system under test is its answer
            require_alive(self.spark, error)
            return Merged(rejection=Rejection(error_class=class_of(error), message=str(error)))
        return Merged(metrics=dict(result.metrics), path=None if result.path is None else result.path.value)

    def small(self) -> PySparkEngine:
        return PySparkEngine(self.spark)


class _DeltaSpark(_OnSpark):
    """Delta Lake's own MERGE."""

    name = DeltaSparkEngine.name

    @property
    def version(self) -> str:
        return self.small().version

    def merge(self, tables: Mapping[str, Path], sql: str) -> Merged:
        self._prepare()
        try:
            with named_tables(self.spark, {name: str(path) for name, path in tables.items()}):
                self.spark.sql(sql)
        except Exception as error:  # noqa: BLE001 - the same
            require_alive(self.spark, error)
            return Merged(rejection=Rejection(error_class=error_class_of(error), message=error_message(error)))
        return Merged()

    def small(self) -> DeltaSparkEngine:
        return DeltaSparkEngine(self.spark)
