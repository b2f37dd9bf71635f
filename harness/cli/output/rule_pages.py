"""``mergecheck lab rules R-320``: the pages of rules in the terminal."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markdown import Markdown, TableDataElement
from rich.text import Text

from mergecheck.harness.cli.output.terminal import emit_json, stdout
from mergecheck.harness.lab.rule_pages.markdown import page_markdown
from mergecheck.harness.lab.rule_pages.page import load_pages
from mergecheck.harness.report.json import answer_json
from mergecheck.harness.specification.rules import load_rules
from mergecheck.harness.verdict import ExitCode, UserInputError
from mergecheck.model.case_file import case_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import JustifyMethod

    from mergecheck.harness.lab.rule_pages.page import RulePage

_NUMBER = re.compile(r"[RP]-A?\d+", re.IGNORECASE)


class _WholeCell(TableDataElement):
    """A cell that breaks long words instead of cutting them: names of settings and metrics must be readable."""

    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content.overflow = "fold"


class _Page(Markdown):
    elements = Markdown.elements | {"td_open": _WholeCell, "th_open": _WholeCell}


def is_rule_number(argument: str) -> bool:
    """Return whether an argument is meant as the number of a rule and not as a file."""
    return _NUMBER.fullmatch(argument) is not None and not Path(argument).exists()


def print_pages(numbers: Sequence[str], *, as_json: bool) -> ExitCode:
    """Print the pages of rules.

    Raises:
        UserInputError: there is no such rule.
    """
    for number in numbers:
        _require(number)
    pages = load_pages(numbers)
    if as_json:
        emit_json({"rules": [_document(page) for page in pages], "exit_code": int(ExitCode.AGREE)})
        return ExitCode.AGREE
    console = stdout()
    for page in pages:
        text = page_markdown(page)
        if console.is_terminal:
            console.print(_Page(text), soft_wrap=False)
        else:
            console.print(Text(text))
    return ExitCode.AGREE


def _require(number: str) -> None:
    rules = load_rules()
    if number in rules:
        return
    close = difflib.get_close_matches(number, rules, n=3)
    named = ", ".join(f"{other} ({rules[other].title})" for other in close)
    hint = f"Did you mean {named}?" if close else "List them all: mergecheck lab rules --max-cases 1"
    raise UserInputError(f"there is no rule {number}. {hint}")


def _document(page: RulePage) -> dict[str, Any]:
    return {
        "number": page.rule.number,
        "title": page.rule.title,
        "part": page.rule.part,
        "text": page.rule.body,
        "case": None if page.case is None else case_to_json(page.case),
        "reference": None if page.reference is None else answer_json(page.reference.answer),
        "num_cases": page.num_cases,
        "num_random_cases": page.reach.num_cases,
        "seed": page.reach.seed,
        "out_of_reach": page.out_of_reach,
    }
