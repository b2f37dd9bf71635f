"""The fuzz loop: draw, check, confirm, shrink, keep, until the budget is spent."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis.errors import Flaky

from mergecheck.harness.core.case_id import content_digest, with_content_id
from mergecheck.harness.coverage.statistics import Statistics, Stop, Summary
from mergecheck.harness.findings.dedup import KnownFindings
from mergecheck.harness.findings.store import Finding, fingerprint
from mergecheck.harness.report import events
from mergecheck.harness.report.mismatch import mismatch_report, set_aside_report
from mergecheck.harness.shrink.shrinker import Attempts, ShrinkLimits, is_small, num_rows, shrink
from mergecheck.harness.verdict import Verdict
from mergecheck.strategies.stream import DoesNotFailError, StopShrinking

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.findings.store import FindingsDirectory, Fingerprint
    from mergecheck.harness.search.batching import Batch
    from mergecheck.harness.search.stream import CaseSource
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.reference.case.model import Case

# So many draws without a new case mean that the strategy has no more to give.
MAX_REPEATS = 250
MAX_ENGINE_FAILURES = 3
# One finding may use so much of the time that is left: twenty of them leave half of it for new cases.
SHRINKING_SHARE = 0.03
# So many candidates that only show a known finding mean that the rest of the case is of little interest.
MAX_RESEMBLING = 6
MIN_SHRINKING_SECONDS = 5.0


class _ResemblesAFindingError(Exception):
    """Ends the shrinking of a case that is most likely a known finding and something more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When a run ends; the first limit reached ends it. At least one case is checked.

    Attributes:
        max_seconds: counted from the first case, not from the start of the engine. A finding under way is still
            shrunk to its own limit, which is a small part of the time that was left.
    """

    max_cases: int | None = 500
    max_seconds: float | None = None
    max_findings: int | None = None


class Search:
    """One run of random cases against one engine."""

    def __init__(
        self,
        *,
        check: Callable[[Case, Fingerprint | None], CaseReport],
        draws: CaseSource,
        engine: str,
        engine_version: str,
        budget: Budget,
        findings: FindingsDirectory,
        listener: events.Listener = lambda _: None,
        limits: ShrinkLimits | None = None,
    ) -> None:
        # A candidate for a smaller case only has to show one fingerprint, and an oracle may leave out the rest.
        self._check_about = check
        self._draws = draws
        self._repeats_in_a_row = 0
        self._engine = engine
        self._engine_version = engine_version
        self._budget = budget
        self._findings = findings
        self._listener = listener
        self._limits = limits or ShrinkLimits()
        self._statistics = Statistics(seed=draws.seed)
        self._seen: set[str] = set()
        self._known = KnownFindings()
        self._kept_reasons: set[str] = set()
        self._attempts: Attempts | None = None
        self._drawn: CaseReport | None = None
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
                engine=self._engine,
                engine_version=self._engine_version,
                seed=self._draws.seed,
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
        index, case = self._draws.draw(self._statistics)
        digest = content_digest(case)
        if digest in self._seen:
            self._statistics.num_repeated += 1
            self._repeats_in_a_row += 1
            if self._repeats_in_a_row >= MAX_REPEATS:
                self._stop = Stop.EXHAUSTED
            return
        self._repeats_in_a_row = 0
        self._seen.add(digest)
        batch = self._draws.batched(case, index)
        if batch is None:
            self._check_new(case)
        else:
            self._check_batch(batch)
        if self._attempts is not None:
            self._listener(events.ShrinkingStarted(fingerprint=self._attempts.fingerprint))
            self._shrink(self._attempts, index)
            self._keep_finding()

    def _shrink(self, attempts: Attempts, index: int) -> None:
        """Run the domain's own passes; what they leave too large is drawn anew by Hypothesis, and passed again."""
        with contextlib.suppress(_ResemblesAFindingError):
            shrink(attempts)
            if not is_small(attempts.best.case) and not attempts.is_drawing_spent:
                self._shrink_draw(attempts, index)
                shrink(attempts)

    def _check_batch(self, batch: Batch) -> None:
        """Check many pairs of tables in one merge; where they disagree, find a pair that disagrees alone."""
        report = self._check(with_content_id(batch.case))
        self._statistics.add(report)
        self._statistics.num_batched += len(batch.singles)
        if report.verdict is Verdict.ENGINE_ERROR:
            self._engine_failed(report)
        elif fingerprint(report) is not None:
            alone = (self._check(with_content_id(single)) for single in batch.singles)
            self._judge(next((one for one in alone if fingerprint(one) is not None), report))
        self._listener(events.CaseChecked(report=report, summary=self._summary()))

    def _check_new(self, case: Case) -> None:
        report = self._check(with_content_id(case))
        self._statistics.add(report)
        if report.verdict is Verdict.ENGINE_ERROR:
            self._engine_failed(report)
        else:
            self._failures_in_a_row = 0
            self._judge(report)
        self._listener(events.CaseChecked(report=report, summary=self._summary()))

    def _shrink_draw(self, attempts: Attempts, index: int) -> None:
        """Let Hypothesis simplify the draw within its limits; ``attempts`` remembers the best case."""

        def fails(case: Case) -> bool:
            if attempts.is_drawing_spent:
                raise StopShrinking
            return attempts.reproduces(case)

        with contextlib.suppress(Flaky, DoesNotFailError):  # a finding by chance does not come back
            self._draws.shrink(index, fails)

    def _judge(self, report: CaseReport) -> None:
        """Count a mismatch that is known, confirm one that is new by a second execution."""
        found = fingerprint(report)
        if found is None:
            return
        known = self._known.match_known(report)
        if known is not None:
            self._statistics.findings[known] += 1
            return
        again = self._check(report.case)
        if fingerprint(again) != found:
            self._statistics.add_flaky()
            self._set_aside("flaky", report, f"{found}, which a second execution did not show")
            return
        self._drawn, self._resembled = again, []
        self._attempts = Attempts(again, check=self._check_smaller, limits=self._limits_now(), on_smaller=self._step)

    def _check_smaller(self, case: Case) -> CaseReport:
        """Check a candidate; one that only shows a known finding is of no use, but tells what the best may be.

        Raises:
            _ResemblesAFindingError: where enough candidates were of that sort.
        """
        report = self._check(case, about=None if self._attempts is None else self._attempts.fingerprint)
        known = self._known.match_minimal(report)
        if known is None or self._attempts is None:
            return report
        self._resembled.append((content_digest(self._attempts.best.case), known))
        if len(self._resembled) >= MAX_RESEMBLING:
            raise _ResemblesAFindingError
        return replace(report, mismatches=())

    def _limits_now(self) -> ShrinkLimits:
        """Return the limits for one finding, less where the run's own time is short."""
        if self._budget.max_seconds is None:
            return self._limits
        left = self._budget.max_seconds - (time.monotonic() - self._started)
        seconds = max(MIN_SHRINKING_SECONDS, SHRINKING_SHARE * left)
        return replace(self._limits, max_seconds=min(self._limits.max_seconds, seconds))

    def _engine_failed(self, report: CaseReport) -> None:
        if report.reason not in self._kept_reasons:
            self._kept_reasons.add(report.reason)
            self._set_aside("engine_error", report, report.reason)
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
            self._statistics.findings[known] += 1
            self._listener(events.FindingRepeated(finding_id=known, fingerprint=attempts.fingerprint))
            return
        finding = Finding(
            fingerprint=attempts.fingerprint,
            report=replace(best, case=with_content_id(best.case)),
            original=attempts.original,
            seed=self._draws.seed,
            num_cases=self._statistics.num_cases,
            num_runs=attempts.num_runs,
            seconds=attempts.seconds,
            cut_short=is_cut_short,
        )
        self._known.add(
            finding.id, drawn=self._drawn or finding.report, minimal=finding.report, is_minimal=not is_cut_short
        )
        self._statistics.findings[finding.id] += 1
        text = mismatch_report(finding.report, finding=finding, path=self._findings.path_of(finding.id))
        path = self._findings.save(finding.report.case, text)
        self._listener(events.FindingSaved(finding=finding, path=path))
        limit = self._budget.max_findings
        if self._stop is Stop.RUNNING and limit is not None and len(self._known) >= limit:
            self._stop = Stop.FINDINGS

    def _resembled_by(self, case: Case, *, is_cut_short: bool) -> str | None:
        """Return the known finding that a minimal case is, but for something that does not matter.

        The shrinker refuses what looks like a known finding. Where one step from the minimal case leads to such a
        thing, the case is that finding and one thing more; where shrinking did not come to its end, any such step
        will do, since the fingerprint is likely to come back.
        """
        digest = content_digest(case)
        return next((known for best, known in reversed(self._resembled) if is_cut_short or best == digest), None)

    def _set_aside(self, kind: str, report: CaseReport, reason: str) -> None:
        path = self._findings.set_aside(kind, report.case, set_aside_report(report, kind=kind, reason=reason))
        self._listener(events.CaseSetAside(kind=kind, path=path, reason=reason))

    def _check(self, case: Case, *, about: Fingerprint | None = None) -> CaseReport:
        return self._check_about(case, about)

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
        budget, num_cases = self._budget, self._statistics.num_cases
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
        return self._statistics.summary(stop=self._stop, seconds=time.monotonic() - self._started)
