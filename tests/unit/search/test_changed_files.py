"""Changed files choose the features of a run: the map of paths, and git's answer in a repository of its own."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.search.changed_files import FocusPath, changed_files, changed_focus, focus_path
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = ("src/insert*=insert, partial-insert-lists", "src/*.py=conditions", "docs/*=null-keys")


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *who, *arguments), cwd=folder, check=True, capture_output=True)  # noqa: S603, S607 - the test's own


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A branch ``work`` on which one file was committed, one is changed and one is new; ``main`` went on."""
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for name in ("src/insert_rows.py", "src/größe.py", "README.md"):
        (folder / name).write_text("1\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    git(folder, "switch", "--quiet", "-c", "work")
    (folder / "src" / "insert_rows.py").write_text("2\n")
    git(folder, "commit", "--quiet", "-am", "second")
    git(folder, "switch", "--quiet", "main")
    (folder / "README.md").write_text("2\n")
    git(folder, "commit", "--quiet", "-am", "third")
    git(folder, "switch", "--quiet", "work")
    (folder / "src" / "größe.py").write_text("3\n")
    (folder / "src" / "new.py").write_text("1\n")
    return folder


def test_an_entry_is_a_pattern_and_features() -> None:
    assert focus_path(ENTRIES[0]) == FocusPath("src/insert*", ("insert", "partial-insert-lists"))
    assert focus_path("a=b/*=insert").pattern == "a=b/*"


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("src/*", "says no features for paths"),
        ("=insert", "says no features for paths"),
        ("src/* = ", "says no features for paths"),
        ("src/*=inserts", "unknown feature 'inserts'. Did you mean 'insert'?"),
    ],
)
def test_a_wrong_entry_is_told(entry: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserInputError) as error:
        changed_focus("main", [ENTRIES[0], entry], folder=tmp_path)
    assert told in str(error.value)


def test_files_of_the_branch_count_and_those_of_its_base_do_not(repository: Path) -> None:
    assert changed_files("main", folder=repository) == ("src/größe.py", "src/insert_rows.py")
    assert changed_files("main", folder=repository / "src") == ("src/größe.py", "src/insert_rows.py")


def test_every_pattern_that_fits_adds_its_features(repository: Path) -> None:
    found = changed_focus("main", ENTRIES, folder=repository)
    assert found.features == {"insert", "partial-insert-lists", "conditions"}
    assert found.files == ("src/größe.py", "src/insert_rows.py")


def test_no_file_that_fits_is_no_error(repository: Path) -> None:
    found = changed_focus("main", ["docs/*=insert"], folder=repository)
    assert (found.files, found.features) == ((), frozenset())


@pytest.mark.parametrize("base", ["nowhere", "--output=stolen", ""])
def test_a_base_that_git_does_not_know(repository: Path, base: str) -> None:
    with pytest.raises(UserInputError, match=r"git does not say what was changed since .*--focus-changed"):
        changed_files(base, folder=repository)
    assert not (repository / "stolen").exists()


def test_a_folder_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UserInputError, match="git does not say"):
        changed_files("main", folder=tmp_path)


def test_no_entries_and_no_git_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserInputError, match="no path has features to prefer"):
        changed_focus("main", [], folder=tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserInputError, match=r"git does not say .* No such file"):
        changed_files("main", folder=tmp_path)
