"""Rules that are tried on Delta Lake by hand: their pages and the checks are of the same rules."""

from __future__ import annotations

from mergecheck.harness.specification.rules import load_rules
from tools.benchmarks.rules_on_delta.__main__ import CHECKS


def test_pages_cite_checks_that_there_are() -> None:
    """A page that claims so has a check; a check is of a rule."""
    rules = load_rules()
    checked = {check.rule for check in CHECKS}
    assert {number for number, rule in rules.items() if "tools.benchmarks.rules_on_delta" in rule.body} <= checked
    assert checked <= rules.keys()


def test_questions_are_told_apart() -> None:
    asked = [(check.rule, check.question) for check in CHECKS]
    assert len(asked) == len(set(asked))
