"""The texts of the rules, read from the Markdown files of the parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from mergecheck.harness.verdict import HarnessBugError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

ROOM = resources.files("mergecheck.harness.specification")

PARTS = (
    "part0-model",
    "part1-statement",
    "part2-assignment",
    "part3-rows",
    "part4-execution",
    "part5-metrics",
    "part6-change-feed",
    "part7-commit",
    "part8-corner-cases",
    "properties",
    "appendix-internals",
)
"""The files that hold rules, in reading order."""

CHAPTERS = ("algorithm", "spark-and-duckdb", "methods")
"""The files that are pages of their own and hold no rules."""

_HEADING = re.compile(r"## (?P<number>\S+) (?P<title>.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """One rule.

    Attributes:
        number: ``R-320``, ``R-A01`` or ``P-12``.
        title: the rule in a few words that can end a sentence.
        body: Markdown; it cites other rules by number.
        part: the title of the part.
    """

    number: str
    title: str
    body: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the specification: its title, what stands before its first rule, its rules."""

    name: str
    title: str
    introduction: str
    rules: tuple[RuleText, ...]


def load_parts() -> tuple[Part, ...]:
    """Read all parts in reading order."""
    return tuple(_parse(name, read_text(name)) for name in PARTS)


def load_rules() -> Mapping[str, RuleText]:
    """Read all rules by number, in reading order."""
    return {rule.number: rule for part in load_parts() for rule in part.rules}


def read_text(name: str) -> str:
    """Read one Markdown file of the specification."""
    return (ROOM / "text" / f"{name}.md").read_text(encoding="utf-8")


def data_file(name: str) -> Traversable:
    """Return a file of data beside the texts, such as ``cases/R-320.json``."""
    return ROOM.joinpath(*name.split("/"))


def _parse(name: str, text: str) -> Part:
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    first_line, _, introduction = head.partition("\n")
    title = first_line.removeprefix("# ")
    rules = []
    for section in sections:
        heading, _, body = section.partition("\n")
        found = _HEADING.fullmatch(heading)
        if found is None:
            raise HarnessBugError(f"{name}.md: a heading must be '## NUMBER title', but there is {heading!r}")
        rules.append(RuleText(number=found["number"], title=found["title"], body=body.strip(), part=title))
    return Part(name=name, title=title, introduction=introduction.strip(), rules=tuple(rules))
