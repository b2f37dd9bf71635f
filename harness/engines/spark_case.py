"""What every engine on Spark does for a case: settings, profile, source relation; an error or a lost JVM?"""

from __future__ import annotations

import zlib
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark.session import Profile, settings_of
from mergecheck.harness.verdict import EngineDownError
from mergecheck.merge.conf import DROP_NULL_COLUMNS, OWN_PREFIX, SETTING_NAMES
from mergecheck.reference.analysis.settings import is_without_effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from mergecheck.model.case import Case, Source

SOURCE_VIEW = "source"
AS_STORED = {"spark.sql.readSideCharPadding": "false"}
"""CHAR columns are read without the spaces that Spark would give them (R-822)."""

FAST_PROFILES = (Profile.PRODUCTION, Profile.TINY, Profile.TINY)
"""One case in three as in production, the others as fast as can be."""
COMPILED_PROFILES = (
    *(Profile.PRODUCTION, Profile.COMPILED, Profile.COMPILED),
    *(Profile.PRODUCTION, Profile.COMPILED, Profile.TINY),
)
"""Five cases in six with code generation, as users have it; cases of ``FAST_PROFILES`` as in production."""

SOURCE_SETTING = "mergecheck.source"
"""The setting for how the source reaches the merge, ``table`` or ``relation``; only the harness reads it."""

# Settings that a case may name besides those that merge/ reads: they change how Spark works, never its answer.
PLANNER_SETTINGS = frozenset(
    {
        "spark.sql.adaptive.autoBroadcastJoinThreshold",
        "spark.sql.adaptive.enabled",
        "spark.sql.adaptive.forceApply",
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.codegen.factoryMode",
        "spark.sql.codegen.wholeStage",
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.files.maxRecordsPerFile",
        "spark.sql.files.minPartitionNum",
        "spark.sql.files.openCostInBytes",
        "spark.sql.leafNodeDefaultParallelism",
        "spark.sql.parquet.columnarReaderBatchSize",
        "spark.sql.parquet.enableVectorizedReader",
        "spark.sql.session.timeZone",
        "spark.sql.shuffle.partitions",
        "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold",
        "spark.sql.sortMergeJoinExec.buffer.spill.threshold",
    }
)
_KEPT_BY_SPARK = frozenset({"spark.sql.mapKeyDedupPolicy"})
"""Spark's settings that change the values of expressions, whichever engine merges."""
RESULT_COLUMNS = ("num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows")
"""The names of the result row (R-110), as ``merge_sql`` gives it."""
_HARNESS_PREFIX = "mergecheck."
_WRITER_METRICS = frozenset({"numTargetFilesAdded", "numTargetChangeFilesAdded"})
# The names of settings in the cases from Delta's suites.
_OTHER_SPELLINGS = {"void_columns": DROP_NULL_COLUMNS}


@contextmanager
def named_tables(spark: SparkSession, locations: Mapping[str, str]) -> Iterator[None]:
    """Give Delta tables names while this lasts: in the engines' sessions files are no tables.

    Args:
        spark: a session that has Delta Lake.
        locations: where each table is, by its name.
    """
    try:
        for name, location in locations.items():
            spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{location}'")
        yield
    finally:
        with suppress(Exception):  # the next call reports a JVM that is gone
            for name in locations:
                spark.sql(f"DROP TABLE IF EXISTS {name}")


def profile_of(case: Case, profiles: Sequence[Profile] = FAST_PROFILES) -> Profile:
    """Choose the profile of Spark settings for a case.

    A case whose author states how many files are written runs with one task per stage, on which that number depends
    (R-542).

    Args:
        case: the case.
        profiles: each is the profile of one case in ``len(profiles)``.
    """
    if _states_files(case):
        return Profile.TINY
    return profiles[draw(case, "profile") % len(profiles)]


def reads_source_from_table(case: Case) -> bool:
    """Choose how the source reaches the merge: as a Delta table, or for one case in four as a local relation.

    A case may set it itself.
    """
    chosen = case.conf.get(SOURCE_SETTING)
    if chosen is not None:
        return chosen != "relation"
    return _states_files(case) or draw(case, "source") % 4 != 0


def _states_files(case: Case) -> bool:
    return case.expect is not None and bool(_WRITER_METRICS & (case.expect.metrics or {}).keys())


def draw(case: Case, purpose: str) -> int:
    """Give a number that follows from the case and the purpose alone."""
    # Rows are left out, so that a case under reduction stays on its mode while rows go.
    return zlib.crc32(f"{purpose}\n{case.target.schema.ddl()}\n{case.sql}".encode())


def full_name(setting: str) -> str:
    """Return the full name of a setting in the notation of Delta's suites."""
    return _OTHER_SPELLINGS.get(setting, setting)


def is_read_by_merge(setting: str) -> bool:
    """Return whether this project's merge, or Spark under it, reads a setting, or no merge does."""
    name = full_name(setting)
    return name in PLANNER_SETTINGS.union(SETTING_NAMES, _KEPT_BY_SPARK) or is_without_effect(name)


def is_for_harness(setting: str) -> bool:
    """Return whether a setting is for the harness, so that engines may ignore it."""
    return setting.startswith(_HARNESS_PREFIX) and not setting.startswith(OWN_PREFIX)


def local_relation(spark: SparkSession, source: Source, name: str = SOURCE_VIEW) -> None:
    """Make a table of a case that is no table of Spark's a view."""
    from mergecheck.model.arrow import rows_to_table  # noqa: PLC0415 - it needs an extra, the names of settings do not

    data = rows_to_table(source.rows, source.schema)
    spark.createDataFrame(data, schema=source.schema.ddl()).createOrReplaceTempView(name)


@contextmanager
def other_tables(spark: SparkSession, case: Case) -> Iterator[None]:
    """Show the tables beside target and source as views of their names while this lasts."""
    try:
        with down_if_gone(spark):
            for name, table in case.tables.items():
                local_relation(spark, table, name)
        yield
    finally:
        with suppress(Exception):  # the next call reports a JVM that is gone
            for name in case.tables:
                spark.catalog.dropTempView(name)


@contextmanager
def case_settings(spark: SparkSession, case: Case) -> Iterator[None]:
    """Hold the session at the case's settings for a while."""
    settings = {full_name(name): value for name, value in case.conf.items() if not is_for_harness(name)}
    with ExitStack() as stack:
        with down_if_gone(spark):
            stack.enter_context(settings_of(spark, settings))
        yield


@contextmanager
def down_if_gone(spark: SparkSession) -> Iterator[None]:
    """Turn a failure that comes of a lost JVM into ``EngineDownError``."""
    try:
        yield
    except Exception as error:
        require_alive(spark, error)
        raise


def require_alive(spark: SparkSession, error: Exception) -> None:
    """Ask Spark for the least it can do.

    Raises:
        EngineDownError: when it does not answer.
    """
    try:
        spark.range(1).schema  # noqa: B018 - the analysis is the question
    except Exception as second:
        raise EngineDownError(
            f"Spark is gone ({type(second).__name__}) after {type(error).__name__}: {error}. "
            "Run the case again; if Spark ended for lack of memory, free some or use smaller tables."
        ) from second
