"""Streams of drawn cases that several tests read, some only up to the first case that they look for."""

from __future__ import annotations

from itertools import count, islice
from typing import TYPE_CHECKING

from mergecheck.strategies import DEFAULT_PROFILE, samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.strategies import DrawnCase, Profile


class DrawnOnDemand:
    """The first cases of a stream; each is drawn when somebody first asks for it."""

    def __init__(self, num_cases: int, *, seed: int, profile: Profile = DEFAULT_PROFILE) -> None:
        self._coming = islice(samples(seed, profile=profile), num_cases)
        self._drawn: list[DrawnCase] = []

    def __iter__(self) -> Iterator[DrawnCase]:
        """Yield the cases in their order."""
        for place in count():
            if place == len(self._drawn):
                self._drawn.extend(islice(self._coming, 1))
            if place == len(self._drawn):
                return
            yield self._drawn[place]
