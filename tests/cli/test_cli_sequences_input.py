"""``mergecheck lab sequences``: what it prints, and the codes it ends with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck


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
