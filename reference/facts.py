"""What an evaluation says of the case beside the answer: which sorts of matches there are, and where NULL decided."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reference.evaluation import FIRED_IN
from reference.statement import Kind

if TYPE_CHECKING:
    from reference.evaluation import Evaluation


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
    merge = evaluation.merge
    asked = {"ON": [f"source, target WHERE ({merge.on.sql}) IS NULL"], "condition": []}
    for kind in Kind:
        conditions = [clause.condition.sql for clause in merge.of(kind) if clause.condition is not None]
        if conditions and evaluation.tried(kind):
            null = " OR ".join(f"({condition}) IS NULL" for condition in conditions)
            asked["condition"].append(f"{FIRED_IN[kind]} WHERE {null}")
    return frozenset(name for name, queries in asked.items() if any(evaluation.has_rows(query) for query in queries))
