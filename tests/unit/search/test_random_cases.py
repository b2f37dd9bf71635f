"""Unit tests of which random cases a run draws."""

from __future__ import annotations

import pytest

from mergecheck.harness.engine import Capabilities
from mergecheck.harness.errors import UserInputError
from mergecheck.harness.session import cases_for
from mergecheck.reference.outcome import Unsupported
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


def test_an_unknown_feature_is_named() -> None:
    with pytest.raises(UserInputError, match="Did you mean 'change-data-feed'"):
        num_with_feed("change-data-fed")
