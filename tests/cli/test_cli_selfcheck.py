"""``mergecheck selfcheck`` and ``mergecheck sequences``: what they say, and the codes they end with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.selfcheck.catalogue import load_catalogue

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck


def test_the_catalogue_can_be_listed(mergecheck: Mergecheck) -> None:
    """Without starting Spark."""
    ended = mergecheck("selfcheck", "--list")
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == f"{len(load_catalogue())} faults"
    listed = mergecheck("selfcheck", "--list", "--json").json["faults"]
    assert [fault["name"] for fault in listed] == [fault.id for fault in load_catalogue()]


def test_a_fault_can_be_shown_as_a_diff(mergecheck: Mergecheck) -> None:
    """And its changes in JSON."""
    lines = mergecheck("selfcheck", "--list", "--fault", "paths-not-encoded").out.splitlines()
    assert lines[0] == "paths-not-encoded  (commit)"
    assert ['  -    return quote(path, safe="/=")', "  +    return path", "1 faults"] == lines[-3:]
    (listed,) = mergecheck("selfcheck", "--list", "--fault", "paths-not-encoded", "--json").json["faults"]
    assert listed["changes"] == [
        {
            "function": "merge.table.commit.actions.encoded",
            "replace": 'return quote(path, safe="/=")',
            "by": "return path",
        }
    ]


def test_an_unknown_fault_is_a_usage_error(mergecheck: Mergecheck) -> None:
    """With the way to the list."""
    ended = mergecheck("selfcheck", "--fault", "nosuch")
    assert ended.code == 2
    assert "selfcheck --list" in ended.err


def test_an_engine_that_keeps_no_table_has_no_sequences(mergecheck: Mergecheck) -> None:
    """Inconclusive, and the reason is counted."""
    ended = mergecheck("sequences", "--engine", "echo_engine:Echo", "--max-sequences", "2", "--seed", "1")
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
        ended = mergecheck("sequences", str(path), "--engine", "echo_engine:Echo")
        assert ended.code == 2, document
        assert said in ended.err, document
