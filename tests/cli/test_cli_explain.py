"""``mergecheck explain``: output, JSON and exit codes, with an engine and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_cases import DOWN, ECHO, write_case

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion

WRONG = "echo_engine:TakesNullForTrue"
SQL = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND t.v <> 'a' THEN DELETE "
    "WHEN NOT MATCHED THEN INSERT *"
)

REPRODUCE = ("Reproduce: ", "In pytest: ", "As SQL: ")


@pytest.fixture
def name(folder: Path) -> str:
    target = {"schema": "id BIGINT, v STRING", "files": [[[1, None], [2, "a"]], [[3, "c"]]]}
    return write_case(folder / "null.json", sql=SQL, target=target)


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_mismatch_is_explained(
    mergecheck: Mergecheck, name: str, columns: str, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """Row by row, with the implied cause and the lines that reproduce it, as wide as the terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    ended = mergecheck("explain", name, "--engine", WRONG)
    assert ended.code == 1
    assert ended.out == snapshot
    lines = [line for line in ended.out.splitlines() if not line.startswith(REPRODUCE)]  # commands stay whole
    assert max(map(len, lines)) <= int(columns)


def test_a_case_is_explained_without_an_engine(mergecheck: Mergecheck, name: str) -> None:
    """The reference alone; with --pairs the value of ON for every pair of rows."""
    ended = mergecheck("explain", name, "--pairs")
    assert (ended.code, ended.err) == (0, "")
    assert "clause 1 does not apply: t.v <> 'a' is NULL (t.v = NULL)" in ended.out
    assert "target 1, source 1: TRUE   t.id = 1, s.id = 1" in ended.out
    assert "hypothesis" not in ended.out


def test_json_of_an_explanation(mergecheck: Mergecheck, name: str) -> None:
    """The same as one document."""
    ended = mergecheck("explain", name, "--engine", WRONG, "--json")
    assert (ended.code, ended.json["verdict"]) == (1, "mismatch")
    assert ended.json["hypotheses"][0] == "as if NULL counted as TRUE in clause 1"
    assert ended.json["rows"][0]["tried"][0]["clauses"][0]["value"] is None


def test_exit_codes_of_an_explanation(mergecheck: Mergecheck, name: str, folder: Path) -> None:
    """Agreement, an engine that is down, a case that the reference does not support, a file that is none."""
    assert mergecheck("explain", name, "--engine", ECHO).code == 0
    assert mergecheck("explain", name, "--engine", DOWN).code == 3
    odd = write_case(folder / "odd.json", sql=SQL.replace("t.v <> 'a'", "soundex(t.v) = 'A000'"))
    ended = mergecheck("explain", odd)
    assert ended.code == 4
    assert "not evaluated: " in ended.out
    missing = mergecheck("explain", "nothing.json")
    assert (missing.code, missing.out) == (2, "")
