"""Finds the Java that Spark will run on, and checks its version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from mergecheck.harness.engine import Diagnosis
from mergecheck.harness.verdict import EngineDownError

MINIMUM_JAVA = 17


def check_java() -> str:
    """Check that there is a Java on which Spark 4 runs, and return its release, as it prints it.

    Raises:
        EngineDownError: if there is none, or it is older than 17.
    """
    command = java_command()
    if command is None:
        raise EngineDownError(f"Spark needs Java {MINIMUM_JAVA} or newer, and no java was found.\n\n{_HOW_TO_GET_JAVA}")
    release = java_release(command) or ""
    found = _feature_version(release)
    if found is None or found < MINIMUM_JAVA:
        version = "is of unknown version" if found is None else f"is Java {found}"
        raise EngineDownError(
            f"Spark needs Java {MINIMUM_JAVA} or newer, but {command} {version}.\n\n{_HOW_TO_GET_JAVA}"
        )
    return release


def diagnose_java() -> Diagnosis:
    """Return which Java there is, and how to get one on which Spark runs."""
    fix = (
        f"install Java {MINIMUM_JAVA} or later (e.g. 'apt-get install openjdk-17-jre-headless') or set JAVA_HOME to it"
    )
    command = java_command()
    if command is None:
        return Diagnosis(name="java", found="not found", fix=fix)
    found = _feature_version(java_release(command) or "")
    if found is None:
        return Diagnosis(name="java", found=f"{command} does not run, or prints no version", fix=fix)
    return Diagnosis(name="java", found=f"{found} ({command})", fix="" if found >= MINIMUM_JAVA else fix)


def java_release(command: str) -> str | None:
    """Return all that a ``java`` command prints of its version; None if it does not run."""
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - the user's own java
    except OSError:
        return None
    return done.stderr + done.stdout


def _feature_version(release: str) -> int | None:
    """Return the feature version of a release (8, 17, 21); None if there is none in the text."""
    found = re.search(r'version "(?:1\.)?(\d+)', release)
    return int(found[1]) if found else None


def java_command() -> str | None:
    """Return the ``java`` that Spark would start; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        # spark-submit looks nowhere else if JAVA_HOME is set.
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")


_HOW_TO_GET_JAVA = """\
Install one and try again:
    Debian, Ubuntu   apt-get install openjdk-17-jre-headless
    Fedora           dnf install java-21-openjdk-headless
    macOS            brew install openjdk@17
or set JAVA_HOME to the directory of an installed Java."""
