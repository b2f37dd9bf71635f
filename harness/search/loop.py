"""The fuzz loop: draw, check, confirm, shrink and keep, until the budget is spent."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.engines.registry import engine_name
from mergecheck.harness.findings.dedup import KnownFindings
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.origin import origin_of
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits, num_rows
from mergecheck.harness.findings.store import EXAMPLES, Finding
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.properties.statistics import Counts, Stop, Summary
from mergecheck.harness.report import events
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report, set_aside_report
from mergecheck.harness.search.batching import differing_pairs
from mergecheck.harness.search.cutting import part_taken, smallest_part
from mergecheck.harness.search.shrinking import Shrinking, limits_within
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_id import with_content_id
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from mergecheck.harness.checker import Checker
    from mergecheck.harness.findings.origin import Origin
    from mergecheck.harness.findings.shrink.shrinker import Attempts
    from mergecheck.harness.findings.store import FindingsDirectory
    from mergecheck.harness.search.prefetch import Finish, Prefetch
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

MAX_REPEATS = 250
"""After this many repeated draws in a row, the strategy has no new case left."""
MAX_ENGINE_FAILURES = 3
MAX_SUSPECTS = 8
"""Pairs of a batch that are tried alone before the batch is halved."""
MAX_KNOWN_SUSPECTS = 2
"""The same if a known deviation explains the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When a run ends: at the first limit that it reaches. At least one case is checked.

    Attributes:
        max_cases: different cases.
        max_seconds: until the last new case, counted from the first case and not from the start of the engine. A
            finding is shrunk to its own limit all the same; with ``max_findings``, it gets its part of all that is
            left.
        max_findings: different findings.
    """

    max_cases: int | None = 500
    max_seconds: float | None = None
    max_findings: int | None = None


class Search:
    """One run of random cases against one engine.

    Args:
        checker: checks cases that are not drawn: a case once more, the singles of a batch, smaller cases.
        cases: the drawn cases.
        budget: when the run ends.
        findings: where findings are kept.
        listener: receives every event.
        limits: limits of shrinking one finding.
        batch_size: pairs of tables of a batch; the summary has it.
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
        batch_size: int = 1,
    ) -> None:
        self._checker = checker
        self._cases = cases
        self._repeats_in_a_row = 0
        self._budget = budget
        self._findings = findings
        self._listener = listener
        self._limits = limits or ShrinkLimits()
        self._batch_size = batch_size
        self._counts = Counts()
        self._timer = PhaseTimer(self._counts.phase_seconds)
        self._known = KnownFindings()
        self._kept_reasons: set[str] = set()
        self._shrinking: Shrinking | None = None
        self._number: int | None = None
        self._failures_in_a_row = 0
        self._stop = Stop.RUNNING
        self._started = 0.0

    def run(self) -> Summary:
        """Check random cases until the budget is spent, an interrupt comes or the engine is lost.

        Returns:
            The summary of the run. The same seed gives the same cases, whatever the budget.
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
        """Draw one case and check it unless it came up before; shrink and keep a mismatch."""
        if self._is_budget_spent():
            return
        upcoming = self._cases.next(self._counts.space)
        if upcoming is None:
            self._stop = Stop.END
            return
        self._counts.num_passed_over += upcoming.drawn.num_passed_over
        self._counts.num_failing_pairs += upcoming.drawn.num_failing
        self._counts.num_pairs_left_out += upcoming.drawn.num_left_out
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
        if self._shrinking is not None:
            self._listener(events.ShrinkingStarted(fingerprint=self._shrinking.attempts.fingerprint))
            with self._timer.measure("shrink"):
                self._shrinking.run(self._cases, upcoming.drawn.index)
            self._keep_finding()

    def _check_new(self, finish: Finish, *, singles: tuple[Case, ...]) -> None:
        """Check a drawn case; of a batch with a mismatch, find a pair of tables that shows one alone."""
        report, refusal = finish(), ""
        drawn = report.case.id
        if singles and isinstance(report.result, Unsupported):
            refusal = report.result.reason
            _, report, singles = part_taken(singles, self._checker.check_case)
        with self._timer.measure("shrink"):
            pairs = differing_pairs(report) if singles and report.verdict is Verdict.MISMATCH else ()
            report, shown = self._narrowed(report, singles, pairs)
        num_deviating = len(pairs) if report.deviations else 0
        num_pairs = len(singles) or 1
        self._counts.add(report, num_pairs=num_pairs, num_deviating_pairs=num_deviating)
        if report.verdict is Verdict.ENGINE_ERROR:
            self._engine_failed(report)
        else:
            self._failures_in_a_row = 0
            with self._timer.measure("shrink"):
                self._judge(shown)
        self._listener(
            events.CaseChecked(
                report=report, summary=self._summary(), drawn=drawn, num_pairs=num_pairs, refusal=refusal
            )
        )

    def _narrowed(
        self, report: CaseReport, singles: tuple[Case, ...], pairs: tuple[int, ...]
    ) -> tuple[CaseReport, CaseReport]:
        """Cut a batch to a pair of tables that differs alone, or to the smallest part of the batch that does.

        The pairs whose rows differ are tried first, also if a known deviation explains the batch: what explains some
        pairs must not hide others. If none differs alone, or only counters differ, the batch is halved; the smallest
        part then shows which pairs differ in each other's company only.

        Args:
            report: the check of the batch.
            singles: its cases; none if it is no batch.
            pairs: of the cases whose rows differ, by their numbers.

        Returns:
            The report of the batch, and of the part. If each part differs in a known way, as it does in the batch, then
            the batch does too.
        """
        if report.verdict is not Verdict.MISMATCH or not singles:
            return report, report
        known: dict[str, None] = {}

        def check(case: Case) -> CaseReport:
            one = self._checker.check_case(with_content_id(case))
            known.update(dict.fromkeys(one.deviations))
            return one

        suspects = [singles[number] for number in pairs]
        for single in suspects[: MAX_KNOWN_SUSPECTS if report.deviations else MAX_SUSPECTS]:
            one = check(single)
            if fingerprint(one) is not None:
                return report, one
        if fingerprint(report) is None:
            return report, report
        part = smallest_part(singles, report, check, lambda one: fingerprint(one) is not None)
        if part is None:
            report = part = replace(report, deviations=tuple(known))
        return report, part

    def _judge(self, report: CaseReport) -> None:
        """Count a known mismatch; confirm a new one by a second execution."""
        found = fingerprint(report)
        if found is None:
            return
        known = self._known.match_known(report) or self._explained_by(report)
        if known is not None:
            self._counts.findings[known] += 1
            return
        again = self._checker.check_case(report.case)
        if fingerprint(again) != found:
            self._counts.add_flaky()
            self._set_aside("flaky", report, f"{found}, which a second execution did not show")
            return
        self._shrinking = Shrinking(
            again, checker=self._checker, known=self._known, limits=self._limits_now(), on_smaller=self._step
        )

    def _explained_by(self, report: CaseReport) -> str | None:
        """Return the finding whose hypothesis explains a whole mismatch, None if there is none."""
        causes = self._known.causes
        shown = self._checker.shown_cause(report, causes) if causes else None
        return None if shown is None else self._known.match_causes([shown])

    def _limits_now(self) -> ShrinkLimits:
        budget = self._budget
        if budget.max_seconds is None:
            return self._limits
        return limits_within(
            self._limits,
            seconds_left=self._started + budget.max_seconds - time.monotonic(),
            findings_left=None if budget.max_findings is None else budget.max_findings - len(self._known),
        )

    def _engine_failed(self, report: CaseReport) -> None:
        if report.is_lost:
            self._set_aside("crashed", report, report.reason)
        elif report.reason not in self._kept_reasons:
            self._kept_reasons.add(report.reason)
            self._set_aside("harness_bug" if report.is_defect else "engine_error", report, report.reason)
        if report.is_defect:  # no evidence about the engine
            return
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= MAX_ENGINE_FAILURES:
            self._stop = Stop.ENGINE_DOWN

    def _keep_finding(self, *, was_interrupted: bool = False) -> None:
        shrinking = self._shrinking
        if shrinking is None:
            return
        attempts, best = shrinking.attempts, shrinking.attempts.best
        self._shrinking = None
        is_cut_short = was_interrupted or shrinking.is_cut_short
        known = shrinking.resembled(is_cut_short=is_cut_short)
        if known is not None:
            self._known.add_another(known, drawn=shrinking.drawn)
            self._counts.findings[known] += 1
            self._listener(events.FindingRepeated(finding_id=known, fingerprint=attempts.fingerprint))
            return
        implied = self._checker.implied(best, shrinking.drawn)
        causes = implied[0].causes if implied and not implied[0].unexplained else frozenset()
        best = replace(best, case=with_content_id(best.case))
        finding = Finding(
            fingerprint=attempts.fingerprint,
            report=best,
            original=attempts.original,
            seed=self._cases.seed,
            num_cases=self._counts.num_cases,
            num_runs=attempts.num_runs,
            seconds=attempts.seconds,
            cut_short=is_cut_short,
            number=self._number,
            hypotheses=tuple(map(str, implied)),
        )
        known = self._known.match_causes(causes)
        if known is not None and known != finding.id:
            self._keep_example(known, finding, causes)
            return
        self._known.add(finding.id, drawn=shrinking.drawn, minimal=best, is_minimal=not is_cut_short, causes=causes)
        self._counts.findings[finding.id] += 1
        text = mismatch_report(case_document(finding.report, finding=finding, where=self._findings.path_of(finding.id)))
        path = self._findings.save(finding.report.case, text, self._origin(finding))
        self._listener(events.FindingSaved(finding=finding, path=path))
        limit = self._budget.max_findings
        if self._stop is Stop.RUNNING and limit is not None and len(self._known) >= limit:
            self._stop = Stop.FINDINGS

    def _keep_example(self, known: str, finding: Finding, causes: frozenset[str]) -> None:
        """Keep another form of a finding: its case differs in another way, and one hypothesis explains both."""
        self._known.add_causes(known, causes)
        self._counts.findings[known] += 1
        path = self._findings.path_of_example(finding.id)
        text = mismatch_report(case_document(finding.report, finding=finding, where=path))
        path = self._findings.set_aside(EXAMPLES, finding.report.case, text)
        self._listener(events.FindingRepeated(finding_id=known, fingerprint=finding.fingerprint, example=path))

    def _origin(self, finding: Finding) -> Origin:
        engine = engine_name(self._checker.engine)
        return origin_of(finding.report, found_by="fuzz", engine=engine, seed=finding.seed, number=finding.number)

    def _set_aside(self, kind: str, report: CaseReport, reason: str) -> None:
        path = self._findings.set_aside(
            kind, report.case, set_aside_report(case_document(report), kind=kind, reason=reason)
        )
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
        return Summary(
            seed=self._cases.seed,
            stop=self._stop,
            seconds=seconds,
            counts=self._counts.copy(),
            batch_size=self._batch_size,
        )
