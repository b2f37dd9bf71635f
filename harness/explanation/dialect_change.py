"""A statement under two dialects: the end of the merge under each, and the rows that have another end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.explanation.condition import Conditions
from mergecheck.harness.explanation.explanation_text import listed
from mergecheck.model.formatting import counted, shown_row
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference.dialects import MULTI_MATCH, Counted
from mergecheck.reference.evaluation.several_matches import ANY_MAY_WIN
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Case, Row
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.trace import Trace

_CHANGES = {
    "numTargetRowsInserted": "inserted",
    "numTargetRowsUpdated": "updated",
    "numTargetRowsDeleted": "deleted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectEnd:
    """The end of a case under one dialect.

    Attributes:
        text: of the whole merge.
        fails: whether it fails for several matches.
        rows: the end of each target row that several source rows match, by rid; empty if ON is not evaluated.
    """

    dialect: str
    text: str
    fails: bool
    rows: dict[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRow:
    """A target row that has another end under the second dialect; ``number`` counts from 1."""

    number: int
    row: Row
    before: str
    after: str


def dialect_end(reference: Reference) -> DialectEnd:
    """Tell the end of a case that was evaluated under a dialect."""
    trace, answer = reference.trace, reference.answer
    fails = isinstance(answer, Rejection) and answer.error_class == MULTI_MATCH
    several = frozenset() if trace.matches is None else trace.matches.multi_matched
    rows = {rid: _row_end(reference, rid, fails=fails) for rid in sorted(several)}
    return DialectEnd(dialect=trace.dialect.name, text=_merge_end(reference), fails=fails, rows=rows)


def _changed_rows(rows: Sequence[Row], before: DialectEnd, after: DialectEnd) -> list[ChangedRow]:
    """List the target rows that several source rows match and that have another end under the second dialect."""
    return [
        ChangedRow(number=rid + 1, row=rows[rid], before=before.rows[rid], after=after.rows[rid])
        for rid in before.rows.keys() & after.rows.keys()
        if before.rows[rid] != after.rows[rid]
    ]


def dialect_lines(case: Case, references: Sequence[Reference]) -> Iterator[str]:
    """Write the end under each dialect, and of two dialects the rows that have another end."""
    ends = [dialect_end(reference) for reference in references]
    width = max(len(end.dialect) for end in ends)
    for end in ends:
        yield f"{end.dialect:<{width}}  {end.text}"
    if len(references) == 1:
        return
    changes = _changed_rows(Conditions(case, references[0].trace).target_rows, *ends)
    if not changes and ends[0].text == ends[1].text:
        yield f"nothing changes from {ends[0].dialect} to {ends[1].dialect}"
    for change in changes:
        yield f"target {change.number} {shown_row(change.row, case.target.schema)}"
        yield f"  {ends[0].dialect:<{width}}  {change.before}"
        yield f"  {ends[1].dialect:<{width}}  {change.after}"


def _merge_end(reference: Reference) -> str:
    answer = reference.answer
    if isinstance(answer, Rejection):
        if answer.error_class != MULTI_MATCH:
            return f"fails: {answer.error_class}"
        may = ", or succeeds: the conditions may leave its file out (R-322)" if reference.alternative else ""
        return f"fails: several source rows for one target row{may}"
    if isinstance(answer, Prediction):
        counts = {word: answer.metrics[name].low for name, word in _CHANGES.items() if name in answer.metrics}
        changed = ", ".join(f"{counted(number, 'row')} {word}" for word, number in counts.items() if number)
        return f"succeeds: {changed or 'no row is changed'}"
    return f"succeeds: {ANY_MAY_WIN}" if answer.reason == ANY_MAY_WIN else f"not evaluated: {answer.reason}"


def _row_end(reference: Reference, rid: int, *, fails: bool) -> str:
    trace = reference.trace
    matching = sorted(sid for sid, found in trace.matches.pairs if found == rid) if trace.matches is not None else []
    acting = _acting(trace, rid)
    if fails and trace.dialect.counts is Counted.MATCHES:
        return f"fails: source {_numbers(matching)} match it"
    if fails and len(acting) > 1:
        return f"fails: clauses apply with source {_numbers([sid for sid, _ in acting])}"
    if fails:
        return "is not reached: the merge fails for another row"
    if not acting:
        return "stays as it is: no clause applies to a match"
    actions = {action for _, action in acting}
    sources = f"by source {_numbers([sid for sid, _ in acting])}"
    if actions == {Action.DELETE}:
        return f"is deleted {sources}"
    if len(acting) > 1:
        end = "is updated, or deleted," if Action.DELETE in actions else "is updated"
        return f"{end} {sources}: any of them may win"
    new = None if trace.effects is None else trace.effects.updated.get(rid)
    row = "" if new is None or trace.merge is None else f" to {shown_row(new, trace.merge.final_schema)}"
    return f"is updated{row} {sources}"


def _acting(trace: Trace, rid: int) -> list[tuple[int, Action]]:
    """Give the source rows with which a clause applies to a target row, and its action."""
    if trace.effects is None or trace.merge is None:
        return []
    clauses = trace.merge.of(Kind.MATCHED)
    return sorted(
        (
            (candidate.sid, clauses[candidate.applied].action)
            for candidate in trace.effects.candidates[Kind.MATCHED]
            if candidate.rid == rid and candidate.applied is not None and candidate.sid is not None
        ),
        key=lambda act: act[0],
    )


def _numbers(sids: Sequence[int]) -> str:
    return listed([sid + 1 for sid in sids])
