"""The engine ``delta-spark@RELEASE+sparkX.Y``: any release of Delta Lake on the Spark that it was made for."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from mergecheck.harness.compare.commit_info import COMMIT_INFO
from mergecheck.harness.compare.metrics import HISTORY_METRICS
from mergecheck.harness.delta.observe import is_unchanged, observe
from mergecheck.harness.delta.table_files import files_of
from mergecheck.harness.delta.write import UnwritableTableError, write_source, write_target
from mergecheck.harness.engine import Capabilities, Recorded
from mergecheck.harness.engines.executed_plans import without_log
from mergecheck.harness.engines.spark.delta_jars import DELTA_SESSION_SETTINGS, EXTENSION_SETTINGS
from mergecheck.harness.engines.spark.maven_jars import JarSet
from mergecheck.harness.engines.spark.session import PLANS_DESCRIBED, PROFILE_SETTINGS
from mergecheck.harness.engines.spark_axes import SPARK_AXES
from mergecheck.harness.engines.spark_case import (
    COMPILED_PROFILES,
    SOURCE_VIEW,
    full_name,
    is_for_harness,
    profile_of,
    reads_source_from_table,
)
from mergecheck.harness.engines.spark_versions.child import Setup, SparkChild, merged
from mergecheck.harness.engines.spark_versions.needs import diagnose
from mergecheck.harness.engines.spark_versions.spark_version import release_on_spark
from mergecheck.harness.engines.statement_forms import in_sql_order, with_evolution_setting
from mergecheck.harness.oracles.transformations.delta import DELTA_AXES
from mergecheck.harness.processes.temp_dirs import scratch_directory
from mergecheck.harness.verdict import BadSettingError
from mergecheck.model.arrow import rows_to_table
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.model.schema_json import schema_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mergecheck.harness.delta.table_files import TableFiles
    from mergecheck.harness.engine import Diagnosis, Engine
    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.harness.engines.spark_versions.spark_version import ReleaseOnSpark, SparkVersion
    from mergecheck.model.case import Case, Source
    from mergecheck.model.outcome import EngineResult, MergePath

EXAMPLE = "3.3.2+spark3.5"
_TARGET = "target"
_BY_SPARK = (4, 1)  # the first release whose jars are named by the Spark that they are for
_AS_DELTA_SPARK = (3, 0)  # the first release whose jar is called so
_FIRST_WITH_EVOLUTION = 4  # Spark whose grammar has the words
_REASONS = {
    "path": "the path shows in the commit only, and there is none",
    "error": "error classes differ from release to release",
    "metrics": "this release does not report it, or counts it otherwise",
    "log": "commitInfo differs from release to release",
    "result": "the merge of Delta Lake 2 returns no row",
}
_METRICS_SINCE = {
    (3, 1): frozenset(f"numTargetDeletionVectors{what}" for what in ("Added", "Removed", "Updated")),
    (3, 3): frozenset({"materializeSourceTimeMs"}),
}
"""The first release that reports them."""
FEATURES_OFF = frozenset({"duplicate-source-names", "schemas-without-columns-or-types"})
"""Random cases leave them out: neither tables nor files can hold such sources."""


class DeltaReleaseEngine:
    """Runs a case through ``MERGE INTO`` of a release of Delta Lake, in a child process with the Spark of that release.

    The harness writes the table and reads it back; metrics and change rows come from the table, too.

    Args:
        release: Delta Lake's, and the version of Spark.
        plugin: of Spark, if the session has one.
    """

    name = "delta-spark"

    def __init__(self, release: ReleaseOnSpark, plugin: Plugin | None = None) -> None:
        self.version = str(release)
        self._release = release
        self._plugin = plugin
        self.capabilities = Capabilities(
            error_class=False,
            metric_names=_metrics_of(release),
            commit_info=COMMIT_INFO - {"dataChange"},
            reasons=_REASONS,
            features_off=FEATURES_OFF,
            axes=(*DELTA_AXES, *SPARK_AXES),
        )
        self._child = SparkChild(self.setup(release, plugin))

    @staticmethod
    def setup(release: ReleaseOnSpark, plugin: Plugin | None = None) -> Setup:
        """Return the setup of a release's child."""
        spark = release.spark
        return Setup(
            spark=spark,
            jars=(_jars(release), *(() if plugin is None else plugin.jars(spark))),
            settings=merged(EXTENSION_SETTINGS, DELTA_SESSION_SETTINGS, {} if plugin is None else plugin.settings),
        )

    def factory(self) -> Callable[[], Engine]:
        """Return what makes another such engine, see ``FactoryEngine``."""
        return functools.partial(type(self), self._release, self._plugin)

    def with_plugin(self, plugin: Plugin) -> DeltaReleaseEngine:
        """Return the same release in a child of its own, whose session has a plugin.

        Raises:
            EngineDownError: if the plugin's jars cannot be had.
        """
        return DeltaReleaseEngine(self._release, plugin)

    def takes_setting(self, name: str) -> bool:
        """Return whether a setting is Spark's or Delta's."""
        return full_name(name).startswith("spark.")

    def unsupported_reason(self, case: Case) -> Unsupported | None:
        """Return which setting of a case the engine does not read."""
        for name in case.conf:
            if not self.takes_setting(name) and not is_for_harness(name):
                return Unsupported(f"setting {name}")
        return None

    def run(self, case: Case) -> EngineResult:
        """Run one case.

        Raises:
            EngineDownError: when the child cannot be started.
        """
        return self._run(case, table=None, plans=None)

    def run_on(self, case: Case, table: Path) -> EngineResult:
        """Run a case on an existing table, which stays; the case's target holds its current rows.

        Raises:
            EngineDownError: as for ``run``.
        """
        return self._run(case, table=table, plans=None)

    def run_recorded(self, case: Case) -> Recorded:
        """Run one case as ``run`` does, and record the plans of the merge.

        Raises:
            EngineDownError: as for ``run``.
        """
        plans: list[str] = []
        result = self._run(case, table=None, plans=plans)
        return Recorded(result=result, plans=tuple(plans))

    def close(self) -> None:
        """End the child."""
        self._child.close()

    def _run(self, case: Case, *, table: Path | None, plans: list[str] | None) -> EngineResult:
        if (refusal := self.unsupported_reason(case)) is not None:
            return refusal
        with scratch_directory() as directory:
            path = table or directory / "target"
            try:
                if table is None:
                    write_target(case.target, path)
                steps, settings = self._steps(case, path, directory)
            except UnwritableTableError as error:
                return Unsupported(f"table: {error}")
            before = files_of(path)
            answer = self._child.run(
                [*steps[:-1], {**steps[-1], "plans": plans is not None}],
                conf={**_settings(case, described=plans is not None), **settings},
                cleanup=[
                    f"DROP TABLE IF EXISTS {_TARGET}",
                    *(f"DROP VIEW IF EXISTS {v}" for v in (SOURCE_VIEW, *case.tables)),
                ],
            )
            if isinstance(answer, Rejection):
                return answer
            if plans is not None:
                plans += without_log(answer["plans"])
            return self._outcome(case, path, answer, before)

    def _steps(self, case: Case, path: Path, directory: Path) -> tuple[list[dict[str, Any]], Mapping[str, str]]:
        """Return the steps of the child, the merge last, and the settings that replace words of the statement."""
        sql, settings = spelled_for(self._release.spark, case)
        steps: list[dict[str, Any]] = [
            {"step": "setup", "sql": f"CREATE TABLE {_TARGET} USING delta LOCATION '{path}'"}
        ]
        if case.source is not None:
            steps.append(_source_step(case, case.source, directory))
        steps += other_views(case, directory)
        return [*steps, {"step": "merge", "name": "row", "sql": in_sql_order(sql)}], settings

    def _outcome(self, case: Case, path: Path, answer: dict[str, Any], before: TableFiles) -> EngineResult:
        rows = answer["results"].get("row")
        return observed(case, path, answer, before=before, result_row=rows[0] if rows else None)


def delta_release_engine(version: str) -> DeltaReleaseEngine:
    """Start a release.

    Raises:
        UserInputError: if the text names none.
        EngineDownError: if it cannot be had here.
    """
    return DeltaReleaseEngine(release_on_spark(DeltaReleaseEngine.name, version, example=EXAMPLE))


def diagnose_delta_release(version: str) -> tuple[Diagnosis, ...]:
    """List a release's requirements on this machine.

    Raises:
        UserInputError: if the text names none.
    """
    return diagnose(DeltaReleaseEngine.setup(release_on_spark(DeltaReleaseEngine.name, version, example=EXAMPLE)))


def spelled_for(spark: SparkVersion, case: Case) -> tuple[str, Mapping[str, str]]:
    """Give the statement and settings; the parser of Spark 3 knows no WITH SCHEMA EVOLUTION.

    Args:
        spark: the line that must read it.
        case: the case.
    """
    return (case.sql, {}) if spark.major >= _FIRST_WITH_EVOLUTION else with_evolution_setting(case)


def _metrics_of(release: ReleaseOnSpark) -> frozenset[str]:
    later = [names for since, names in _METRICS_SINCE.items() if release.numbers < since]
    return HISTORY_METRICS.difference(*later)


def _jars(release: ReleaseOnSpark) -> JarSet:
    spark, numbers = release.spark, release.numbers
    if numbers >= _BY_SPARK:
        artifact = f"delta-spark_{spark}_{spark.scala}"
    else:
        artifact = f"{'delta-spark' if numbers >= _AS_DELTA_SPARK else 'delta-core'}_{spark.scala}"
    return JarSet(
        title=f"Delta Lake {release.release} for Spark {spark}",
        folder=f"{artifact}-{release.release}",
        coordinates=(f"io.delta:{artifact}:{release.release}",),
        groups=("io.delta", "io.unitycatalog"),
        hint=", or name a release and a Spark that belong together",
    )


def _source_step(case: Case, source: Source, directory: Path) -> dict[str, Any]:
    """Write the source, as a Delta table or, if the case wants no table, as Parquet (Delta then materialises it)."""
    if reads_source_from_table(case):
        path = directory / "source"
        write_source(source, path)
        return {"step": "setup", "view": SOURCE_VIEW, "format": "delta", "path": str(path)}
    return parquet_view(source, directory)


def other_views(case: Case, directory: Path) -> list[dict[str, Any]]:
    """Give the steps that make the tables beside target and source views.

    Raises:
        UnwritableTableError: if no file can hold one.
    """
    return [parquet_view(table, directory, name) for name, table in case.tables.items()]


def parquet_view(source: Source, directory: Path, name: str = SOURCE_VIEW) -> dict[str, Any]:
    """Write a source as Parquet, and give the step that makes it a view.

    Raises:
        UnwritableTableError: if no file can hold it.
    """
    if len({name.casefold() for name in source.schema.names}) < len(source.schema.columns):
        raise UnwritableTableError("a file cannot hold two columns whose names differ in case only")
    try:
        schema_to_json(source.schema)  # files have the types of tables: none for VOID
    except ValueError as error:
        raise UnwritableTableError(str(error)) from error
    path = directory / f"{name}-files"
    path.mkdir()
    pq.write_table(rows_to_table(source.rows, source.schema), path / "rows.parquet")
    return {"step": "setup", "view": name, "format": "parquet", "path": str(path)}


def _settings(case: Case, *, described: bool) -> dict[str, str]:
    settings = dict(PROFILE_SETTINGS[profile_of(case, COMPILED_PROFILES)])
    settings |= PLANS_DESCRIBED if described else {}
    return settings | {full_name(name): value for name, value in case.conf.items() if not is_for_harness(name)}


def observed(
    case: Case,
    path: Path,
    answer: dict[str, Any],
    *,
    before: TableFiles,
    result_row: Mapping[str, int] | None,
    taken: MergePath | None = None,
) -> EngineResult:
    """Read the table after the child's answer.

    Args:
        case: the case that was run.
        path: of the target.
        answer: the child's answer.
        before: the files of the table before the merge.
        result_row: the statement's result row.
        taken: the path of the merge if the engine reports it.
    """
    failed = answer.get("failed")
    if failed is None:
        return observe(path, metrics={}, taken=taken, conf=case.conf, result_row=result_row, before=before)
    if failed["step"] == "setting":
        raise BadSettingError(f"Spark refuses a setting of the case: {failed['message']}")
    if failed["step"] == "setup":
        return Unsupported(f"a table that this release does not read: {failed['class']}")
    unchanged = is_unchanged(case.target, path, before=before)
    return Rejection(error_class=failed["class"], message=failed["message"], unchanged=unchanged)
