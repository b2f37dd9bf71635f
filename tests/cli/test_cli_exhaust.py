"""``mergecheck exhaust``: its last line, its files, and its refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cli_cases import TINY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli_cases import Ended


@pytest.fixture
def tiny(folder: Path) -> str:
    (folder / "tiny.toml").write_text(TINY)
    return "tiny.toml"


def test_all_agree(mergecheck: Callable[..., Ended], tiny: str, folder: Path) -> None:
    run = ("exhaust", "--engine", "echo_engine:Echo", "--scope", tiny, "--journal", "j.jsonl")
    ended = mergecheck(*run, "--range", "0:1", "--html", "report.html")
    assert ended.code == 0, ended
    assert ended.out.splitlines()[-1] == "1 statement x 52 pairs of tables = 52 merges, all agree"
    assert "scope" in (folder / "report.html").read_text(encoding="utf-8").lower()

    ended = mergecheck(*run, "--json", "--certificate", "c.json")
    assert ended.code == 0, ended
    document = json.loads(ended.out)
    assert document["new_merges"] == 52
    assert document["merges"] == {"agree": 104}
    assert document["summary"] == "2 statements x 52 pairs of tables = 104 merges, all agree"
    certificate = json.loads((folder / "c.json").read_text(encoding="utf-8"))
    assert certificate["conforms"] is True
    assert certificate.items() <= document.items()


def test_oracles_alone(mergecheck: Callable[..., Ended], tiny: str) -> None:
    ended = mergecheck("exhaust", "--scope", tiny, "--oracles-only")
    assert ended.code == 0, ended
    assert ended.out.splitlines()[-1] == (
        "2 statements x 52 pairs of tables = 104 merges, the row model and the reference agree"
    )


def test_a_difference_ends_with_1_and_is_saved(mergecheck: Callable[..., Ended], tiny: str, folder: Path) -> None:
    ended = mergecheck("exhaust", "--engine", "echo_engine:LosesNullKeys", "--scope", tiny, "--range", "0:1")
    assert ended.code == 1, ended
    assert "finding " in ended.out
    assert list((folder / ".mergecheck" / "findings").glob("*.json"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scope", "cor"), "Did you mean 'core'?"),
        (("--range", "9:3"), "scope quick has statements 0 to 23; give two numbers such as 0:24"),
        (("--scope", "none.toml"), "cannot read the scope none.toml"),
    ],
)
def test_what_cannot_be_used(mergecheck: Callable[..., Ended], arguments: tuple[str, ...], message: str) -> None:
    ended = mergecheck("exhaust", *arguments)
    assert ended.code == 2
    assert message in ended.err
