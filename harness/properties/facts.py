"""The facts of a case, read off the reference's trace: clauses that apply, sorts of matches, NULLs, rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.matches import sorts_of_matches
from mergecheck.harness.properties.rules import reached_rules
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import MergePath, Prediction, Rejection
from mergecheck.reference.dialects import MULTI_MATCH
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from mergecheck.model.case import Case, Target
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.trace import Effects, Matches, Trace


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
        num_partitions_written=_num_partitions_written(case.target, answer, trace, trace.effects),
        changes_later_row_groups=_changes_later_row_groups(case.target, trace.files, trace.effects),
    )


def _num_partitions_written(target: Target, answer: Prediction, trace: Trace, effects: Effects) -> int:
    """Count the partitions of the rows that are updated, inserted, or copied with their files."""
    if not target.partition_by:
        return 1
    rows = [*effects.updated.values(), *effects.inserted.values()]
    if answer.path is MergePath.D and trace.touched is not None:
        rows += [row for rid, row in effects.unchanged.items() if trace.files[rid] in trace.touched]
    names = [column.name for column in answer.schema.columns]
    places = [names.index(name) for name in target.partition_by if name in names]
    return len({tuple(repr(row[place]) for place in places) for row in rows})


def _changes_later_row_groups(target: Target, files: tuple[int, ...], effects: Effects) -> bool:
    """Return whether a row group that is not the first of its file has a changed row and a kept one."""
    size = target.layout.row_group_rows
    if size is None:
        return False
    changed = effects.updated.keys() | effects.deleted
    rids_of: dict[int, list[int]] = {}
    for rid, file in enumerate(files):
        rids_of.setdefault(file, []).append(rid)
    groups = (rids[at : at + size] for rids in rids_of.values() for at in range(size, len(rids), size))
    return any(0 < sum(rid in changed for rid in group) < len(group) for group in groups)


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
