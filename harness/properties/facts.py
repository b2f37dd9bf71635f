"""The facts of a case, read off the reference's trace: clauses that apply, sorts of matches, NULLs, rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.matches import sorts_of_matches
from mergecheck.harness.properties.rules import reached_rules
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference.dialects import MULTI_MATCH
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.trace import Effects, Matches


def facts_of(case: Case, reference: Reference) -> Facts:
    """Compute the facts of a case that the reference has evaluated."""
    facts = _facts(case, reference)
    return replace(facts, rules=reached_rules(case, reference, facts))


def _facts(case: Case, reference: Reference) -> Facts:
    """Compute all facts but the rules; a rejected case has none, unless its matches are ambiguous (R-320)."""
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
        clauses_applied=_applied(trace.merge, trace.effects),
        num_changed_rows=answer.num_changed_rows,
        multi_matched=multi_matched,
        matches=sorts_of_matches(trace),
        nulls=_nulls(trace.matches, trace.effects),
        equality_on=trace.merge.on_is_equality,
        evolves_types=any(
            before.type != after.type
            for before, after in zip(case.target.schema.columns, answer.schema.columns, strict=False)
        ),
    )


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
