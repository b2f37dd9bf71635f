"""Delta Lake's jars for the Spark that is installed: from the user's cache, fetched into it once.

Maven fetches them where it is on the PATH; it reads the user's own settings (mirrors, proxies). Otherwise Spark's own
resolver does, through ``configure_spark_with_delta_pip``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Mapping

CACHE_VARIABLE = "MERGECHECK_CACHE"
"""Environment variable that names another directory than the user's cache directory for what is fetched."""

EXTENSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What makes a Spark that has the jars use them."""

_SCALA = "2.13"
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_TIME_LIMIT = 600  # seconds
_COMPLETE = "complete"  # written last, so that a directory without it is known to be half fetched

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mergecheck</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>io.delta</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>
  </dependencies>
</project>
"""


def cache_directory() -> Path:
    """Return where fetched things are kept between runs: ``MERGECHECK_CACHE``, else the user's cache directory."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "mergecheck"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mergecheck"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mergecheck"


def delta_version() -> str:
    """Return the installed version of Delta Lake.

    Raises:
        EngineDownError: where the package ``delta-spark`` is not installed.
    """
    try:
        return metadata.version("delta-spark")
    except metadata.PackageNotFoundError:
        raise EngineDownError(
            "the engine delta-spark needs the package delta-spark, whose version says which Delta Lake to run. "
            "Install it: pip install 'mergecheck[delta-spark]'"
        ) from None


def session_settings() -> Mapping[str, str]:
    """Return the Spark settings that load Delta Lake, fetching its jars if need be.

    Raises:
        EngineDownError: where the jars can be had in no way.
    """
    return {**_jar_settings(), **EXTENSION_SETTINGS}


def maven_coordinates() -> str:
    """Name Delta Lake's jars as Maven and ``--packages`` do."""
    return f"io.delta:{_artifact()}:{delta_version()}"


def _jar_settings() -> Mapping[str, str]:
    version = delta_version()
    directory = cache_directory() / "jars" / f"{_artifact()}-{version}"
    if not (directory / _COMPLETE).is_file():
        if shutil.which("mvn") is None:
            return _packages()
        _fetch(version, directory)
    return {"spark.jars": ",".join(str(jar) for jar in sorted(directory.glob("*.jar")))}


def _artifact() -> str:
    spark = ".".join(metadata.version("pyspark").split(".")[:2])
    return f"delta-spark_{spark}_{_SCALA}"


def _packages() -> Mapping[str, str]:
    """Leave it to Spark's own resolver, which fetches when the session starts."""
    from delta import configure_spark_with_delta_pip  # noqa: PLC0415 - not installed for everyone
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an import of half a second

    builder = configure_spark_with_delta_pip(SparkSession.Builder())
    return {"spark.jars.packages": str(builder._options["spark.jars.packages"])}  # noqa: SLF001 - it has no getter


def _fetch(version: str, directory: Path) -> None:
    """Let Maven copy Delta's jars into a directory; what else they need is in Spark already.

    Raises:
        EngineDownError: where Maven fails; the message carries what it said.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=directory.parent) as name:
        scratch = Path(name)
        (scratch / "pom.xml").write_text(_POM.format(artifact=_artifact(), version=version), encoding="utf-8")
        jars = scratch / "jars"
        command = [
            shutil.which("mvn") or "mvn",
            *("--batch-mode", "--quiet", "--file", str(scratch / "pom.xml")),
            f"{_PLUGIN}:copy-dependencies",
            "-DincludeGroupIds=io.delta,io.unitycatalog",
            f"-DoutputDirectory={jars}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False)  # noqa: S603 - the user's own Maven
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineDownError(_no_jars(version, str(error))) from error
        if done.returncode != 0 or not any(jars.glob("*.jar")):
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line][:6]
            raise EngineDownError(_no_jars(version, "\n".join(lines) or f"Maven ended with {done.returncode}"))
        (jars / _COMPLETE).touch()
        try:
            jars.rename(directory)
        except OSError:
            if not (directory / _COMPLETE).is_file():  # else another process was faster
                raise


def _no_jars(version: str, why: str) -> str:
    return (
        f"Delta Lake {version} for Spark {metadata.version('pyspark')} cannot be fetched: "
        f"io.delta:{_artifact()}:{version}\n{why}\n"
        "Give Maven a way to the central repository or a mirror of it (settings.xml), or install a delta-spark whose "
        f"jars are published for this Spark. Fetched jars are kept in {cache_directory() / 'jars'}."
    )
