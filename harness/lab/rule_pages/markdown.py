"""The page of a rule as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.lab.rule_pages.example import example_lines

if TYPE_CHECKING:
    from mergecheck.harness.lab.rule_pages.page import RulePage


def page_markdown(page: RulePage) -> str:
    """Write the page of a rule: its text, its minimal case, and the random cases that reach it."""
    rule = page.rule
    lines = [f"# {rule.number} {capitalized(rule.title)}", "", f"{rule.part}.", "", rule.body]
    if page.case is not None and page.reference is not None:
        lines += ["", "## A minimal case", "", *example_lines(page.case, page.reference)]
        lines += ["", f"Run it: `mergecheck run harness/specification/cases/{rule.number}.json`"]
    lines += ["", "## Random cases", "", _reach(page)] if page.num_cases is not None or page.out_of_reach else []
    return "\n".join(lines) + "\n"


def capitalized(title: str) -> str:
    """Begin a title with a capital, unless it begins with a name such as ``numSourceRows``."""
    first = title.split(maxsplit=1)[0]
    return title[0].upper() + title[1:] if first.islower() else title


def _reach(page: RulePage) -> str:
    if page.out_of_reach is not None:
        return f"No case can reach this rule: {page.out_of_reach}."
    reach = page.reach
    command = f"mergecheck lab rules --seed {reach.seed} --max-cases {reach.num_cases}"
    return f"{page.num_cases} of {reach.num_cases} random cases reach this rule (`{command}`)."
