"""Conditions that columns carry in their metadata: invariants, and lengths of texts (R-746, R-822)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.types.data_types import BIGINT, INT, SMALLINT, STRING, Schema, TextLimit, quote
from mergecheck.strategies.choices import chance

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Target
    from mergecheck.reference.types.data_types import Field

_SOME_PERCENT = 60
_NUMBERS = (INT, BIGINT, SMALLINT)
_FAR, _NEAR = 1000, 2
# An invariant of a NOT NULL column is not looked at, so that no value has to satisfy it.
_CONDITIONS = st.sampled_from(
    ("{0} IS NULL OR {0} < {far}", "coalesce({0}, 0) <> {far}", "{0} < {far}", "{0} <= {near}")
)
_ROOM = st.sampled_from((0, 2, 0))


def draw_invariants(draw: DrawFn, target: Target) -> Target:
    """Draw invariants of some columns of whole numbers; some merges break them. Shrinks to none."""
    return _changed(draw, target, lambda column: _with_invariant(draw, column))


def _with_invariant(draw: DrawFn, column: Field) -> Field:
    if column.type not in _NUMBERS or column.generated is not None or column.identity is not None:
        return column
    text = draw(_CONDITIONS).format(quote(column.name), far=_FAR, near=_NEAR)
    return replace(column, invariant=text)


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
