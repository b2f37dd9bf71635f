"""Conditions that columns carry in their metadata: invariants, and lengths of texts (R-746, R-822)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.types.data_types import BIGINT, INT, SMALLINT, STRING, Schema, TextLimit, quote
from mergecheck.strategies.choices import chance

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Source, Target, Value
    from mergecheck.reference.types.data_types import DataType, Field

_SOME_PERCENT = 60
_NUMBERS = (INT, BIGINT, SMALLINT)
_FAR = 100  # beyond what statements add to the values of the tables
_LARGEST = 2**63 - 1
# An invariant of a NOT NULL column is not looked at, so that no value has to satisfy it.
_KEPT = st.sampled_from(("{0} IS NULL OR {0} <= {far}", "coalesce({0}, 0) <> {far}"))
_NULL_BREAKS, _GREATER_BREAKS = "{0} < {far}", "{0} IS NULL OR {0} <= {near}"
_MAY_BREAK_PERCENT = 18
_ROOM = st.sampled_from((0, 2, 0))


def draw_invariants(draw: DrawFn, target: Target, source: Source | None) -> Target:
    """Draw invariants of some columns of whole numbers, which the rows of the table keep to; shrinks to none.

    Some are broken by a NULL or by a greater number than the table has.
    """
    numbers = [*_values(target, _NUMBERS), *(() if source is None else _values(source, _NUMBERS))]
    far = min(2 * max(map(abs, numbers), default=0) + _FAR, _LARGEST)
    return _changed(draw, target, lambda column: _with_invariant(draw, target, column, far))


def _values(table: Target | Source, types: Collection[DataType]) -> Iterator[Value]:
    """Yield the values of the columns of some types, but for NULLs."""
    places = [place for place, column in enumerate(table.schema.columns) if column.type in types]
    for row in table.rows:
        yield from (row[place] for place in places if row[place] is not None)


def _with_invariant(draw: DrawFn, target: Target, column: Field, far: int) -> Field:
    if column.type not in _NUMBERS or column.generated is not None or column.identity is not None:
        return column
    form = draw(_KEPT)
    own = [row[target.schema.names.index(column.name)] for row in target.rows]
    if chance(draw, _MAY_BREAK_PERCENT):
        form = _GREATER_BREAKS if None in own or draw(st.booleans()) else _NULL_BREAKS
    near = max((value for value in own if value is not None), default=0)
    return replace(column, invariant=form.format(quote(column.name), far=far, near=near))


def draw_text_limits(draw: DrawFn, target: Target, source: Source | None) -> Target:
    """Draw VARCHAR lengths of some columns, which the rows of the table keep to; shrinks to none.

    Some are too short for a text of the source.
    """
    texts = () if source is None else _values(source, (STRING,))
    of_source = max(map(len, texts), default=0)
    return _changed(draw, target, lambda column: _with_limit(draw, target, column, of_source))


def _with_limit(draw: DrawFn, target: Target, column: Field, of_source: int) -> Field:
    if column.type != STRING or column.generated is not None or column.name in target.partition_by:
        return column
    place = target.schema.names.index(column.name)
    longest = max((len(row[place] or "") for row in target.rows), default=0)
    if not chance(draw, _MAY_BREAK_PERCENT):
        longest = max(longest, of_source)
    return replace(column, limit=TextLimit(max(1, longest + draw(_ROOM))))


def _changed(draw: DrawFn, target: Target, change: Callable[[Field], Field]) -> Target:
    columns = tuple(change(column) if chance(draw, _SOME_PERCENT) else column for column in target.schema.columns)
    return replace(target, schema=Schema(columns))
