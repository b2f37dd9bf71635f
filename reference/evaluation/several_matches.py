"""Target rows on which several source rows act, by the rule of a dialect."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.dialects import Dialect
    from mergecheck.reference.trace import Effects

ANY_MAY_WIN = "several source rows act on a target row, in no defined order"


def acted_on_twice(dialect: Dialect, merge: Resolved, effects: Effects) -> frozenset[int]:
    """Return the rids of the target rows on which more source rows act than a dialect allows."""
    clauses = merge.of(Kind.MATCHED)
    acts, allowed = Counter[int](), Counter[int]()
    for candidate in effects.candidates[Kind.MATCHED]:
        if candidate.applied is None or candidate.rid is None:
            continue
        clause = clauses[candidate.applied]
        acts[candidate.rid] += 1
        if dialect.deletes_repeat and clause.action is Action.DELETE and clause.condition is None:
            allowed[candidate.rid] += 1
    return frozenset(rid for rid, number in acts.items() if number > 1 and number != allowed[rid])
