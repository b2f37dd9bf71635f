"""Where the tables of one case lie."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mergecheck.harness.engines.spark.config import SparkPlace, table_folder
from mergecheck.harness.processes import temp_dirs as scratch
from mergecheck.harness.processes.temp_dirs import (
    clear_leftovers,
    directory_at,
    owned_prefix,
    scratch_directory,
    scratch_parent,
    scratch_path,
    temporary_files_option,
)

LEAVES_ITS_DIRECTORY = """
import os
from mergecheck.harness.processes.temp_dirs import scratch_directory
with scratch_directory() as directory:
    print(directory.name, flush=True)
    os._exit(0)
"""


def test_tables_lie_in_memory_where_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "LEAST_FREE", 1)
    assert scratch_parent({}, memory=tmp_path) == tmp_path
    monkeypatch.setattr(scratch, "LEAST_FREE", 2**80)
    assert scratch_parent({}, memory=tmp_path) is None


@pytest.mark.parametrize("name", ["TMPDIR", "TEMP", "TMP"])
def test_who_has_chosen_a_place_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(scratch, "LEAST_FREE", 1)
    assert scratch_parent({name: "/elsewhere"}, memory=tmp_path) is None
    assert scratch_parent({name: ""}, memory=tmp_path) == tmp_path


def test_a_system_without_such_a_directory_uses_its_temporary_files(tmp_path: Path) -> None:
    assert scratch_parent({}, memory=tmp_path / "shm") is None


def test_a_directory_that_cannot_be_written_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "LEAST_FREE", 1)
    monkeypatch.setattr(
        "mergecheck.harness.processes.temp_dirs.os.access", lambda _path, _mode: False
    )  # who runs as root may write anywhere
    assert scratch_parent({}, memory=tmp_path) is None


def test_the_directory_goes_with_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with scratch_directory() as directory:
        assert directory.parent == tmp_path
        (directory / "target").mkdir()
    assert list(tmp_path.iterdir()) == []


def test_a_place_is_chosen_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who never comes to the case leaves nothing behind; a place that somebody else has made is not taken."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    places = {scratch_path() for _ in range(2)}
    assert len(places) == 2
    assert {place.parent for place in places} == {tmp_path}
    assert list(tmp_path.iterdir()) == []
    place = places.pop()
    with directory_at(place):
        (place / "file").touch()
        with pytest.raises(FileExistsError), directory_at(place):
            pass
        assert list(place.iterdir()) == [place / "file"]
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what belongs to a process that lives, to another host or container, or to somebody else."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    left = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", LEAVES_ITS_DIRECTORY], check=True, capture_output=True, text=True
    ).stdout.strip()
    (tmp_path / left / "target").mkdir()
    own = tmp_path / f"{owned_prefix()}own"
    pid = left.split("-")[2]
    kept = [own, tmp_path / "mergecheck-notes", tmp_path / f"mergecheck-00000000-{pid}-x"]
    for path in kept:
        path.mkdir()
    assert [path.name for path in clear_leftovers([tmp_path, tmp_path / "none"])] == [left]
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_spark_in_this_process_has_its_tables_there_and_any_other_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, temporary, root = (tmp_path / name for name in ("memory", "temporary", "root"))
    for folder in (memory, temporary, root):
        folder.mkdir()
    monkeypatch.setattr("mergecheck.harness.processes.temp_dirs.scratch_parent", lambda _environment: memory)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    for place, parent in (
        (SparkPlace(), memory),
        (SparkPlace(table_root=root), root),
        (SparkPlace(master="spark://127.0.0.1:7077"), temporary),
        (SparkPlace(remote="sc://127.0.0.1:15002"), temporary),
    ):
        monkeypatch.setattr("mergecheck.harness.engines.spark.config._Chosen.place", place)
        with table_folder() as folder:
            assert folder.parent == parent
        assert not folder.exists()


def test_a_jvm_has_its_temporary_files_where_they_are_cleared() -> None:
    """Unless its sockets would have a path that is too long for a socket."""
    assert temporary_files_option(Path("/var/my files")) == '"-Djava.io.tmpdir=/var/my files"'
    assert temporary_files_option(Path("/" + "a" * 61)) == ""
