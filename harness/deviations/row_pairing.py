"""Rows that known deviations explain together: each that is missing has one instead of it, cell by cell.

Where most of a row's cells differ, the comparison cannot know which rows belong together: it calls one missing and one
extra. Several deviations may have met in it, each in cells of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mergecheck.harness.compare.rows import changed_cell, in_columns_of, unmatched_rows
from mergecheck.harness.verdict import Check
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Outcome, Prediction

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from mergecheck.harness.compare.rows import UnmatchedRow
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

    Sides = tuple[tuple[Sequence[Row], Schema], tuple[Sequence[Row], Schema]]

_MOST_ROWS = 200  # every missing row is held against every extra one
Expecting = TypeVar("Expecting")


def expecting_all_cells(
    check: Check, report: CaseReport, expecting: Callable[[str], Sequence[Expecting]], *, against: str
) -> list[Expecting]:
    """Pair the missing rows with the extra ones so that an expectation covers each differing cell.

    Args:
        check: rows, or change rows; two change rows are one row only if their type of change is the same.
        report: the case and its answers.
        expecting: returns who expects a cell, given as ``name: reference 1, engine 2``.
        against: the name of the engine's opponent in the cells.

    Returns:
        All who expect a cell of the pairs; empty if the rows cannot be paired so.
    """
    sides = _sides(check, report)
    if sides is None:
        return []
    (wanted, wanted_schema), (found, found_schema) = sides
    missing, extra = unmatched_rows(wanted, found, wanted_schema=wanted_schema, found_schema=found_schema)
    if len(missing) != len(extra) or len(missing) > _MOST_ROWS:
        return []
    columns = list(zip(wanted_schema.columns, found_schema.columns, strict=True))
    known: dict[tuple[int, Hashable, Hashable], Sequence[Expecting]] = {}

    def named(place: int, ours: UnmatchedRow, theirs: UnmatchedRow) -> Sequence[Expecting]:
        key = (place, ours.identity[place], theirs.identity[place])
        if key not in known:
            cell = changed_cell(ours.row[place], theirs.row[place], against, columns[place])
            known[key] = expecting(cell)
        return known[key]

    tied = len(columns) - 1 if check is Check.CDF else None
    pairs: dict[tuple[int, int], list[int]] = {}
    for i, ours in enumerate(missing):
        for j, theirs in enumerate(extra):
            places = [place for place in range(len(columns)) if ours.identity[place] != theirs.identity[place]]
            if tied not in places and all(named(place, ours, theirs) for place in places):
                pairs[i, j] = places
    partners = _partners({i: [j for j in range(len(extra)) if (i, j) in pairs] for i in range(len(missing))})
    if len(partners) < len(missing):
        return []
    return [one for i, j in partners for place in pairs[i, j] for one in named(place, missing[i], extra[j])]


def _sides(check: Check, report: CaseReport) -> Sides | None:
    """Give the rows, or change rows, of both sides in the same columns; None if there are no such rows."""
    wanted, found = report.reference.answer, report.result
    if not isinstance(wanted, Prediction) or not isinstance(found, Outcome):
        return None
    if check is Check.ROWS:
        ours, theirs = (wanted.rows, wanted.schema), (found.rows, found.schema)
    elif check is Check.CDF and wanted.cdf is not None and found.cdf is not None:
        ours, theirs = (wanted.cdf, change_schema(wanted.schema)), (found.cdf, change_schema(found.schema))
    else:
        return None
    if len(ours[1].columns) != len(theirs[1].columns):
        return None
    return ours, in_columns_of(ours[1], *theirs)


def _partners(allowed: dict[int, list[int]]) -> list[tuple[int, int]]:
    """Give as many as can be a partner of their own, in the order of the left ones: augmenting paths."""
    partner_of: dict[int, int] = {}

    def finds(left: int, tried: set[int]) -> bool:
        for right in allowed[left]:
            if right in tried:
                continue
            tried.add(right)
            if right not in partner_of or finds(partner_of[right], tried):
                partner_of[right] = left
                return True
        return False

    for left in allowed:
        finds(left, set())
    return sorted((left, right) for right, left in partner_of.items())
