"""Who checks several cases at once: threads beside one Spark, or processes with an engine each.

An engine in this process's JVM gets threads, each with a session of its own (``ForkingEngine``). For an engine that
lives in a child process the harness's own work is most of a case, so that every job is a process (``FactoryEngine``).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from mergecheck.harness.engine import FactoryEngine, ForkingEngine
from mergecheck.harness.errors import UserInputError
from mergecheck.harness.findings.store import RunningCase
from mergecheck.harness.search.parallel import Jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.reference.case.model import Case

    Check = Callable[[Case, Engine], CaseReport]


def jobs_on(engine: Engine, num_jobs: int, check: Check) -> contextlib.AbstractContextManager[Jobs]:
    """Open a pool for the length of a run; at its end what has not begun is dropped and what has is waited for.

    Args:
        engine: the main engine, up; the jobs have engines of their own beside it.
        num_jobs: two or more.
        check: checks one case on one engine, in any thread, or in another process where the engine is a
            ``FactoryEngine``; then it must be a function of a module, or a ``functools.partial`` of one.

    Raises:
        UserInputError: where the engine cannot run several cases at once.
    """
    if isinstance(engine, ForkingEngine):
        return _threads(engine, num_jobs, check)
    if isinstance(engine, FactoryEngine):
        return _processes(engine, num_jobs, check)
    raise UserInputError(
        f"engine {engine.name!r} runs one case at a time: leave --jobs out. Several at once run on engines "
        "that have the method fork() of mergecheck.harness.engine.ForkingEngine, as pyspark and delta-spark do, or "
        "factory() of mergecheck.harness.engine.FactoryEngine, as duckdb and delta-rs do."
    )


@dataclass(slots=True)
class _Worker:
    """One job: its engine, and where it notes what it is at."""

    engine: Engine
    running: RunningCase

    def check(self, case: Case, check: Check) -> CaseReport:
        with self.running.under_way(case):
            return check(case, self.engine)


@contextlib.contextmanager
def _threads(engine: ForkingEngine, num_jobs: int, check: Check) -> Iterator[Jobs]:
    idle: SimpleQueue[_Worker] = SimpleQueue()

    def run(case: Case) -> CaseReport:
        worker = idle.get()
        try:
            return worker.check(case, check)
        finally:
            idle.put(worker)

    with contextlib.ExitStack() as stack:
        for job in range(1, num_jobs + 1):
            beside = stack.enter_context(contextlib.closing(engine.fork()))
            idle.put(_Worker(beside, RunningCase(job=job)))
        pool = stack.enter_context(_ending(ThreadPoolExecutor(num_jobs, thread_name_prefix="mergecheck-job")))
        yield Jobs(num_jobs, lambda case: pool.submit(run, case))


@contextlib.contextmanager
def _processes(engine: FactoryEngine, num_jobs: int, check: Check) -> Iterator[Jobs]:
    pool = ProcessPoolExecutor(
        num_jobs,
        mp_context=multiprocessing.get_context("spawn"),  # a fork would share what the parent's threads hold
        initializer=_begin_work,
        initargs=(engine.factory(), check),
    )
    with _ending(pool):
        yield Jobs(num_jobs, lambda case: pool.submit(_work, case))


@contextlib.contextmanager
def _ending(pool: Executor) -> Iterator[Executor]:
    """End a pool with the block; Ctrl+C ends the waiting."""
    try:
        yield pool
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            pool.shutdown(wait=True, cancel_futures=True)


_own: tuple[_Worker, Check] | None = None


def _begin_work(factory: Callable[[], Engine], check: Check) -> None:
    global _own  # noqa: PLW0603 - one engine per process of the pool, made before its first case
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the run, which ends its jobs itself
    _own = _Worker(factory(), RunningCase()), check


def _work(case: Case) -> CaseReport:
    assert _own is not None  # noqa: S101 - the pool has begun with it
    worker, check = _own
    return worker.check(case, check)
