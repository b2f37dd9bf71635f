"""How much time of a run one finding may use."""

from __future__ import annotations

import pytest

from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.search.shrinking import RUN_SHARE, limits_within


def seconds(run_seconds: float, shrink_seconds: float) -> float:
    return limits_within(ShrinkLimits(), run_seconds=run_seconds, shrink_seconds=shrink_seconds).max_seconds


@pytest.mark.parametrize(
    ("run_seconds", "shrink_seconds", "allowed"),
    [
        (600, 0, 15),  # a twentieth of the half
        (600, 250, 5),  # a few seconds as long as time is left
        (600, 298, 2),  # what is left
        (600, 400, 1),
        (100_000, 0, 60),  # what a finding is worth in any run
        (0, 0, 1),
    ],
)
def test_a_finding_gets_less_the_less_time_is_left(run_seconds: float, shrink_seconds: float, allowed: float) -> None:
    assert seconds(run_seconds, shrink_seconds) == pytest.approx(allowed)


def test_many_findings_leave_time_for_new_cases() -> None:
    """Fifty findings that use all that they may take little more than their share of ten minutes."""
    spent = 0.0
    for _ in range(50):
        spent += seconds(600, spent)
    assert spent < RUN_SHARE * 600 + 20
