"""Jars for the Spark that is installed: from the user's cache, fetched into it once.

Maven fetches them where it is on the PATH; it reads the user's own settings (mirrors, proxies). Otherwise Spark's own
resolver does when the session starts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.errors import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CACHE_VARIABLE = "MERGECHECK_CACHE"
"""Environment variable that names another directory than the user's cache directory for what is fetched."""

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_TIME_LIMIT = 600  # seconds
_COMPLETE = "complete"  # written last, so that a directory without it is known to be half fetched

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mergecheck</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JarSet:
    """Jars that belong together.

    Attributes:
        title: what they are, for people.
        folder: their directory's name in the cache.
        coordinates: group, artifact and version of each, as Maven and ``--packages`` write them.
        groups: whose jars are wanted; what else these need is in Spark already.
        excluded: group and artifact of what is never fetched.
        hint: what to do where they cannot be had.
    """

    title: str
    folder: str
    coordinates: tuple[str, ...]
    groups: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    hint: str = ""


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


def jar_settings(sets: Sequence[JarSet]) -> Mapping[str, str]:
    """Return the Spark settings that load jars, fetching them if need be.

    Raises:
        EngineDownError: where they can be had in no way.
    """
    jars: list[str] = []
    left: list[JarSet] = []
    for wanted in sets:
        directory = cache_directory() / "jars" / wanted.folder
        if not (directory / _COMPLETE).is_file():
            if shutil.which("mvn") is None:
                left.append(wanted)
                continue
            _fetch(wanted, directory)
        jars += [str(jar) for jar in sorted(directory.glob("*.jar"))]
    settings = {
        "spark.jars": ",".join(jars),
        "spark.jars.packages": ",".join(name for wanted in left for name in wanted.coordinates),
        "spark.jars.excludes": ",".join(name for wanted in left for name in wanted.excluded),
    }
    return {name: value for name, value in settings.items() if value}


def _fetch(wanted: JarSet, directory: Path) -> None:
    """Let Maven copy jars into a directory.

    Raises:
        EngineDownError: where Maven fails; the message carries what it said.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=directory.parent) as name:
        scratch = Path(name)
        (scratch / "pom.xml").write_text(_pom(wanted), encoding="utf-8")
        jars = scratch / "jars"
        command = [
            shutil.which("mvn") or "mvn",
            *("--batch-mode", "--quiet", "--file", str(scratch / "pom.xml")),
            f"{_PLUGIN}:copy-dependencies",
            "-DincludeScope=runtime",
            f"-DincludeGroupIds={','.join(wanted.groups)}",
            f"-DoutputDirectory={jars}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False)  # noqa: S603 - the user's own Maven
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineDownError(_no_jars(wanted, str(error))) from error
        if done.returncode != 0 or not any(jars.glob("*.jar")):
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line][:6]
            raise EngineDownError(_no_jars(wanted, "\n".join(lines) or f"Maven ended with {done.returncode}"))
        (jars / _COMPLETE).touch()
        try:
            jars.rename(directory)
        except OSError:
            if not (directory / _COMPLETE).is_file():  # else another process was faster
                raise


def _pom(wanted: JarSet) -> str:
    excluded = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>{artifact}</artifactId></exclusion>"
        for group, artifact in (name.split(":") for name in wanted.excluded)
    )
    dependencies = (
        f"    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<exclusions>{excluded}</exclusions></dependency>"
        for group, artifact, version in (name.split(":") for name in wanted.coordinates)
    )
    return _POM.format(dependencies="\n".join(dependencies))


def _no_jars(wanted: JarSet, why: str) -> str:
    return (
        f"{wanted.title} for Spark {metadata.version('pyspark')} cannot be fetched: {', '.join(wanted.coordinates)}\n"
        f"{why}\nGive Maven a way to the central repository or a mirror of it (settings.xml){wanted.hint}. "
        f"Fetched jars are kept in {cache_directory() / 'jars'}."
    )
