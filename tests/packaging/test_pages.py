"""The pages of a stranger: their commands run from the wheel, in an empty folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from built import ROOT, fresh_environment
from docs_shell import in_a_shell, run_page

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.packaging

DOCS = ROOT / "docs"


@pytest.fixture(scope="session")
def with_delta_rs(wheels: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the extra that reads Delta tables."""
    return fresh_environment(wheels[2], tmp_path_factory.mktemp("with-delta-rs") / "environment", "delta-rs")


def run_in(python: Path, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PYTEST", "MERGECHECK"))
    }
    environment |= {
        "PATH": f"{python.parent}{os.pathsep}{environment.get('PATH', '')}",
        "XDG_CONFIG_HOME": str(tmp_path / "settings"),
        "COLUMNS": "100",
        "PYTHONDONTWRITEBYTECODE": "1",  # an edit within a second would not be seen
    }
    return run_page(page.read_text(encoding="utf-8"), lambda command: in_a_shell(command, environment))


@pytest.mark.parametrize("name", ["how-to/executor.md", "how-to/optimisation.md", "ci.md"])
def test_the_wheel_alone_is_enough(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert run_in(python, DOCS / name, tmp_path, monkeypatch) > 0


def test_a_table_becomes_a_small_case(with_delta_rs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_in(with_delta_rs, DOCS / "how-to" / "my-tables.md", tmp_path, monkeypatch) > 0
