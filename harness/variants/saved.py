"""A saved case that names a variant, checked anywhere as the verb ``variants`` checked it when it was found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.engine import ConfigurableEngine
from mergecheck.harness.variants.axes.variant import VARIANT_SETTING, variant_named, without_variant
from mergecheck.harness.variants.judge import Observed, base_stands, check_base, judge
from mergecheck.harness.verdict import CaseReport, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Engine
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Reference


def check_variant(
    case: Case, engine: Engine, deviations: Deviations, reference: Callable[[Case], Reference]
) -> CaseReport:
    """Check the base of a case against the reference, and if that agrees the variant that the case names.

    Returns:
        The report of the base if that does not agree, else the variant's; ``unsupported`` if the engine takes no
        configuration, or if the case is outside the variant's domain, as a changed case may be.

    Raises:
        UserInputError: there is no such variant.
    """
    variant, plain = variant_named(case.conf[VARIANT_SETTING]), without_variant(case)
    if not isinstance(engine, ConfigurableEngine):
        return _unsupported(case, engine, reference(plain), f"variant {variant.name}: {engine.name} takes no settings")
    observed = Observed(engine)
    base = check_base(plain, observed, deviations, reference)
    if not base_stands(base):
        return replace(base, case=case)
    if not variant.holds(plain, base.reference.facts):
        return _unsupported(case, engine, base.reference, f"variant {variant.name}: the case is outside its domain")
    judged = judge(plain, variant, base, engine=observed, deviations=deviations, reference=reference)
    return replace(judged.report, case=case)


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
