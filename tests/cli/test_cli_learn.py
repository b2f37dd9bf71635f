"""``learn``: an engine's refusals, as a file that is checked again and that random cases follow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cli_cases import ECHO

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

KNOWS_NOTHING = "echo_engine:KnowsNothing"


def test_learn_and_check(mergecheck: Mergecheck, folder: Path) -> None:
    ended = mergecheck("engine", "conform", KNOWS_NOTHING, "--learned", "knows-nothing.json")
    assert (ended.code, ended.err) == (4, "written to knows-nothing.json\n")
    document = json.loads((folder / "knows-nothing.json").read_text())
    assert document["groups"]["table"].keys() == {"refuses"}
    document["groups"]["table"] = {"takes": list(document["groups"]["table"]["refuses"])}
    (folder / "knows-nothing.json").write_text(json.dumps(document))
    ended = mergecheck("engine", "conform", KNOWS_NOTHING, "--check-learned", "knows-nothing.json")
    assert ended.code == 1
    changed = [line for line in ended.out.splitlines() if line.startswith("changed  ")]
    assert "changed  table: NOT NULL column: before: takes. Now: refuses (knows-nothing: anything)" in changed
    assert len(changed) == len(document["groups"]["table"]["takes"])


def test_files_that_cannot_be_used(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "other.json").write_text("{}")
    (folder / "some.json").write_text('{"engine": "some", "version": "1", "groups": {}}')
    ended = mergecheck("engine", "conform", KNOWS_NOTHING, "--check-learned", "other.json")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: other.json has no answers of an engine")
    ended = mergecheck("fuzz", "--engine", ECHO, "--capabilities", "some.json", "--max-cases", "1")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("error: --capabilities is about the engine some, not echo\n")


def test_the_old_name_works_in_this_release(mergecheck: Mergecheck) -> None:
    """With a notice; the command line is the old one."""
    ended = mergecheck("learn", KNOWS_NOTHING, "-o", "knows-nothing.json")
    notice = "mergecheck learn is now: mergecheck engine conform --learned. The old name works in this release only.\n"
    assert (ended.code, ended.err) == (0, f"{notice}written to knows-nothing.json\n")
    assert "refuses  clause: ON with <=>   knows-nothing: anything\n" in ended.out


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
