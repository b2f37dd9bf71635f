"""Which rules of the specification a set of cases reached, by the reference alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.properties.rules import RULES
from mergecheck.harness.verdict import HarnessBugError
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mergecheck.harness.properties.rules import Rule
    from mergecheck.model.facts import Facts
    from mergecheck.reference.answer import Reference


class RuleState(Enum):
    """The status of a rule in a run; the value is for a person."""

    REACHED = "reached"
    NOT_REACHED = "not reached"
    """some case could reach it, none of these did"""
    OUT_OF_REACH = "out of reach"
    """no case can reach it; the rule gives the reason"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCount:
    """One rule, and the number of cases that reached it."""

    rule: Rule
    num_cases: int

    @property
    def state(self) -> RuleState:
        """Whether it was reached, or can be."""
        if self.num_cases:
            return RuleState.REACHED
        return RuleState.NOT_REACHED if self.rule.out_of_reach is None else RuleState.OUT_OF_REACH


@dataclass(slots=True)
class Tally:
    """Counts while cases are evaluated.

    Attributes:
        rules: number of cases by rule.
        unsupported: number of cases by the reason for which the reference does not evaluate them.
    """

    num_cases: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)

    def add(self, reference: Reference, facts: Facts) -> None:
        """Count one case."""
        self.num_cases += 1
        self.rules.update(facts.rules)
        if isinstance(reference.answer, Unsupported):
            self.unsupported[reference.answer.reason] += 1


def tally(evaluated: Iterable[tuple[Reference, Facts]]) -> Tally:
    """Count the rules that evaluated cases reach."""
    counts = Tally()
    for reference, facts in evaluated:
        counts.add(reference, facts)
    return counts


def known_rules() -> Sequence[Rule]:
    """Return the table of rules, in the specification's order."""
    return RULES


def rule_counts(rules: Sequence[Rule], counts: Mapping[str, int]) -> tuple[RuleCount, ...]:
    """Put a number to every rule, in the table's order.

    Raises:
        HarnessBugError: where a case reached a rule that is not in the table, or that the table calls out of reach.
    """
    known = {rule.number: rule for rule in rules}
    for number in sorted(counts):
        if number not in known:
            raise HarnessBugError(f"a case reached {number}, which the table of rules does not have; add it there")
        if counts[number] and known[number].out_of_reach is not None:
            raise HarnessBugError(
                f"a case reached {number}, which the table of rules calls out of reach "
                f"({known[number].out_of_reach}); take the reason away there"
            )
    return tuple(RuleCount(rule=rule, num_cases=counts.get(rule.number, 0)) for rule in rules)


def rules_line(counts: Sequence[RuleCount]) -> str:
    """Format how many of the rules that a case can reach were reached: ``rules reached: 80 of 96``."""
    states = Counter(count.state for count in counts)
    reached = states[RuleState.REACHED]
    return f"rules reached: {reached} of {reached + states[RuleState.NOT_REACHED]}"
