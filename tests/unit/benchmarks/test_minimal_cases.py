"""The measure of minimal cases: the file is counted again without running anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from tools.benchmarks.minimal_cases import minimal_cases

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "MERGE INTO target t USING source s"
NAMES = ("null-condition-taken-as-true", "last-clause-wins")


def written(path: Path, *statements: str) -> Path:
    lines = [{"fault": name, "index": 7, "sql": sql} for name, sql in zip(NAMES, statements, strict=False)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_two_versions_are_compared_on_the_faults_of_both(tmp_path: Path) -> None:
    """Tokens behind USING, dots and operators included; a fault that only one file has is not compared."""
    long = f"{HEAD} ON t.k = s.k WHEN MATCHED AND (t.k + 1) * 2 > 4 THEN DELETE"
    short = f"{HEAD} ON TRUE WHEN MATCHED THEN DELETE"
    before = written(tmp_path / "before.jsonl", long)
    out = written(tmp_path / "after.jsonl", short, long)
    options = [part for name in NAMES for part in ("--fault", name)]
    result = CliRunner().invoke(minimal_cases, [*options, "--out", str(out), "--before", str(before)])
    assert (result.exit_code, result.output.splitlines()) == (
        0,
        [
            "before: 1 faults, median 26 tokens behind USING, 90 % at most 26",
            "after:  1 faults, median 8 tokens behind USING, 90 % at most 8",
            "all:    2 faults, median 17 tokens behind USING, 90 % at most 26",
        ],
    )
