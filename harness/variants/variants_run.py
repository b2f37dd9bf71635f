"""A run: cases under variants, every difference confirmed, bisected, shrunk and kept."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.engines.registry import engine_name
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.origin import origin_of
from mergecheck.harness.findings.shrink.shrinker import Attempts, ShrinkLimits, shrink
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import set_aside_report
from mergecheck.harness.search.stream import Drawn
from mergecheck.harness.variants.axes import selection
from mergecheck.harness.variants.axes.axis import Axis
from mergecheck.harness.variants.axes.variant import VARIANT_SETTING, Variant, variant_named, without_variant
from mergecheck.harness.variants.bisect import bisect, mending_switches
from mergecheck.harness.variants.counts import Counts
from mergecheck.harness.variants.finding import VariantFinding
from mergecheck.harness.variants.judge import Ending, is_comparable
from mergecheck.harness.variants.variants_text import finding_report
from mergecheck.harness.verdict import UserInputError, Verdict
from mergecheck.model.case_id import with_content_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.harness.findings.fingerprint import Fingerprint
    from mergecheck.harness.findings.store import FindingsDirectory
    from mergecheck.harness.variants.judge import VariantChecker, VariantReport
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

LIMITS = ShrinkLimits(max_seconds=30.0, max_runs=60)


class VariantRun:
    """One run on one engine.

    Args:
        checker: checks on the engine.
        findings: where differences are kept; None keeps none.
        only: the variants to try if a case is in their domain; without any, a selection for each case.
        plugin: the plugin that the engine can be run under, if it was given one.
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
        limits: ShrinkLimits = LIMITS,
        listener: Callable[[VariantFinding], None] = lambda _: None,
        progress: Callable[[Counts], None] = lambda _: None,
    ) -> None:
        self.counts = Counts(only=only)
        self.found: list[VariantFinding] = []
        self._checker = checker
        self._findings = findings
        self._only = only
        self._plugin = plugin
        self._limits = limits
        self._listener = listener
        self._progress = progress
        self._known: set[tuple[str, Fingerprint]] = set()
        self._max_findings: int | None = None

    def run(
        self, cases: Iterable[Drawn | Case], *, max_seconds: float | None = None, max_findings: int | None = None
    ) -> None:
        """Check cases until there are no more, the time is up, or there are enough findings.

        Args:
            cases: draws of a stream, or cases that were given; these run under every variant.
            max_seconds: from now; the case under way is finished.
            max_findings: stop at this number of findings, also in the middle of a case.
        """
        started = time.monotonic()
        self._max_findings = max_findings
        try:
            for case in cases:
                if isinstance(case, Drawn):
                    self.counts.num_batched += len(case.singles)
                    self._check(case.case, index=case.index, singles=case.singles, reference=case.reference)
                else:
                    self._check(case)
                self.counts.seconds = time.monotonic() - started
                if max_seconds is not None and self.counts.seconds >= max_seconds:
                    break
                if self._is_enough():
                    break
        finally:
            self.counts.seconds = time.monotonic() - started

    def _check(
        self,
        case: Case,
        *,
        index: int | None = None,
        singles: tuple[Case, ...] = (),
        reference: Reference | None = None,
    ) -> None:
        """Check the base against the reference, then variants against the base.

        A difference in a batch is looked for in its pairs of tables; the first that shows it alone is the finding.
        """
        base = self._checker.check_base(case, reference)
        self.counts.add_base(base, self._checker.plan)
        self._progress(self.counts)
        if base.verdict is Verdict.MISMATCH and not base.deviations:
            self._keep_base(case, base, singles)
        if not is_comparable(base):
            return
        variants, outside = self._variants(index, case, base)
        self.counts.add_outside(outside)
        for variant in variants:
            report = self._checker.check(case, variant, base)
            if report.ending is Ending.DIFFERENT:
                report = self._confirmed(case, report, singles)
            self.counts.add(report)
            self._progress(self.counts)
            if self._is_enough():
                return

    def _is_enough(self) -> bool:
        return self._max_findings is not None and len(self.found) >= self._max_findings

    def _variants(
        self, index: int | None, case: Case, base: CaseReport
    ) -> tuple[tuple[Variant, ...], tuple[Variant, ...]]:
        facts = base.facts
        only = self._only if VARIANT_SETTING not in case.conf else (self._named(case.conf[VARIANT_SETTING]),)
        plain = without_variant(case)
        if only:
            inside = tuple(variant for variant in only if variant.holds(plain, facts))
            return inside, tuple(variant for variant in only if variant not in inside)
        own = self._checker.capabilities.own_settings
        if index is None:
            return selection.every(plain, facts, own=own)
        return selection.selected(index, plain, facts, own=own)

    def _named(self, name: str) -> Variant:
        """Return the variant of a saved case; one with a plugin of the run's own has no other name.

        Raises:
            UserInputError: if it needs a plugin that the run does not have, or there is none of this name.
        """
        found = next((variant for variant in self._only if variant.name == name), None) or variant_named(name)
        if self._plugin is None and any(value.axis is Axis.PLUGIN for value in found.axis_values):
            raise UserInputError(f"the case runs under a plugin ({name}): start the engine with it, by --variant")
        return found

    def _confirmed(self, case: Case, first: VariantReport, singles: Iterable[Case]) -> VariantReport:
        """Run a difference again; one that does not come back is no finding, but is counted."""
        wanted = fingerprint(first.report)
        again = self._checked(first.variant)(without_variant(case))
        if wanted is None or fingerprint(again) != wanted:
            self._set_aside(case, first.report, first.variant)
            return first
        case = next((one for one in singles if fingerprint(self._checked(first.variant)(one)) == wanted), case)
        minimal = bisect(first.variant, lambda variant: fingerprint(self._checked(variant)(case)) == wanted)
        if (minimal.name, wanted) in self._known:
            return first
        self._known.add((minimal.name, wanted))
        found = self._checked(minimal)(without_variant(case))
        if fingerprint(found) is None:  # bisect has just seen it: the engine's answers vary
            found, minimal = again, first.variant
        attempts = Attempts(found, check=self._checked(minimal), limits=self._limits)
        best = shrink(attempts)
        named = replace(best.case, conf={**best.case.conf, VARIANT_SETTING: minimal.name})
        self._keep(
            VariantFinding(
                fingerprint=wanted,
                report=replace(best, case=with_content_id(named)),
                variant=minimal,
                found_with=first.variant,
                mended_by=self._mended_by(minimal, best.case, wanted),
                plugin_options=() if (plugin := self._plugin_of(minimal)) is None else plugin.options,
            )
        )
        return first

    def _plugin_of(self, variant: Variant) -> Plugin | None:
        return self._plugin if any(value.axis is Axis.PLUGIN for value in variant.axis_values) else None

    def _mended_by(self, variant: Variant, case: Case, wanted: Fingerprint) -> tuple[str, ...]:
        if (plugin := self._plugin_of(variant)) is None:
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

    def _keep_base(self, case: Case, base: CaseReport, singles: Iterable[Case]) -> None:
        wanted = fingerprint(base)
        if wanted is None or fingerprint(self._checker.check_base(case)) != wanted:
            self._set_aside(case, base, None)
            return
        if ("", wanted) in self._known:
            return
        self._known.add(("", wanted))
        found = next((one for one in map(self._checker.check_base, singles) if fingerprint(one) == wanted), base)
        report = replace(found, case=with_content_id(found.case))
        self._keep(VariantFinding(fingerprint=wanted, report=report, variant=None, found_with=None))

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

    def _keep(self, finding: VariantFinding) -> None:
        if self._findings is not None:
            path = self._findings.path_of(finding.report.case.id)
            text = finding_report(finding, path=path)
            origin = origin_of(finding.report, found_by="variants", engine=engine_name(self._checker.engine))
            finding = replace(finding, path=self._findings.save(finding.report.case, text, origin))
        self.found.append(finding)
        self._listener(finding)
