"""Virtual environments of released versions, one each, kept in the user's cache.

The working folder may come from a stranger. So nothing that makes an environment starts there: uv would take the
package index from its ``uv.toml`` or ``pyproject.toml``, and Python would import from it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.engine import Diagnosis
from mergecheck.harness.engines.spark.maven_jars import cache_directory
from mergecheck.harness.verdict import EngineDownError, UserInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIME_LIMIT = 900  # seconds
# In their folder, these end uv's search for settings, which goes upwards; the user's settings apply.
_NO_SETTINGS = ("uv.toml", "pyproject.toml")
_COMPLETE = "complete"  # written last, so that an environment without it is known to be half made
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]*")
_NO_SUCH_VERSION = ("No matching distribution found", "No solution found", "no version of", "there are no versions")


def environment_python(name: str, version: str, requirements: Sequence[str]) -> Path:
    """Return the interpreter of an environment that holds a released version, making it the first time.

    Args:
        name: of the engine, for the folder's name.
        version: which release, such as ``0.25.5``.
        requirements: what to install, in pip's notation; the release itself and its further requirements.

    Raises:
        UserInputError: if the version is none, or was never released.
        EngineDownError: if it cannot be installed here.
    """
    if not _VERSION.fullmatch(version):
        raise UserInputError(f"{version!r} is no version of {name}: give a released one, such as {name}@1.2.3")
    directory = _directory(name, version)
    if not (directory / _COMPLETE).is_file():
        _make(directory, f"{name} {version}", requirements)
    return _interpreter(directory)


def find_environment(name: str, version: str) -> Path | None:
    """Return the interpreter of an environment if it was made before; see ``environment_python``."""
    directory = _directory(name, version)
    return _interpreter(directory) if (directory / _COMPLETE).is_file() else None


def diagnose_environment(name: str, version: str, requirements: Sequence[str]) -> Diagnosis:
    """Return whether an environment was made before, and how to make it; see ``environment_python``."""
    python, wanted = find_environment(name, version), ", ".join(requirements)
    if python is None:
        return Diagnosis(
            name="environment",
            found=f"none with {wanted}",
            fix="--get makes one in the user's cache; pip must reach a package index",
        )
    return Diagnosis(name="environment", found=f"{wanted} ({python})")


def _directory(name: str, version: str) -> Path:
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return cache_directory() / "environments" / f"{name}-{version}-{python}"


def _interpreter(directory: Path) -> Path:
    return directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _make(directory: Path, what: str, requirements: Sequence[str]) -> None:
    """Make an environment at its place, for it cannot be moved; a lock of a folder keeps a second process out."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f"{directory.name}.", dir=directory.parent))
    try:
        for name in _NO_SETTINGS:
            (building / name).touch()
        uv = shutil.which("uv")
        if uv is not None:
            _run([uv, "venv", "--quiet", "--python", sys.executable, str(building / "env")], what, folder=building)
            install = [uv, "pip", "install", "--quiet", "--python", str(_interpreter(building / "env"))]
        else:
            _run([sys.executable, "-I", "-m", "venv", str(building / "env")], what, folder=building)
            install = [str(_interpreter(building / "env")), "-I", "-m", "pip", "install", "--quiet"]
        _run([*install, *requirements], what, folder=building)
        (building / "env" / _COMPLETE).touch()
        shutil.rmtree(directory, ignore_errors=True)  # leftovers of an interrupted run
        try:
            (building / "env").rename(directory)
        except OSError:
            if not (directory / _COMPLETE).is_file():  # else another process was faster
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _run(command: list[str], what: str, *, folder: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, or uv
            command, cwd=folder, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineDownError(f"{what} cannot be installed: {error}") from error
    if done.returncode == 0:
        return
    said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
    if any(text in done.stdout + done.stderr for text in _NO_SUCH_VERSION):
        raise UserInputError(f"{what} is no version that can be installed here; give a released one.\n{said}")
    raise EngineDownError(f"{what} cannot be installed in an environment of its own:\n{said}")
