"""Tables larger than one batch of an engine: a drawn row repeated thousands of times under keys of its own.

Only a template and a number are drawn, so a large case costs about as much to draw as a small one. The statement is
drawn over the small tables; it means the same for more rows.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses
from mergecheck.strategies.statement.joins import OnForm
from mergecheck.strategies.table.constraints import keeping_checks, with_computed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Row, Value
    from mergecheck.strategies.statement.merges import DrawnMerge
    from mergecheck.strategies.syntax.columns import Column
    from mergecheck.strategies.table.rows import Tables

# engines have batches of 1,024, 2,048, 4,096 or 8,192 rows
_NUM_ROWS = st.sampled_from((2_100, 8_300, 8_300))
_BORDERS = (0, 1, 2_047, 2_048, 4_095, 4_096, 8_191, 8_192, 8_193)
_NUM_SPREAD = 13
_AROUND = st.sampled_from((0, 1, -1))
_SPARE = 3
# greater than every drawn key
_FIRST_KEY = 1_000
_NUM_VALUES = 5
# they cost an engine seconds
_USED_PERCENT = 75
_COUNTABLE = frozenset({OnForm.EQUALITY, OnForm.NULL_SAFE, OnForm.KEY_EXPRESSION})


class Matches(Enum):
    """Which of the added target rows have a source row."""

    SPREAD = "a few, in several batches and at their borders"
    ALL = "all"
    HALF = "every second one, and as many source rows have no match"


def draw_large_tables(
    draw: DrawFn, features: frozenset[Feature], merge: DrawnMerge, *, boundary: int | None = None
) -> Tables:
    """Draw the tables of a merge, by a feature with thousands of rows more in the target's first file.

    With a boundary, that file has so many rows, or one more or less, and so has the source unless it has a few only.
    """
    tables, schemas = merge.tables, merge.schemas
    if not uses(draw, features, Feature.LARGE_TABLES, percent=_USED_PERCENT) or merge.on_form not in _COUNTABLE:
        return tables
    if not tables.files or not tables.source or len(schemas.keys) > 1 or schemas.keys[0][0] in schemas.partition_by:
        return tables
    first = tables.files[0]
    if boundary is None:
        num_rows = num_source_rows = draw(_NUM_ROWS)
    else:
        num_rows = boundary + draw(_AROUND) - len(first)
        num_source_rows = boundary + draw(_AROUND) - len(tables.source)
    matches = draw(st.sampled_from(Matches))
    key, source_key = schemas.keys[0]
    template, fixed = draw(st.sampled_from(first)), frozenset(schemas.partition_by)
    numbers = range(num_rows if boundary is None else _SPARE * num_rows)  # some rows may break a CHECK constraint
    added = keeping_checks(_numbered(template, schemas.target, key, numbers, fixed=fixed), schemas)[:num_rows]
    template = draw(st.sampled_from(tables.source))
    matching = _matching(matches, num_rows, num_source_rows)
    source = _numbered(template, schemas.source, source_key, matching, fixed=frozenset())
    return replace(tables, files=((*first, *added), *tables.files[1:]), source=(*tables.source, *source))


def _matching(matches: Matches, num_rows: int, num_source_rows: int) -> Iterable[int]:
    """Return the numbers of the added source rows: a target row of the same number matches.

    Args:
        matches: which target rows have a source row.
        num_rows: rows added to the target.
        num_source_rows: rows to add to the source, if they are not a few only.
    """
    match matches:
        case Matches.ALL:
            return range(num_source_rows)
        case Matches.HALF:
            return range(0, 2 * num_source_rows, 2)
        case Matches.SPREAD:
            spread = range(0, num_rows, max(1, num_rows // _NUM_SPREAD))
            return sorted({*spread, *(place for place in _BORDERS if place < num_rows)})


def _numbered(
    template: Row, columns: tuple[Column, ...], key: str, numbers: Iterable[int], *, fixed: frozenset[str]
) -> tuple[Row, ...]:
    """Repeat a row once per number: the number makes its key, and the small numbers of other columns vary with it."""
    varied = {c.name for c in columns if c.summable and not c.bounded and c.computed is None and c.name not in fixed}

    def cell(column: Column, value: Value, number: int) -> Value:
        if column.name == key:
            return _FIRST_KEY + number
        if column.computed is not None:
            return None
        return number % _NUM_VALUES if column.name in varied else value

    rows = [tuple(cell(c, v, number) for c, v in zip(columns, template, strict=True)) for number in numbers]
    return with_computed(rows, columns)
