"""What a value is drawn from: listed values, simplest first, and strategies that stand in for further ones.

A table has hundreds of values, and a choice of its own for each would be most of what drawing a case takes. Listed
values therefore share one choice of their row (``chance.throws``), and only a strategy makes choices of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mergecheck.strategies.choices.chance import chosen, pick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Row, Value

Options: TypeAlias = "tuple[Value | SearchStrategy[Value], ...]"
"""Repeat a value or a strategy to give it weight."""

_NULL_WEIGHT = 4


def with_further(listed: tuple[Value, ...], *further: SearchStrategy[Value]) -> Options:
    """Return options of values and strategies, each of which comes half as often as all of the values together."""
    weight = -(-len(listed) // 2)
    return (*listed, *(strategy for strategy in further for _ in range(weight)))


def or_null(options: Options) -> Options:
    """Return options of which about one in five is NULL."""
    several = options * -(-_NULL_WEIGHT // len(options))
    return (*several, *(None,) * round(len(several) / _NULL_WEIGHT))


def draw_options(draw: DrawFn, several: Sequence[Options], faces: bytes) -> Row:
    """Draw one value of each of several options, by as many numbers of ``throws``."""
    return tuple(_value(draw, chosen(options, face)) for options, face in zip(several, faces, strict=True))


@st.composite
def one_of(draw: DrawFn, options: Options) -> Value:
    """Draw a value alone, for what is not a cell of a row."""
    return _value(draw, pick(draw, options))


def _value(draw: DrawFn, found: Value | SearchStrategy[Value]) -> Value:
    return draw(found) if isinstance(found, SearchStrategy) else found
