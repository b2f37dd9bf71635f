"""Delta Lake's jars for the Spark that is installed, and the settings that make Spark use them."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from mergecheck.harness.configuration.extras import lacking
from mergecheck.harness.engines.spark.maven_jars import JarSet, jar_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTENSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""Settings that make a Spark with Delta Lake's jars use them."""

DELTA_SESSION_SETTINGS: Mapping[str, str] = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.delta.log.cacheSize": "20",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
}
"""Tables of a few rows need no parallel reading of the log, and thousands of tables no memory of old ones."""

_SCALA = "2.13"


def delta_version() -> str:
    """Return the installed version of Delta Lake.

    Raises:
        MissingExtraError: if the package ``delta-spark`` is not installed.
    """
    try:
        return metadata.version("delta-spark")
    except metadata.PackageNotFoundError:
        raise lacking("engine 'delta-spark'", "delta-spark", "delta-spark") from None


def session_settings() -> Mapping[str, str]:
    """Return the Spark settings that load Delta Lake; its jars are fetched if necessary.

    Raises:
        EngineDownError: if the jars cannot be fetched.
    """
    return {**jar_settings([delta_jars()]), **EXTENSION_SETTINGS}


def maven_coordinates() -> str:
    """Return Delta Lake's Maven coordinates, as ``--packages`` expects them."""
    return f"io.delta:{_artifact()}:{delta_version()}"


def delta_jars() -> JarSet:
    """Describe the jars; their other dependencies are part of Spark.

    Raises:
        MissingExtraError: if the package ``delta-spark`` is not installed.
    """
    return JarSet(
        title=f"Delta Lake {delta_version()} for Spark {metadata.version('pyspark')}",
        folder=f"{_artifact()}-{delta_version()}",
        coordinates=(maven_coordinates(),),
        groups=("io.delta", "io.unitycatalog"),
        hint=", or install a delta-spark whose jars are published for this Spark",
    )


def _artifact() -> str:
    spark = ".".join(metadata.version("pyspark").split(".")[:2])
    return f"delta-spark_{spark}_{_SCALA}"
