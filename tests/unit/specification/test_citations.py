"""Rules cited by number get their titles where a person reads them."""

from __future__ import annotations

import pytest

from mergecheck.harness.specification import rules
from mergecheck.harness.specification.citations import cited, cited_with_ranges, titled, with_titles
from mergecheck.harness.verdict import HarnessBugError

KNOWN = ("R-740", "R-741", "R-742", "R-A11", "R-A12", "P-5", "P-6")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("by R-741 and R-740, as R-741 says", ("R-741", "R-740")),
        ("R-A11, P-5 and the relation P-6-false", ("R-A11", "P-5", "P-6")),
        ("PR-740, issue 741, UTF-8, R-7411", ()),
    ],
)
def test_numbers_are_found(text: str, numbers: tuple[str, ...]) -> None:
    assert cited(text) == numbers


def test_a_range_means_the_rules_between_its_ends() -> None:
    """Both spellings; an end that is no rule makes no range."""
    assert cited_with_ranges("R-740 to R-742", KNOWN) == {"R-740", "R-741", "R-742"}
    assert cited_with_ranges("P-5..P-6, R-A11 to R-A12", KNOWN) == {"P-5", "P-6", "R-A11", "R-A12"}
    assert cited_with_ranges("R-700 to R-742", KNOWN) == {"R-700", "R-742"}


def test_a_citation_in_brackets_gets_its_title() -> None:
    """Once only, and not inside a sentence, which would become unreadable."""
    text = with_titles("no table version is created (R-732), by R-731; unknown (R-999)")
    assert text == "no table version is created (R-732 when there is a commit), by R-731; unknown (R-999)"
    assert with_titles(text) == text
    assert titled(["R-320", "P-5"]) == (
        "R-320 several source rows match one target row; P-5 rows before, inserted and deleted add up"
    )


def test_a_heading_without_number_and_title_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "read_text", lambda _: "# Part\n\n## R-320\n\ntext\n")
    with pytest.raises(HarnessBugError, match="'## NUMBER title'"):
        rules.load_parts()
