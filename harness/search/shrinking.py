"""Making one finding small, unless it turns out to be a finding that is known already."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.findings.shrink.shrinker import Attempts, ShrinkLimits, is_small, shrink
from mergecheck.model.case_id import content_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.findings.dedup import KnownFindings
    from mergecheck.harness.search.prefetch import Prefetch
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

MAX_RESEMBLING = 6
"""After this many candidates that only show a known finding, shrinking ends."""


class _ResemblesAFindingError(Exception):
    """Ends the shrinking of a case that most likely is a known finding with additions."""


def limits_within(limits: ShrinkLimits, *, seconds_left: float, findings_left: int | None) -> ShrinkLimits:
    """Return the limits for one finding of a run with an end.

    The end of a run is for new cases: a finding gets what it would get in a run without an end, and its part of all
    that is left if the run ends with the findings anyway.

    Args:
        limits: a finding's limits in a run without an end.
        seconds_left: until the run ends; negative if it is over its time.
        findings_left: how many findings the run still looks for, this one included; None for any number.
    """
    if findings_left is None:
        return limits
    return replace(limits, max_seconds=max(limits.max_seconds, seconds_left / max(1, findings_left)))


class Shrinking:
    """The shrinking of one finding.

    Args:
        drawn: the drawn case, with its mismatch.
        checker: checks the smaller cases.
        known: the findings of the run so far. A candidate that shows any of them is refused.
        limits: limits of shrinking the finding.
        on_smaller: receives every smaller case.
    """

    def __init__(
        self,
        drawn: CaseReport,
        *,
        checker: Checker,
        known: KnownFindings,
        limits: ShrinkLimits,
        on_smaller: Callable[[Attempts], None],
    ) -> None:
        self.drawn = drawn
        self.attempts = Attempts(drawn, check=self._check_smaller, limits=limits, on_smaller=on_smaller)
        self._checker = replace(checker, about=self.attempts.fingerprint)
        self._known = known
        self._resembled: list[tuple[str, str]] = []

    def run(self, cases: Prefetch, index: int) -> None:
        """Run the domain's own passes.

        If the case is still large afterwards, let Hypothesis simplify its draw, and run them again.
        """
        attempts = self.attempts
        with contextlib.suppress(_ResemblesAFindingError):
            shrink(attempts)
            if not is_small(attempts.best.case) and not attempts.is_drawing_spent:
                self._simplify_draw(cases, index)
                shrink(attempts)

    @property
    def is_cut_short(self) -> bool:
        """Return whether it ended before nothing smaller was left to try."""
        return len(self._resembled) >= MAX_RESEMBLING or self.attempts.is_cut_short

    def resembled(self, *, is_cut_short: bool) -> str | None:
        """Return the known finding that the smallest case shows, but for additions that do not matter.

        Candidates that show a known finding were refused. If one step from the smallest case leads to such a
        candidate, the case is that finding with one addition. If shrinking was cut short, a step from any earlier case
        counts too.
        """
        digest = content_digest(self.attempts.best.case)
        return next((known for best, known in reversed(self._resembled) if is_cut_short or best == digest), None)

    def _simplify_draw(self, cases: Prefetch, index: int) -> None:
        """Let Hypothesis simplify the draw within its limits; the attempts keep the best case."""
        # Hypothesis loads slowly, and most runs of saved cases need none of it.
        from hypothesis.errors import Flaky  # noqa: PLC0415

        from mergecheck.strategies.stream import DoesNotFailError, StopShrinking  # noqa: PLC0415

        def fails(case: Case) -> bool:
            if self.attempts.is_drawing_spent:
                raise StopShrinking
            return self.attempts.reproduces(case)

        with contextlib.suppress(Flaky, DoesNotFailError):  # a flaky finding does not come back
            cases.shrink(index, fails)

    def _check_smaller(self, case: Case) -> CaseReport:
        """Check a candidate; one that only shows a known finding is refused, but may give the best case.

        Raises:
            _ResemblesAFindingError: if enough candidates show a known finding.
        """
        report = self._checker.check_case(case)
        known = self._known.match_minimal(report)
        if known is None:
            return report
        self._resembled.append((content_digest(self.attempts.best.case), known))
        if len(self._resembled) >= MAX_RESEMBLING:
            raise _ResemblesAFindingError
        return replace(report, mismatches=())
