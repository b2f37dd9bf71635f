"""The sorts of matches that a merge has."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.reference.trace import Trace


def sorts_of_matches(trace: Trace) -> frozenset[str]:
    """Name the sorts of matches there are, see ``Facts.matches``; none if the rows were not matched."""
    if trace.matches is None or trace.source is None:
        return frozenset()
    pairs = trace.matches.pairs
    num_targets, num_sources = Counter(sid for sid, _ in pairs), Counter(rid for _, rid in pairs)
    found = {
        "1:1": any(num_targets[sid] == num_sources[rid] == 1 for sid, rid in pairs),
        "1:n": any(number > 1 for number in num_targets.values()),
        "n:1": any(number > 1 for number in num_sources.values()),
        "source alone": len(num_targets) < len(trace.source.rows),
        "target alone": len(num_sources) < len(trace.files),
    }
    return frozenset(name for name, holds in found.items() if holds)
