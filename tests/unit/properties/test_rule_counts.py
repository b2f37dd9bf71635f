"""Rules of the specification and the cases that reached them, with a small table of rules in place of the real one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.properties.rule_counts import RuleState, known_rules, rule_counts, rules_line, tally
from mergecheck.harness.verdict import HarnessBugError
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from mergecheck.harness.properties.rules import Rule


@dataclass(frozen=True, slots=True)
class FakeRule:
    number: str
    out_of_reach: str | None = None


RULES: Any = (FakeRule("R-101"), FakeRule("R-142", "one statement"), FakeRule("R-301"))


def states(counts: dict[str, int], rules: tuple[Rule, ...] = RULES) -> list[tuple[str, int, RuleState]]:
    return [(count.rule.number, count.num_cases, count.state) for count in rule_counts(rules, counts)]


def test_every_rule_has_a_number_and_a_state() -> None:
    """Reached, not reached, or out of reach for a reason; in the table's order."""
    assert states({"R-301": 7}) == [
        ("R-101", 0, RuleState.NOT_REACHED),
        ("R-142", 0, RuleState.OUT_OF_REACH),
        ("R-301", 7, RuleState.REACHED),
    ]
    assert rules_line(rule_counts(RULES, {"R-301": 7})) == "rules reached: 1 of 2"
    assert rules_line(rule_counts(RULES, {"R-301": 7, "R-101": 1})) == "rules reached: 2 of 2"


@pytest.mark.parametrize(
    ("counts", "message"),
    [({"R-999": 1}, "R-999, which the table of rules does not have"), ({"R-142": 1}, "calls out of reach .one state")],
)
def test_a_table_that_the_cases_contradict_is_a_bug(counts: dict[str, int], message: str) -> None:
    """A rule that is reached must be in the table, and without a reason why it cannot be."""
    with pytest.raises(HarnessBugError, match=message):
        rule_counts(RULES, counts)


def test_a_case_counts_once_for_each_of_its_rules() -> None:
    """Also where the reference rejects the case; unsupported cases are counted by reason."""
    rejected = Reference(answer=Rejection(error_class="X", message="")), Facts(rules=frozenset({"R-101", "R-301"}))
    unsupported = Reference(answer=Unsupported("why")), Facts(rules=frozenset({"R-101"}))
    counts = tally([rejected, unsupported, rejected])
    assert (counts.num_cases, counts.rules, counts.unsupported) == (3, {"R-101": 3, "R-301": 2}, {"why": 1})


def test_the_table_of_rules() -> None:
    """Numbers are there once, in order; no reason is empty."""
    rules = known_rules()
    numbers = [rule.number for rule in rules]
    assert numbers == sorted(set(numbers))
    assert {"R-101", "R-301", "R-610"} <= set(numbers)
    assert all(rule.out_of_reach is None or rule.out_of_reach.strip() for rule in rules)
