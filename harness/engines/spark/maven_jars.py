"""Jars for Spark, kept in the user's cache.

Maven fetches them if it is on the PATH; it reads the user's own settings (mirrors, proxies). Otherwise Spark's resolver
fetches them when the session starts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CACHE_VARIABLE = "MERGECHECK_CACHE"
"""Environment variable that names the directory for fetched files, instead of the user's cache directory."""

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_TIME_LIMIT = 600  # seconds
_COMPLETE = "complete"  # written last; a directory without it is incomplete

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
        title: their name in messages.
        folder: the name of their directory in the cache.
        coordinates: group:artifact:version of each, as ``--packages`` expects them.
        groups: the groups whose jars are fetched; other dependencies are part of Spark.
        excluded: group:artifact of dependencies that are never fetched.
        hint: what else to do if they cannot be fetched, for the error message.
    """

    title: str
    folder: str
    coordinates: tuple[str, ...]
    groups: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    hint: str = ""


def cache_directory() -> Path:
    """Return the directory for fetched files: ``MERGECHECK_CACHE``, else the user's cache directory."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "mergecheck"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "mergecheck"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mergecheck"


def jar_settings(sets: Sequence[JarSet]) -> Mapping[str, str]:
    """Return the Spark settings that load jars; they are fetched if necessary.

    Raises:
        EngineDownError: if they cannot be fetched.
    """
    jars: list[str] = []
    left: list[JarSet] = []
    for wanted in sets:
        directory = _directory(wanted)
        if find_jars(wanted) is None:
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


def find_jars(wanted: JarSet) -> Path | None:
    """Return the directory that holds jars if Maven has fetched them before."""
    directory = _directory(wanted)
    return directory if (directory / _COMPLETE).is_file() else None


def _directory(wanted: JarSet) -> Path:
    return cache_directory() / "jars" / wanted.folder


def _fetch(wanted: JarSet, directory: Path) -> None:
    """Copy jars into a directory by Maven.

    Raises:
        EngineDownError: if Maven fails; the message contains its errors.
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
            done = subprocess.run(  # noqa: S603 - the user's own Maven; some versions read .mvn/ of their working folder
                command, cwd=scratch, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineDownError(_no_jars(wanted, str(error))) from error
        if done.returncode != 0 or not any(jars.glob("*.jar")):
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line][:6]
            raise EngineDownError(_no_jars(wanted, "\n".join(lines) or f"Maven ended with {done.returncode}"))
        (jars / _COMPLETE).touch()
        try:
            jars.rename(directory)
        except OSError:
            if not (directory / _COMPLETE).is_file():  # otherwise another process was faster
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
        f"{wanted.title} cannot be fetched: {', '.join(wanted.coordinates)}\n"
        f"{why}\nGive Maven a way to the central repository or a mirror of it (settings.xml){wanted.hint}. "
        f"Fetched jars are kept in {cache_directory() / 'jars'}."
    )
