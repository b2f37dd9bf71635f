"""The rules of the specification, and which of them a case reached: the measure of a run's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.properties.rules import assignment, execution, rows, statements, writing
from mergecheck.harness.properties.rules.evidence import Evidence, Rule, evidence_of
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts
    from mergecheck.reference.answer import Reference

__all__ = ["RULES", "Evidence", "Rule", "reached_rules"]

RULES: tuple[Rule, ...] = (
    *statements.RULES,
    *assignment.RULES,
    *rows.RULES,
    *execution.RULES,
    *writing.RULES,
)
"""All rules in the order of the specification."""


def reached_rules(case: Case, reference: Reference, facts: Facts) -> frozenset[str]:
    """Name the rules that a case reached; none if it is unsupported, or if the answer has no trace.

    Args:
        case: the evaluated case.
        reference: the reference's answer and how it came to it.
        facts: the facts of the case; its rules are not read.
    """
    if isinstance(reference.answer, Unsupported) or reference.trace.settings is None:
        return frozenset()
    evidence = evidence_of(case, reference, facts)
    return frozenset(rule.number for rule in RULES if rule.reached is not None and rule.reached(evidence))
