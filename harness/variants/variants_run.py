"""A run: cases under variants, every difference confirmed, bisected, shrunk, explained and kept."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.engines.registry import engine_name
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.origin import origin_of
from mergecheck.harness.findings.shrink.shrinker import Attempts, ShrinkLimits, num_rows, shrink
from mergecheck.harness.findings.store import EXAMPLES
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import set_aside_report
from mergecheck.harness.search.cutting import part_taken, smallest_part
from mergecheck.harness.search.shrinking import limits_within
from mergecheck.harness.search.stream import Drawn
from mergecheck.harness.variants import selection
from mergecheck.harness.variants.bisect import bisect, mending_switches
from mergecheck.harness.variants.counts import Counts
from mergecheck.harness.variants.finding import VariantFinding
from mergecheck.harness.variants.judge import Ending, is_comparable
from mergecheck.harness.variants.variant import PLUGIN, VARIANT_SETTING, Variant, without_variant
from mergecheck.harness.variants.variants_text import finding_report
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_id import with_content_id
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.harness.explanation.implied import Implied
    from mergecheck.harness.findings.fingerprint import Fingerprint
    from mergecheck.harness.findings.store import FindingsDirectory
    from mergecheck.harness.variants.judge import VariantChecker, VariantReport
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

_MOST_REFUSED = 3
"""Batches that an engine may refuse before no more are made."""
LIMITS = ShrinkLimits()
"""For shrinking a finding, also at the end of a run: its time is for new cases."""


class VariantRun:
    """One run on one engine.

    Args:
        checker: checks on the engine.
        findings: where differences are kept; None keeps none.
        only: the variants to try if a case is in their domain; without any, a selection for each case.
        plugin: the plugin that the engine can be run under, if it was given one.
        unset: settings that are taken out of every case.
        limits: limits of shrinking one finding.
        listener: receives each finding.
        progress: receives the counts after each base case and each run of a variant.
    """

    def __init__(
        self,
        checker: VariantChecker,
        *,
        findings: FindingsDirectory | None = None,
        only: tuple[Variant, ...] = (),
        plugin: Plugin | None = None,
        unset: frozenset[str] = frozenset(),
        limits: ShrinkLimits = LIMITS,
        listener: Callable[[VariantFinding], None] = lambda _: None,
        progress: Callable[[Counts], None] = lambda _: None,
    ) -> None:
        self.counts = Counts(checker.axes)
        self.found: list[VariantFinding] = []
        self._checker = checker
        self._findings = findings
        self.only = only
        self._plugin = plugin
        self._unset = unset
        self._limits = limits
        self._listener = listener
        self._progress = progress
        self._known: dict[_Cause, int] = {}
        self._batches: Counter[bool] = Counter()
        self._explained: dict[tuple[frozenset[str], str], int] = {}
        self._max_findings: int | None = None
        self._is_interrupted = False
        self._started = time.monotonic()
        self._max_seconds: float | None = None

    def run(
        self, cases: Iterable[Drawn | Case], *, max_seconds: float | None = None, max_findings: int | None = None
    ) -> None:
        """Check cases until there are no more, the time is up, or there are enough findings.

        Args:
            cases: draws of a stream, or cases that were given; these run under every variant.
            max_seconds: from now; the merge under way is finished.
            max_findings: stop at this number of findings, also in the middle of a case.
        """
        self._started, self._max_seconds, self._max_findings = time.monotonic(), max_seconds, max_findings
        try:
            for case in cases:
                if isinstance(case, Drawn):
                    self._check(self._without_unset(case.case), drawn=case)
                else:
                    self._check(self._without_unset(case))
                if self._is_over():
                    break
        finally:
            self.counts.seconds = time.monotonic() - self._started

    @property
    def takes_batches(self) -> bool:
        """Whether batches are of use: the engine has taken one, or has not refused several yet."""
        return self._batches[False] > 0 or self._batches[True] < _MOST_REFUSED

    def wants(self, case: Case, facts: Facts) -> bool:
        """Return whether some variant that was asked for applies to a case; every case if none was."""
        plain = self._without_unset(case)
        return not self.only or any(variant.holds(plain, facts) for variant in self.only)

    def favours(self, case: Case, facts: Facts) -> bool:
        """Return whether a case has what the axes of a variant that was asked for declare that their paths need."""
        return self._checker.axes.favours(self.only, self._without_unset(case), facts)

    def _check(self, case: Case, *, drawn: Drawn | None = None) -> None:
        """Check the base against the reference, then variants against the base.

        A difference in a batch is looked for in smaller parts of it.
        """
        singles = () if drawn is None else tuple(map(self._without_unset, drawn.singles))
        base = self._checker.check_base(case, None if drawn is None or self._unset else drawn.reference)
        if singles:
            if isinstance(base.result, Unsupported):
                case, base, singles = part_taken(singles, self._checker.check_base)
            self._batches[not singles] += 1
        self.counts.num_batched += len(singles)
        self.counts.add_base(base, self._checker.plan)
        self._progress(self.counts)
        if base.verdict is Verdict.MISMATCH and not base.deviations:
            self._keep_base(case, base, singles)
        if not is_comparable(base):
            return
        variants, outside = self._variants(None if drawn is None else drawn.index, case, base)
        self.counts.add_outside(outside, without_variant(case))
        done: dict[str, CaseReport] = {"base": base}
        for variant in variants:
            before = self._checker.axes.before(variant)
            for one in (variant,) if before.name in done else (before, variant):
                if self._is_over():
                    return
                if one.holds(without_variant(case), base.facts):
                    without = self._checker.axes.before(one)
                    done[one.name] = self._compare(one, case, base, singles, done.get(without.name))
        self.counts.seconds = time.monotonic() - self._started

    def _compare(
        self, variant: Variant, case: Case, base: CaseReport, singles: tuple[Case, ...], before: CaseReport | None
    ) -> CaseReport:
        report = self._checker.check(case, variant, base)
        if report.ending is Ending.DIFFERENT:
            self._confirm(case, report, singles)
        self.counts.add(report, before=before, num_pairs=len(singles) or 1)
        self._progress(self.counts)
        return report.report

    def _without_unset(self, case: Case) -> Case:
        if self._unset.isdisjoint(case.conf):
            return case
        return replace(case, conf={name: text for name, text in case.conf.items() if name not in self._unset})

    def _is_over(self) -> bool:
        is_late = self._max_seconds is not None and time.monotonic() - self._started >= self._max_seconds
        return is_late or (self._max_findings is not None and len(self.found) >= self._max_findings)

    def _limits_now(self) -> ShrinkLimits:
        if self._max_seconds is None:
            return self._limits
        return limits_within(
            self._limits,
            seconds_left=self._started + self._max_seconds - time.monotonic(),
            findings_left=None if self._max_findings is None else self._max_findings - len(self.found),
        )

    def _variants(
        self, index: int | None, case: Case, base: CaseReport
    ) -> tuple[tuple[Variant, ...], tuple[Variant, ...]]:
        facts, axes = base.facts, self._checker.axes
        only = (axes.named(case.conf[VARIANT_SETTING]),) if VARIANT_SETTING in case.conf else self.only
        plain = without_variant(case)
        if only:
            inside = tuple(variant for variant in only if variant.holds(plain, facts))
            return inside, tuple(variant for variant in only if variant not in inside)
        return selection.every(plain, facts, axes) if index is None else selection.selected(index, plain, facts, axes)

    def _confirm(self, case: Case, first: VariantReport, singles: tuple[Case, ...]) -> None:
        """Run a difference again; one that does not come back is no finding, but is counted."""
        wanted = fingerprint(first.report)
        if wanted is None:
            return
        for cause in self._known:
            if cause.explains(first.variant, wanted):
                self._known[cause] += 1
                return
        plain = without_variant(case)
        again = self._checked(first.variant)(plain)
        if fingerprint(again) != wanted:
            self._set_aside(case, first.report, first.variant)
            return

        def shows(one: Case, variant: Variant = first.variant) -> bool:
            return fingerprint(self._checked(variant)(one)) == wanted

        part = smallest_part(singles, again, self._checked(first.variant), lambda one: fingerprint(one) == wanted)
        plain = plain if part is None else part.case
        minimal = bisect(first.variant, lambda variant: shows(plain, variant))
        cause = _Cause(frozenset(value.axis for value in minimal.values), wanted)
        if cause in self._known:
            self._known[cause] += 1
            return
        self._known[cause] = 1
        found = self._checked(minimal)(plain)
        if fingerprint(found) is None:  # bisect has just seen it: the engine's answers vary
            found, minimal = again, first.variant
        attempts = Attempts(found, check=self._checked(minimal), limits=self._limits_now())
        best = self._shrunk(attempts)
        drawn = replace(found, case=minimal.judged(found.case))
        named = replace(best.case, conf={**best.case.conf, VARIANT_SETTING: minimal.name})
        explained = replace(best, case=minimal.judged(best.case))
        self._keep(
            VariantFinding(
                fingerprint=wanted,
                report=replace(best, case=with_content_id(named)),
                explained=explained,
                variant=minimal,
                found_with=first.variant,
                rows_before=num_rows(found.case),
                num_runs=attempts.num_runs,
                seconds=attempts.seconds,
                cut_short=attempts.is_cut_short or self._is_interrupted,
                mended_by=self._mended_by(minimal, best.case, wanted),
                plugin_options=() if (plugin := self._plugin_of(minimal)) is None else plugin.options,
            ),
            self._checker.implied(explained, drawn),
        )
        self._end_if_interrupted()

    def _plugin_of(self, variant: Variant) -> Plugin | None:
        return self._plugin if any(value.axis == PLUGIN for value in variant.values) else None

    def _mended_by(self, variant: Variant, case: Case, wanted: Fingerprint) -> tuple[str, ...]:
        if (plugin := self._plugin_of(variant)) is None or self._is_interrupted:
            return ()
        return mending_switches(variant, plugin, lambda one: fingerprint(self._checked(one)(case)) == wanted)

    def _checked(self, variant: Variant) -> Callable[[Case], CaseReport]:
        """Return a check of cases under a variant; its report is about the case, not about the transformed case.

        A case that is outside the domain, or whose base differs from the reference, shows no mismatch.
        """

        def check(case: Case) -> CaseReport:
            base = self._checker.check_base(case)
            if not is_comparable(base) or not variant.holds(case, base.facts):
                return replace(base, case=case, mismatches=())
            return replace(self._checker.check(case, variant, base).report, case=case)

        return check

    def _keep_base(self, case: Case, base: CaseReport, singles: tuple[Case, ...]) -> None:
        wanted = fingerprint(base)
        if wanted is None:
            return
        cause = _Cause(frozenset(), wanted)
        if cause in self._known:
            self._known[cause] += 1
            return
        if fingerprint(self._checker.check_base(case)) != wanted:
            self._set_aside(case, base, None)
            return
        self._known[cause] = 1
        whole = replace(base, case=case)
        part = smallest_part(singles, whole, self._checked_base, lambda one: fingerprint(one) == wanted)
        plain = case if part is None else part.case
        found = replace(self._checker.check_base(plain), case=plain)
        if fingerprint(found) is None:  # it came twice: the engine's answers vary
            found = replace(base, case=plain)
        attempts = Attempts(found, check=self._checked_base, limits=self._limits_now())
        best = self._shrunk(attempts)
        explained = replace(best, case=without_variant(best.case))
        self._keep(
            VariantFinding(
                fingerprint=wanted,
                report=replace(best, case=with_content_id(self._checker.axes.base_of(best.case))),
                explained=explained,
                variant=None,
                found_with=None,
                rows_before=num_rows(found.case),
                num_runs=attempts.num_runs,
                seconds=attempts.seconds,
                cut_short=attempts.is_cut_short or self._is_interrupted,
            ),
            self._checker.implied(explained, replace(found, case=without_variant(plain))),
        )
        self._end_if_interrupted()

    def _shrunk(self, attempts: Attempts) -> CaseReport:
        """Make a finding small. Ctrl+C ends that, and the run only after the finding has been kept."""
        try:
            with interrupts_kept():
                return shrink(attempts)
        except KeyboardInterrupt:
            self._is_interrupted = True
            return replace(attempts.best, case=with_content_id(attempts.best.case))

    def _end_if_interrupted(self) -> None:
        if self._is_interrupted:
            raise KeyboardInterrupt

    def _checked_base(self, case: Case) -> CaseReport:
        """Check a case with the base's values; the report is about the case without them."""
        return replace(self._checker.check_base(case), case=case)

    def _set_aside(self, case: Case, report: CaseReport, variant: Variant | None) -> None:
        """Count a difference that did not come back, and keep its case for an investigation."""
        self.counts.num_flaky += 1
        if self._findings is None:
            return
        plain = without_variant(case)
        conf = {**plain.conf, VARIANT_SETTING: variant.name} if variant else plain.conf
        kept = with_content_id(replace(plain, conf=conf))
        reason = f"{fingerprint(report)}, which a second execution did not show"
        self._findings.set_aside("flaky", kept, set_aside_report(case_document(report), kind="flaky", reason=reason))

    def _keep(self, finding: VariantFinding, implied: tuple[Implied, ...]) -> None:
        """Keep a finding, or an example of one: what one hypothesis explains under the same axes is one finding."""
        finding = replace(finding, hypotheses=tuple(map(str, implied)))
        causes = implied[0].causes if implied and not implied[0].unexplained else frozenset()
        axes = frozenset(() if finding.variant is None else (value.axis for value in finding.variant.values))
        known = next((self._explained[axes, one] for one in sorted(causes) if (axes, one) in self._explained), None)
        for cause in causes:
            self._explained.setdefault((axes, cause), len(self.found) if known is None else known)
        if known is not None:
            if self._findings is not None:
                path = self._findings.path_of_example(finding.report.case.id)
                path = self._findings.set_aside(EXAMPLES, finding.report.case, finding_report(finding, path=path))
                first = self.found[known]
                self.found[known] = replace(first, examples=(*first.examples, path))
            return
        if self._findings is not None:
            path = self._findings.path_of(finding.report.case.id)
            text = finding_report(finding, path=path)
            origin = origin_of(finding.report, found_by="variants", engine=engine_name(self._checker.engine))
            finding = replace(finding, path=self._findings.save(finding.report.case, text, origin))
        self.found.append(finding)
        self._listener(finding)


@dataclass(frozen=True, slots=True)
class _Cause:
    """What makes two differences one finding: the axes that flip the outcome, and the fingerprint of the difference."""

    axes: frozenset[str]
    fingerprint: Fingerprint

    def explains(self, variant: Variant, wanted: Fingerprint) -> bool:
        """Return whether a variant with such a difference sets the same axes, and others besides."""
        return bool(self.axes) and self.fingerprint == wanted and self.axes <= {value.axis for value in variant.values}
