"""Exact differences of two multisets of rows (R-002: rows are occurrences, not values)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import cell_identity, row_identity
from mergecheck.harness.verdict import Mismatch
from mergecheck.model.formatting import cell_text, counted, fit, row_text
from mergecheck.model.types.data_types import STRING, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from mergecheck.harness.verdict import Check
    from mergecheck.model.case import Row, Value

    Identity = tuple[Hashable, ...]

MAX_ROWS_SHOWN = 3
"""Rows that one mismatch shows; the rest is counted."""

_MAX_ROWS_PAIRED = 50  # pairing is quadratic, and no reader gets to the fifty-first pair
CHANGE_TYPE = Field("_change_type", STRING)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDifference:
    """How the rows of an engine differ from the wanted ones.

    Attributes:
        missing: wanted rows that the engine lacks, occurrence by occurrence.
        extra: rows of the engine that are not wanted.
        changed: pairs (wanted, engine's) that are likely the same row with another cell.
    """

    missing: tuple[Row, ...]
    extra: tuple[Row, ...]
    changed: tuple[tuple[Row, Row], ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.changed)


def same_rows(left: Sequence[Row], right: Sequence[Row], schema: Schema) -> bool:
    """Return whether two multisets of rows of one schema are equal."""
    wanted, found = (Counter(row_identity(row, schema) for row in rows) for rows in (left, right))
    return wanted == found


def difference(
    wanted: Sequence[Row], found: Sequence[Row], *, wanted_schema: Schema, found_schema: Schema, tied: int | None = None
) -> RowDifference:
    """Compare two multisets of rows.

    Args:
        wanted: the rows that must be there, in any order.
        found: the engine's rows, in any order.
        wanted_schema: types of the wanted cells.
        found_schema: types of the engine's cells.
        tied: position of a column whose cells must be equal for two rows to be called one changed row.
    """
    missing, extra = unmatched_rows(wanted, found, wanted_schema=wanted_schema, found_schema=found_schema)
    pairs = list(_pairs(list(missing)[:_MAX_ROWS_PAIRED], list(extra)[:_MAX_ROWS_PAIRED], tied=tied))
    paired_missing = {id(left) for left, _ in pairs}
    paired_extra = {id(right) for _, right in pairs}
    return RowDifference(
        missing=tuple(entry.row for entry in missing if id(entry) not in paired_missing),
        extra=tuple(entry.row for entry in extra if id(entry) not in paired_extra),
        changed=tuple((left.row, right.row) for left, right in pairs),
    )


@dataclass(frozen=True, slots=True, eq=False)
class UnmatchedRow:
    """One occurrence of a row that has no equal on the other side, and what its cells are compared by."""

    row: Row
    identity: Identity


def unmatched_rows(
    wanted: Sequence[Row], found: Sequence[Row], *, wanted_schema: Schema, found_schema: Schema
) -> tuple[tuple[UnmatchedRow, ...], tuple[UnmatchedRow, ...]]:
    """Return the missing and the extra rows, occurrence by occurrence, in the natural order of their cells."""
    left = _by_identity(wanted, wanted_schema)
    right = _by_identity(found, found_schema)
    return _without_equal(left, right, wanted_schema), _without_equal(right, left, found_schema)


def _without_equal(
    groups: dict[Identity, list[Row]], others: dict[Identity, list[Row]], schema: Schema
) -> tuple[UnmatchedRow, ...]:
    """Return the remainder of each group of equal rows, the groups in order.

    In order, so that the report of a case does not depend on the order in which an engine happens to answer. The place
    of a group is computed once: an engine may give a row a hundred thousand times.
    """
    left = [(key, rows[len(others.get(key, ())) :]) for key, rows in groups.items()]
    in_order = sorted((group for group in left if group[1]), key=lambda group: _place(group[1][0], schema))
    return tuple(UnmatchedRow(row, key) for key, rows in in_order for row in rows)


def _place(row: Row, schema: Schema) -> tuple[tuple[tuple[int, int | float | Decimal, str], ...], str]:
    """Return a row's sort key: cell by cell NULL first, then numbers by their value, then all else by its text."""
    return tuple(map(_cell_place, row)), row_text(row, schema)


def _cell_place(value: Value) -> tuple[int, int | float | Decimal, str]:
    if value is None:
        return 0, 0, ""
    if isinstance(value, int | float | Decimal):
        return (2, 0, "") if value != value else (1, value, "")  # noqa: PLR0124 - NaN alone is unequal to itself
    return 3, 0, str(value)


def rows_without(rows: Sequence[Row], taken: Sequence[Row], schema: Schema) -> list[Row]:
    """Subtract rows from others, occurrence by occurrence; a row that is not among them subtracts nothing."""
    left = Counter(row_identity(row, schema) for row in taken)
    kept = []
    for row in rows:
        identity = row_identity(row, schema)
        if left[identity] > 0:
            left[identity] -= 1
        else:
            kept.append(row)
    return kept


def in_columns_of(wanted: Schema, found: Sequence[Row], schema: Schema) -> tuple[tuple[Row, ...], Schema]:
    """Put rows into the order of the wanted columns, if their own are the same in another order."""
    names, own = wanted.names, schema.names
    if names == own or sorted(names) != sorted(own) or len(set(names)) < len(names):
        return tuple(found), schema
    order = [own.index(name) for name in names]
    return tuple(tuple(row[i] for i in order) for row in found), Schema(tuple(schema.columns[i] for i in order))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """Differences of one kind: a line for each row, and the parts that a known deviation has to explain."""

    kind: str
    headline: str
    lines: list[str]
    parts: list[str]


def row_mismatches(
    found: RowDifference, *, check: Check, against: str, wanted_schema: Schema, found_schema: Schema
) -> tuple[Mismatch, ...]:
    """Turn a difference into at most three mismatches: missing, extra and changed rows."""
    what = "change row" if CHANGE_TYPE in wanted_schema.columns[-1:] else "row"
    owner = _owner(against)
    changed = [
        (row_text(ours, wanted_schema), _changed_cells(ours, theirs, against, wanted_schema, found_schema))
        for ours, theirs in found.changed
    ]
    missing = [f"- {row_text(row, wanted_schema)}" for row in found.missing]
    extra = [f"+ {row_text(row, found_schema)}" for row in found.extra]
    differences = [
        _Difference(
            kind="changed_rows",
            headline=f"{counted(len(changed), what)} {'differs' if len(changed) == 1 else 'differ'} from the {owner}",
            lines=[f"~ {'; '.join(cells)}  in {row}" for row, cells in changed],
            parts=[cell for _, cells in changed for cell in cells],
        ),
        _Difference(
            kind="missing_rows",
            headline=f"{counted(len(missing), what)} of the {owner} {'is' if len(missing) == 1 else 'are'} missing",
            lines=missing,
            parts=missing,
        ),
        _Difference(
            kind="extra_rows",
            headline=f"{counted(len(extra), what)} {'is' if len(extra) == 1 else 'are'} not in the {owner}",
            lines=extra,
            parts=extra,
        ),
    ]
    return tuple(_mismatch(check, against, difference) for difference in differences if difference.lines)


def _by_identity(rows: Sequence[Row], schema: Schema) -> dict[Identity, list[Row]]:
    groups: dict[Identity, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row_identity(row, schema)].append(row)
    return dict(groups)


def _pairs(
    missing: list[UnmatchedRow], extra: list[UnmatchedRow], *, tied: int | None
) -> Iterator[tuple[UnmatchedRow, UnmatchedRow]]:
    """Pair greedily by the most equal cells; at least half of the cells, and the tied one, must be equal."""
    scored = [
        (-score, i, j)
        for i, left in enumerate(missing)
        for j, right in enumerate(extra)
        if (score := _score(left.identity, right.identity, tied)) > 0
    ]
    taken_left: set[int] = set()
    taken_right: set[int] = set()
    for _, i, j in sorted(scored):
        if i not in taken_left and j not in taken_right:
            taken_left.add(i)
            taken_right.add(j)
            yield missing[i], extra[j]


def _score(left: Identity, right: Identity, tied: int | None) -> int:
    if len(left) != len(right) or (tied is not None and left[tied] != right[tied]):
        return 0
    free = len(left) - (tied is not None)
    equal = sum(a == b for a, b in zip(left, right, strict=True)) - (tied is not None)
    return equal if 2 * equal >= free else 0


def changed_cell(wanted: Value, found: Value, against: str, of: tuple[Field, Field]) -> str:
    """Describe a differing cell, such as ``name: reference 1, engine 2``; ``of`` are both sides' columns."""
    ours, theirs = of
    return f"{ours.name}: {against} {cell_text(wanted, ours.type)}, engine {cell_text(found, theirs.type)}"


def _changed_cells(wanted: Row, found: Row, against: str, wanted_schema: Schema, found_schema: Schema) -> list[str]:
    columns = zip(wanted_schema.columns, found_schema.columns, wanted, found, strict=True)
    return [
        changed_cell(a, b, against, (ours, theirs))
        for ours, theirs, a, b in columns
        if cell_identity(a, ours.type) != cell_identity(b, theirs.type)
    ]


def _mismatch(check: Check, against: str, found: _Difference) -> Mismatch:
    shown = [fit(line) for line in found.lines[:MAX_ROWS_SHOWN]]
    num_hidden = len(found.lines) - MAX_ROWS_SHOWN
    rest = [f"  and {num_hidden} more"] if num_hidden > 0 else []
    said = (fit(found.headline), *shown, *rest)
    return Mismatch(check=check, against=against, kind=found.kind, lines=said, parts=tuple(found.parts))


def _owner(against: str) -> str:
    others = {"expect": "expectation", "reference": "reference"}
    return others.get(against, "case's other form")
