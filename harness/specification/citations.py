"""Rules cited by number, and their titles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mergecheck.harness.specification.rules import load_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

_CITATION = re.compile(r"\b(?:R-(?:\d{3}|A\d{2})|P-\d{1,2})\b")
_IN_BRACKETS = re.compile(rf"\(({_CITATION.pattern})\)")
_ADDED = re.compile(rf" ?\((?:{_CITATION.pattern})[^()]*\)")
_RANGE = re.compile(r"\b(?P<first>[RP]-A?\d+)(?: to |\.\.)(?P<last>[RP]-A?\d+)\b")


def cited(text: str) -> tuple[str, ...]:
    """Return the numbers of the rules that a text cites, each once, in the text's order."""
    return tuple(dict.fromkeys(_CITATION.findall(text)))


def cited_with_ranges(text: str, numbers: Iterable[str]) -> frozenset[str]:
    """Return what a text cites, and what is between the two ends of ``R-740 to R-742``.

    Args:
        text: any text.
        numbers: the known numbers in reading order.
    """
    known = list(numbers)
    found = set(cited(text))
    for match in _RANGE.finditer(text):
        if match["first"] in known and match["last"] in known:
            found.update(known[known.index(match["first"]) : known.index(match["last"]) + 1])
    return frozenset(found)


def with_titles(text: str) -> str:
    """Add the title to every rule that a message cites in brackets: ``(R-732)`` becomes ``(R-732 when ...)``."""
    if not _IN_BRACKETS.search(text):
        return text
    rules = load_rules()
    return _IN_BRACKETS.sub(lambda m: f"({m[1]} {rules[m[1]].title})" if m[1] in rules else m[0], text)


def without_citations(text: str) -> str:
    """Leave out the rules that a message cites in brackets, with their titles, for a reader who looks for rows."""
    return _ADDED.sub("", text)


def titled(numbers: Iterable[str]) -> str:
    """Name rules by number and title: ``R-541 metrics of the file layout; R-550 same merge, other metrics``."""
    rules = load_rules()
    return "; ".join(f"{number} {rules[number].title}" for number in numbers)
