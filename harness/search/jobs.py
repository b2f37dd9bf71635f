"""Several cases at once: threads that share one Spark, or processes with an engine each.

An engine in this process's JVM gets threads, each with a session of its own (``ForkingEngine``). If an engine works in
a child process, most of a case's time is the harness's own, so that every job is a process (``FactoryEngine``). A job
whose process is lost loses the case that it had, and goes on in another process.

Drawing, counting, confirming and shrinking stay in the run and see the cases in their order, so that a run has the
same findings and the same summary for any number of jobs.
"""

from __future__ import annotations

import contextlib
import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING

from mergecheck.harness.engine import FactoryEngine, ForkingEngine
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.search.job_process import JobProcess
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.search.stream import Drawn
    from mergecheck.harness.verdict import CaseReport

    Begin = Callable[[Drawn], Callable[[], CaseReport]]


def job_pool(checker: Checker, num_jobs: int) -> contextlib.AbstractContextManager[Begin]:
    """Open a pool of jobs; the value of the block begins the check of a case and returns what waits for its report.

    At the end of the block, cases that have not begun are dropped, and the jobs finish those that have.

    Args:
        checker: has the main engine, which is up; each job has a checker like it on an engine of its own.
        num_jobs: two or more.

    Raises:
        UserInputError: if the engine cannot run several cases at once.
    """
    if isinstance(checker.engine, FactoryEngine):
        return _processes(checker, checker.engine, num_jobs)
    if isinstance(checker.engine, ForkingEngine):
        return _threads(checker, checker.engine, num_jobs)
    raise UserInputError(
        f"engine {checker.engine.name!r} runs one case at a time: leave --jobs out. Several at once run on engines "
        "that have the method fork() of mergecheck.harness.engine.ForkingEngine, as pyspark and delta-spark do, or "
        "factory() of mergecheck.harness.engine.FactoryEngine, as duckdb and delta-rs do."
    )


@contextlib.contextmanager
def _threads(checker: Checker, engine: ForkingEngine, num_jobs: int) -> Iterator[Begin]:
    with contextlib.ExitStack() as stack:
        jobs = []
        for job in range(1, num_jobs + 1):
            forked = stack.enter_context(contextlib.closing(engine.fork()))
            jobs.append(functools.partial(_check, replace(checker, engine=forked, job=job)))
        yield stack.enter_context(_shared(jobs))


@contextlib.contextmanager
def _processes(checker: Checker, engine: FactoryEngine, num_jobs: int) -> Iterator[Begin]:
    with contextlib.ExitStack() as stack:
        jobs = [stack.enter_context(contextlib.closing(JobProcess(checker, engine.factory()))) for _ in range(num_jobs)]
        yield stack.enter_context(_shared([job.check for job in jobs]))


@contextlib.contextmanager
def _shared(jobs: Sequence[Callable[[Drawn], CaseReport]]) -> Iterator[Begin]:
    """Give every case to a job that is idle."""
    idle: SimpleQueue[Callable[[Drawn], CaseReport]] = SimpleQueue()
    for job in jobs:
        idle.put(job)

    def check(drawn: Drawn) -> CaseReport:
        job = idle.get()
        try:
            return job(drawn)
        finally:
            idle.put(job)

    with ending(ThreadPoolExecutor(len(jobs), thread_name_prefix="mergecheck-job")) as pool:
        yield functools.partial(_begin, pool, check)


@contextlib.contextmanager
def ending(pool: Executor) -> Iterator[Executor]:
    """End a pool with the block: drop what has not begun, and wait for the rest. Ctrl+C ends the waiting."""
    try:
        yield pool
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            pool.shutdown(wait=True, cancel_futures=True)


def _begin(pool: Executor, check: Callable[[Drawn], CaseReport], drawn: Drawn) -> Callable[[], CaseReport]:
    return functools.partial(_report, pool.submit(check, drawn))


def _report(future: Future[CaseReport]) -> CaseReport:
    """Wait for a report; Ctrl+C while waiting raises KeyboardInterrupt."""
    with interrupts_kept():
        return future.result()


def _check(checker: Checker, drawn: Drawn) -> CaseReport:
    return checker.check(checker.prepare(drawn.case, drawn.reference))
