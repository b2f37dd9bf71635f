"""The check of a case on an engine: what every run and every command shares."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from mergecheck.harness.deviations.registry import Deviations
from mergecheck.harness.explanation.implied import implied, shown_cause
from mergecheck.harness.findings.store import RunningCase
from mergecheck.harness.oracles.prepared_case import PhaseTimer, PreparedCase, unsupported_reason
from mergecheck.harness.oracles.reference_oracle import check_prepared, prepare, reference_of
from mergecheck.harness.oracles.relations.oracle import NOT_ASKED, RELATIONS, UNPREDICTED, check_relations
from mergecheck.harness.oracles.work.work import graded
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.harness.properties.repeatable_values import is_repeatable
from mergecheck.harness.verdict import LEFT_OUT, Check, Oracle, Rerun, Verdict
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.explanation.implied import Implied
    from mergecheck.harness.findings.fingerprint import Fingerprint
    from mergecheck.harness.processes.time_limit import TimeLimit
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

NONE_KNOWN = Deviations()
_SKIPPED = Reference(answer=Unsupported("the engine does not support the case, so the reference was not asked"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Checks cases on one engine.

    Ctrl+C during a check raises KeyboardInterrupt; it is never reported as a failure of the engine.

    Attributes:
        engine: the system under test.
        deviations: its known deviations; a mismatch that they explain carries their ids.
        oracle: judges the engine's answers. With both, relations are tried if the reference agrees.
        reference: evaluates a case; by default by the rules that the engine declares.
        skip_reference_if_unsupported: do not ask the reference if the engine reports beforehand that it does not
            support a case (``PrecheckingEngine``): the reference often costs as much as the merge itself.
        about: the finding being shrunk, of which the cases may be smaller forms; only its relation is checked.
        work_directory: folder that holds the current case on disk, so that it survives a lost process; None keeps none.
        limit: how long the engine may take for a case.
        checks: the observables that are compared, besides whether the merge fails; None compares all.
        rerun: the options that give such a checker; reports carry them.
        job: distinguishes the checkers of one process that work at the same time.
    """

    engine: Engine
    deviations: Deviations = NONE_KNOWN
    oracle: Oracle = Oracle.REFERENCE
    reference: Callable[[Case], Reference] = cast("Any", None)  # noqa: RUF009 - see __post_init__
    skip_reference_if_unsupported: bool = False
    about: Fingerprint | None = None
    work_directory: Path | None = None
    limit: TimeLimit = DEFAULT_LIMIT
    checks: frozenset[Check] | None = None
    rerun: Rerun = field(default_factory=Rerun)
    job: int = 0

    def __post_init__(self) -> None:
        """Take the engine's own reference if none is given; other attributes cannot be read by a default."""
        given = cast("Callable[[Case], Reference] | None", self.reference)
        object.__setattr__(self, "reference", given or reference_of(self.engine))

    def prepare(self, case: Case, reference: Reference | None = None) -> PreparedCase:
        """Predict a case, unless the engine refuses it beforehand; nothing runs on the engine yet.

        Args:
            case: the case to run.
            reference: the reference's answer, if it is known already.
        """
        if self.oracle is Oracle.METAMORPHIC:
            return PreparedCase(case, Reference(answer=Unsupported(NOT_ASKED)))
        timer = PhaseTimer()
        with interrupts_kept(), self._kept_on_disk(case):
            if self.skip_reference_if_unsupported:
                with timer.measure("engine"):
                    refusal = unsupported_reason(case, self.engine, self.limit)
                if refusal is not None:
                    return PreparedCase(case, _SKIPPED, refusal, timer.seconds)
            if reference is None:
                return prepare(case, reference=self.reference, timer=timer)
        return PreparedCase(case, reference, phase_seconds=timer.seconds)

    def check(self, prepared: PreparedCase) -> CaseReport:
        """Run a case on the engine, compare, and report everything known afterwards."""
        with interrupts_kept(), self._kept_on_disk(prepared.case):
            report = self.narrowed(self._judged(prepared))
            report = self.deviations.annotated(report, self.engine.capabilities)
            return graded(replace(report, rerun=self.rerun))

    def check_case(self, case: Case) -> CaseReport:
        """Prepare a case and check it."""
        return self.check(self.prepare(case))

    def hypotheses(self, report: CaseReport, drawn: CaseReport | None = None) -> tuple[str, ...]:
        """Return the hypotheses that the engine's result implies, if it differs from the reference; see ``implied``."""
        return tuple(map(str, self.implied(report, drawn)))

    def implied(self, report: CaseReport, drawn: CaseReport | None = None) -> tuple[Implied, ...]:
        """Return the same with the causes that findings have in common; ``drawn`` as in ``implied``."""
        with interrupts_kept():
            return implied(report, reference=self.reference, capabilities=self.engine.capabilities, drawn=drawn)

    def shown_cause(self, report: CaseReport, causes: frozenset[str]) -> str | None:
        """Return which of some known causes explains all differences of a case; None if none does."""
        with interrupts_kept():
            capabilities = self.engine.capabilities
            return shown_cause(report, causes, reference=self.reference, capabilities=capabilities)

    def narrowed(self, report: CaseReport) -> CaseReport:
        """Leave out the observables that were not asked for; they count as not checked, never as agreeing.

        A merge that succeeds as it must, and of which nothing that was asked for could be compared, is not judged.
        """
        if self.checks is None or not report.is_judged:
            return report
        left_out = [check for check in Check if check not in self.checks and check is not Check.ERROR]
        mismatches = tuple(each for each in report.mismatches if each.check not in left_out)
        compared = tuple(made for made in report.compared if made.check not in left_out)
        verdict, reason = report.verdict, report.reason
        if not mismatches and isinstance(report.result, Outcome) and self.checks.isdisjoint(c.check for c in compared):
            names = ", ".join(check.value for check in Check if check in self.checks)
            verdict, reason = Verdict.UNSUPPORTED, f"{report.engine} shows nothing of what --check asks for: {names}"
        elif not mismatches and verdict is Verdict.MISMATCH:
            verdict = _without_mismatch(report)
        return replace(
            report,
            verdict=verdict,
            reason=reason,
            mismatches=mismatches,
            compared=compared,
            deviations=report.deviations if mismatches else (),
            unsupported_checks=tuple(dict.fromkeys((*report.unsupported_checks, *left_out))),
            unsupported_reasons={**report.unsupported_reasons, **{check.value: LEFT_OUT for check in left_out}},
        )

    def _judged(self, prepared: PreparedCase) -> CaseReport:
        if self.oracle is Oracle.METAMORPHIC:
            return self._related(prepared, None)
        report = check_prepared(prepared, self.engine, limit=self.limit)
        if report.verdict is Verdict.JUDGED_IN_PART:
            return self._related_in_part(prepared, report)
        if self.oracle is Oracle.REFERENCE or report.verdict is not Verdict.AGREE:
            return report
        related = self._related(prepared, report)
        return related if related.verdict is Verdict.MISMATCH else _with_compared(report, related)

    def _related(self, prepared: PreparedCase, report: CaseReport | None) -> CaseReport:
        tried = RELATIONS if self.about is None else [one for one in RELATIONS if one.name == self.about.against]
        answer = None if report is None else report.result
        return check_relations(prepared.case, self.engine, tried, answer=answer, limit=self.limit)

    def _related_in_part(self, prepared: PreparedCase, report: CaseReport) -> CaseReport:
        """Try relations on a merge without a prediction.

        A form of the case that the engine rejects is no fault here: an expression may fail in one plan and not in
        another (R-312), and an expression of the case's own may be such an expression.
        """
        if not isinstance(report.result, Outcome) or not is_repeatable(prepared.case):
            return report
        tried = UNPREDICTED if self.oracle is Oracle.REFERENCE else RELATIONS
        if self.about is not None:
            tried = tuple(one for one in RELATIONS if one.name == self.about.against)
        for relation in tried:
            related = check_relations(prepared.case, self.engine, [relation], answer=report.result, limit=self.limit)
            if any(mismatch.check is not Check.ERROR for mismatch in related.mismatches):
                return replace(related, reference=report.reference, reason=report.reason)
            if related.verdict is Verdict.AGREE:
                report = _with_compared(report, related)
        return report

    @contextlib.contextmanager
    def _kept_on_disk(self, case: Case) -> Iterator[None]:
        if self.work_directory is None:
            yield
        else:
            with RunningCase(self.work_directory, job=self.job).under_way(case):
                yield


def _with_compared(report: CaseReport, related: CaseReport) -> CaseReport:
    return replace(report, compared=tuple(dict.fromkeys((*report.compared, *related.compared))))


def _without_mismatch(report: CaseReport) -> Verdict:
    """Return the verdict on a case that differs only in checks that were not requested."""
    if isinstance(report.reference.answer, Unsupported) and report.reason and report.case.expect is None:
        return Verdict.JUDGED_IN_PART
    return Verdict.BOTH_REJECTED if isinstance(report.result, Rejection) else Verdict.AGREE
