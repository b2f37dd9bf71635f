"""The rules of the specification, and which of them a case reached: the measure of what a run has tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.outcome import Unsupported
from mergecheck.reference.rules import assignment as part2
from mergecheck.reference.rules import execution as part4_to_6
from mergecheck.reference.rules import rows as part3
from mergecheck.reference.rules import statements as part1
from mergecheck.reference.rules import writing as part7_and_8
from mergecheck.reference.rules.evidence import Evidence, Rule, evidence_of

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Reference

__all__ = ["RULES", "Evidence", "Rule", "reached_rules"]

RULES: tuple[Rule, ...] = (*part1.RULES, *part2.RULES, *part3.RULES, *part4_to_6.RULES, *part7_and_8.RULES)
"""All rules in the order of the specification."""


def reached_rules(case: Case, reference: Reference) -> frozenset[str]:
    """Name the rules that a case reached."""
    if isinstance(reference.answer, Unsupported):
        return frozenset()
    evidence = evidence_of(case, reference)
    return frozenset(rule.number for rule in RULES if rule.reached is not None and rule.reached(evidence))
