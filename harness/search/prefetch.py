"""The next case is drawn, and the reference asked about it, while the engine is still at the case before.

An engine works in a JVM or in a process of its own, and this process waits for it; both cores of a small machine are
busy this way, with one case at a time on the engine and the same cases in the same order.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.harness.findings.store import WORK_DIRECTORY, RunningCase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from mergecheck.harness.coverage.statistics import Statistics
    from mergecheck.harness.search.batching import Batch
    from mergecheck.harness.search.stream import Draws
    from mergecheck.reference.case.model import Case

_PREPARING = 1
"""The number under which the case being prepared is kept on disk; the one on the engine has none."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    index: int
    case: Case
    batch: Batch | None


@contextlib.contextmanager
def prepared(
    draws: Draws, reference: Callable[[Case], object] | None, *, work_directory: Path = WORK_DIRECTORY
) -> Iterator[PreparedDraws]:
    """Prepare a run's cases in a thread of its own for as long as the block lasts.

    Args:
        draws: the run's draws, not steered: those depend on what the cases before reached.
        reference: is asked about each case, and remembers what it answered; None where nobody will ask it.
        work_directory: where cases under way are kept.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="mergecheck-prepare") as pool:
        yield PreparedDraws(draws, pool, reference, RunningCase(work_directory, job=_PREPARING))


@dataclass(slots=True)
class PreparedDraws:
    """The draws of a run, one ahead."""

    draws: Draws
    _pool: ThreadPoolExecutor
    _reference: Callable[[Case], object] | None
    _running: RunningCase
    _next: Future[_Prepared] | None = field(init=False, default=None)
    _last: _Prepared | None = field(init=False, default=None)

    @property
    def seed(self) -> int:
        """The seed of the stream."""
        return self.draws.seed

    def draw(self, statistics: Statistics) -> tuple[int, Case]:
        """Return the next case and its number, see ``Draws.draw``, and begin with the one behind it."""
        pending = self._next or self._pool.submit(self._prepare, statistics)
        self._next = pending  # an interrupt while waiting loses no case
        self._last = pending.result()
        self._next = self._pool.submit(self._prepare, statistics)
        return self._last.index, self._last.case

    def batched(self, case: Case, index: int) -> Batch | None:
        """Return what ``Draws.batched`` does."""
        if self._last is not None and self._last.index == index:
            return self._last.batch
        return self.draws.batched(case, index)

    def shrink(self, index: int, fails: Callable[[Case], bool]) -> Case:
        """Let Hypothesis simplify a draw, see ``Stream.shrink``; it does not draw elsewhere meanwhile."""
        if self._next is not None:
            wait([self._next])
        return self.draws.shrink(index, fails)

    def _prepare(self, statistics: Statistics) -> _Prepared:
        index, case = self.draws.draw(statistics)
        batch = self.draws.batched(case, index)
        if self._reference is not None:
            whole = case if batch is None else batch.case
            # A reference that fails will do so again where the case is checked, and be told there.
            with self._running.under_way(whole), contextlib.suppress(Exception):
                self._reference(whole)
        return _Prepared(index, case, batch)
