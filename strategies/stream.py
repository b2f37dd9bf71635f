"""Case number ``index`` of seed ``seed``: a reproducible stream of cases outside of ``@given``.

Hypothesis' own loop starts small, mutates its inputs, and draws one in twenty integers from constants of the modules
that happen to be loaded, so that ``@seed`` promises the same cases only under the same imports. Here the public hook
for fuzzers, ``fuzz_one_input``, reads bytes that are made from ``(seed, index)`` alone. Shrinking is Hypothesis' own,
started from those bytes through an in-memory example database.

The same number means the same case as long as Hypothesis, the strategies and the profile stay the same; keep the
case file, not the number.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Generic, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import InMemoryExampleDatabase

from mergecheck.strategies.drawn_case import DrawnCase, drawn_cases
from mergecheck.strategies.profile import DEFAULT_PROFILE, Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

_NUM_BYTES = 2**15
_MAX_ATTEMPTS = 100


class _Fails(Exception):  # noqa: N818 - it marks an interesting example for Hypothesis, it is no error
    """Raised inside a probe for an element for which ``fails`` returns True."""


class StopShrinking(Exception):  # noqa: N818 - an answer, not an error
    """Raised by a caller's ``fails`` to end the shrinking at once with the simplest element so far."""


class DoesNotFailError(ValueError):
    """The element to be shrunk does not fail when it is drawn again; its failing is flaky."""


class _Escape(BaseException):
    """Carries an exception of a caller's ``fails`` past Hypothesis, which would shrink towards any ``Exception``."""


class Stream(Generic[T]):
    """The numbered streams of elements of a strategy."""

    def __init__(self, elements: SearchStrategy[T]) -> None:
        self._elements = elements
        self._drawing = _Probe(elements, fails=None)

    def draw(self, seed: int, index: int) -> T:
        """Return element number ``index`` of a seed.

        Args:
            seed: any integer; every seed has its own stream.
            index: 0 or greater; elements do not depend on the ones before them.

        Raises:
            ValueError: for a negative index.
            RuntimeError: if the strategy rejects nearly all draws.
        """
        return self._drawing.draw(seed, index)

    def shrink(self, seed: int, index: int, fails: Callable[[T], bool]) -> T:
        """Return the simplest element found for which ``fails`` still holds, starting from a drawn one.

        Args:
            seed: of the drawn element.
            index: of the drawn element.
            fails: returns whether an element shows the fault; accept the same kind of mismatch only.
                ``StopShrinking`` ends early, any other exception comes out of this call. Hypothesis stops by itself
                after five minutes.

        Raises:
            DoesNotFailError: if the drawn element itself does not fail.
        """
        probe = _Probe(self._elements, fails=fails)
        try:
            probe.draw(seed, index)
            if probe.failing is not None:
                probe.shrink()
        except _Escape as escape:
            if not isinstance(escape.__cause__, StopShrinking):
                raise escape.__cause__ from None  # type: ignore[misc]  # it is always raised from an Exception
        if probe.failing is None:
            raise DoesNotFailError(
                f"case {index} of seed {seed} does not fail: there is nothing to shrink; is it flaky?"
            )
        return probe.failing


def sample(seed: int, index: int, *, profile: Profile = DEFAULT_PROFILE) -> DrawnCase:
    """Return case number ``index`` of a seed; the case depends on the profile, too."""
    return Stream(drawn_cases(profile=profile)).draw(seed, index)


def samples(seed: int, *, start: int = 0, profile: Profile = DEFAULT_PROFILE) -> Iterator[DrawnCase]:
    """Yield the endless stream of a seed from case number ``start`` on."""
    stream = Stream(drawn_cases(profile=profile))
    for index in count(start):
        yield stream.draw(seed, index)


def shrink(
    seed: int, index: int, fails: Callable[[DrawnCase], bool], *, profile: Profile = DEFAULT_PROFILE
) -> DrawnCase:
    """Return the simplest case found for which ``fails`` still holds; see ``Stream.shrink``."""
    return Stream(drawn_cases(profile=profile)).shrink(seed, index, fails)


class _Probe(Generic[T]):
    """A property over drawn elements that remembers the elements it has seen."""

    def __init__(self, elements: SearchStrategy[T], *, fails: Callable[[T], bool] | None) -> None:
        self._fails = fails
        self._seen: list[T] = []  # the last element, if any
        self.failing: T | None = None
        self._test = settings(
            database=None if fails is None else InMemoryExampleDatabase(),
            phases=(Phase.reuse, Phase.shrink),
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )(given(elements)(self._visit))
        # Hypothesis documents the attribute and leaves it out of its types
        self._run_bytes: Callable[[bytes], bytes | None] = self._test.hypothesis.fuzz_one_input  # type: ignore[attr-defined]

    def draw(self, seed: int, index: int) -> T:
        """Draw one element of the stream."""
        if index < 0:
            raise ValueError(f"case number {index}: must be 0 or greater")
        for attempt in range(_MAX_ATTEMPTS):
            self._seen.clear()
            source = Random(f"{seed}/{index}/{attempt}")  # noqa: S311 - a test case, no secret
            with suppress(_Fails):
                self._run_bytes(source.randbytes(_NUM_BYTES))
            if self._seen:
                return self._seen[0]
        raise RuntimeError(f"no case in {_MAX_ATTEMPTS} attempts at number {index} of seed {seed}: widen the profile")

    def shrink(self) -> None:
        """Replay the failing element that ``draw`` stored, and let Hypothesis make ``failing`` simpler."""
        with suppress(_Fails):
            self._test()

    def _visit(self, drawn: T) -> None:
        self._seen[:] = [drawn]
        if self._fails is None:
            return
        try:
            fails = self._fails(drawn)
        except Exception as error:
            raise _Escape from error
        if fails:
            # Hypothesis runs the simplest failing element last of all failing ones
            self.failing = drawn
            raise _Fails
