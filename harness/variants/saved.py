"""Saved cases, and among them those that name a variant: they are checked as ``variants`` has checked them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.variants.judge import VariantChecker, is_comparable
from mergecheck.harness.variants.variant import PLUGIN, VARIANT_SETTING, axes_of, without_variant
from mergecheck.harness.verdict import CaseReport, Oracle, Verdict

if TYPE_CHECKING:
    from mergecheck.harness.checker import Checker
    from mergecheck.harness.engine import Engine
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference


def check_saved(case: Case, checker: Checker) -> CaseReport:
    """Check a saved case; one that names a variant shows its difference under that variant only, so it runs there.

    Of a case that names a variant, the base is checked against the reference, and if that agrees, the variant.

    Returns:
        The report of the base if that does not agree, else the variant's; ``unsupported`` if the engine has no such
        axis, or if the case is outside the variant's domain, as a changed case may be.

    Raises:
        UserInputError: there is no such variant.
    """
    if VARIANT_SETTING not in case.conf or checker.oracle is not Oracle.REFERENCE:
        return checker.check_case(case)
    with interrupts_kept():
        return _check_variant(case, checker)


def _check_variant(case: Case, checker: Checker) -> CaseReport:
    name, plain, engine = case.conf[VARIANT_SETTING], without_variant(case), checker.engine
    if name.rpartition(",")[2].startswith(f"{PLUGIN}="):
        reason = f"variant {name}: mergecheck variants starts the engine under the plugin"
        return _unsupported(case, engine, checker.reference(plain), reason)
    axes = axes_of(engine)
    if lacking := axes.lacking(name):
        return _unsupported(
            case, engine, checker.reference(plain), f"variant {name}: {engine.name} has no axis {lacking}"
        )
    variant = axes.named(name)
    variants = VariantChecker(engine, deviations=checker.deviations, reference=checker.reference, rerun=checker.rerun)
    base = checker.narrowed(variants.check_base(plain))
    if not is_comparable(base):
        return replace(base, case=case)
    if not variant.holds(plain, base.facts):
        return _unsupported(case, engine, base.reference, f"variant {variant.name}: the case is outside its domain")
    return replace(checker.narrowed(variants.check(plain, variant, base).report), case=case)


def _unsupported(case: Case, engine: Engine, reference: Reference, reason: str) -> CaseReport:
    return CaseReport(
        case=case,
        engine=engine.name,
        engine_version=engine.version,
        verdict=Verdict.UNSUPPORTED,
        reference=reference,
        result=None,
        reason=reason,
    )
