"""The engine ``pyspark``: this project's own MERGE on Spark, against real Delta tables."""

from __future__ import annotations

import importlib.metadata
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from mergecheck.harness.delta.observe import is_unchanged, observe
from mergecheck.harness.delta.read import newest_version
from mergecheck.harness.delta.write import UnwritableTableError, write_source, write_target
from mergecheck.harness.engine import Capabilities, Recorded
from mergecheck.harness.engines.executed_plans import recording
from mergecheck.harness.engines.spark_case import (
    PLANNER_SETTINGS,
    SOURCE_VIEW,
    case_settings,
    class_of,
    down_if_gone,
    full_name,
    is_for_harness,
    local_relation,
    profile_of,
    reads_source_from_table,
    require_alive,
)
from mergecheck.harness.errors import EngineDownError
from mergecheck.harness.spark.config import require_place, table_folder
from mergecheck.harness.spark.connect import is_remote, make_active
from mergecheck.harness.spark.session import Profile, another_session, apply_profile, start_session
from mergecheck.harness.spark.staging import staged_tables
from mergecheck.merge import merge_sql
from mergecheck.merge.conf import LARGE_TABLE_BYTES, OWN_PREFIX, SETTING_NAMES
from mergecheck.merge.errors import MergeError, StoreError, UnsupportedStatementError, UnsupportedTableError
from mergecheck.reference.outcome import MergePath, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mergecheck.harness.spark.staging import PlacedTables
    from mergecheck.merge.command import MergeResult
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import EngineResult


class PySparkEngine:
    """Runs a case through ``mergecheck.merge.merge_sql`` on a fresh Delta table.

    A case always runs the same way. Its statement and schema decide under which profile of Spark settings (one case
    in three under ``production``), and whether the source is a Delta table or, for one case in four, a local relation,
    which the merge has to materialise (R-451). A setting in the case's ``conf`` goes before the profile's.

    Args:
        spark: the session to use; without one, a session starts with the first case and stops with ``close``.

    Raises:
        UserInputError: without a session, if Spark's place or the table root cannot be used.
    """

    name = "pyspark"
    capabilities = Capabilities(
        exact_metric_names=True,
        # no drawn table is large by itself; the switches of what large tables bring are axes of the variants
        conf_domain={LARGE_TABLE_BYTES: ("0",)},
        own_settings=frozenset(name for name in SETTING_NAMES if name.startswith(OWN_PREFIX)),
    )

    def __init__(self, spark: SparkSession | None = None) -> None:
        self.version = importlib.metadata.version("mergecheck")
        self._spark = spark
        self._owns_session = spark is None
        self._profile: Profile | None = None
        if spark is None:
            require_place()

    def run(self, case: Case) -> EngineResult:
        """Run one case in a table of its own, which is gone afterwards.

        Raises:
            EngineDownError: when Spark does not start or is gone.
        """
        return self._run(case, table=None)

    def run_on(self, case: Case, table: Path) -> EngineResult:
        """Run a case on a table that is there, and stays; the case's target says what it holds now.

        Raises:
            EngineDownError: when Spark does not start or is gone.
        """
        return self._run(case, table=table)

    def run_recorded(self, case: Case) -> Recorded:
        """Run one case as ``run`` does, and record the plans of the merge.

        Raises:
            EngineDownError: when Spark does not start or is gone.
        """
        plans: list[str] = []
        result = self._run(case, table=None, plans=plans)
        return Recorded(result=result, plans=tuple(plans))

    def _run(self, case: Case, *, table: Path | None, plans: list[str] | None = None) -> EngineResult:
        if unknown := _unknown_setting(case):
            return Unsupported(f"setting {unknown}")
        spark = self._session()
        make_active(spark)
        self._switch(spark, profile_of(case))
        with ExitStack() as stack:
            directory = stack.enter_context(table_folder())
            placed = stack.enter_context(staged_tables())
            path = table or directory / "target"
            try:
                if table is None:
                    write_target(case.target, path)
            except UnwritableTableError as error:
                return Unsupported(f"table: {error}")
            tables = {"target": placed.publish(path)}
            tables |= stack.enter_context(_source(spark, case, directory, placed))
            stack.enter_context(case_settings(spark, case))
            since = newest_version(path)
            with recording(spark, plans):
                result = _merge(spark, case, tables)
            placed.download(path)
            return _answer(case, path, result, since)

    def fork(self) -> PySparkEngine:
        """Return another engine on the same Spark, for another thread.

        Raises:
            EngineDownError: when Spark does not start.
        """
        session = another_session(self._session())
        other = PySparkEngine(session)
        other._owns_session = is_remote(session)
        return other

    def close(self) -> None:
        """Stop the session, if this engine started it."""
        if self._spark is not None and self._owns_session:
            with suppress(OSError, Py4JError):  # a JVM that is gone has nothing left to stop
                self._spark.stop()
        self._spark = None

    def _session(self) -> SparkSession:
        if self._spark is None:
            self._spark = start_session()
        return self._spark

    def _switch(self, spark: SparkSession, profile: Profile) -> None:
        if profile is not self._profile:
            with down_if_gone(spark):
                apply_profile(spark, profile)
            self._profile = profile


def _unknown_setting(case: Case) -> str | None:
    return next((name for name in case.conf if not _is_known(full_name(name)) and not is_for_harness(name)), None)


def _is_known(setting: str) -> bool:
    return setting in SETTING_NAMES or setting in PLANNER_SETTINGS


@contextmanager
def _source(spark: SparkSession, case: Case, directory: Path, placed: PlacedTables) -> Iterator[dict[str, str]]:
    """Give the path of the case's source by name; a source that is no table is a view while this lasts."""
    if case.source is None:
        yield {}
        return
    if reads_source_from_table(case):
        try:
            write_source(case.source, directory / "source")
        except UnwritableTableError:
            pass  # a local relation holds what no table can: VOID columns, two columns of one name
        else:
            yield {"source": placed.publish(directory / "source")}
            return
    with down_if_gone(spark):
        local_relation(spark, case.source)
    try:
        yield {}
    finally:
        spark.catalog.dropTempView(SOURCE_VIEW)


def _merge(spark: SparkSession, case: Case, tables: dict[str, str]) -> MergeResult | Exception:
    """Run the merge; what escapes from it is its answer, and compared."""
    try:
        # the text of a case also represents a call of the builder, which may interleave the kinds
        return merge_sql(spark, case.sql, tables=tables, interleaved=True)
    except StoreError as error:
        raise EngineDownError(error.message) from error
    except MergeError as error:
        return error
    except Exception as error:  # noqa: BLE001 - the same
        require_alive(spark, error)
        return error


def _answer(case: Case, path: Path, result: MergeResult | Exception, since: int) -> EngineResult:
    if isinstance(result, UnsupportedTableError | UnsupportedStatementError):
        return Unsupported(_unsupported_reason(result))
    if isinstance(result, Exception):
        error_class, message = class_of(result), str(result)
        if isinstance(result, MergeError):
            error_class, message = result.error_class, result.message
        unchanged = is_unchanged(case.target, path, since=since)
        return Rejection(error_class=error_class, message=message, unchanged=unchanged)
    taken = None if result.path is None else MergePath(result.path.value)
    return observe(path, metrics=result.metrics, taken=taken, since=since)


def _unsupported_reason(error: UnsupportedTableError | UnsupportedStatementError) -> str:
    if isinstance(error, UnsupportedTableError):
        return f"table feature {', '.join(error.features)}"
    return error.feature
