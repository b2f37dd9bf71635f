"""The specification: a page of each rule, a test of each rule, and a rule for each citation."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docsite.specification import specification_pages
from docsite.tests_by_rule import find_tests
from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.lab.rule_pages.page import load_reach, minimal_case
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.rule_counts import known_rules
from mergecheck.harness.specification.rules import CHAPTERS, load_rules
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = MergeReference()


ROOT = Path(__file__).parents[2]

REACHABLE = [rule.number for rule in known_rules() if rule.out_of_reach is None]
LINK = re.compile(r"\]\((?!https?:)([^)\s#]+)")
NUMBER = re.compile(r"\b[RP]-A?\d+\b")
# Numbers that tests need because no rule has them.
NO_RULES = {"P-999", "R-1", "R-329", "R-700", "R-999", "R-7411"}


def texts() -> Iterator[tuple[Path, str]]:
    """Go through everything that may cite a rule: code, tests, docs, messages."""
    folders = ("tools", "docs", "harness", "merge", "model", "reference", "strategies", "tests")
    for path in (*ROOT.glob("*.md"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))):
        if path.suffix in {".ambr", ".jsonl", ".md", ".py", ".toml"}:
            yield path, path.read_text(encoding="utf-8")


def test_every_citation_has_a_page() -> None:
    known = load_rules().keys() | NO_RULES
    unknown = {(path.name, number) for path, text in texts() for number in NUMBER.findall(text) if number not in known}
    assert unknown == set()


def test_messages_of_the_merge_tell_titles() -> None:
    """Output of the harness gets its titles there; the merge is used without it, so its messages have them."""
    rules = load_rules()
    for path in (ROOT / "merge").rglob("*.py"):
        for text in messages(ast.parse(path.read_text(encoding="utf-8"))):
            assert all(f"{number} {rules[number].title}" in text for number in NUMBER.findall(text)), (path, text)


def messages(tree: ast.Module) -> Iterator[str]:
    """Go through the string literals of a module that are no docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_every_rule_has_a_test() -> None:
    """A rule without a test is a claim that is not checked."""
    found = find_tests(ROOT)
    assert [number for number in load_rules() if number not in found] == []


def test_the_site_has_a_page_of_each_rule() -> None:
    """Each has text, minimal case and tests; each link leads to a page of the site, and the index to each page."""
    pages = specification_pages(ROOT)
    rules = load_rules()
    assert pages.keys() == {f"specification/{name}.md" for name in ("README", *CHAPTERS, *rules)}
    outside = {f"../{path.relative_to(ROOT / 'docs')}" for path in (ROOT / "docs").rglob("*.md")}
    targets = outside | {name.removeprefix("specification/") for name in pages}
    broken = [(name, link) for name, text in pages.items() for link in LINK.findall(text) if link not in targets]
    assert broken == []
    assert set(LINK.findall(pages["specification/README.md"])) >= {f"{number}.md" for number in rules}
    for number in rules:
        text = pages[f"specification/{number}.md"]
        assert text.startswith(f"# {number} ")
        assert "\n## Tests\n\n- `tests/" in text
        assert ("\n## A minimal case\n" in text) == (number in REACHABLE)


@pytest.mark.parametrize("number", REACHABLE)
def test_a_minimal_case_reaches_its_rule(number: str) -> None:
    """It does by the reference's evidence, and it is small enough to be read."""
    case = minimal_case(number)
    assert case is not None, f"{number} has no minimal case: run python -m tools.rule_cases"
    assert number in facts_of(case, REFERENCE.evaluate(case)).rules
    assert sum(num_rows(case)) <= 8
    assert case.id == number


def test_only_reachable_rules_have_cases_and_counts() -> None:
    cases = {number for number in load_rules() if minimal_case(number) is not None}
    assert cases == set(REACHABLE) == set(load_reach().rules)


def test_titles_are_short_and_end_no_sentence() -> None:
    """They stand inside messages, after the number."""
    titles = [rule.title for rule in load_rules().values()]
    assert [title for title in titles if len(title) > 60 or title.endswith(".")] == []
    assert len(titles) == len(set(titles))
