"""Fingerprints of executed plans: the proof that the operator under test has run."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# A line of the tree: what hangs it up, a star if the operator is part of generated code, the operator, its number.
_NODE = re.compile(r"^[\s:+|\-]*(?P<star>\*\s*)?(?P<text>[A-Z]\w.*?)\s+\((?P<number>\d+)\)(?:, Statistics.*)?\s*$")
_JOIN = re.compile(r"^(?P<operator>\w*(?:Join|CartesianProduct))\s+(?P<type>\w+)")
_INITIAL, _FINAL, _DETAILS = "== Initial Plan ==", "isFinalPlan=true", "\n\n\n"
GENERATED = "WholeStageCodegen"


@dataclass(frozen=True, slots=True)
class PlanFingerprint:
    """The operators executed for a merge.

    Attributes:
        operators: how often each operator occurs in the plans, joins with their type (``SortMergeJoin Inner``);
            ``WholeStageCodegen`` counts the operators in generated code, ``BatchedScan`` and ``RowScan`` the scans of
            files by how they read.
    """

    operators: frozenset[tuple[str, int]] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The operators without the types of joins."""
        return frozenset(name.split()[0] for name, _ in self.operators)

    def shows(self, wanted: Iterable[str]) -> bool:
        """Return whether any of some operators was executed; ``*`` in a name as in file names."""
        return any(fnmatchcase(name, pattern) for pattern in wanted for name in self.names)

    def joins(self) -> tuple[str, ...]:
        """Name the joins with their types."""
        return tuple(sorted(name for name, _ in self.operators if " " in name))

    def __str__(self) -> str:
        return ", ".join(f"{name} x{count}" if count > 1 else name for name, count in sorted(self.operators))


def fingerprint_of(plans: Iterable[str]) -> PlanFingerprint:
    """Read plans in Spark's formatted mode; of an adaptive plan, only the final one that was executed."""
    found: Counter[str] = Counter()
    for plan in plans:
        found.update(_operators(plan))
    return PlanFingerprint(frozenset(found.items()))


def _operators(plan: str) -> Iterable[str]:
    tree, _, details = plan.partition(_DETAILS)
    if _FINAL in plan:
        tree = tree.partition(_INITIAL)[0]
    numbers = set()
    for line in tree.splitlines():
        node = _NODE.match(line)
        if node is None:
            continue
        numbers.add(node["number"])
        if node["star"]:
            yield GENERATED
        join = _JOIN.match(node["text"])
        yield f"{join['operator']} {join['type']}" if join else _plain(node["text"])
    for block in details.split("\n\n"):
        number = block.strip().partition(")")[0].lstrip("(")
        if number in numbers and "Batched: " in block:
            yield "BatchedScan" if "Batched: true" in block else "RowScan"


def _plain(text: str) -> str:
    """Return the name of an operator: its first word; of a scan, the second word, which names the format."""
    words = text.split()
    return words[1] if words[0] == "Scan" and len(words) > 1 else words[0]
