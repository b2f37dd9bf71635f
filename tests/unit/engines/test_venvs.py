"""Environments of released versions: made once, shared by later runs, and refused with a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mergecheck.harness.engines import venvs as environments
from mergecheck.harness.engines.spark.maven_jars import CACHE_VARIABLE
from mergecheck.harness.engines.venvs import environment_python
from mergecheck.harness.verdict import EngineDownError, UserInputError


class Installer:
    """Stands for ``uv`` and ``pip``: makes the requested folder, and answers as the test asks."""

    def __init__(self, *, code: int = 0, says: str = "") -> None:
        self.code, self.says = code, says
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        """Run one command."""
        self.commands.append(command)
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
            (Path(command[-1]) / "bin" / "python").touch()
            return subprocess.CompletedProcess(command, 0, "", "")
        return subprocess.CompletedProcess(command, self.code, "", self.says)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep downloads out of the user's cache."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    return tmp_path / "environments"


def use(monkeypatch: pytest.MonkeyPatch, installer: Installer, *, uv: str | None = "/bin/uv") -> Installer:
    """Let the module install with ``installer``."""
    monkeypatch.setattr(environments.subprocess, "run", installer)
    monkeypatch.setattr(environments.shutil, "which", lambda _: uv)
    return installer


def test_an_environment_is_made_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run finds the first one's environment."""
    installer = use(monkeypatch, Installer())
    first = environment_python("engine", "1.2.3", ["engine==1.2.3", "numpy<2"])
    assert installer.commands[-1][-2:] == ["engine==1.2.3", "numpy<2"]
    commands = len(installer.commands)
    assert environment_python("engine", "1.2.3", ["engine==1.2.3", "numpy<2"]) == first
    assert len(installer.commands) == commands
    assert first.is_relative_to(cache)


def test_without_uv_the_standard_tools_serve(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``uv`` is faster, but nobody needs it."""
    installer = use(monkeypatch, Installer(), uv=None)
    environment_python("engine", "1.2.3", ["engine==1.2.3"])
    assert installer.commands[0][:4] == [sys.executable, "-I", "-m", "venv"]
    assert installer.commands[-1][1:5] == ["-I", "-m", "pip", "install"]
    assert cache.is_dir()


def test_a_half_made_environment_is_made_anew(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run leaves a folder without the mark that is written last."""
    installer = use(monkeypatch, Installer())
    python = environment_python("engine", "1.2.3", [])
    (python.parent.parent / "complete").unlink()
    commands = len(installer.commands)
    assert environment_python("engine", "1.2.3", []) == python
    assert len(installer.commands) == 2 * commands
    assert [path.name for path in cache.iterdir()] == [python.parent.parent.name]


@pytest.mark.parametrize("version", ["", "newest", "../1.0", "1.0 --pre"])
def test_what_is_no_version_is_refused_before_anything_runs(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text becomes a folder and an argument."""
    installer = use(monkeypatch, Installer())
    with pytest.raises(UserInputError, match=r"no version of engine"):
        environment_python("engine", version, [])
    assert installer.commands == []


@pytest.mark.usefixtures("cache")
def test_a_version_that_was_never_released_is_the_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2: nothing is wrong with the machine."""
    use(monkeypatch, Installer(code=1, says="ERROR: No matching distribution found for engine==9.9.9"))
    with pytest.raises(UserInputError, match=r"9\.9\.9 is no version that can be installed"):
        environment_python("engine", "9.9.9", ["engine==9.9.9"])


def test_an_installation_that_fails_leaves_nothing_behind(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 3, with the installer's message; the next run tries again."""
    use(monkeypatch, Installer(code=1, says="no space left on device"))
    with pytest.raises(EngineDownError, match=r"no space left"):
        environment_python("engine", "1.2.3", ["engine==1.2.3"])
    assert list(cache.iterdir()) == []
