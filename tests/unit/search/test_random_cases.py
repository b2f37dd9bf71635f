"""Unit tests of which random cases a run draws."""

from __future__ import annotations

import re

import pytest

from mergecheck.harness.engine import Capabilities
from mergecheck.harness.search.session import cases_for
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.outcome import Unsupported
from mergecheck.strategies import Stream

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


def test_a_feature_that_is_left_out_cannot_be_focused_on() -> None:
    with pytest.raises(UserInputError, match="'change-data-feed' is left out for engine"):
        cases_for(Idle(), features_off=frozenset({"change-data-feed"}), focus=frozenset({"change-data-feed"}))


def test_an_unknown_feature_is_named() -> None:
    with pytest.raises(UserInputError, match="Did you mean 'change-data-feed'"):
        num_with_feed("change-data-fed")
