"""A run beside an earlier one: is it much slower, or does it verify much less?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.properties.limits import percent
from mergecheck.harness.properties.phases import PHASES
from mergecheck.harness.report.fuzz_figures import read_figures
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.report.fuzz_figures import RunFigures

MIN_CASES = 30
"""Runs of fewer cases are not judged: one large table decides their speed."""
SLOWER = 2.0
"""A run is much slower if a case takes this many times as long. Two runs of one machine differ by a third or so."""
MIN_DROP = 0.05
STANDARD_ERRORS = 3.0
"""Much less is verified if the share drops by at least ``MIN_DROP``, and by more than other cases explain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs of one engine.

    Attributes:
        baseline: the earlier one.
        now: the one that has ended.
    """

    baseline: RunFigures
    now: RunFigures

    @property
    def is_judged(self) -> bool:
        """Whether both have enough cases."""
        return min(self.baseline.num_cases, self.now.num_cases) >= MIN_CASES

    def line(self) -> str:
        """Return the figures of both runs in one line."""
        before, now = self.baseline, self.now
        told = (
            f"baseline {before.name}: {before.cases_a_second:.1f} cases a second without shrinking, now "
            f"{now.cases_a_second:.1f}; verified {percent(before.verified_share)}, now {percent(now.verified_share)}"
        )
        return told if self.is_judged else f"{told}; too few cases to tell which is better (under {MIN_CASES})"

    def worse(self) -> tuple[str, ...]:
        """List the figures in which the run is much worse, a sentence each; empty if none is, or with too few cases."""
        if not self.is_judged:
            return ()
        found = []
        before, now = self.baseline, self.now
        if 0 < now.cases_a_second * SLOWER <= before.cases_a_second:
            found.append(f"a case takes {_times(before.cases_a_second, now.cases_a_second)} as long{self._phases()}")
        if self._verifies_less():
            found.append(
                f"{percent(now.verified_share)} of the cases were verified, {percent(before.verified_share)} before"
            )
        return tuple(f"much worse than the baseline: {sentence}" for sentence in found)

    def _verifies_less(self) -> bool:
        before, now = self.baseline, self.now
        drop = before.verified_share - now.verified_share
        if drop < MIN_DROP or not (before.num_judged and now.num_judged):
            return False
        together = (before.num_verified + now.num_verified) / (before.num_judged + now.num_judged)
        variance = together * (1 - together) * (1 / before.num_judged + 1 / now.num_judged)
        return drop > STANDARD_ERRORS * math.sqrt(variance)

    def _phases(self) -> str:
        """Name the phases whose time a case has grown as much."""
        grown = []
        for phase in (phase for phase in PHASES if phase != "shrink"):
            before = self.baseline.phase_seconds.get(phase, 0.0) / self.baseline.num_cases
            now = self.now.phase_seconds.get(phase, 0.0) / self.now.num_cases
            if before > 0 and now >= SLOWER * before:
                grown.append(f"{phase} {_times(now, before)}")
        return f" ({', '.join(grown)})" if grown else ""


def read_baseline(path: Path, *, engine: str) -> RunFigures:
    """Read the run with which another run of an engine is compared.

    Raises:
        UserInputError: the file cannot be read, is no result of ``fuzz --json``, or is of another engine.
    """
    found = read_figures(path)
    if found.engine != engine:
        raise UserInputError(f"{path} is a run of engine {found.engine}, so it is no baseline for engine {engine}")
    return found


def _times(more: float, less: float) -> str:
    return f"{more / less:.1f} times"
