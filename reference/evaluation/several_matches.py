"""Target rows that several source rows match: R-320, and the rules of engines other than Delta."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.trace import Effects

MULTI_MATCH = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"


class SeveralMatches(Enum):
    """The rule for a target row that several source rows match, beside the matches that every engine allows."""

    REFUSED = "refused"
    """R-320"""
    ONE_MAY_ACT = "one may act"
    """not Delta's: it is an error only if clauses apply to two of the matches"""
    ONE_MAY_UPDATE = "one may update"
    """not Delta's: the same, and the row may be deleted several times"""
    REFUSED_BY_MATCHED = "refused if there is a MATCHED clause"
    """not Delta's: a statement without MATCHED clauses does nothing to a row that matches, however often"""


def is_acted_on_twice(merge: Resolved, effects: Effects, several_matches: SeveralMatches) -> bool:
    """Return whether more matches of a target row act on it than ``several_matches`` allows."""
    clauses = merge.of(Kind.MATCHED)
    acting = [c for c in effects.candidates[Kind.MATCHED] if c.applied is not None]
    num_actions = Counter(c.rid for c in acting)
    if several_matches is SeveralMatches.ONE_MAY_UPDATE:
        num_deletes = Counter(c.rid for c in acting if clauses[c.applied].action is Action.DELETE)  # type: ignore[index] # applied is not None
        return any(number > 1 and number != num_deletes[rid] for rid, number in num_actions.items())
    return any(number > 1 for number in num_actions.values())
