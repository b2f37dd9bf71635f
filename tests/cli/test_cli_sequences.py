"""``lab sequences``: its exit codes, and its refusals before it starts an engine, with writers in turn, too."""

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
    ended = mergecheck("lab", "sequences", written(folder, writer))
    assert (ended.code, ended.out) == (2, "")
    assert f"sequence.json: {writer!r} is none of the installed engines (comet, delta-rs, " in ended.err
    assert ended.err.endswith("To run it, give --trust.\n")


def test_a_writer_is_a_name(mergecheck: Mergecheck, folder: Path) -> None:
    ended = mergecheck("lab", "sequences", written(folder, 7))
    assert (ended.code, ended.out) == (2, "")
    assert "sequence.json, step 1: writer is the name of an engine" in ended.err


@pytest.mark.parametrize("writers", [("duckdb",), ("duckdb", "duckdb")])
def test_one_writer_takes_no_turns(mergecheck: Mergecheck, folder: Path, writers: tuple[str, ...]) -> None:  # noqa: ARG001 - the folder to run in
    ended = mergecheck("lab", "sequences", *(word for name in writers for word in ("--writer", name)))
    assert (ended.code, ended.out) == (2, "")
    assert "give --writer at least twice, each with another engine" in ended.err


def test_totals_say_where_to_go_on(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "other.json").write_text("{}", encoding="utf-8")
    ended = mergecheck("lab", "sequences", "--engine", "delta-rs", "--totals", "other.json")
    assert (ended.code, ended.out) == (2, "")
    assert "other.json: no totals of sequences (KeyError: 'format_version')" in ended.err
    for given in (("--start", "3"), (written(folder, "delta-rs"),)):
        ended = mergecheck("lab", "sequences", *given, "--totals", "totals.json")
        assert (ended.code, ended.out) == (2, "")
        assert "--totals says itself where to go on" in ended.err


def test_an_interrupted_run_tells_what_it_did(mergecheck: Mergecheck) -> None:
    """Ctrl+C ends with 130; the sequences before it are counted."""
    engine = "echo_engine:InterruptsAtTheThirdMerge"
    ended = mergecheck("lab", "sequences", "--engine", engine, "--seed", "1", "--steps", "2")
    assert ended.code == 130
    assert "1 sequence: " in ended.out
    assert ended.out.splitlines()[-1] == "stopped: interrupted"


def test_runs_add_up(mergecheck: Mergecheck, folder: Path) -> None:
    """The second run goes on where the first ended; --start does its sequence again."""
    same = ("lab", "sequences", "--engine", "delta-rs", "--seed", "1", "--steps", "2", "--max-sequences", "1")
    first = mergecheck(*same, "--totals", "totals.json", "--json")
    second = mergecheck(*same, "--totals", "totals.json")
    (run,) = json.loads((folder / "totals.json").read_text())["runs"]
    assert (run["writers"], sum(run["endings"].values())) == (["delta-rs"], 2)
    assert "All of totals.json, 1 run:\n2 sequences: " in second.out
    number = run["start"] - 1
    again = mergecheck(*same, "--start", str(number), "--json")
    assert [one["id"] for one in again.json["sequences"]] == [f"sequence-1-{number}"]
    assert again.json["sequences"] != first.json["sequences"]
    assert f" --start {number}" not in first.out


def test_writers_beside_a_file_read_what_it_writes(mergecheck: Mergecheck, folder: Path) -> None:
    """They are for sequences that a reader fails on: the file names those that write."""
    ended = mergecheck("lab", "sequences", written(folder, ""), "--writer", "delta-rs", "--json")
    assert (ended.code, ended.json["counts"], ended.json["writers"]) == (0, {"agrees": 1}, ["delta-rs"])
    assert ended.json["reads"] == [["delta-rs", "delta-rs", 1]]


def test_delta_rs_merges_a_saved_sequence_and_reads_it(mergecheck: Mergecheck, folder: Path) -> None:
    ended = mergecheck("lab", "sequences", written(folder, "delta-rs"), "--json")
    assert (ended.code, ended.json["counts"]) == (0, {"agrees": 1})
    assert ended.json["pairs"] == [["the harness", "delta-rs", 1]]
    assert ended.json["reads"] == [["delta-rs", "delta-rs", 1]]


def test_an_engine_that_keeps_no_table_has_no_sequences(mergecheck: Mergecheck) -> None:
    """Inconclusive, and the reason is counted."""
    ended = mergecheck("lab", "sequences", "--engine", "echo_engine:Echo", "--max-sequences", "2", "--seed", "1")
    assert ended.code == 4
    assert "echo cannot merge into a table that is there already" in ended.out
    assert "2 sequences: unsupported 2" in ended.out


def test_a_file_that_is_no_sequence(mergecheck: Mergecheck, tmp_path: Path) -> None:
    """One message, exit code 2."""
    path = tmp_path / "sequence.json"
    target = {"schema": "id INT", "files": []}
    for document, said in (
        ([], "has the keys"),
        ({"format_version": 1, "id": "x", "target": target, "steps": [{"vacuum": True}]}, "'vacuum' is no step"),
        ({"format_version": 1, "id": "x", "target": target, "steps": [{"rewrite": 1}]}, "rewrite is true"),
        ({"format_version": 1, "id": "x", "target": target, "steps": [{"checkpoint": 1}]}, "checkpoint is true"),
        (
            {"format_version": 1, "id": "x", "target": target, "steps": [{"restore": 0}]},
            "versions to go back, at least 1",
        ),
        (
            {"format_version": 1, "id": "x", "target": target, "steps": [{"delete": {"column": "n", "value": 1}}]},
            "a column of the target",
        ),
    ):
        path.write_text(json.dumps(document), encoding="utf-8")
        ended = mergecheck("lab", "sequences", str(path), "--engine", "echo_engine:Echo")
        assert ended.code == 2, document
        assert said in ended.err, document
