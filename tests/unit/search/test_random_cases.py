"""Unit tests of which random cases a run draws."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engine import Capabilities
from mergecheck.harness.search.session import cases_for, num_pairs_for
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.outcome import Unsupported
from mergecheck.strategies import Stream

if TYPE_CHECKING:
    from mergecheck.model.case import Case

NUM_CASES = 30


class Idle:
    name = "idle"
    version = "1"
    capabilities = Capabilities()

    def run(self, case: object) -> Unsupported:
        return Unsupported(f"nothing is run of {case}")

    def close(self) -> None:
        return


def num_with_feed(*features_off: str) -> int:
    stream = Stream(cases_for(Idle(), features_off=frozenset(features_off)))
    return sum(stream.draw(1, index).target.change_data_feed for index in range(NUM_CASES))


def test_a_run_leaves_features_out() -> None:
    assert num_with_feed() > 0
    assert num_with_feed("change-data-feed") == 0


def test_a_run_focuses_on_features() -> None:
    clause = re.compile(r"NOT MATCHED BY SOURCE.*?THEN\s+DELETE", re.IGNORECASE | re.DOTALL)

    def num_with_clause(*focus: str) -> int:
        stream = Stream(cases_for(Idle(), focus=frozenset(focus)))
        return sum(bool(clause.search(stream.draw(1, index).sql)) for index in range(NUM_CASES))

    assert num_with_clause("not-matched-by-source-delete") > num_with_clause() > 0


def test_a_run_avoids_features() -> None:
    """They are drawn now and then, so that nothing is out of reach."""
    stream = Stream(cases_for(Idle(), avoid=frozenset({"partitions"})))
    usual = Stream(cases_for(Idle()))
    few, many = (sum(bool(one.draw(1, i).target.partition_by) for i in range(NUM_CASES)) for one in (stream, usual))
    assert few < many / 2


def test_a_favoured_case_is_looked_for_among_those_that_are_wanted() -> None:
    """If none of so many draws is favoured, the first wanted one is taken; if none is wanted, the last one."""

    def drawn(most: int, *, wants: int = 0, favours: int = 0) -> int:
        """Return the number of the draw that is taken, if those from two numbers on are wanted and favoured."""
        seen: list[str] = []

        def number(case: Case) -> int:
            if case.id not in seen:
                seen.append(case.id)
            return seen.index(case.id)

        return (
            Draws(cases_for(Idle()), seed=1)
            .draw_wanted(lambda c, _: number(c) >= wants, favours=lambda c, _: number(c) >= favours, most=most)
            .index
        )

    assert drawn(5) == 0
    assert drawn(5, favours=2) == 2
    assert drawn(3, wants=1, favours=9) == 1
    assert drawn(3, wants=9) == 2


def test_a_feature_that_is_left_out_cannot_be_focused_on() -> None:
    with pytest.raises(UserInputError, match="'change-data-feed' is left out for engine"):
        cases_for(Idle(), features_off=frozenset({"change-data-feed"}), focus=frozenset({"change-data-feed"}))


def test_an_unknown_feature_is_named() -> None:
    with pytest.raises(UserInputError, match="Did you mean 'change-data-feed'"):
        num_with_feed("change-data-fed")


@pytest.mark.parametrize(
    ("statement", "per_pair", "wanted"),
    [
        (0.1, 0.001, 1024),  # room for 900 in a second
        (0.5, 0.002, 256),
        (3.0, 0.003, 1024),  # a statement takes longer than a second: its pairs may take as long
        (0.1, 0.1, 64),
        (0.1, 0.00001, 65536),
    ],
)
def test_a_batch_takes_about_a_second(statement: float, per_pair: float, wanted: int) -> None:
    """Slow statements are shared by more pairs, and there is no upper limit."""
    assert num_pairs_for(statement, per_pair) == wanted
