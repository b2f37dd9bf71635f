"""The counts of a run of variants: for each value of an axis the cases, their results and their plans."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.harness.variants.judge import Ending
from mergecheck.harness.variants.selection import pairs_of
from mergecheck.harness.verdict import Verdict
from mergecheck.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.harness.variants.judge import VariantReport
    from mergecheck.harness.variants.plans import PlanFingerprint
    from mergecheck.harness.variants.variant import EngineAxes, Variant
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.axis import Transformation
    from mergecheck.model.case import Case

JUDGED = (Ending.EQUAL, Ending.EXEMPT, Ending.KNOWN, Ending.DIFFERENT)


@dataclass(slots=True)
class ValueCounts:
    """One value of an axis.

    Attributes:
        endings: runs by ending.
        num_outside: cases outside its domain.
        set_by_case: cases that have the value by a setting of their own, by the setting.
        num_seen: runs whose plans show any of its operators.
        num_proved: runs that show whether it switched a path, and num_switched: those in which it did.
    """

    endings: Counter[Ending] = field(default_factory=Counter)
    num_outside: int = 0
    set_by_case: Counter[str] = field(default_factory=Counter)
    num_seen: int = 0
    num_proved: int = 0
    num_switched: int = 0

    @property
    def num_judged(self) -> int:
        """Runs that gave an answer to compare."""
        return sum(self.endings[ending] for ending in JUDGED)


@dataclass(slots=True)
class Counts:
    """All of a run.

    Attributes:
        axes: of the engine.
        bases: base cases by verdict; a mismatch that is a known deviation counts as ``agree`` here.
        rules: by which variants were allowed to differ, and in how many runs.
        plans: different fingerprints of plans; operators: runs in which an operator was executed.
        paths: merges, of bases and variants, by the paths that the engine has reported.
        num_answered: all merges that succeeded.
        num_batched: pairs of tables in those base cases that were batches.
        num_compared: comparisons of a pair of tables with its base.
        num_flaky: differences that a second execution did not show.
        undrawn: features of cases that the engine leaves out, by which axes favour them.
    """

    axes: EngineAxes
    values: dict[str, ValueCounts] = field(default_factory=dict)
    bases: Counter[Verdict] = field(default_factory=Counter)
    endings: Counter[Ending] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    plans: set[PlanFingerprint] = field(default_factory=set)
    operators: Counter[str] = field(default_factory=Counter)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    paths: Counter[str] = field(default_factory=Counter)
    num_answered: int = 0
    num_batched: int = 0
    num_compared: int = 0
    num_flaky: int = 0
    undrawn: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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

    def of(self, value: Transformation) -> ValueCounts:
        """Return the counts of a place."""
        return self.values.setdefault(str(value), ValueCounts())

    def add_base(self, report: CaseReport, plan: PlanFingerprint) -> None:
        """Count a base case."""
        self.bases[Verdict.AGREE if report.deviations else report.verdict] += 1
        if report.verdict in (Verdict.JUDGED_IN_PART, Verdict.UNSUPPORTED):
            self.reasons[report.reason] += 1
        self._add_plan(plan)
        self._add_paths(report)

    def add_outside(self, variants: Sequence[Variant], case: Case) -> None:
        """Count variants that do not apply to a case, and those among them that its own settings exclude."""
        for variant in variants:
            value = variant.values[0] if len(variant.values) == 1 else _chief(variant)
            self.of(value).num_outside += 1
            if value in variant.unchanging(case):
                own = [f"{name}={text}" for name, text in value.settings.items() if case.conf.get(name) == text]
                self.of(value).set_by_case.update(own[:1])

    def add(self, report: VariantReport, *, before: CaseReport | None = None, num_pairs: int = 1) -> None:
        """Count a variant that was run.

        Args:
            report: of the variant.
            before: of the same case without the values for whose sake the variant is there.
            num_pairs: pairs of tables in the case.
        """
        self.endings[report.ending] += 1
        self.num_compared += num_pairs * (report.ending in JUDGED)
        self.rules.update(report.rules)
        self.pairs |= pairs_of([report.variant])
        self._add_plan(report.plan)
        paths = self._add_paths(report.report)
        old = None if before is None or not isinstance(before.result, Outcome) else before.result.paths
        needed = {need for value in report.variant.values for need in value.needs}
        for value in report.variant.values:
            counts = self.of(value)
            counts.endings[report.ending] += 1
            counts.num_seen += report.plan.shows(value.plan)
            if value.paths and str(value) not in needed and paths is not None and old is not None:
                counts.num_proved += 1
                counts.num_switched += any(paths.get(name, 0) != old.get(name, 0) for name in value.paths)

    def unswitched(self) -> tuple[Transformation, ...]:
        """Return the values that were tried and have never switched a path of theirs."""
        return tuple(one for one in self.tried() if self.of(one).num_proved and not self.of(one).num_switched)

    def tried(self) -> tuple[Transformation, ...]:
        """Return the values that were run or passed over."""
        return tuple(value for value in self.axes.values if str(value) in self.values)

    def missing_paths(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the paths that no merge of the run has taken."""
        return tuple(name for name in paths if not self.paths[name])

    def unseen(self) -> tuple[Transformation, ...]:
        """Return the places that were tried and whose operators no plan has shown."""
        tried = [value for value in self.tried() if value.plan and self.of(value).num_judged]
        return tuple(value for value in tried if not self.of(value).num_seen)

    def missing(self, operators: Sequence[str]) -> tuple[str, ...]:
        """Return the operators that no plan of the run has shown."""
        return tuple(name for name in operators if not self.operators[name])

    def _add_paths(self, report: CaseReport) -> Mapping[str, int] | None:
        if not isinstance(report.result, Outcome):
            return None
        self.num_answered += 1
        self.paths.update(name for name, number in report.result.paths.items() if number)
        return report.result.paths

    def _add_plan(self, plan: PlanFingerprint) -> None:
        if plan.operators:
            self.plans.add(plan)
        self.operators.update(plan.names)


def _chief(variant: Variant) -> Transformation:
    """Return the place for whose sake the others of a variant are there."""
    return next((value for value in variant.values if value.needs), variant.values[0])
