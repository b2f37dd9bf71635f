"""What became of every row of a case: its matches, the conditions tried on it, the clause that applied, the new row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.rows import unmatched_rows
from mergecheck.harness.explanation.condition import Conditions
from mergecheck.model.outcome import Prediction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.explanation.condition import EvaluatedClause
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import Outcome
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.syntax.statement import Kind
    from mergecheck.reference.trace import Candidate, Matches, Trace


class RowOutcome(Enum):
    """What became of a row."""

    UPDATED = "updated"
    DELETED = "deleted"
    INSERTED = "inserted"
    COPIED = "copied"
    """written again as it was, because its file is rewritten"""
    LEFT = "left"
    """its file is not touched"""
    NOT_INSERTED = "not inserted"
    UNKNOWN = "unknown"
    """the merge is refused before rows are written"""


_NEW = frozenset({RowOutcome.UPDATED, RowOutcome.INSERTED})
_CHANGED = frozenset({RowOutcome.UPDATED, RowOutcome.INSERTED, RowOutcome.DELETED})
_GONE = frozenset({RowOutcome.DELETED, RowOutcome.NOT_INSERTED, RowOutcome.UNKNOWN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One pair of rows, or a row alone, on which clauses are tried.

    Attributes:
        partner: the number of the source row, from 1, if the unit is a pair.
        tried: the clauses of its kind, in order, each with the value of its condition.
        applied: the number of the clause that applied, counted over the whole statement from 1; None if none did.
    """

    partner: int | None
    tried: tuple[EvaluatedClause, ...]
    applied: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStory:
    """One row of the target, or a row of the source that matches none.

    Attributes:
        table: ``target`` or ``source``.
        number: the row's place in its table, from 1; rows of the target are counted in file order.
        row: its values.
        partners: the numbers of the rows of the other table that match it.
        null_partners: the numbers of the rows for which ON is NULL; None if it was not evaluated for them.
        units: the rows or pairs that clauses were tried on; none if the merge was refused before.
        after: the row that it became; None if there is none.
    """

    table: str
    number: int
    row: Row
    partners: tuple[int, ...]
    null_partners: tuple[int, ...] | None
    units: tuple[Unit, ...]
    outcome: RowOutcome
    after: Row | None = None


def row_stories(case: Case, reference: Reference) -> Iterator[RowStory]:
    """Trace all target rows, and the source rows without a match; none if ON was not evaluated."""
    trace = reference.trace
    if trace.matches is None or trace.source is None:
        return
    told = _Told(case, trace, trace.matches, is_written=isinstance(reference.answer, Prediction))
    for rid in range(len(told.target_rows)):
        yield told.target_story(rid)
    matched = {sid for sid, _ in trace.matches.pairs}
    for sid, row in enumerate(trace.source.rows):
        if sid not in matched:
            yield told.source_story(sid, row)


def num_stories(reference: Reference) -> int:
    """Count them without telling them."""
    trace = reference.trace
    if trace.matches is None or trace.source is None:
        return 0
    return len(trace.files) + len(trace.source.rows) - len({sid for sid, _ in trace.matches.pairs})


def concerned_by(case: Case, reference: Reference, result: Outcome) -> frozenset[tuple[str, int]] | None:
    """Return the rows, by table and number, that an engine's other answer is about; None if that cannot be known.

    A row is concerned if the answer lacks the row that it became, or still has a row that it was before. The engine may
    have made a wanted row of another one, so equal rows are concerned together. If all rows are right, the changed ones
    are concerned: counts and change feed are about them.
    """
    answer, effects = reference.answer, reference.trace.effects
    if not isinstance(answer, Prediction) or effects is None or answer.schema != result.schema:
        return None
    missing, extra = unmatched_rows(answer.rows, result.rows, wanted_schema=answer.schema, found_schema=result.schema)
    if not missing and not extra:
        changed = {(one.table, one.number) for one in row_stories(case, reference) if one.outcome in _CHANGED}
        return frozenset(changed) or None
    lacking = {one.identity for one in missing}
    left_over = {one.identity for one in extra}
    found = set()
    for story in row_stories(case, reference):
        before = effects.old[story.number - 1] if story.table == "target" else None
        after = story.after if story.outcome in _NEW else before
        is_lacking = after is not None and story.outcome not in _GONE and row_identity(after, answer.schema) in lacking
        is_left = before is not None and row_identity(before, answer.schema) in left_over
        if is_lacking or is_left or (story.outcome is RowOutcome.NOT_INSERTED and left_over):
            found.add((story.table, story.number))
    return frozenset(found) or None


class _Told:
    """The trace of one evaluation, by rows."""

    def __init__(self, case: Case, trace: Trace, matches: Matches, *, is_written: bool) -> None:
        self._trace = trace
        self._is_written = is_written
        self._conditions = Conditions(case, trace)
        self._asked = matches.on_values is not None
        self.target_rows = self._conditions.target_rows
        self._partners: dict[int, list[int]] = {}
        for sid, rid in matches.pairs:
            self._partners.setdefault(rid, []).append(sid + 1)
        self._nulls: dict[tuple[str, int], list[int]] = {}
        for (sid, rid), value in (matches.on_values or {}).items():
            if value is None:
                self._nulls.setdefault(("target", rid), []).append(sid + 1)
                self._nulls.setdefault(("source", sid), []).append(rid + 1)
        self._candidates: dict[tuple[str, int], list[tuple[Kind, Candidate]]] = {}
        for kind, candidates in ({} if trace.effects is None else trace.effects.candidates).items():
            for candidate in candidates:
                table, number = ("source", candidate.sid) if candidate.rid is None else ("target", candidate.rid)
                assert number is not None  # noqa: S101 - a candidate has a row
                self._candidates.setdefault((table, number), []).append((kind, candidate))

    def target_story(self, rid: int) -> RowStory:
        outcome, after = self._outcome_of_target(rid)
        return self._story("target", rid, self.target_rows[rid], outcome, after)

    def source_story(self, sid: int, row: Row) -> RowStory:
        outcome, after, effects = RowOutcome.UNKNOWN, None, self._trace.effects
        if self._is_written and effects is not None:
            after = effects.inserted.get(sid)
            outcome = RowOutcome.NOT_INSERTED if after is None else RowOutcome.INSERTED
        return self._story("source", sid, row, outcome, after)

    def _story(self, table: str, number: int, row: Row, outcome: RowOutcome, after: Row | None) -> RowStory:
        nulls = self._nulls.get((table, number), [])
        units = self._candidates.get((table, number), [])
        return RowStory(
            table=table,
            number=number + 1,
            row=row,
            partners=tuple(sorted(self._partners.get(number, []))) if table == "target" else (),
            null_partners=tuple(sorted(nulls)) if self._asked else None,
            units=tuple(self._unit(kind, candidate) for kind, candidate in sorted(units, key=_place)),
            outcome=outcome,
            after=after,
        )

    def _unit(self, kind: Kind, candidate: Candidate) -> Unit:
        tried = self._conditions.tried(kind, candidate)
        is_pair = candidate.sid is not None and candidate.rid is not None
        return Unit(
            partner=candidate.sid + 1 if is_pair and candidate.sid is not None else None,
            tried=tried,
            applied=None if candidate.applied is None else tried[-1].clause,
        )

    def _outcome_of_target(self, rid: int) -> tuple[RowOutcome, Row | None]:
        trace, effects = self._trace, self._trace.effects
        if effects is None or not self._is_written:
            return RowOutcome.UNKNOWN, None
        if rid in effects.updated:
            return RowOutcome.UPDATED, effects.updated[rid]
        if rid in effects.deleted:
            return RowOutcome.DELETED, None
        is_rewritten = trace.touched is not None and trace.files[rid] in trace.touched
        return (RowOutcome.COPIED if is_rewritten else RowOutcome.LEFT), None


def _place(unit: tuple[Kind, Candidate]) -> int:
    return -1 if unit[1].sid is None else unit[1].sid
