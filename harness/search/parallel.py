"""Several cases at once: a pool checks what comes next in the stream, the run looks at the reports in order.

Drawing, counting, confirming and shrinking stay in the main thread and see the cases by their numbers, so that a run
has the same findings and the same summary whatever the number of jobs.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.harness.core.case_id import content_digest, with_content_id
from mergecheck.harness.core.interrupts import interrupts_kept
from mergecheck.harness.errors import HarnessBugError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from mergecheck.harness.coverage.statistics import Statistics
    from mergecheck.harness.search.batching import Batch
    from mergecheck.harness.search.stream import Draws
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.reference.case.model import Case

CASES_AHEAD = 8
"""How many new cases are begun ahead per job. Reports are taken in order, and a large table takes as long as a dozen
other cases: the other jobs need as much work meanwhile."""
_MOST_DRAWN = 16  # draws ahead per job, repeated ones included


@dataclass(frozen=True, slots=True)
class _Drawn:
    index: int
    case: Case
    batch: Batch | None


@dataclass(slots=True)
class Jobs:
    """The cases that a pool checks, see ``mergecheck.harness.search.job_pools``.

    Attributes:
        num_jobs: cases that are checked at once.
        submit: has a case checked as soon as one of the jobs is idle.
    """

    num_jobs: int
    submit: Callable[[Case], Future[CaseReport]]
    _pending: dict[str, Future[CaseReport]] = field(init=False, default_factory=dict)

    @property
    def num_pending(self) -> int:
        """Cases that were begun, or wait, and were not asked for yet."""
        return len(self._pending)

    def begin(self, case: Case) -> None:
        """Have a case checked by whoever is idle first."""
        self._pending[content_digest(case)] = self.submit(case)

    def take(self, case: Case) -> CaseReport | None:
        """Wait for the report of a case that was begun; None for any other case, and for one taken before.

        Raises:
            KeyboardInterrupt: for Ctrl+C while waiting.
            HarnessBugError: where the process that checked it was lost.
        """
        future = self._pending.pop(content_digest(case), None)
        if future is None:
            return None
        with interrupts_kept():
            try:
                return future.result()
            except BrokenProcessPool as error:
                raise HarnessBugError(
                    "a process that checked cases was lost; the next fuzz run in this folder keeps its case as crashed"
                ) from error


@dataclass(slots=True)
class DrawsAhead:
    """The draws of a run, of which the next ones are being checked already.

    Attributes:
        draws: the run's draws, which are asked in their own order.
        jobs: who checks.
        max_cases: how many new cases the run will look at; None for no limit.
    """

    draws: Draws
    jobs: Jobs
    max_cases: int | None = None
    _drawn: deque[_Drawn] = field(init=False, default_factory=deque)
    _batches: dict[int, Batch | None] = field(init=False, default_factory=dict)
    _begun: set[str] = field(init=False, default_factory=set)

    @property
    def seed(self) -> int:
        """The seed of the stream."""
        return self.draws.seed

    @property
    def num_drawn(self) -> int:
        """Draws that were not asked for yet."""
        return len(self._drawn)

    def draw(self, statistics: Statistics) -> tuple[int, Case]:
        """Return the next case and its number, see ``Draws.draw``."""
        while not self._drawn or self._may_draw_more():
            self._drawn.append(self._begin(*self.draws.draw(statistics)))
        drawn = self._drawn.popleft()
        self._batches = {drawn.index: drawn.batch}
        return drawn.index, drawn.case

    def batched(self, case: Case, index: int) -> Batch | None:
        """Return what ``Draws.batched`` does."""
        return self._batches[index] if index in self._batches else self.draws.batched(case, index)

    def shrink(self, index: int, fails: Callable[[Case], bool]) -> Case:
        """Let Hypothesis simplify a draw, see ``Stream.shrink``."""
        return self.draws.shrink(index, fails)

    def _may_draw_more(self) -> bool:
        if self.max_cases is not None and len(self._begun) >= self.max_cases:
            return False
        num_jobs = self.jobs.num_jobs
        return self.jobs.num_pending < CASES_AHEAD * num_jobs and len(self._drawn) < _MOST_DRAWN * num_jobs

    def _begin(self, index: int, case: Case) -> _Drawn:
        digest = content_digest(case)
        if digest in self._begun:
            return _Drawn(index, case, None)
        self._begun.add(digest)
        batch = self.draws.batched(case, index)
        self.jobs.begin(with_content_id(case if batch is None else batch.case))
        return _Drawn(index, case, batch)
