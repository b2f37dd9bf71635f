"""One rule with everything that is known of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.properties.rule_counts import known_rules
from mergecheck.harness.specification.rules import data_file, load_rules
from mergecheck.model.case_file import parse_cases
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.harness.specification.rules import RuleText
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How many random cases reached each rule.

    Attributes:
        num_cases: cases that were drawn with ``seed``.
        rules: number of cases by rule.
    """

    num_cases: int
    seed: int
    rules: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePage:
    """The content of a rule's page.

    Attributes:
        case: the minimal case, None if no case can reach the rule.
        reference: the result of the case; None without a case.
        out_of_reach: why no case can reach the rule; None if one can, or if nothing counts the rule's cases.
        num_cases: random cases that reach the rule; None if none can, or if nothing counts them.
        reach: the random cases that ``num_cases`` is a part of.
    """

    rule: RuleText
    case: Case | None
    reference: Reference | None
    out_of_reach: str | None
    num_cases: int | None
    reach: Reach


def load_reach() -> Reach:
    """Read how many random cases reached each rule."""
    document = json.loads(data_file("reach.json").read_text(encoding="utf-8"))
    return Reach(num_cases=document["num_cases"], seed=document["seed"], rules=document["rules"])


def minimal_case(number: str) -> Case | None:
    """Read a rule's minimal case, None if it has none."""
    file = data_file(f"cases/{number}.json")
    if not file.is_file():
        return None
    (case,) = parse_cases(file.read_text(encoding="utf-8"), name=f"{number}.json", lines=False)
    return case


def load_pages(numbers: Sequence[str] | None = None) -> tuple[RulePage, ...]:
    """Build the pages of some rules, or of all; the reference evaluates their minimal cases.

    Args:
        numbers: numbers of existing rules.
    """
    rules = load_rules()
    reach = load_reach()
    counted = {rule.number: rule for rule in known_rules()}
    pages = []
    for number in rules if numbers is None else numbers:
        case = minimal_case(number)
        reason = counted[number].out_of_reach if number in counted else None
        pages.append(
            RulePage(
                rule=rules[number],
                case=case,
                reference=None if case is None else evaluate(case),
                out_of_reach=reason,
                num_cases=reach.rules.get(number, 0) if number in counted and reason is None else None,
                reach=reach,
            )
        )
    return tuple(pages)
