"""Compares a variant's answer with the base's and the reference's, apart from what the variant may change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.checker import NONE_KNOWN, Checker
from mergecheck.harness.compare.answers.outcomes import compare_outcome
from mergecheck.harness.compare.answers.rejections import compare_rejection, no_error, same_error_class, spurious_error
from mergecheck.harness.compare.log_invariants.identity_invariants import settle_ids
from mergecheck.harness.compare.metrics import HISTORY_METRICS
from mergecheck.harness.engine import ConfigurableEngine, InterruptibleEngine
from mergecheck.harness.oracles.reference_oracle import reference_of
from mergecheck.harness.variants.plans import PlanFingerprint, fingerprint_of
from mergecheck.harness.variants.variant import EngineAxes, axes_of
from mergecheck.harness.verdict import CaseReport, Check, Compared, Rerun, Verdict
from mergecheck.model.outcome import Bound, MergePath, Outcome, Prediction, Rejection

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Capabilities, Engine
    from mergecheck.harness.explanation.implied import Implied
    from mergecheck.harness.variants.variant import Variant
    from mergecheck.harness.verdict import Mismatch
    from mergecheck.model.axis import MayChange
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult
    from mergecheck.reference.answer import Reference

BASE = "base"
DECLARED = "declared by the engine"
"""In place of a rule: the engine's axis declares the change."""
# Sizes of files and times are functions of the machine and the order of rows.
_NOT_COMPARED = frozenset(
    {
        "numTargetBytesAdded",
        "numTargetBytesRemoved",
        "executionTimeMs",
        "materializeSourceTimeMs",
        "scanTimeMs",
        "rewriteTimeMs",
    }
)


class Ending(Enum):
    """The result of one variant of one case."""

    EQUAL = "equal"
    EXEMPT = "exempt"
    """other in an observable that the variant may change, and right by the reference"""
    KNOWN = "known"
    """other, and explained by a known deviation of the engine"""
    DIFFERENT = "different"
    UNSUPPORTED = "unsupported"
    ENGINE_ERROR = "engine_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantReport:
    """One variant of one case.

    Attributes:
        report: the check of the variant's case; its mismatches are against ``base``, ``reference`` or ``itself``.
        rules: by which the variant was allowed to differ, if it did.
    """

    variant: Variant
    ending: Ending
    report: CaseReport
    rules: tuple[str, ...] = ()
    plan: PlanFingerprint = field(default_factory=PlanFingerprint)


class VariantChecker:
    """Checks cases with the base's value on every axis, and under variants.

    Args:
        engine: the system under test.
        deviations: its known deviations.
        reference: evaluates a case; None: by the rules that the engine declares.
        axes: of the engine; by default those that it declares.
        rerun: the options that give such a checker.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        deviations: Deviations = NONE_KNOWN,
        reference: Callable[[Case], Reference] | None = None,
        axes: EngineAxes | None = None,
        rerun: Rerun | None = None,
    ) -> None:
        self.engine = engine
        self.axes = axes or axes_of(engine)
        self._engine = _RecordingEngine(engine)
        evaluate = reference or reference_of(engine)
        self._checker = Checker(engine=self._engine, deviations=deviations, reference=evaluate, rerun=rerun or Rerun())

    @property
    def capabilities(self) -> Capabilities:
        """The engine's capabilities."""
        return self._engine.capabilities

    @property
    def plan(self) -> PlanFingerprint:
        """The fingerprint of the plans of the last merge."""
        return self._engine.plan

    def implied(self, report: CaseReport, drawn: CaseReport | None = None) -> tuple[Implied, ...]:
        """Return the hypotheses that the engine's result implies, if it differs from the reference."""
        return self._checker.implied(report, drawn)

    def check_base(self, case: Case, reference: Reference | None = None) -> CaseReport:
        """Check a case with the base's values against the reference.

        Args:
            case: the case as it was drawn.
            reference: the reference's answer, if it is known already.
        """
        prepared = self._checker.prepare(case, reference)
        return self._checker.check(replace(prepared, case=self.axes.base_of(case)))

    def check(self, case: Case, variant: Variant, base: CaseReport) -> VariantReport:
        """Run a variant and compare.

        Everything must be as in the base, except for what the variant may change. All of it must also
        agree with the reference's answer for the variant's own tables and flags.

        Args:
            case: the case as it was drawn.
            variant: the case must be in its domain.
            base: the check of the base, which agrees, or deviates in a known way.
        """
        changed = replace(variant.applied(case), expect=None)  # its author speaks of his own tables only
        judged = variant.judged(case)
        known = base.reference if judged.is_same_merge(case) else None
        report = self._checker.check(replace(self._checker.prepare(judged, known), case=changed))
        if report.verdict is Verdict.ENGINE_ERROR:
            return VariantReport(variant=variant, ending=Ending.ENGINE_ERROR, report=report)
        if not isinstance(report.result, Outcome | Rejection) or not isinstance(base.result, Outcome | Rejection):
            return VariantReport(variant=variant, ending=Ending.UNSUPPORTED, report=report, plan=self.plan)
        return self._compared(variant, base, report)

    def _compared(self, variant: Variant, base: CaseReport, report: CaseReport) -> VariantReport:
        found, compared = _from_base(base, report, self.capabilities)
        report = replace(report, compared=(*report.compared, *compared))
        exempt = {mismatch: _rules(variant.may_change, mismatch, base, report) for mismatch in found}
        rules = tuple(dict.fromkeys(rule for rules in exempt.values() for rule in rules))
        own = [mismatch for mismatch, allowed in exempt.items() if not allowed]
        if report.deviations or (base.deviations and report.verdict is not Verdict.MISMATCH and own):
            return VariantReport(variant=variant, ending=Ending.KNOWN, report=report, rules=rules, plan=self.plan)
        mismatches = (*(report.mismatches), *(() if base.deviations else own))
        if mismatches:
            report = replace(report, verdict=Verdict.MISMATCH, mismatches=mismatches)
            return VariantReport(variant=variant, ending=Ending.DIFFERENT, report=report, rules=rules, plan=self.plan)
        ending = Ending.EXEMPT if rules else Ending.EQUAL
        return VariantReport(variant=variant, ending=ending, report=report, rules=rules, plan=self.plan)


def is_comparable(base: CaseReport) -> bool:
    """Return whether variants can be compared with a base: it agrees, or deviates in a known way."""
    return base.verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED) or bool(base.deviations)


class _RecordingEngine:
    """An engine that keeps the plans of its last merge, if it records them."""

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self.version = engine.version
        self.capabilities: Capabilities = engine.capabilities
        self.plan = PlanFingerprint()
        self._engine = engine
        if isinstance(engine, InterruptibleEngine):
            self.interrupt = engine.interrupt

    def run(self, case: Case) -> EngineResult:
        """Run one case, and take the fingerprint of its plans."""
        self.plan = PlanFingerprint()
        if not isinstance(self._engine, ConfigurableEngine):
            return self._engine.run(case)
        recorded = self._engine.run_recorded(case)
        self.plan = fingerprint_of(recorded.plans)
        return recorded.result

    def close(self) -> None:
        """Do nothing: the caller closes the engine."""


def _from_base(
    base: CaseReport, report: CaseReport, capabilities: Capabilities
) -> tuple[tuple[Mismatch, ...], tuple[Compared, ...]]:
    """Return how a variant's answer differs from the base's, and the observables compared."""
    wanted, found = base.result, report.result
    error = (Compared(check=Check.ERROR, against=BASE),)
    if isinstance(wanted, Outcome) and isinstance(found, Outcome):
        prediction = _with_ids_of(found, _prediction(wanted), base, wanted)
        compared = compare_outcome(prediction, found, capabilities=_leniently_named(capabilities))
    elif isinstance(wanted, Rejection) and isinstance(found, Rejection):
        if _both_are_right(wanted, found, report.reference):
            return (), error
        compared = compare_rejection(wanted, found, capabilities=capabilities)
    elif isinstance(wanted, Rejection):
        return (no_error(wanted.error_class, against=BASE),), error
    else:
        return (spurious_error(found, against=BASE),) if isinstance(found, Rejection) else (), error
    return (
        tuple(replace(mismatch, against=BASE, lines=_said_of_base(mismatch)) for mismatch in compared.mismatches),
        tuple(replace(made, against=BASE) for made in compared.compared),
    )


def _with_ids_of(found: Outcome, prediction: Prediction, base: CaseReport, wanted: Outcome) -> Prediction:
    """Accept the values that the variant generates: values of identity columns depend on the plan (R-226)."""
    answer = base.reference.answer
    if not isinstance(answer, Prediction) or answer.generated_ids is None:
        return prediction
    of_base = settle_ids(answer, wanted).prediction.generated_ids
    settled = settle_ids(replace(prediction, generated_ids=of_base), found)  # the reference judges the values
    return replace(settled.prediction, generated_ids=None)


def _prediction(base: Outcome) -> Prediction:
    metrics = {n: Bound(v, v) for n, v in base.metrics.items() if n in HISTORY_METRICS and n not in _NOT_COMPARED}
    return Prediction(
        schema=base.schema,
        rows=base.rows,
        metrics=metrics,
        cdf=base.cdf,
        committed=bool(base.committed),
        path=base.path or MergePath.C,  # not compared if the engine reports none
    )


def _leniently_named(capabilities: Capabilities) -> Capabilities:
    return replace(capabilities, exact_metric_names=False)  # the check against the reference has seen to the names


def _said_of_base(mismatch: Mismatch) -> tuple[str, ...]:
    return tuple(line.replace("reference", BASE, 1) for line in mismatch.lines)


def _both_are_right(left: Rejection, right: Rejection, reference: Reference) -> bool:
    """Return whether both classes are right, because no rule decides which of several errors is met first."""
    answer = reference.answer
    if not isinstance(answer, Rejection):
        return False
    allowed = {answer.error_class, *answer.other_classes}
    return all(any(same_error_class(a, given.error_class) for a in allowed) for given in (left, right))


def _rules(
    may_change: tuple[MayChange, ...], mismatch: Mismatch, base: CaseReport, report: CaseReport
) -> tuple[str, ...]:
    """Name the rules by which a difference from the base is allowed; none if it is not."""
    errors = {given.error_class for given in (base.result, report.result) if isinstance(given, Rejection)}
    one_failed = isinstance(base.result, Rejection) != isinstance(report.result, Rejection)
    return tuple(
        rule
        for allowed in may_change
        if mismatch.kind in allowed.names
        or mismatch.check.value in allowed.names
        or (one_failed and bool(errors) and errors <= allowed.names)
        for rule in (allowed.rules or (DECLARED,))
    )
