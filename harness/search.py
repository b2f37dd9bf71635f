"""The fuzz loop: draw, check, confirm, shrink, keep, until the budget is spent."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky

from harness import events
from harness.findings import Finding, content_digest, fingerprint, with_content_id
from harness.report import mismatch_report, set_aside_report
from harness.shrink import Attempts, ShrinkLimits, num_rows, shrink
from harness.statistics import Statistics, Stop, Summary
from harness.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hypothesis.strategies import SearchStrategy

    from harness.findings import FindingsDirectory, Fingerprint, RunningCase
    from harness.verdict import CaseReport
    from reference.case import Case

# Hypothesis draws small cases first in every batch; the size also decides how soon one seed's cases repeat.
BATCH_SIZE = 250
SEED_STEP = 1_000_003
MAX_ENGINE_FAILURES = 3


class Keeps(Protocol):
    """Where a run keeps cases; ``FindingsDirectory`` is one."""

    def save(self, case: Case, report_text: str) -> Path:
        """Keep a finding."""

    def set_aside(self, kind: str, case: Case, report_text: str) -> Path:
        """Keep a case that is no finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When a run ends; the first limit reached ends it. At least one case is checked.

    Attributes:
        max_seconds: counted from the first case, not from the start of the engine. A finding under way is still
            shrunk to its own limit.
    """

    max_cases: int | None = 500
    max_seconds: float | None = None
    max_findings: int | None = None


class _ReproducedError(AssertionError):
    """Tells Hypothesis that a case shows the fingerprint in hand."""


class _LeaveBatch(BaseException):
    """Leaves Hypothesis where a limit is reached."""


class Search:
    """One run of random cases against one engine."""

    def __init__(
        self,
        *,
        check: Callable[[Case], CaseReport],
        cases: SearchStrategy[Case],
        engine: str,
        engine_version: str,
        seed: int,
        budget: Budget,
        findings: FindingsDirectory,
        running: RunningCase,
        listener: events.Listener = lambda _: None,
        limits: ShrinkLimits | None = None,
    ) -> None:
        self._check_alone = check
        self._cases = cases
        self._engine = engine
        self._engine_version = engine_version
        self._seed = seed
        self._budget = budget
        self._findings: Keeps = findings
        self._running = running
        self._listener = listener
        self._limits = limits or ShrinkLimits()
        self._statistics = Statistics(seed=seed)
        self._seen: set[str] = set()
        self._known: dict[Fingerprint, str] = {}
        self._kept_reasons: set[str] = set()
        self._attempts: Attempts | None = None
        self._broken: Exception | None = None
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
                seed=self._seed,
                max_cases=self._budget.max_cases,
                max_seconds=self._budget.max_seconds,
            )
        )
        try:
            batch = 0
            while self._stop is Stop.RUNNING:
                self._run_batch(batch)
                batch += 1
        except KeyboardInterrupt:
            self._stop = Stop.INTERRUPTED
            self._keep_finding(was_interrupted=True)
        finally:
            self._running.clear()
        summary = self._summary()
        self._listener(events.RunEnded(summary=summary))
        return summary

    def _run_batch(self, batch: int) -> None:
        num_seen = len(self._seen)
        test = given(self._cases)(self._example)
        test = settings(
            database=None,
            deadline=None,
            derandomize=False,
            max_examples=BATCH_SIZE,
            phases=(Phase.generate, Phase.shrink),
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )(test)
        # What matters is in the attempts; Flaky: Hypothesis could not replay what a limit cut short.
        with contextlib.suppress(_ReproducedError, _LeaveBatch, Flaky):
            seeded(self._seed + SEED_STEP * batch)(test)()
        if self._broken is not None:
            raise self._broken
        self._keep_finding()
        if self._stop is Stop.RUNNING and len(self._seen) == num_seen:
            self._stop = Stop.EXHAUSTED

    def _example(self, case: Case) -> None:
        try:
            if self._attempts is not None:
                self._shrink_example(self._attempts, case)
            else:
                self._new_example(case)
        except _ReproducedError:
            raise
        except Exception as error:
            self._broken = error  # the harness's own: Hypothesis must not take it for a mismatch and shrink it
            raise _LeaveBatch from error

    def _shrink_example(self, attempts: Attempts, case: Case) -> None:
        if attempts.is_drawing_spent:
            raise _LeaveBatch
        if attempts.reproduces(case):
            raise _ReproducedError

    def _new_example(self, case: Case) -> None:
        if self._is_budget_spent():
            raise _LeaveBatch
        digest = content_digest(case)
        if digest in self._seen:
            self._statistics.num_repeated += 1
            return
        self._seen.add(digest)
        report = self._check(with_content_id(case))
        self._statistics.add(report)
        if report.verdict is Verdict.ENGINE_ERROR:
            self._engine_failed(report)
        else:
            self._failures_in_a_row = 0
            self._judge(report)
        self._listener(events.CaseChecked(report=report, summary=self._summary()))
        if self._attempts is not None:
            self._listener(events.ShrinkingStarted(fingerprint=self._attempts.fingerprint))
            raise _ReproducedError

    def _judge(self, report: CaseReport) -> None:
        """Count a mismatch that is known, confirm one that is new by a second execution."""
        found = fingerprint(report)
        if found is None:
            return
        if found in self._known:
            self._statistics.findings[self._known[found]] += 1
            return
        again = self._check(report.case)
        if fingerprint(again) != found:
            self._statistics.add_flaky()
            self._set_aside("flaky", report, f"{found}, which a second execution did not show")
            return
        self._attempts = Attempts(again, check=self._check, limits=self._limits, on_smaller=self._step)

    def _engine_failed(self, report: CaseReport) -> None:
        if report.reason not in self._kept_reasons:
            self._kept_reasons.add(report.reason)
            self._set_aside("engine_error", report, report.reason)
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= MAX_ENGINE_FAILURES:
            self._stop = Stop.ENGINE_DOWN
            raise _LeaveBatch

    def _keep_finding(self, *, was_interrupted: bool = False) -> None:
        attempts = self._attempts
        if attempts is None:
            return
        best = attempts.best if was_interrupted else shrink(attempts)
        self._attempts = None  # only now: an interrupt while shrinking comes back here
        finding = Finding(
            fingerprint=attempts.fingerprint,
            report=replace(best, case=with_content_id(best.case)),
            original=attempts.original,
            seed=self._seed,
            num_cases=self._statistics.num_cases,
            num_runs=attempts.num_runs,
            seconds=attempts.seconds,
            cut_short=was_interrupted or attempts.refused or attempts.is_spent(),
        )
        self._known[finding.fingerprint] = finding.id
        self._statistics.findings[finding.id] += 1
        path = self._findings.save(finding.report.case, mismatch_report(finding.report, finding=finding))
        self._listener(events.FindingSaved(finding=finding, path=path))
        limit = self._budget.max_findings
        if self._stop is Stop.RUNNING and limit is not None and len(self._known) >= limit:
            self._stop = Stop.FINDINGS

    def _set_aside(self, kind: str, report: CaseReport, reason: str) -> None:
        path = self._findings.set_aside(kind, report.case, set_aside_report(report, kind=kind, reason=reason))
        self._listener(events.CaseSetAside(kind=kind, path=path, reason=reason))

    def _check(self, case: Case) -> CaseReport:
        self._running.write(case)
        report = self._check_alone(case)
        self._running.clear()
        return report

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
