"""``sequences`` with writers in turn: what it refuses before it starts an engine, and files that name writers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

SQL = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"


def written(folder: Path, writer: object) -> str:
    """Save a sequence of one merge by a writer."""
    merge = {"source": {"schema": "id INT", "rows": [[1]]}, "sql": SQL, "writer": writer}
    target = {"schema": "id INT", "files": [[[1], [2]]]}
    document = {"format_version": 1, "id": "one", "target": target, "steps": [{"merge": merge}]}
    (folder / "sequence.json").write_text(json.dumps(document), encoding="utf-8")
    return "sequence.json"


@pytest.mark.parametrize("writer", ["echo_engine:Exits", "delta-rs@1.5.1", "no-such"])
def test_a_file_names_no_code(mergecheck: Mergecheck, folder: Path, writer: str) -> None:
    ended = mergecheck("sequences", written(folder, writer))
    assert (ended.code, ended.out) == (2, "")
    assert f"sequence.json: {writer!r} is none of the installed engines (comet, delta-rs, " in ended.err
    assert ended.err.endswith("To run it, give --trust.\n")


def test_a_writer_is_a_name(mergecheck: Mergecheck, folder: Path) -> None:
    ended = mergecheck("sequences", written(folder, 7))
    assert (ended.code, ended.out) == (2, "")
    assert "sequence.json, step 1: writer is the name of an engine" in ended.err


@pytest.mark.parametrize("writers", [("duckdb",), ("duckdb", "duckdb")])
def test_one_writer_takes_no_turns(mergecheck: Mergecheck, folder: Path, writers: tuple[str, ...]) -> None:  # noqa: ARG001 - the folder to run in
    ended = mergecheck("sequences", *(word for name in writers for word in ("--writer", name)))
    assert (ended.code, ended.out) == (2, "")
    assert "give --writer at least twice, each with another engine" in ended.err


def test_a_saved_sequence_names_its_writers(mergecheck: Mergecheck, folder: Path) -> None:
    ended = mergecheck("sequences", written(folder, "delta-rs"), "--writer", "delta-rs", "--writer", "sail")
    assert (ended.code, ended.out) == (2, "")
    assert "a saved sequence names its writers" in ended.err


def test_delta_rs_merges_a_saved_sequence_and_reads_it(mergecheck: Mergecheck, folder: Path) -> None:
    ended = mergecheck("sequences", written(folder, "delta-rs"), "--json")
    assert (ended.code, ended.json["counts"]) == (0, {"agrees": 1})
    assert ended.json["pairs"] == [["the harness", "delta-rs", 1]]
    assert ended.json["reads"] == [["delta-rs", "delta-rs", 1]]
