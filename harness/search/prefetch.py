"""Prefetches the next cases of a run: draws them, and begins their checks, while the run is at the current one.

Drawing and the reference take about as long as a merge. Engines work in a JVM or in a process of their own, so that
both overlap on two cores. The cases and their order are those without prefetching.
"""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.harness.search.jobs import ending, job_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor, Future

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.properties.case_space import CaseSpace
    from mergecheck.harness.search.stream import CaseStream, Drawn
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

    Finish = Callable[[], CaseReport]
    Begin = Callable[[Drawn], Finish]

CASES_AHEAD = 8
"""Cases that are begun ahead per job. Reports are taken in order, and a large table takes as long as a dozen other
cases: the other jobs need as much work meanwhile."""
_PREPARING = 1  # the job number of the case being prepared; the case on the engine has none


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A draw whose check has begun.

    Attributes:
        finish: ends the check, in the main thread; None for a repeated draw, which is not checked again.
    """

    drawn: Drawn
    finish: Finish | None


@contextlib.contextmanager
def prefetching(
    draws: CaseStream,
    checker: Checker,
    *,
    num_jobs: int = 1,
    max_cases: int | None = None,
    end: int | None = None,
) -> Iterator[Prefetch]:
    """Prefetch a run's cases for as long as the block lasts, and close the draws with it.

    With one job, the next case is drawn and the reference evaluates it while ``checker`` has the current one on its
    engine. With several, each job checks on an engine of its own. Steered draws depend on what the cases before have
    reached, so that nothing is prefetched.

    Args:
        draws: the run's draws.
        checker: checks the cases of a single job, and every case that is checked again.
        num_jobs: cases that are checked at once.
        max_cases: how many different cases the run checks; None for no limit.
        end: the number before which the draws end; None for no limit.

    Raises:
        UserInputError: if there are several jobs, and the engine cannot run several cases at once.
    """
    with contextlib.ExitStack() as stack:
        if num_jobs > 1:
            begin = stack.enter_context(job_pool(checker, num_jobs))
        else:
            begin = functools.partial(_prepare, checker)
        num_ahead = 0 if draws.steer else 1 if num_jobs == 1 else CASES_AHEAD * num_jobs
        thread = stack.enter_context(ending(ThreadPoolExecutor(1, thread_name_prefix="mergecheck-prefetch")))
        stack.callback(draws.close)  # before the thread is waited for
        yield Prefetch(draws, begin, thread, num_ahead=num_ahead, max_cases=max_cases, end=end)


def _prepare(checker: Checker, drawn: Drawn) -> Finish:
    prepared = replace(checker, job=_PREPARING).prepare(drawn.case, drawn.reference)
    return functools.partial(checker.check, prepared)


@dataclass(slots=True)
class Prefetch:
    """The cases of a run, in the order of its draws.

    Attributes:
        draws: the run's draws.
        begin: begins the check of a case in the prefetching thread, and returns what ends it.
        thread: draws, one case after the other.
        num_ahead: draws that are begun before they are asked for.
        max_cases: how many different cases the run checks; None for no limit.
        end: the number before which the draws end; None for no limit.
    """

    draws: CaseStream
    begin: Begin
    thread: Executor
    num_ahead: int = 0
    max_cases: int | None = None
    end: int | None = None
    _coming: deque[Future[Upcoming | None]] = field(init=False, default_factory=deque)
    _num_taken: int = field(init=False, default=0)

    @property
    def seed(self) -> int:
        """The seed of the stream."""
        return self.draws.seed

    @property
    def num_coming(self) -> int:
        """Draws that were begun and not yet asked for."""
        return len(self._coming)

    def next(self, space: CaseSpace) -> Upcoming | None:
        """Return the next draw, and start on those after it; None if there is none.

        Args:
            space: the cells that the run has reached so far; steered draws choose by it.

        Raises:
            RuntimeError: if nothing can be drawn.
        """
        if not self._coming:
            self._draw(space)
        upcoming = self._coming[0].result()  # an interrupt while waiting loses no case
        self._coming.popleft()
        if upcoming is None:
            return None
        self._num_taken += not upcoming.drawn.is_repeated
        while len(self._coming) < self.num_ahead and self._may_draw_more():
            self._draw(space)
        return upcoming

    def shrink(self, index: int, fails: Callable[[Case], bool]) -> Case | None:
        """Let Hypothesis simplify a draw, see ``Stream.shrink``."""
        return self.draws.shrink(index, fails)

    def _may_draw_more(self) -> bool:
        """Return whether the run needs another draw even if no draw under way is a repeated one."""
        return self.max_cases is None or self._num_taken + len(self._coming) < self.max_cases

    def _draw(self, space: CaseSpace) -> None:
        self._coming.append(self.thread.submit(self._begin_next, space))

    def _begin_next(self, space: CaseSpace) -> Upcoming | None:
        drawn = self.draws.draw(space)
        if drawn is None or (self.end is not None and drawn.index >= self.end):
            return None
        if drawn.is_repeated:
            return Upcoming(drawn, None)
        drawn = self.draws.batched(drawn)
        return Upcoming(drawn, self.begin(drawn))
