"""Several cases at once on one engine: threads check what comes next in the stream, the run looks at them in order.

Drawing, counting, confirming and shrinking stay in the main thread and see the cases by their numbers, so that a run
has the same findings and the same summary whatever the number of jobs. Each thread has an engine of its own beside
the main one (``ParallelEngine``).
"""

from __future__ import annotations

import contextlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

from harness.engine import ParallelEngine
from harness.errors import UserInputError
from harness.findings import RunningCase, content_digest, with_content_id
from harness.interrupts import interrupts_kept

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from harness.batch import Batch
    from harness.drawing import Draws
    from harness.engine import Engine
    from harness.statistics import Statistics
    from harness.verdict import CaseReport
    from reference.case import Case

CASES_AHEAD = 2
"""How many new cases are drawn ahead per job: one under way and one that waits, so that a slow case stops nobody."""
_MOST_DRAWN = 4  # draws ahead per job, repeated ones included


@dataclass(frozen=True, slots=True)
class _Drawn:
    index: int
    case: Case
    batch: Batch | None


@dataclass(slots=True)
class _Worker:
    engine: Engine
    running: RunningCase


class Jobs:
    """Threads that check cases on engines beside a main engine; use as a context manager.

    Args:
        engine: the main engine, up.
        num_jobs: threads, two or more.
        check: checks one case on one engine, in any thread.

    Raises:
        UserInputError: where the engine cannot run several cases at once.
    """

    def __init__(self, engine: Engine, num_jobs: int, check: Callable[[Case, Engine], CaseReport]) -> None:
        if not isinstance(engine, ParallelEngine):
            raise UserInputError(
                f"engine {engine.name!r} runs one case at a time: leave --jobs out. Several at once run on engines "
                "that have the method beside() of harness.engine.ParallelEngine, as pyspark and delta-spark do."
            )
        self.num_jobs = num_jobs
        self._check = check
        self._engines: list[Engine] = []
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        for job in range(1, num_jobs + 1):
            beside = engine.beside()
            self._engines.append(beside)
            self._idle.put(_Worker(beside, RunningCase(job=job)))
        self._threads = ThreadPoolExecutor(num_jobs, thread_name_prefix="mergecheck-job")
        self._pending: dict[str, Future[CaseReport]] = {}

    def __enter__(self) -> Self:
        """Return the jobs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop what has not begun, wait for what has, and close the engines; Ctrl+C ends the waiting."""
        with contextlib.suppress(KeyboardInterrupt):
            self._threads.shutdown(wait=True, cancel_futures=True)
        for engine in self._engines:
            engine.close()

    @property
    def num_pending(self) -> int:
        """Cases that were begun, or wait, and were not asked for yet."""
        return len(self._pending)

    def begin(self, case: Case) -> None:
        """Have a case checked by whoever is idle first."""
        self._pending[content_digest(case)] = self._threads.submit(self._run, case)

    def take(self, case: Case) -> CaseReport | None:
        """Wait for the report of a case that was begun; None for any other case, and for one taken before.

        Raises:
            KeyboardInterrupt: for Ctrl+C while waiting.
        """
        future = self._pending.pop(content_digest(case), None)
        if future is None:
            return None
        with interrupts_kept():
            return future.result()

    def _run(self, case: Case) -> CaseReport:
        worker = self._idle.get()
        try:
            worker.running.write(case)
            return self._check(case, worker.engine)
        finally:
            worker.running.clear()
            self._idle.put(worker)


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
