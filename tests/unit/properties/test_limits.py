"""The limits of a run: enough verified cases, and not too many known deviations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from mergecheck.harness.properties.limits import Limits, percent
from mergecheck.harness.properties.phases import PHASES, phase_line, phases_json
from mergecheck.harness.properties.statistics import Counts
from mergecheck.harness.verdict import Verdict


def counts(*, agree: int, deviating: int = 0, unsupported: int = 0) -> Counts:
    verdicts = {Verdict.AGREE: agree, Verdict.MISMATCH: deviating, Verdict.UNSUPPORTED: unsupported}
    return Counts(
        num_cases=agree + deviating + unsupported,
        num_deviating=deviating,
        deviating_weight=deviating,
        verdicts=Counter(verdicts),
    )


def test_a_batch_counts_by_its_pairs() -> None:
    """One pair in eight that shows a known deviation is an eighth of a case, not a case."""
    one_batch = replace(counts(agree=3, deviating=1), deviating_weight=1 / 8)
    assert Limits(max_deviating=0.04).missed(one_batch) == ()
    (missed,) = Limits(max_deviating=0.03).missed(one_batch)
    assert missed.startswith("3.1% of the cases show known deviations")


def test_a_run_within_its_limits_misses_none() -> None:
    assert Limits().missed(counts(agree=50, deviating=50)) == ()
    assert Limits(floor=1, max_deviating=0).missed(counts(agree=3)) == ()


def test_known_deviations_above_their_limit_are_told() -> None:
    """The floor does not see them: it counts verified cases among the others."""
    (told,) = Limits(max_deviating=0.1).missed(counts(agree=8, deviating=2), prefix="--mergecheck-")
    assert told == "20% of the cases show known deviations, above --mergecheck-max-deviating 10%"


def test_both_limits_may_be_missed() -> None:
    told = Limits(floor=0.6, max_deviating=0.005).missed(counts(agree=1, deviating=1, unsupported=1))
    assert told == (
        "50% of the cases were verified, below --floor 60%",
        "33.3% of the cases show known deviations, above --max-deviating 0.5%",
    )


def test_a_run_of_nothing_verified_nothing() -> None:
    assert len(Limits().missed(counts(agree=0))) == 1


@pytest.mark.parametrize(("share", "text"), [(0, "0%"), (0.6, "60%"), (0.005, "0.5%"), (1 / 3, "33.3%"), (1, "100%")])
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_phases_that_took_no_time_are_told_too() -> None:
    seconds = {"draw": 1.25, "shrink": 0.04}
    assert phases_json(seconds) == {"draw": 1.25, "reference": 0.0, "engine": 0.0, "compare": 0.0, "shrink": 0.04}
    assert list(phases_json({})) == list(PHASES)
    assert phase_line(seconds).startswith("time by phase: draw 1.2 s, reference 0.0 s, ")
