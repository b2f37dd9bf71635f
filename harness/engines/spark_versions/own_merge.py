"""The engine ``pyspark@RELEASE+sparkX.Y``: the merge of this project on another Spark than the installed one."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version as installed
from typing import TYPE_CHECKING, Any

from mergecheck.harness.delta.write import UnwritableTableError, write_source
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.engines.merge_axes import MERGE_AXES, with_ways
from mergecheck.harness.engines.spark_axes import SPARK_AXES
from mergecheck.harness.engines.spark_case import (
    RESULT_COLUMNS,
    is_read_by_merge,
    reads_source_from_table,
)
from mergecheck.harness.engines.spark_versions.child import Setup
from mergecheck.harness.engines.spark_versions.delta import (
    FEATURES_OFF,
    DeltaReleaseEngine,
    observed,
    other_views,
    parquet_view,
)
from mergecheck.harness.engines.spark_versions.needs import diagnose
from mergecheck.harness.engines.spark_versions.spark_version import release_on_spark
from mergecheck.harness.oracles.transformations.delta import DELTA_AXES
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.outcome import MergePath, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mergecheck.harness.delta.table_files import TableFiles
    from mergecheck.harness.engine import Diagnosis
    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.harness.engines.spark_versions.spark_version import ReleaseOnSpark
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

_NAME = "pyspark"
_OLDEST_SPARK = (4, 0)
_BESIDE_SPARK = ("deltalake", "numpy", "obstore", "pyarrow", "pyroaring", "sqlglot")
"""What ``mergecheck.merge`` imports; its environment has the releases that are installed here."""
_FOR_OLDER_SPARK = "pandas>=2.2"  # before 4.2, PySpark demands it of functions over Arrow's batches
_NO_WORDS = frozenset({"UNSUPPORTED_FEATURE.MERGE", "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE"})


class MergeReleaseEngine(DeltaReleaseEngine):
    """Runs a case through ``mergecheck.merge.merge_sql`` in a child process with another Spark.

    Args:
        release: of mergecheck, which is the installed one, and the version of Spark.
        plugin: of Spark, if the session has one.
    """

    name = _NAME

    def __init__(self, release: ReleaseOnSpark, plugin: Plugin | None = None) -> None:
        super().__init__(release, plugin)
        self.capabilities = Capabilities(
            exact_metric_names=True,
            features_off=FEATURES_OFF,
            axes=(*DELTA_AXES, *MERGE_AXES, *SPARK_AXES),
        )

    @staticmethod
    def setup(release: ReleaseOnSpark, plugin: Plugin | None = None) -> Setup:
        """Return the child's setup."""
        return Setup(
            spark=release.spark,
            jars=() if plugin is None else plugin.jars(release.spark),
            settings={} if plugin is None else plugin.settings,
            beside_spark=(*(f"{name}=={installed(name)}" for name in _BESIDE_SPARK), _FOR_OLDER_SPARK),
            with_merge=True,
            environment_of=f"mergecheck-{release.release}-spark",
        )

    def with_plugin(self, plugin: Plugin) -> MergeReleaseEngine:
        """Return the same in a child of its own, whose session has a plugin.

        Raises:
            EngineDownError: if the plugin's jars cannot be had.
        """
        return MergeReleaseEngine(self._release, plugin)

    def takes_setting(self, name: str) -> bool:
        """Return whether the merge or Spark's planner reads a setting."""
        return is_read_by_merge(name)

    def _steps(self, case: Case, path: Path, directory: Path) -> tuple[list[dict[str, Any]], Mapping[str, str]]:
        tables = {"target": str(path)}
        merge = {"step": "merge", "name": "row", "merge": case.sql, "tables": tables}
        others = other_views(case, directory)
        if case.source is None:
            return [*others, merge], {}
        if reads_source_from_table(case):
            with suppress(UnwritableTableError):
                write_source(case.source, directory / "source")
                tables["source"] = str(directory / "source")
                return [*others, merge], {}
        return [*others, parquet_view(case.source, directory), merge], {}

    def _outcome(self, case: Case, path: Path, answer: dict[str, Any], before: TableFiles) -> EngineResult:
        if (failed := answer.get("failed")) is not None and failed["class"] in _NO_WORDS:
            return Unsupported(failed["message"])
        told = answer["results"].get("row") or {"row": None, "path": None, "ways": {}}
        row = None if told["row"] is None else dict(zip(RESULT_COLUMNS, told["row"], strict=True))
        taken = None if told["path"] is None else MergePath(told["path"])
        seen = observed(case, path, answer, before=before, result_row=row, taken=taken)
        return with_ways(seen, told["ways"])


def merge_release_engine(version: str) -> MergeReleaseEngine:
    """Start the merge on another Spark.

    Raises:
        UserInputError: if the text names no Spark, or another release of mergecheck.
        EngineDownError: if it cannot be had here.
    """
    return MergeReleaseEngine(_release(version))


def diagnose_merge_release(version: str) -> tuple[Diagnosis, ...]:
    """List the requirements of the merge on another Spark.

    Raises:
        UserInputError: as for ``merge_release_engine``.
    """
    return diagnose(MergeReleaseEngine.setup(_release(version)))


def _release(version: str) -> ReleaseOnSpark:
    own = installed("mergecheck")
    example = f"{own}+spark4.1"
    found = release_on_spark(_NAME, version, example=example)
    if found.release != own:
        raise UserInputError(f"{_NAME}@{version}: this is mergecheck {own}, and runs its own merge, {_NAME}@{example}")
    if (found.spark.major, found.spark.minor) < _OLDEST_SPARK:
        raise UserInputError(f"{_NAME}@{version}: the merge needs Spark 4, such as {_NAME}@{example}")
    return found
