"""The class archive of Spark: a file from which a JVM maps Spark's classes, which it would otherwise read and check.

A start of Spark and its first statement take about half of the JVM's CPU time with it. ``mergecheck doctor --engine
pyspark --get`` writes it into the cache. A JVM that finds an archive of another Java or of other jars ignores it.

Source: JEP 350, Dynamic CDS Archives.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from mergecheck.harness.engine import Diagnosis
from mergecheck.harness.engines.spark.java_home import java_command, java_release
from mergecheck.harness.engines.spark.maven_jars import cache_directory
from mergecheck.harness.processes.start import SAFE_PATH, environment_with
from mergecheck.harness.verdict import EngineDownError

_WRITER = "mergecheck.harness.engines.spark.class_archive_writer"
_TIME_LIMIT = 600  # seconds


def spark_home() -> Path:
    """Return the folder of the Spark that PySpark brings; PySpark would take one above the working folder first."""
    import pyspark  # noqa: PLC0415 - an import of half a second, which only Spark runs need

    return Path(pyspark.__file__).parent


def class_archive(java: str) -> Path:
    """Return where the archive for a Java lies, or would lie; the JVM compares the paths of Spark's jars.

    Args:
        java: the release of the Java, as it prints it.
    """
    jars = sorted(str(path) for path in (spark_home() / "jars").glob("*.jar"))
    key = hashlib.sha256("\n".join([java, *jars]).encode()).hexdigest()[:16]
    return cache_directory() / "classes" / f"spark-{key}.jsa"


def archive_option(java: str) -> str:
    """Return the JVM's option that maps the archive, or nothing if there is none.

    Args:
        java: the release of the Java, as it prints it.
    """
    archive = class_archive(java)
    return f'"-XX:SharedArchiveFile={archive}"' if archive.is_file() else ""


def diagnose_classes() -> Diagnosis:
    """Return whether there is an archive for the Java that Spark would run on; nothing needs one."""
    command = java_command()
    java = java_release(command) if command is not None else None
    if java is None:
        return Diagnosis(name="class archive", found="none, without a Java that runs")
    archive = class_archive(java)
    if archive.is_file():
        return Diagnosis(name="class archive", found=str(archive))
    return Diagnosis(
        name="class archive",
        found="none; --get writes one of 200 MB, and Spark starts in about half the time",
        get=functools.partial(_write, archive),
    )


def _write(archive: Path) -> None:
    """Write an archive in a process of its own, whose JVM writes it as it ends.

    Raises:
        EngineDownError: Spark does not run there, or its JVM writes no archive.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="writing-", dir=archive.parent) as folder:
        written = Path(folder) / archive.name
        command = [sys.executable, "-P", "-m", _WRITER, str(written)]
        try:
            with environment_with(SAFE_PATH):
                done = subprocess.run(  # noqa: S603 - our own module
                    command, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False
                )
        except subprocess.TimeoutExpired as error:
            raise EngineDownError(f"the class archive of Spark was not written within {_TIME_LIMIT} s") from error
        if done.returncode != 0 or not written.is_file():
            raise EngineDownError(f"the class archive of Spark was not written: {done.stderr[-2_000:].strip()}")
        with written.open("rb") as file:
            os.fsync(file.fileno())  # a JVM crashes on an archive that is cut short
        written.rename(archive)
