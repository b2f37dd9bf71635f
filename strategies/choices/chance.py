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
_FACES = 256


@cache
def _places(size: int) -> SearchStrategy[int]:
    """Return the places of so many options; kept, because making a strategy costs more than drawing from it."""
    return st.integers(0, size - 1)


@cache
def _throws(number: int) -> SearchStrategy[bytes]:
    return st.binary(min_size=number, max_size=number)


def throws(draw: DrawFn, number: int) -> bytes:
    """Draw so many numbers below 256 in one choice, for ``chances`` and ``chosen``; each shrinks to 0 by itself.

    For what comes by the dozen: to Hypothesis one choice of many bytes costs about as much time as two of one number.
    """
    return draw(_throws(number)) if number else b""


def chance(draw: DrawFn, percent: float) -> bool:
    """Draw True about ``percent`` times in a hundred; shrinks to False.

    Hypothesis knows no public weighted boolean, hence the integer: its low end, to which it shrinks, is "off".
    """
    # drawn even where the answer is known: a flag that is turned off then moves no later choice to another place
    return draw(_PERCENT) >= 100 - percent


def chances(draw: DrawFn, percents: Sequence[float]) -> tuple[bool, ...]:
    """Draw as many answers as ``chance`` gives one by one, to the 256th below; what is possible has one at least."""
    faces = throws(draw, len(percents))
    return tuple(face >= _FACES - _faces(percent) for face, percent in zip(faces, percents, strict=True))


def _faces(percent: float) -> int:
    return max(int(_FACES * percent / 100), percent > 0)


def chosen(options: Sequence[Option], face: int) -> Option:
    """Return the option that a number of ``throws`` stands for; the low ones are the first option.

    Of more than 256 options some never come.
    """
    return options[face * len(options) // _FACES]


def pick(draw: DrawFn, options: Sequence[Option]) -> Option:
    """Draw one option; repeat an option to give it weight. Shrinks to the first one."""
    if len(options) == 1:
        return options[0]
    return options[draw(_places(len(options)))]


def pick_some(draw: DrawFn, options: Sequence[Option], *, percent: float = 50) -> tuple[Option, ...]:
    """Draw a non-empty part of ``options`` in their order; shrinks to the first one alone."""
    answers = chances(draw, [percent] * len(options))
    some = tuple(option for option, wanted in zip(options, answers, strict=True) if wanted)
    return some or (options[0],)
