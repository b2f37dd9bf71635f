"""Case number ``index`` of seed ``seed``: a reproducible stream of cases outside of ``@given``.

Hypothesis' own loop is made to falsify one property quickly: it runs small mutations of each input, starts small, and
draws one in twenty integers from constants found in the modules that happen to be loaded, so that ``@seed`` promises
the same cases only under the same imports. A fuzz run wants fresh cases and a number that always means
the same one. Hence the public hook for fuzzers, ``fuzz_one_input``: the bytes that it reads are made from ``(seed,
index)`` alone. Shrinking is Hypothesis' own, started from those bytes through an in-memory example database.

The same number means the same case as long as Hypothesis, the strategies and the profile stay the same; keep the
case file, not the number (techniques T30, pitfall P12).
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from random import Random
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import InMemoryExampleDatabase

from strategies.cases import DrawnCase, drawn_cases
from strategies.features import DEFAULT_PROFILE, Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NUM_BYTES = 2**15
_MAX_ATTEMPTS = 100


class _Fails(Exception):  # noqa: N818 - it says "interesting" to Hypothesis, it is no error
    """Raised inside a probe for a case that the caller calls failing."""


def sample(seed: int, index: int, *, profile: Profile = DEFAULT_PROFILE) -> DrawnCase:
    """Return case number ``index`` of a seed.

    Args:
        seed: any integer; every seed has its own stream.
        index: 0 or greater; cases do not depend on the ones before them.
        profile: bounds and features; part of what the number means.

    Raises:
        ValueError: for a negative index.
        RuntimeError: if the profile rejects nearly all draws.
    """
    return _Probe(profile, fails=None).draw(seed, index)


def samples(seed: int, *, start: int = 0, profile: Profile = DEFAULT_PROFILE) -> Iterator[DrawnCase]:
    """Yield the endless stream of a seed from case number ``start`` on."""
    probe = _Probe(profile, fails=None)
    for index in count(start):
        yield probe.draw(seed, index)


def shrink(
    seed: int, index: int, fails: Callable[[DrawnCase], bool], *, profile: Profile = DEFAULT_PROFILE
) -> DrawnCase:
    """Return the simplest case found for which ``fails`` still holds, starting from a sampled one.

    Args:
        seed: of the sampled case.
        index: of the sampled case.
        fails: tells whether a case shows the fault; accept the same kind of mismatch only (techniques T31). To stop
            early, answer False from then on. Hypothesis stops by itself after five minutes.
        profile: the profile that the case was sampled with.

    Raises:
        ValueError: if the sampled case itself does not fail; it may be flaky.
    """
    probe = _Probe(profile, fails=fails)
    probe.draw(seed, index)
    if probe.failing is None:
        raise ValueError(f"case {index} of seed {seed} does not fail: there is nothing to shrink; is it flaky?")
    return probe.shrunk()


class _Probe:
    """A property over drawn cases that remembers what it saw."""

    def __init__(self, profile: Profile, *, fails: Callable[[DrawnCase], bool] | None) -> None:
        self._fails = fails
        self._seen: DrawnCase | None = None
        self.failing: DrawnCase | None = None
        self._test = settings(
            database=None if fails is None else InMemoryExampleDatabase(),
            phases=(Phase.reuse, Phase.shrink),
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )(given(drawn_cases(profile=profile))(self._visit))
        # Hypothesis documents the attribute and leaves it out of its types
        self._run_bytes: Callable[[bytes], bytes | None] = self._test.hypothesis.fuzz_one_input  # type: ignore[attr-defined]

    def draw(self, seed: int, index: int) -> DrawnCase:
        """Draw one case of the stream."""
        if index < 0:
            raise ValueError(f"case number {index}: must be 0 or greater")
        for attempt in range(_MAX_ATTEMPTS):
            self._seen = None
            source = Random(f"{seed}/{index}/{attempt}")  # noqa: S311 - a test case, no secret
            with suppress(_Fails):
                self._run_bytes(source.randbytes(_NUM_BYTES))
            if self._seen is not None:
                return self._seen
        raise RuntimeError(f"no case in {_MAX_ATTEMPTS} attempts at number {index} of seed {seed}: widen the profile")

    def shrunk(self) -> DrawnCase:
        """Replay the failing case that ``draw`` stored, and let Hypothesis shrink it."""
        with suppress(_Fails):
            self._test()
        if self.failing is None:
            raise RuntimeError("shrunk() needs a failing case drawn before")
        return self.failing

    def _visit(self, drawn: DrawnCase) -> None:
        self._seen = drawn
        if self._fails is not None and self._fails(drawn):
            # Hypothesis runs the simplest failing case last of all failing ones
            self.failing = drawn
            raise _Fails
