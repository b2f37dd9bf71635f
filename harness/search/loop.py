"""The fuzz loop: draw, check, confirm, shrink and keep, until the budget is spent."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis.errors import Flaky

from mergecheck.harness.core.case_id import content_digest, with_content_id
from mergecheck.harness.coverage.statistics import Counts, Stop, Summary
from mergecheck.harness.engines import engine_name
from mergecheck.harness.findings.dedup import KnownFindings
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.origin import origin_of
from mergecheck.harness.findings.store import Finding
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.report import events
from mergecheck.harness.report.mismatch import mismatch_report, set_aside_report
from mergecheck.harness.shrink.shrinker import Attempts, ShrinkLimits, is_small, num_rows, shrink
from mergecheck.harness.verdict import Verdict
from mergecheck.strategies.stream import DoesNotFailError, StopShrinking

if TYPE_CHECKING:
    from mergecheck.harness.checker import Checker
    from mergecheck.harness.findings.origin import Origin
    from mergecheck.harness.findings.store import FindingsDirectory
    from mergecheck.harness.search.prefetch import Finish, Prefetch
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.reference.case.model import Case

MAX_REPEATS = 250
"""After this many repeated draws in a row, the strategy has no new case left."""
MAX_ENGINE_FAILURES = 3
SHRINKING_SHARE = 0.5
"""The share of the run's time for shrinking; the rest is for new cases, however many findings there are."""
FINDING_SHARE = 0.05
"""The part of what is left for shrinking that one finding may use."""
MAX_RESEMBLING = 6
"""After this many candidates that only show a known finding, shrinking ends."""
FEW_SECONDS = 5.0
"""A finding may use this in any case, as long as time for shrinking is left."""
MIN_SECONDS = 1.0
"""What a finding may use if none is left."""


class _ResemblesAFindingError(Exception):
    """Ends the shrinking of a case that most likely is a known finding with additions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When a run ends: at the first limit that it reaches. At least one case is checked.

    Attributes:
        max_cases: different cases.
        max_seconds: counted from the first case, not from the start of the engine. A finding that is being shrunk is
            shrunk to its own limit, which is a small part of the time that was left.
        max_findings: different findings.
    """

    max_cases: int | None = 500
    max_seconds: float | None = None
    max_findings: int | None = None


class Search:
    """One run of random cases against one engine.

    Args:
        checker: checks what is not drawn: a case once more, the singles of a batch, smaller cases.
        cases: the drawn cases.
        budget: when the run ends.
        findings: where findings are kept.
        listener: told of everything that happens.
        limits: how much shrinking one finding is worth.
    """

    def __init__(
        self,
        checker: Checker,
        cases: Prefetch,
        *,
        budget: Budget,
        findings: FindingsDirectory,
        listener: events.Listener = lambda _: None,
        limits: ShrinkLimits | None = None,
    ) -> None:
        self._checker = checker
        self._cases = cases
        self._repeats_in_a_row = 0
        self._budget = budget
        self._findings = findings
        self._listener = listener
        self._limits = limits or ShrinkLimits()
        self._counts = Counts()
        self._timer = PhaseTimer(self._counts.phase_seconds)
        self._known = KnownFindings()
        self._kept_reasons: set[str] = set()
        self._attempts: Attempts | None = None
        self._drawn: CaseReport | None = None
        self._number: int | None = None
        self._resembled: list[tuple[str, str]] = []
        self._failures_in_a_row = 0
        self._stop = Stop.RUNNING
        self._started = 0.0

    def run(self) -> Summary:
        """Check random cases until the budget is spent, an interrupt comes or the engine is lost.

        Returns:
            What was tested. The same seed gives the same cases, whatever the budget.
        """
        self._started = time.monotonic()
        self._listener(
            events.RunStarted(
                engine=self._checker.engine.name,
                engine_version=self._checker.engine.version,
                seed=self._cases.seed,
                max_cases=self._budget.max_cases,
                max_seconds=self._budget.max_seconds,
            )
        )
        try:
            while self._stop is Stop.RUNNING:
                self._run_next()
        except KeyboardInterrupt:
            self._stop = Stop.INTERRUPTED
            self._keep_finding(was_interrupted=True)
        summary = self._summary()
        self._listener(events.RunEnded(summary=summary))
        return summary

    def _run_next(self) -> None:
        """Draw one case and check it unless it came up before; shrink and keep what it shows."""
        if self._is_budget_spent():
            return
        upcoming = self._cases.next(self._counts.space)
        self._counts.num_passed_over += upcoming.drawn.num_passed_over
        self._counts.add_time(upcoming.drawn.phase_seconds)
        if upcoming.finish is None:
            self._counts.num_repeated += 1
            self._repeats_in_a_row += 1
            if self._repeats_in_a_row >= MAX_REPEATS:
                self._stop = Stop.EXHAUSTED
            return
        self._repeats_in_a_row = 0
        self._number = upcoming.drawn.index
        self._check_new(upcoming.finish, singles=upcoming.drawn.singles)
        if self._attempts is not None:
            self._listener(events.ShrinkingStarted(fingerprint=self._attempts.fingerprint))
            with self._timer.measure("shrink"):
                self._shrink(self._attempts, upcoming.drawn.index)
            self._keep_finding()

    def _shrink(self, attempts: Attempts, index: int) -> None:
        """Run the domain's own passes.

        If the case is still large afterwards, let Hypothesis simplify its draw, and run them again.
        """
        with contextlib.suppress(_ResemblesAFindingError):
            shrink(attempts)
            if not is_small(attempts.best.case) and not attempts.is_drawing_spent:
                self._shrink_draw(attempts, index)
                shrink(attempts)

    def _check_new(self, finish: Finish, *, singles: tuple[Case, ...]) -> None:
        """Check a drawn case; of a batch with a mismatch, find a pair of tables that shows one alone."""
        report = finish()
        self._counts.add(report)
        self._counts.num_batched += len(singles)
        if report.verdict is Verdict.ENGINE_ERROR:
            self._engine_failed(report)
        else:
            self._failures_in_a_row = 0
            with self._timer.measure("shrink"):
                self._judge(self._narrowed(report, singles))
        self._listener(events.CaseChecked(report=report, summary=self._summary()))

    def _narrowed(self, report: CaseReport, singles: tuple[Case, ...]) -> CaseReport:
        if fingerprint(report) is None:
            return report
        alone = (self._checker.check_case(with_content_id(single)) for single in singles)
        return next((one for one in alone if fingerprint(one) is not None), report)

    def _shrink_draw(self, attempts: Attempts, index: int) -> None:
        """Let Hypothesis simplify the draw within its limits; ``attempts`` keeps the best case."""

        def fails(case: Case) -> bool:
            if attempts.is_drawing_spent:
                raise StopShrinking
            return attempts.reproduces(case)

        with contextlib.suppress(Flaky, DoesNotFailError):  # a flaky finding does not come back
            self._cases.shrink(index, fails)

    def _judge(self, report: CaseReport) -> None:
        """Count a known mismatch; confirm a new one by a second execution."""
        found = fingerprint(report)
        if found is None:
            return
        known = self._known.match_known(report)
        if known is not None:
            self._counts.findings[known] += 1
            return
        again = self._checker.check_case(report.case)
        if fingerprint(again) != found:
            self._counts.add_flaky()
            self._set_aside("flaky", report, f"{found}, which a second execution did not show")
            return
        self._drawn, self._resembled = again, []
        self._attempts = Attempts(again, check=self._check_smaller, limits=self._limits_now(), on_smaller=self._step)

    def _check_smaller(self, case: Case) -> CaseReport:
        """Check a candidate; one that only shows a known finding is refused, but may tell what the best case is.

        Raises:
            _ResemblesAFindingError: if enough candidates show a known finding.
        """
        about = None if self._attempts is None else self._attempts.fingerprint
        report = replace(self._checker, about=about).check_case(case)
        known = self._known.match_minimal(report)
        if known is None or self._attempts is None:
            return report
        self._resembled.append((content_digest(self._attempts.best.case), known))
        if len(self._resembled) >= MAX_RESEMBLING:
            raise _ResemblesAFindingError
        return replace(report, mismatches=())

    def _limits_now(self) -> ShrinkLimits:
        """Return the limits for one finding; they are smaller if little of the time for shrinking is left."""
        if self._budget.max_seconds is None:
            return self._limits
        left = SHRINKING_SHARE * self._budget.max_seconds - self._counts.phase_seconds.get("shrink", 0.0)
        seconds = max(MIN_SECONDS, min(FEW_SECONDS, left), FINDING_SHARE * left)
        return replace(self._limits, max_seconds=min(self._limits.max_seconds, seconds))

    def _engine_failed(self, report: CaseReport) -> None:
        if report.is_lost:
            self._set_aside("crashed", report, report.reason)
        elif report.reason not in self._kept_reasons:
            self._kept_reasons.add(report.reason)
            self._set_aside("harness_bug" if report.is_defect else "engine_error", report, report.reason)
        if report.is_defect:  # says nothing about the engine
            return
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= MAX_ENGINE_FAILURES:
            self._stop = Stop.ENGINE_DOWN

    def _keep_finding(self, *, was_interrupted: bool = False) -> None:
        attempts = self._attempts
        if attempts is None:
            return
        best = attempts.best
        self._attempts = None
        given_up = len(self._resembled) >= MAX_RESEMBLING
        is_cut_short = was_interrupted or given_up or attempts.refused or attempts.is_spent()
        known = self._resembled_by(best.case, is_cut_short=is_cut_short)
        if known is not None and self._drawn is not None:
            self._known.add_another(known, drawn=self._drawn)
            self._counts.findings[known] += 1
            self._listener(events.FindingRepeated(finding_id=known, fingerprint=attempts.fingerprint))
            return
        finding = Finding(
            fingerprint=attempts.fingerprint,
            report=replace(best, case=with_content_id(best.case)),
            original=attempts.original,
            seed=self._cases.seed,
            num_cases=self._counts.num_cases,
            num_runs=attempts.num_runs,
            seconds=attempts.seconds,
            cut_short=is_cut_short,
            number=self._number,
            readings=self._checker.readings(best),
        )
        self._known.add(
            finding.id, drawn=self._drawn or finding.report, minimal=finding.report, is_minimal=not is_cut_short
        )
        self._counts.findings[finding.id] += 1
        text = mismatch_report(finding.report, finding=finding, path=self._findings.path_of(finding.id))
        path = self._findings.save(finding.report.case, text, self._origin(finding))
        self._listener(events.FindingSaved(finding=finding, path=path))
        limit = self._budget.max_findings
        if self._stop is Stop.RUNNING and limit is not None and len(self._known) >= limit:
            self._stop = Stop.FINDINGS

    def _origin(self, finding: Finding) -> Origin:
        engine = engine_name(self._checker.engine)
        return origin_of(finding.report, found_by="fuzz", engine=engine, seed=finding.seed, number=finding.number)

    def _resembled_by(self, case: Case, *, is_cut_short: bool) -> str | None:
        """Return the known finding that a minimal case shows, but for additions that do not matter.

        The shrinker refuses candidates that show a known finding. If one step from the minimal case leads to such a
        candidate, the case is that finding with one addition. If shrinking was cut short, a step from any earlier case
        counts too.
        """
        digest = content_digest(case)
        return next((known for best, known in reversed(self._resembled) if is_cut_short or best == digest), None)

    def _set_aside(self, kind: str, report: CaseReport, reason: str) -> None:
        path = self._findings.set_aside(kind, report.case, set_aside_report(report, kind=kind, reason=reason))
        self._listener(events.CaseSetAside(kind=kind, path=path, reason=reason))

    def _step(self, attempts: Attempts) -> None:
        num_target_rows, num_source_rows = num_rows(attempts.best.case)
        self._listener(
            events.ShrinkingStep(
                num_target_rows=num_target_rows,
                num_source_rows=num_source_rows,
                num_runs=attempts.num_runs,
                seconds=attempts.seconds,
            )
        )

    def _is_budget_spent(self) -> bool:
        budget, num_cases = self._budget, self._counts.num_cases
        if num_cases == 0:
            return False
        seconds = time.monotonic() - self._started
        spent = (budget.max_cases is not None and num_cases >= budget.max_cases) or (
            budget.max_seconds is not None and seconds >= budget.max_seconds
        )
        if spent:
            self._stop = Stop.BUDGET
        return spent

    def _summary(self) -> Summary:
        seconds = time.monotonic() - self._started
        return Summary(seed=self._cases.seed, stop=self._stop, seconds=seconds, counts=self._counts.copy())
