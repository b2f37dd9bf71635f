"""All interleavings of some writers, except those that differ in the order of independent points only.

Each interleaving is run from the beginning, by a function that asks at every point who goes on. The search is depth
first with sleep sets (Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, 1996): once all that
follows from a writer's point has been explored, the point is left out in the other branches until something happens on
which it depends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from mergecheck.harness.lab.concurrency.points import are_dependent
from mergecheck.harness.verdict import HarnessBugError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mergecheck.harness.lab.concurrency.points import Footprint

    Choose = Callable[[Mapping[str, Footprint]], str | None]
    """Given the points at which the writers wait, say who goes on; None to abandon the run."""

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class _Branching:
    """A point in time at which some writers wait; ``asleep`` are those that would lead to nothing new."""

    waiting: Mapping[str, Footprint]
    asleep: set[str]
    chosen: str = field(init=False)

    def choose_next(self) -> bool:
        """Choose a writer that was not chosen before; False if there is none."""
        neutral = [name for name, point in self.waiting.items() if point.is_neutral]
        # A neutral point commutes with whatever may come: one order is enough.
        allowed = neutral[:1] if neutral else list(self.waiting)
        # Readers first: so in the first interleavings no writer has seen another's commit.
        awake = sorted((n for n in allowed if n not in self.asleep), key=lambda name: self.waiting[name].writes)
        if not awake:
            return False
        self.chosen = awake[0]
        return True

    def asleep_afterwards(self) -> set[str]:
        """Return the writers still asleep after the chosen one has gone on: their points do not depend on its point."""
        chosen = self.waiting[self.chosen]
        return {name for name in self.asleep if not are_dependent(self.waiting[name], chosen)}


def interleavings(run: Callable[[Choose], T | None]) -> Iterator[T]:
    """Run every interleaving and yield its result.

    Args:
        run: runs the writers from the beginning and asks at every point who goes on. It returns None if it is asked
            to abandon the run because the run equals one already yielded.
    """
    path: list[_Branching] = []
    while True:
        found = run(_Chooser(path).choose)
        if found is not None:
            yield found
        while path:
            path[-1].asleep.add(path[-1].chosen)
            if path[-1].choose_next():
                break
            path.pop()
        if not path:
            return


@dataclass(slots=True)
class _Chooser:
    """Repeats the choices of a path, then makes it longer."""

    path: list[_Branching]
    depth: int = 0

    def choose(self, waiting: Mapping[str, Footprint]) -> str | None:
        """See ``Choose``.

        Raises:
            HarnessBugError: the run does not repeat itself.
        """
        if self.depth == len(self.path):
            asleep = self.path[-1].asleep_afterwards() if self.path else set()
            branching = _Branching(waiting=dict(waiting), asleep=asleep)
            if not branching.choose_next():
                return None
            self.path.append(branching)
        branching = self.path[self.depth]
        if branching.waiting != waiting:
            raise HarnessBugError(f"a run does not repeat itself: writers wait at {waiting}, not {branching.waiting}")
        self.depth += 1
        return branching.chosen
