"""Repairs of rows that a merge should copy once: written for every match, or reported as changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.row_sides import added_columns, filler, sides_of, unsigned, without
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Feed, Outcome
from mergecheck.model.types.data_types import BINARY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence

    from mergecheck.harness.deviations.bug_models.row_sides import Sides
    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

_COPIED, _OUTPUT, _FILES = "numTargetRowsCopied", "numOutputRows", "numTargetFilesAdded"
_GONE, _NEW = "delete", "insert"


def _copies_per_match(now: Judged) -> Judged | None:
    """A row that is only copied is written once for every source row that matches it, and counted so.

    The engine rewrites the files in which a row is updated or deleted, and no others. Where each copy has the columns
    that the merge adds from its own source row, one copy is left for the bug model of these columns.
    """
    sides = sides_of(now)
    if sides is None or not isinstance(sides.found, TableOutcome):
        return None
    found, schema = sides.found, sides.wanted.schema
    surplus = _surplus_copies(sides, _rewritten(sides))
    if added := added_columns(now):
        more = without(found.rows, sides.wanted.rows, schema)
        if more is None or without(more, surplus, schema) != ():
            surplus = _surplus_copies(sides, _rewritten(sides), filled=added)
    rows = without(found.rows, surplus, schema)
    if not surplus or rows is None or len(rows) != len(sides.wanted.rows):
        return None
    if not {_COPIED, _OUTPUT} <= found.metrics.keys():
        return None
    return replace(now, result=without_copies(found, rows, len(surplus)))


def _copies_in_every_file(now: Judged) -> Judged | None:
    """A row that is only copied is written once for every source row that matches it, whatever becomes of its file.

    Each copy has the id of the row, and a changelog has each copy but one as a new row.
    """
    sides = sides_of(now)
    if sides is None or not isinstance(sides.found, TableOutcome):
        return None
    found, schema = sides.found, sides.wanted.schema
    surplus = _surplus_copies(sides, frozenset(sides.trace.files))
    rows = without(found.rows, surplus, schema)
    if not surplus or rows is None or len(rows) != len(sides.wanted.rows):
        return None
    feed = found.cdf
    if feed is not None:
        feed = without(feed, [(*row, _NEW) for row in surplus], change_schema(schema))
        if feed is None:
            return None
    consequence = f"{len(found.rows)} rows, but {len(rows)} different row ids"
    faults = tuple(fault for fault in found.row_id_faults if fault != consequence)
    right = without_copies(found, rows, len(surplus))
    return replace(now, result=replace(right, cdf=feed, row_id_faults=faults))


def without_copies(found: TableOutcome, rows: tuple[Row, ...], number: int, num_files: int = 0) -> TableOutcome:
    """Give an answer without surplus copies of rows.

    Args:
        found: the answer.
        rows: those that are left.
        number: of copies, which the metrics count.
        num_files: number of files that hold nothing else, which they count, too.
    """
    surplus = {_COPIED: number, _OUTPUT: number, _FILES: num_files}
    return replace(
        found,
        rows=rows,
        metrics={name: value - surplus.get(name, 0) for name, value in found.metrics.items()},
        num_records_added=found.num_records_added - number,
        num_files_added=None if found.num_files_added is None else found.num_files_added - num_files,
    )


def _rewritten(sides: Sides) -> frozenset[int]:
    """Name the files in which a row is updated or deleted."""
    return frozenset(sides.trace.files[rid] for rid in (*sides.effects.updated, *sides.effects.deleted))


def _surplus_copies(sides: Sides, rewritten: frozenset[int], filled: Collection[str] = ()) -> list[Row]:
    """Return the copies of unchanged rows in rewritten files beyond the first, with columns filled from the source."""
    trace, effects = sides.trace, sides.effects
    fill = filler(set(filled), sides)
    copies: dict[int, list[Row]] = {}
    for sid, rid in sides.matches.pairs:
        if rid in effects.unchanged and trace.files[rid] in rewritten:
            copies.setdefault(rid, []).append(fill(effects.unchanged[rid], sid))
    return [copy for own in copies.values() for copy in own[1:]]


def _with_bytes(rows: Sequence[Row], schema: Schema) -> set[Hashable]:
    places = [place for place, column in enumerate(schema.columns) if column.type == BINARY]
    return {row_identity(row, schema) for row in rows if any(row[place] is not None for place in places)}


def _like_another_but_for_zeros(rows: Sequence[Row], schema: Schema) -> set[Hashable]:
    forms: dict[Hashable, set[Hashable]] = {}
    for row in rows:
        plain = tuple(unsigned(cell, column.type) for cell, column in zip(row, schema.columns, strict=True))
        forms.setdefault(row_identity(plain, schema), set()).add(row_identity(row, schema))
    return {row for alike in forms.values() if len(alike) > 1 for row in alike}


def _told_as_changed(affected: Callable[[Sequence[Row], Schema], set[Hashable]]) -> Callable[[Judged], Judged | None]:
    """Take rows that are both gone and new, and so the same, out of a changelog.

    Args:
        affected: returns the rows reported so, given the changelog's rows and their columns.
    """

    def apply(now: Judged) -> Judged | None:
        found = now.result
        if not isinstance(found, Outcome) or found.cdf is None or found.feed is not Feed.NET:
            return None
        identities = [row_identity(row[:-1], found.schema) for row in found.cdf]
        told = affected([row[:-1] for row in found.cdf], found.schema)
        typed = [(str(row[-1]), one) for row, one in zip(found.cdf, identities, strict=True)]
        changes: Counter[tuple[str, Hashable]] = Counter(change for change in typed if change[1] in told)
        same = {one: min(changes[_GONE, one], changes[_NEW, one]) for one in told}
        left = Counter({(type_, one): number for one, number in same.items() for type_ in (_GONE, _NEW)})
        feed = []
        for row, change in zip(found.cdf, typed, strict=True):
            if left[change]:
                left[change] -= 1
            else:
                feed.append(row)
        return None if len(feed) == len(found.cdf) else replace(now, result=replace(found, cdf=tuple(feed)))

    return apply


BUG_MODELS = (
    BugModel(
        name="a copied row is written once for every source row that matches it",
        phase=Phase.REPAIR,
        apply=_copies_per_match,
    ),
    BugModel(
        name="a copied row of any file is written once for every source row that matches it",
        phase=Phase.REPAIR,
        apply=_copies_in_every_file,
    ),
    BugModel(
        name="the changelog tells unchanged rows with a BINARY as deleted and inserted",
        phase=Phase.REPAIR,
        apply=_told_as_changed(_with_bytes),
    ),
    BugModel(
        name="the changelog tells unchanged rows as deleted and inserted if they differ in the sign of zeros",
        phase=Phase.REPAIR,
        apply=_told_as_changed(_like_another_but_for_zeros),
    ),
)
