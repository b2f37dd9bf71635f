"""What an evaluation says of the case beside the answer: which sorts of matches there are, and where NULL decided."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from mergecheck.reference.evaluation.evaluation import Evaluation


def sorts_of_matches(evaluation: Evaluation) -> frozenset[str]:
    """Name the sorts of matches there are, see ``Facts.matches``."""
    pairs = evaluation.pairs()
    targets_of, sources_of = Counter(sid for sid, _ in pairs), Counter(rid for _, rid in pairs)
    found = {
        "1:1": any(targets_of[sid] == sources_of[rid] == 1 for sid, rid in pairs),
        "1:n": any(number > 1 for number in targets_of.values()),
        "n:1": any(number > 1 for number in sources_of.values()),
        "source alone": len(targets_of) < evaluation.num_rows("source"),
        "target alone": len(sources_of) < evaluation.num_rows("target"),
    }
    return frozenset(name for name, holds in found.items() if holds)


def deciding_nulls(evaluation: Evaluation) -> frozenset[str]:
    """Name where NULL decided, see ``Facts.nulls``; only once no condition can fail (R-312)."""
    found = {
        "ON": evaluation.has_rows(f"source, target WHERE ({evaluation.merge.on.sql}) IS NULL"),
        "condition": any(evaluation.has_undecided(kind) for kind in Kind),
    }
    return frozenset(name for name, holds in found.items() if holds)
