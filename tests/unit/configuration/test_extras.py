"""A missing package is named with its extra and a command that works for this installation."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from mergecheck.harness.configuration import extras
from mergecheck.harness.configuration.extras import install_command, missing_extra, requirements

if TYPE_CHECKING:
    from pathlib import Path

PIP = [sys.executable, "-m", "pip", "install"]


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The document ``direct_url.json``, to be filled by the test; pip is there."""
    document: dict[str, object] = {}
    monkeypatch.setattr(extras, "_direct_url", lambda: document)
    monkeypatch.setattr(extras, "_installer", lambda: PIP)
    return document


def test_from_a_wheel(origin: dict[str, object], tmp_path: Path) -> None:
    wheel = tmp_path / "mergecheck 1-py3-none-any.whl"  # a space must be quoted in the URL
    wheel.touch()
    origin.update(url=wheel.as_uri(), archive_info={})
    assert shlex.split(install_command("spark")) == [*PIP, f"mergecheck[spark] @ {wheel.as_uri()}"]
    assert Requirement(f"mergecheck[spark] @ {wheel.as_uri()}").extras == {"spark"}


def test_from_a_wheel_that_is_gone(origin: dict[str, object], tmp_path: Path) -> None:
    """No index is asked for mergecheck: the packages of the extra are listed."""
    origin.update(url=(tmp_path / "gone.whl").as_uri(), archive_info={})
    command = shlex.split(install_command("delta-rs"))
    assert command[: len(PIP)] == PIP
    assert {Requirement(text).name for text in command[len(PIP) :]} == {"deltalake", "pyarrow", "pyroaring"}


def test_from_an_index(origin: dict[str, object]) -> None:
    assert not origin
    assert "mergecheck" not in install_command("spark").removeprefix(sys.executable)


def test_from_a_checkout(origin: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin.update(url=tmp_path.as_uri(), dir_info={"editable": True})
    assert shlex.split(install_command("spark")) == [*PIP, "--editable", f"{tmp_path}[spark]"]
    monkeypatch.setattr(extras, "_installer", list)
    assert shlex.split(install_command("spark")) == ["make", "--always-make", "-C", str(tmp_path), "setup"]


def test_from_a_repository(origin: dict[str, object]) -> None:
    origin.update(url="https://host.example/a.git", vcs_info={"vcs": "git", "commit_id": "0" * 40})
    wanted = f"mergecheck[connect] @ git+https://host.example/a.git@{'0' * 40}"
    assert shlex.split(install_command("connect"))[-1] == wanted


def test_an_extra_of_extras_lists_all_that_it_installs() -> None:
    names = {Requirement(text).name for text in requirements("delta-spark")}
    assert {"pyspark", "deltalake", "delta-spark", "numpy", "obstore"} <= names
    assert {Requirement(text).name for text in requirements("all")} == names
    assert not names & {Requirement(text).name for text in requirements("")}


def test_only_a_package_of_an_extra_that_is_not_installed() -> None:
    assert missing_extra(ModuleNotFoundError("no", name="duckdb.nothing"), "this") is None
    assert missing_extra(ModuleNotFoundError("no", name="pyspark.nothing"), "this") is None  # pyspark is installed
    assert missing_extra(ValueError("pyspark"), "this") is None


def test_the_smallest_extra_unless_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda package: package != "deltalake")
    error = ModuleNotFoundError("no", name="deltalake.exceptions")
    assert "this needs the package deltalake" in str(missing_extra(error, "this"))
    assert "Install the extra 'delta-rs':\n    " in str(missing_extra(error, "this"))
    assert "Install the extra 'comet'" in str(missing_extra(error, "this", extra="comet"))
