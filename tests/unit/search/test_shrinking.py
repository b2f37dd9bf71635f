"""How much time of a run one finding may use."""

from __future__ import annotations

import pytest

from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.search.shrinking import limits_within


@pytest.mark.parametrize(
    ("seconds_left", "findings_left", "allowed"),
    [
        (600, None, 60),  # the rest is for new cases
        (-10, None, 60),  # the end of a run is for new cases only
        (600, 1, 600),  # the run ends with this finding
        (600, 3, 200),
        (5, 1, 60),
        (600, 0, 600),
    ],
)
def test_a_finding_is_shrunk_to_the_end(seconds_left: float, findings_left: int | None, allowed: float) -> None:
    """The time of a run limits new cases; a finding gets its own, and all that is left if it is the last."""
    limits = limits_within(ShrinkLimits(), seconds_left=seconds_left, findings_left=findings_left)
    assert limits.max_seconds == pytest.approx(allowed)
