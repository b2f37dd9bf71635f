"""Mistakes of the user: one clear message on stderr, exit code 2, never a traceback, nothing on stdout."""

from __future__ import annotations

import errno
import json
import logging
import os
from typing import TYPE_CHECKING

import pytest
from cli_cases import ECHO, SQL, case_document, write_case

from mergecheck.harness.cli.output.terminal import LogNotices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion


BAD_FILES = {
    "bad-json": '{"format_version": 1,',
    "not-utf8": b"\xff\xfe\x00",
    "unknown-key": json.dumps(case_document(sqll="x")),
    "unknown-version": json.dumps(case_document(format_version=2)),
    "missing-key": json.dumps({"format_version": 1, "id": "x"}),
    "bad-type": json.dumps(case_document(target={"schema": "id BIGGINT", "rows": []})),
    "bad-value": json.dumps(case_document(target={"schema": "id TINYINT", "rows": [[300]]})),
}
BAD_ARGUMENTS = {
    "missing-file": ("run", "nothing.json"),
    "missing-id": ("replay", "a1b2c3"),
    "folder-to-run": ("run", "."),
    "empty-folder": ("replay", "."),
    "no-case": ("run",),
    "case-and-target": ("run", "case.json", "--target", "t"),
    "unknown-engine": ("run", "case.json", "--engine", "pysparc"),
    "unknown-module": ("run", "case.json", "--engine", "no_such_module:Class"),
    "unknown-class": ("run", "case.json", "--engine", "echo_engine:Eccho"),
    "half-an-engine": ("run", "case.json", "--engine", "echo_engine:NoEngine"),
    "unknown-verb": ("fuss",),
    "unknown-option": ("fuzz", "--max-case", "3"),
    "bad-number": ("fuzz", "--max-cases", "0"),
    "bad-target": ("run", "--target", "nothing", "--source", "x.csv", "--sql", SQL),
    "two-places": ("fuzz", "--master", "spark://a:7077", "--remote", "sc://b:15002"),
    "no-master": ("run", "case.json", "--master", "sc://a:15002"),
    "no-remote": ("replay", "case.json", "--remote", "a:15002"),
    "no-table-root": ("fuzz", "--table-root", "gs://bucket/tables"),
    "steered-jobs": ("fuzz", "--steer", "--jobs", "2"),
    "sql-and-json": ("cases", "show", "case.json", "--sql", "--json"),
    "scale-engine": ("lab", "scale", "--engine", "duckdb"),
    "scale-shape": ("lab", "scale", "--shape", "round"),
    "scale-memory": ("lab", "scale", "--memory-limit", "8 apples"),
    "scale-files": ("lab", "scale", "--rows", "5", "--files", "9"),
    "scale-no-spec": ("lab", "scale", "nothing.json"),
    "scale-spec-and-seed": ("lab", "scale", "spec.json", "--seed", "1"),
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("verb", ["run", "replay"])
def test_bad_files(mergecheck: Mergecheck, folder: Path, snapshot: SnapshotAssertion, verb: str, name: str) -> None:
    """The message names the file, the place and the allowed values; the file stays as it is."""
    content = BAD_FILES[name]
    path = folder / f"{name}.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    ended = mergecheck(verb, path.name, "--engine", ECHO)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == snapshot
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments(mergecheck: Mergecheck, folder: Path, snapshot: SnapshotAssertion, name: str) -> None:
    """The message has the given value, the allowed ones and the next step."""
    arguments = BAD_ARGUMENTS[name]
    if "case.json" in arguments:
        write_case(folder / "case.json")
    ended = mergecheck(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == snapshot


def test_a_folder_that_may_not_be_read(mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without permission is named, with what to check; root may read all, so the system's answer is played."""

    def refuse(path: Path) -> Iterator[Path]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    (folder / "closed").mkdir()
    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    ended = mergecheck("replay", "closed")
    assert ended.code == 2
    assert "closed cannot be read" in ended.err


def test_findings_that_cannot_be_written(mergecheck: Mergecheck, folder: Path) -> None:
    """A file in the place of the work folder ends the run with a message, not with a traceback."""
    (folder / ".mergecheck").write_text("")
    ended = mergecheck("fuzz", "--engine", ECHO, "--max-cases", "1")
    assert ended.code == 2
    assert "cannot write the case under way" in ended.err
    assert "Traceback" not in ended.err


def test_logged_warnings_are_notices(capsys: pytest.CaptureFixture[str]) -> None:
    """What py4j logs is raised too: of an interrupted call it shows a traceback."""
    handler = LogNotices()
    for path, level, text in (
        ("anybody.py", logging.INFO, "a detail"),
        ("anybody.py", logging.WARNING, "a warning"),
        ("py4j/java_gateway.py", logging.ERROR, "interrupted"),
    ):
        record = logging.LogRecord("root", level, path, 1, text, args=None, exc_info=None)
        if record.levelno >= handler.level:
            handler.handle(record)
    assert capsys.readouterr() == ("", "a warning\n")
