"""Draws that Hypothesis has no strategy for: booleans and strategies with weights, some of several options."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.model.case import Value

Option = TypeVar("Option")

# not wider: beyond 128 integers Hypothesis' own loop draws the ends of a range more often than the rest
_PERCENT = st.integers(0, 99)


def chance(draw: DrawFn, percent: float) -> bool:
    """Draw True about ``percent`` times in a hundred; shrinks to False.

    The draw happens whatever the percentage is, so that turning a feature off moves no later choice.
    """
    return draw_part(draw, percent) is not None


def draw_part(draw: DrawFn, *percents: float) -> int | None:
    """Draw the number of a part of a hundred, or None for the rest; shrinks to None.

    Percentages are rounded to whole ones; those above zero never reach zero. A new part behind the others takes cases
    from the rest alone: the cases of the other parts stay what they were.
    """
    number, end = draw(_PERCENT), 100
    for part, percent in enumerate(percents):
        end -= max(round(percent), percent > 0)
        if number >= end:
            return part
    return None


def draw_some(draw: DrawFn, options: Sequence[Option], *, percent: float = 50) -> tuple[Option, ...]:
    """Draw a non-empty part of ``options`` in their order, each with a probability; shrinks to the first one alone."""
    return tuple(option for option in options if chance(draw, percent)) or (options[0],)


def weighted(*strategies: tuple[int, SearchStrategy[Value]]) -> SearchStrategy[Value]:
    """Return a strategy of the values of several strategies, with the given relative weights.

    Its values shrink to values of the first strategy.
    """
    repeated = [strategy for weight, strategy in strategies for _ in range(weight)]
    return st.integers(0, len(repeated) - 1).flatmap(repeated.__getitem__)


def or_null(present: SearchStrategy[Value]) -> SearchStrategy[Value]:
    """Return a strategy of values of which one in five is NULL; they shrink to a value."""
    return weighted((4, present), (1, st.none()))
