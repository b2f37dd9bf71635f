"""The file in which runs of ``sequences`` add up."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.lab.sequences.report import Ending, SequenceReport
from mergecheck.harness.lab.sequences.steps import Sequence
from mergecheck.harness.lab.sequences.totals import (
    TotalsFormatError,
    added_up,
    read_totals,
    run_of,
    write_totals,
)
from mergecheck.harness.lab.sequences.turns import TurnCounts
from mergecheck.model.case import Target
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.lab.sequences.totals import Run

SEQUENCE = Sequence(id="one", target=Target(schema=parse_schema("id INT"), files=()), steps=())


def report(ending: Ending) -> SequenceReport:
    turns = TurnCounts(
        pairs=Counter({("a", "b"): 2}), reads=Counter({("b", "a"): 3}), own=Counter(a=1), skipped=Counter(why=1)
    )
    return SequenceReport(sequence=SEQUENCE, ending=ending, num_steps=0, turns=turns)


def test_a_run_goes_on_and_others_are_added(tmp_path: Path) -> None:
    """A run is identified by writers, seed and steps; it begins after its last sequence."""
    path = tmp_path / "totals.json"
    runs = read_totals(path)
    assert runs == []
    run_of(runs, writers=("a", "b"), seed=1, steps=4).add(report(Ending.AGREES), number=6)
    write_totals(runs, path)

    again = read_totals(path)
    assert again == runs
    assert run_of(again, writers=("a", "b"), seed=1, steps=4).start == 7
    others: list[tuple[tuple[str, ...], int, int]] = [(("b", "a"), 1, 4), (("a", "b"), 2, 4), (("a", "b"), 1, 5)]
    for writers, seed, steps in others:
        other = run_of(again, writers=writers, seed=seed, steps=steps)
        assert other.start == 0
        other.add(report(Ending.MISMATCH), number=0)
    write_totals(again, path)
    read: list[Run] = read_totals(path)
    endings, turns = added_up(read)
    assert endings == {"agrees": 1, "mismatch": 3}
    assert (turns.pairs, turns.reads) == ({("a", "b"): 8}, {("b", "a"): 12})
    assert (turns.own, turns.skipped) == ({"a": 4}, {"why": 4})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "JSONDecodeError"),
        ("[]", "TypeError"),
        ('{"format_version": 2, "runs": []}', "format version 2 instead of 1"),
        ('{"format_version": 1, "runs": [{"writers": ["a"]}]}', "KeyError: 'seed'"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "totals.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TotalsFormatError, match=said):
        read_totals(path)
