"""``learn``: what an engine refuses, as a file that is held against it again and that random cases follow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cli_cases import ECHO

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

KNOWS_NOTHING = "echo_engine:KnowsNothing"


def test_learn_and_check(mergecheck: Mergecheck, folder: Path) -> None:
    ended = mergecheck("learn", KNOWS_NOTHING, "-o", "knows-nothing.json")
    assert (ended.code, ended.err) == (0, "written to knows-nothing.json\n")
    assert "refuses  clause: ON with <=>   knows-nothing: anything\n" in ended.out
    assert ended.out.splitlines()[-1].startswith("knows-nothing 1.0, ")
    document = json.loads((folder / "knows-nothing.json").read_text())
    assert document["groups"]["table"].keys() == {"refuses"}
    document["groups"]["table"] = {"takes": list(document["groups"]["table"]["refuses"])}
    (folder / "knows-nothing.json").write_text(json.dumps(document))
    ended = mergecheck("learn", KNOWS_NOTHING, "--check", "knows-nothing.json")
    assert ended.code == 1
    assert "table: NOT NULL column: before: takes. Now: refuses (knows-nothing: anything)\n" in ended.out
    assert ended.out.endswith(f"{len(document['groups']['table']['takes'])} of 126 probes differ\n")


def test_files_that_cannot_be_used(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "other.json").write_text("{}")
    (folder / "some.json").write_text('{"engine": "some", "version": "1", "groups": {}}')
    ended = mergecheck("learn", KNOWS_NOTHING, "--check", "other.json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: other.json does not say what an engine takes")
    ended = mergecheck("learn", KNOWS_NOTHING, "--check", "other.json", "-o", "new.json")
    assert (ended.code, ended.out) == (2, "")
    ended = mergecheck("fuzz", "--engine", ECHO, "--capabilities", "some.json", "--max-cases", "1")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("error: --capabilities is about the engine some, not echo\n")


def test_fuzz_draws_nothing_that_is_refused(mergecheck: Mergecheck, folder: Path) -> None:
    """The command for the same cases names the file."""
    names = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10,2)")
    names += ("STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
    refused = {"type as partition": {"refuses": dict.fromkeys(names, "no partitions")}}
    (folder / "echo.json").write_text(json.dumps({"engine": "echo", "version": "0.9", "groups": refused}))
    with_file = ("--capabilities", "echo.json", "--seed", "1", "--max-cases", "12", "--floor", "0")
    ended = mergecheck("fuzz", "--engine", ECHO, *with_file, "--observations", "cases.jsonl")
    assert ended.code == 0
    assert "--capabilities is about echo 0.9; this is 1.0" in ended.err
    assert "--capabilities echo.json --seed 1 --max-cases 12" in " ".join(ended.out.split())
    assert "partitioned by" not in (folder / "cases.jsonl").read_text()
