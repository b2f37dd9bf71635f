"""The few primitive draws that every other module builds on; each shrinks to "off" or to the first option."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

Option = TypeVar("Option")

_PERCENT = st.integers(0, 99)


@cache
def _places(size: int) -> SearchStrategy[int]:
    """Return the places of so many options; kept, because making a strategy costs more than drawing from it."""
    return st.integers(0, size - 1)


def chance(draw: DrawFn, percent: float) -> bool:
    """Draw True about ``percent`` times in a hundred; shrinks to False.

    Hypothesis knows no public weighted boolean, hence the integer: its low end, to which it shrinks, is "off".
    """
    # drawn even where the answer is known: a flag that is turned off then moves no later choice to another place
    return draw(_PERCENT) >= 100 - percent


def pick(draw: DrawFn, options: Sequence[Option]) -> Option:
    """Draw one option; repeat an option to give it weight. Shrinks to the first one."""
    if len(options) == 1:
        return options[0]
    return options[draw(_places(len(options)))]


def pick_some(draw: DrawFn, options: Sequence[Option], *, percent: float = 50) -> tuple[Option, ...]:
    """Draw a non-empty part of ``options`` in their order; shrinks to the first one alone."""
    some = tuple(option for option in options if chance(draw, percent))
    return some or (options[0],)
