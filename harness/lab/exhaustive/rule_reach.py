"""What each rule of the specification depends on: one row, a count of rows, or more than a small scope varies."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING

from mergecheck.harness.specification.rules import load_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILE = "rule_reach.toml"
MEANINGS: Mapping[str, str] = {
    "row": "one target row with its matches, or one source row without a match",
    "count": "a sum over rows, or whether a row has two matches or more",
    "global": "text, names, types, files, the commit, settings, or several merges",
}


def rules_by_reach() -> dict[str, tuple[str, ...]]:
    """Return the numbers of the rules by what they depend on, in the specification's order.

    Raises:
        ValueError: a range names an unknown rule, or is not in order.
    """
    text = (resources.files("mergecheck.harness.lab.exhaustive") / _FILE).read_text(encoding="utf-8")
    known = tuple(load_rules())
    return {
        reach: tuple(number for part in parts for number in _range(part, known))
        for reach, parts in tomllib.loads(text).items()
    }


def reach_table() -> str:
    """Write the rules by what they depend on as a table in Markdown."""
    lines = ["| Depends on | Rules | Their numbers |", "|---|---|---|"]
    text = (resources.files("mergecheck.harness.lab.exhaustive") / _FILE).read_text(encoding="utf-8")
    ranges = tomllib.loads(text)
    for reach, numbers in rules_by_reach().items():
        shown = ", ".join(_shown(part) for part in ranges[reach])
        lines.append(f"| {reach}: {MEANINGS[reach]} | {len(numbers)} | {shown} |")
    return "\n".join(lines)


def _range(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    first, last = _ends(text)
    return known[known.index(first) : known.index(last) + 1]


def _ends(text: str) -> tuple[str, str]:
    parts = text.split("-")
    first = "-".join(parts[:2])
    return first, "-".join(parts[2:]) or first


def _shown(text: str) -> str:
    first, last = _ends(text)
    return first if first == last else f"{first} to {last}"
