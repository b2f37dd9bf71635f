"""How a case exercised the merge: which clauses applied, which sorts of matches there are, where NULL decided."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.reference.evaluation.evaluation import MULTI_MATCH
from mergecheck.reference.outcome import Facts, Prediction, Rejection
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from mergecheck.reference.analysis.resolution import Resolved
    from mergecheck.reference.outcome import Reference
    from mergecheck.reference.trace import Effects, Matches, Trace

_CHANGED = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


def facts_of(reference: Reference) -> Facts:
    """Compute the facts of a case; of one that is rejected, unless for ambiguous matches (R-320), there are none."""
    answer, trace = reference.answer, reference.trace
    if trace.merge is None or trace.matches is None:
        return Facts()
    present = frozenset((clause.kind.value, clause.action.value) for clause in trace.merge.clauses)
    multi_matched = bool(trace.matches.multi_matched)
    if isinstance(answer, Rejection) and answer.error_class == MULTI_MATCH:
        return Facts(
            clauses_present=present,
            multi_matched=multi_matched,
            matches=sorts_of_matches(trace),
            equality_on=trace.merge.on_is_equality,
        )
    if not isinstance(answer, Prediction) or trace.effects is None:
        return Facts()
    return Facts(
        path=answer.path,
        clauses_present=present,
        clauses_fired=_applied(trace.merge, trace.effects),
        num_changed_rows=sum(answer.metrics[name].low for name in _CHANGED),
        multi_matched=multi_matched,
        matches=sorts_of_matches(trace),
        nulls=_nulls(trace.matches, trace.effects),
        equality_on=trace.merge.on_is_equality,
    )


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


def _applied(merge: Resolved, effects: Effects) -> frozenset[tuple[str, str]]:
    return frozenset(
        (kind.value, merge.of(kind)[candidate.applied].action.value)
        for kind in Kind
        for candidate in effects.candidates[kind]
        if candidate.applied is not None
    )


def _nulls(matches: Matches, effects: Effects) -> frozenset[str]:
    found = {
        "ON": matches.null_on,
        "condition": any(c.null_condition for candidates in effects.candidates.values() for c in candidates),
    }
    return frozenset(name for name, holds in found.items() if holds)
