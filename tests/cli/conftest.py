"""A command line in a folder of its own, with engines that need no Spark."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.cli import main

sys.path.append(str(Path(__file__).parent))  # import mode importlib adds no folder; echo_engine is loaded by name
sys.path.append(str(Path(__file__).parents[1] / "unit"))  # parsed_html

from cli_cases import Ended, write_case

if TYPE_CHECKING:
    from collections.abc import Callable

_STEADY = (
    (re.compile(r"in \d+ s\b"), "in TIME"),
    (re.compile(r"in (\d+) runs, \d+ s"), r"in \1 runs, TIME"),
    (re.compile(r"mergecheck \d+\.\d+\S*"), "mergecheck VERSION"),
)


@pytest.fixture
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def mergecheck(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Ended(code=int(code), out=_steady(captured.out, folder), err=_steady(captured.err, folder))

    return run


def _steady(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "FOLDER")
    for pattern, replacement in _STEADY:
        text = pattern.sub(replacement, text)
    return text


@pytest.fixture
def case_file(folder: Path) -> str:
    return write_case(folder / "case.json")
