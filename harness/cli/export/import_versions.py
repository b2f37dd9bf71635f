"""A small, anonymous case out of two versions of a real Delta table and the source that was merged between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from mergecheck.harness.cli.export.anonymise import anonymiser, literal_texts
from mergecheck.harness.compare.answers.outcomes import compare_outcome
from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.rows import difference, rows_without
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case import Expectation
from mergecheck.model.case_id import with_content_id
from mergecheck.model.outcome import Outcome, Prediction, Rejection
from mergecheck.model.schema_json import check_constraints
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from mergecheck.harness.verdict import Mismatch
    from mergecheck.model.case import Case, Row
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.trace import Effects

MOST_ROWS = 200
"""Rows of each table that a case may keep if the reference needs them all."""
_OF_EACH_KIND, _OTHERS = 2, 2
_MOST_RUNS = 200
_SHORT = 3
_ROWS_ONLY = Capabilities(metrics=False, cdf=False)


@dataclass(frozen=True, slots=True)
class Imported:
    """A case out of a real table.

    Attributes:
        difference: how the table differs from the reference, on the rows of the case; empty if they agree.
        num_missing: rows of the reference that the table lacks; num_extra: rows that only the table has.
    """

    case: Case
    difference: tuple[Mismatch, ...]
    num_missing: int
    num_extra: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """A choice of rows, by their numbers in the target and in the source."""

    rids: frozenset[int]
    sids: frozenset[int]

    def of(self, case: Case) -> Case:
        numbers = iter(range(len(case.target.rows)))
        files = tuple(tuple(row for row in file if next(numbers) in self.rids) for file in case.target.files)
        source = case.source
        if source is not None:
            source = replace(source, rows=tuple(row for i, row in enumerate(source.rows) if i in self.sids))
        return replace(case, target=replace(case.target, files=tuple(filter(None, files))), source=source)


@dataclass(frozen=True, slots=True)
class _Difference:
    """How the table differs from the reference, and which of these differences a part of the tables must show.

    Attributes:
        missing: rows of the reference that the table lacks.
        extra: rows that only the table has.
        ways: how the missing rows arise: updated, inserted or unchanged.
        stayed: the extra rows that were in the table before.
    """

    schema: Schema
    missing: tuple[Row, ...]
    extra: tuple[Row, ...]
    ways: Counter[str]
    stayed: Counter[tuple[Hashable, ...]]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)

    def is_shown_by(self, reference: Reference) -> bool:
        """Return whether the reference wants the missing rows of a part of the tables too, and in the same ways."""
        answer, effects = reference.answer, reference.trace.effects
        if not isinstance(answer, Prediction) or effects is None or answer.schema != self.schema:
            return False
        if _counted(self.missing, self.schema) - _counted(answer.rows, self.schema):
            return False
        ways = Counter(kind for kind, _ in _places(effects, self.missing, self.schema))
        return ways == self.ways and not self.stayed - _counted(effects.old, self.schema)


def _difference(answer: Prediction, effects: Effects, after: Sequence[Row], schema: Schema) -> _Difference:
    found = difference(answer.rows, after, wanted_schema=answer.schema, found_schema=schema)
    missing = (*found.missing, *(wanted for wanted, _ in found.changed))
    extra = (*found.extra, *(got for _, got in found.changed))
    return _Difference(
        answer.schema,
        missing,
        extra,
        ways=Counter(kind for kind, _ in _places(effects, missing, answer.schema)),
        stayed=_counted(extra, answer.schema) & _counted(effects.old, answer.schema),
    )


def imported(case: Case, schema: Schema, after: Sequence[Row], *, keep: frozenset[str]) -> Imported:
    """Make a small, anonymous case of a merge that has happened.

    Args:
        case: the whole table before the merge, the whole source, and the statement.
        schema: the columns of the table after the merge.
        after: its rows after the merge.
        keep: columns whose values stay as they are.

    Raises:
        UserInputError: the reference cannot judge the merge, or no small or anonymous case behaves like it.
    """
    _require_kept(case.target.schema, keep)
    reference = MergeReference()
    answer, effects = _evaluated(reference, case)
    if [c.name.lower() for c in answer.schema.columns] != [c.name.lower() for c in schema.columns]:
        raise UserInputError(
            f"after the merge the table has the columns {', '.join(schema.names)}, and by the reference "
            f"{', '.join(answer.schema.names)}. Is it the right version, and the right statement?"
        )
    found = _difference(answer, effects, after, schema)
    small = _chosen(reference, case, effects, found).of(case)
    answer, effects = _evaluated(reference, small)
    anonymous, extra = _anonymous(reference, small, effects, found, keep)
    final, final_effects = _evaluated(reference, anonymous)
    places = _places(effects, found.missing, found.schema)
    lost = [_row_at(final_effects, place) for place in places]
    became = [*rows_without(final.rows, lost, final.schema), *extra]
    compared = compare_outcome(final, Outcome(schema=final.schema, rows=tuple(became)), capabilities=_ROWS_ONLY)
    expect = Expectation(rows=final.rows, schema=None if final.schema == anonymous.target.schema else final.schema)
    named = with_content_id(replace(anonymous, expect=expect))
    return Imported(named, compared.mismatches, len(found.missing), len(found.extra))


def _require_kept(schema: Schema, keep: frozenset[str]) -> None:
    """Refuse to replace values that the table's own numbers are about.

    Raises:
        UserInputError: an identity column has a start, a step and a mark, and a text a length; others would not fit.
    """
    bound = [c.name for c in schema.columns if c.identity is not None or c.limits]
    missing = [name for name in bound if name.lower() not in keep]
    if missing:
        raise UserInputError(
            f"the values of {', '.join(missing)} cannot be replaced, because an identity column has a high-water mark "
            f"and a CHAR or VARCHAR column a length. Keep them: {' '.join(f'--keep {name}' for name in missing)}"
        )


def _evaluated(reference: MergeReference, case: Case) -> tuple[Prediction, Effects]:
    answer: Reference = reference.evaluate(case)
    if isinstance(answer.answer, Rejection):
        raise UserInputError(
            f"by the reference this merge fails ({answer.answer.error_class}): {answer.answer.message}"
        )
    if not isinstance(answer.answer, Prediction) or answer.trace.effects is None:
        reason = getattr(answer.answer, "reason", "it has no rows to tell of")
        raise UserInputError(f"the reference cannot judge this merge: {reason}. Use run --target to check an engine.")
    return answer.answer, answer.trace.effects


def _chosen(reference: MergeReference, case: Case, effects: Effects, found: _Difference) -> _Rows:
    """Choose the fewest rows that show the difference or, without one, a few of every kind."""
    num_source_rows = 0 if case.source is None else len(case.source.rows)
    everything = _Rows(frozenset(range(len(case.target.rows))), frozenset(range(num_source_rows)))
    wanted = _essential(effects, found) if found else _sample(effects)
    if not wanted.rids and not wanted.sids:
        wanted = _sample(effects)
    for rows in (wanted, replace(wanted, sids=everything.sids), everything):
        is_small = rows is wanted or max(len(rows.rids), len(rows.sids)) <= MOST_ROWS
        if is_small and found.is_shown_by(reference.evaluate(rows.of(case))):
            return _fewest(reference, case, rows, found) if found else rows
    raise UserInputError(f"no {MOST_ROWS} rows of the tables show the same merge; its source query needs more of them")


def _essential(effects: Effects, found: _Difference) -> _Rows:
    """Choose the rows from which the missing and the extra rows come, and the rows that they match."""
    schema = found.schema
    wanted = {row_identity(row, schema) for row in chain(found.missing, found.extra)}
    rids = {i for i, row in effects.updated.items() if row_identity(row, schema) in wanted}
    rids |= {i for i, row in enumerate(effects.old) if row_identity(row, schema) in wanted}
    sids = {i for i, row in effects.inserted.items() if row_identity(row, schema) in wanted}
    return _with_matches(effects, rids, sids)


def _with_matches(effects: Effects, rids: set[int], sids: set[int]) -> _Rows:
    candidates = list(chain.from_iterable(effects.candidates.values()))
    matched = {c.sid for c in candidates if c.rid in rids and c.sid is not None}
    return _Rows(frozenset(rids), frozenset(sids | matched))


def _sample(effects: Effects) -> _Rows:
    """Choose a few rows for every clause that applies, and for every kind to whose rows none applies."""
    rids: set[int] = set()
    sids: set[int] = set()
    for kind, candidates in effects.candidates.items():
        seen: Counter[tuple[object, int | None]] = Counter()
        for candidate in candidates:
            seen[kind, candidate.applied] += 1
            if seen[kind, candidate.applied] <= _OF_EACH_KIND:
                rids |= {candidate.rid} - {None}  # type: ignore[arg-type]  # None is taken out
                sids |= {candidate.sid} - {None}  # type: ignore[arg-type]  # the same
    touched = effects.updated.keys() | effects.deleted
    others = [i for i in range(len(effects.old)) if i not in touched and i not in rids]
    return _with_matches(effects, rids | set(others[:_OTHERS]), sids)


def _fewest(reference: MergeReference, case: Case, rows: _Rows, found: _Difference) -> _Rows:
    """Leave out one row after the other, if the rest shows the difference."""
    candidates = [("rid", i) for i in sorted(rows.rids)] + [("sid", i) for i in sorted(rows.sids)]
    for kind, number in candidates[:_MOST_RUNS]:
        fewer = replace(rows, rids=rows.rids - {number}) if kind == "rid" else replace(rows, sids=rows.sids - {number})
        if found.is_shown_by(reference.evaluate(fewer.of(case))):
            rows = fewer
    return rows


def _anonymous(
    reference: MergeReference,
    case: Case,
    effects: Effects,
    found: _Difference,
    keep: frozenset[str],
) -> tuple[Case, tuple[Row, ...]]:
    """Replace values such that every clause applies to the same rows."""
    tables: list[tuple[Iterable[Row], Schema]] = [(case.target.rows, case.target.schema), (found.extra, found.schema)]
    if case.source is not None:
        tables.append((case.source.rows, case.source.schema))
    change = anonymiser(tables, _sql_of(case), keep)
    for numbers in (True, False):
        candidate = change.case(case, numbers=numbers)
        trace = reference.evaluate(candidate).trace
        if trace.effects is not None and trace.effects.candidates == effects.candidates:
            _require_anonymous(case, candidate, keep)
            return candidate, change.rows(found.extra, found.schema)
    raise UserInputError(
        "with other values the merge does not do the same, since an expression of the statement computes with them. "
        "Name the columns that it computes with by --keep COLUMN; their values stay in the case."
    )


def _require_anonymous(before: Case, after: Case, keep: frozenset[str]) -> None:
    """Refuse a case with a literal that holds a text of the real tables; the tables themselves hold none.

    Raises:
        UserInputError: if there is one.
    """
    literals = [literal for text in _sql_of(after) for literal in literal_texts(text)]
    tables = [(before.target.rows, before.target.schema)]
    tables += [] if before.source is None else [(before.source.rows, before.source.schema)]
    for rows, schema in tables:
        for value, column in ((v, c) for row in rows for v, c in zip(row, schema.columns, strict=True)):
            is_text = isinstance(value, str) and len(value) > _SHORT and column.name.lower() not in keep
            if is_text and any(value in literal for literal in literals):
                raise UserInputError(
                    f"a literal of the statement would keep a value of {column.name!r}. Write it as a plain text, "
                    f"or let the column have its values with --keep {column.name}"
                )


def _sql_of(case: Case) -> list[str]:
    columns = case.target.schema.columns
    own = [text for c in columns for text in (c.default, c.generated, c.invariant) if text is not None]
    return [case.sql, *own, *check_constraints(case.target.properties).values()]


def _places(effects: Effects, missing: Sequence[Row], schema: Schema) -> list[tuple[str, int]]:
    """Find where the missing rows come from, each of them once."""
    left = _counted(missing, schema)
    found: list[tuple[str, int]] = []
    rows = chain(
        (("updated", i, row) for i, row in effects.updated.items()),
        (("inserted", i, row) for i, row in effects.inserted.items()),
        (("unchanged", i, row) for i, row in effects.unchanged.items()),
    )
    for kind, number, row in rows:
        identity = row_identity(row, schema)
        if left[identity] > 0:
            left[identity] -= 1
            found.append((kind, number))
    return found


def _row_at(effects: Effects, place: tuple[str, int]) -> Row:
    kind, number = place
    return {"updated": effects.updated, "inserted": effects.inserted, "unchanged": effects.unchanged}[kind][number]


def _counted(rows: Iterable[Row], schema: Schema) -> Counter[tuple[Hashable, ...]]:
    return Counter(row_identity(row, schema) for row in rows)
