"""Conditions that columns carry in their metadata: invariants, and lengths of texts (R-746, R-822)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.types.data_types import BIGINT, INT, SMALLINT, STRING, Schema, TextLimit, quote
from mergecheck.strategies.choices import chance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Source, Target
    from mergecheck.reference.types.data_types import Field

_SOME_PERCENT = 60
_NUMBERS = (INT, BIGINT, SMALLINT)
# beyond every sum of two values of the tables
_FAR, _NEAR = 100, 2
_LARGEST = 2**63 - 1
# An invariant of a NOT NULL column is not looked at, so that no value has to satisfy it.
_KEPT = st.sampled_from(("{0} IS NULL OR {0} <= {far}", "coalesce({0}, 0) <> {far}"))
_BROKEN = st.sampled_from(("{0} < {far}", "{0} <= {near}"))
_BROKEN_PERCENT = 8
_ROOM = st.sampled_from((0, 2, 0))


def draw_invariants(draw: DrawFn, target: Target, source: Source | None) -> Target:
    """Draw invariants of some columns of whole numbers, most of them beyond the tables' values; shrinks to none."""
    numbers = [*_whole_numbers(target), *(() if source is None else _whole_numbers(source))]
    far = min(2 * max(map(abs, numbers), default=0) + _FAR, _LARGEST)
    return _changed(draw, target, lambda column: _with_invariant(draw, column, far))


def _whole_numbers(table: Target | Source) -> Iterator[int]:
    places = [place for place, column in enumerate(table.schema.columns) if column.type in _NUMBERS]
    for row in table.rows:
        yield from (row[place] for place in places if row[place] is not None)


def _with_invariant(draw: DrawFn, column: Field, far: int) -> Field:
    if column.type not in _NUMBERS or column.generated is not None or column.identity is not None:
        return column
    form = draw(_BROKEN if chance(draw, _BROKEN_PERCENT) else _KEPT)
    return replace(column, invariant=form.format(quote(column.name), far=far, near=_NEAR))


def draw_text_limits(draw: DrawFn, target: Target) -> Target:
    """Draw VARCHAR lengths of some columns, which the rows of the table keep to; shrinks to none."""
    return _changed(draw, target, lambda column: _with_limit(draw, target, column))


def _with_limit(draw: DrawFn, target: Target, column: Field) -> Field:
    if column.type != STRING or column.generated is not None or column.name in target.partition_by:
        return column
    place = target.schema.names.index(column.name)
    longest = max((len(row[place] or "") for row in target.rows), default=0)
    return replace(column, limit=TextLimit(max(1, longest + draw(_ROOM))))


def _changed(draw: DrawFn, target: Target, change: Callable[[Field], Field]) -> Target:
    columns = tuple(change(column) if chance(draw, _SOME_PERCENT) else column for column in target.schema.columns)
    return replace(target, schema=Schema(columns))
