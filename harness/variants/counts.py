"""The counts of a run of variants: for each value of an axis the cases, their results and their plans."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.harness.variants.axes.axis_values import AXIS_VALUES
from mergecheck.harness.variants.axes.selection import pairs_of
from mergecheck.harness.variants.judge import Ending
from mergecheck.harness.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.variants.axes.axis import AxisValue
    from mergecheck.harness.variants.axes.plans import PlanFingerprint
    from mergecheck.harness.variants.axes.variant import Variant
    from mergecheck.harness.variants.judge import VariantReport
    from mergecheck.harness.verdict import CaseReport

JUDGED = (Ending.EQUAL, Ending.EXEMPT, Ending.KNOWN, Ending.DIFFERENT)


@dataclass(slots=True)
class AxisValueCounts:
    """One place: runs by ending, cases outside its domain, runs whose plans show any of its operators."""

    endings: Counter[Ending] = field(default_factory=Counter)
    num_outside: int = 0
    num_seen: int = 0

    @property
    def num_judged(self) -> int:
        """Runs that gave an answer to compare."""
        return sum(self.endings[ending] for ending in JUDGED)


@dataclass(slots=True)
class Counts:
    """All of a run.

    Attributes:
        only: the variants that were asked for; empty for all.
        bases: base cases by verdict; a mismatch that is a known deviation counts as ``agree`` here.
        rules: by which variants were allowed to differ, and in how many runs.
        plans: different fingerprints of plans; operators: runs in which an operator was executed.
        num_batched: pairs of tables in those base cases that were batches.
        num_flaky: differences that a second execution did not show.
    """

    only: tuple[Variant, ...] = ()
    axis_values: dict[str, AxisValueCounts] = field(default_factory=dict)
    bases: Counter[Verdict] = field(default_factory=Counter)
    endings: Counter[Ending] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    plans: set[PlanFingerprint] = field(default_factory=set)
    operators: Counter[str] = field(default_factory=Counter)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    num_batched: int = 0
    num_flaky: int = 0
    num_widest: int = 0
    seconds: float = 0.0

    @property
    def num_cases(self) -> int:
        """Base cases."""
        return sum(self.bases.values())

    @property
    def num_variants(self) -> int:
        """Runs of variants."""
        return sum(self.endings.values())

    def of(self, axis_value: AxisValue) -> AxisValueCounts:
        """Return the counts of a place."""
        return self.axis_values.setdefault(str(axis_value), AxisValueCounts())

    def add_base(self, report: CaseReport, plan: PlanFingerprint) -> None:
        """Count a base case."""
        self.bases[Verdict.AGREE if report.deviations else report.verdict] += 1
        if report.verdict in (Verdict.JUDGED_IN_PART, Verdict.UNSUPPORTED):
            self.reasons[report.reason] += 1
        self._add_plan(plan)

    def add_outside(self, variants: Sequence[Variant]) -> None:
        """Count variants in whose domain a case is not."""
        for variant in variants:
            self.of(variant.axis_values[0] if len(variant.axis_values) == 1 else _chief(variant)).num_outside += 1

    def add(self, report: VariantReport) -> None:
        """Count a variant that was run."""
        self.endings[report.ending] += 1
        self.rules.update(report.rules)
        self.pairs |= pairs_of([report.variant])
        self._add_plan(report.plan)
        for axis_value in report.variant.axis_values:
            counts = self.of(axis_value)
            counts.endings[report.ending] += 1
            counts.num_seen += report.plan.shows(axis_value.plan)

    def tried(self) -> tuple[AxisValue, ...]:
        """Return all places, and those that only the asked variants have (plugins)."""
        asked = (axis_value for variant in self.only for axis_value in variant.axis_values)
        return (*AXIS_VALUES, *{str(value): value for value in asked if value not in AXIS_VALUES}.values())

    def unseen(self) -> tuple[AxisValue, ...]:
        """Return the places that were tried and whose operators no plan has shown."""
        tried = [axis_value for axis_value in self.tried() if axis_value.plan and self.of(axis_value).num_judged]
        return tuple(axis_value for axis_value in tried if not self.of(axis_value).num_seen)

    def missing(self, operators: Sequence[str]) -> tuple[str, ...]:
        """Return the operators that no plan of the run has shown."""
        return tuple(name for name in operators if not self.operators[name])

    def _add_plan(self, plan: PlanFingerprint) -> None:
        if plan.operators:
            self.plans.add(plan)
        self.operators.update(plan.names)


def _chief(variant: Variant) -> AxisValue:
    """Return the place for whose sake the others of a variant are there."""
    return next((axis_value for axis_value in variant.axis_values if axis_value.needs), variant.axis_values[0])
