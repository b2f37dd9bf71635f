"""Several cases at once: threads that share one Spark, or processes with an engine each.

An engine in this process's JVM gets threads, each with a session of its own (``ForkingEngine``). If an engine works in
a child process, most of a case's time is the harness's own, so that every job is a process (``FactoryEngine``).

Drawing, counting, confirming and shrinking stay in the run and see the cases in their order, so that a run has the
same findings and the same summary for any number of jobs.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import fields, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from mergecheck.harness.checker import Checker
from mergecheck.harness.core.interrupts import interrupts_kept
from mergecheck.harness.engine import FactoryEngine, ForkingEngine
from mergecheck.harness.errors import HarnessBugError, UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Executor, Future

    from mergecheck.harness.engine import Engine
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
    if isinstance(checker.engine, ForkingEngine):
        return _threads(checker, checker.engine, num_jobs)
    if isinstance(checker.engine, FactoryEngine):
        return _processes(checker, checker.engine, num_jobs)
    raise UserInputError(
        f"engine {checker.engine.name!r} runs one case at a time: leave --jobs out. Several at once run on engines "
        "that have the method fork() of mergecheck.harness.engine.ForkingEngine, as pyspark and delta-spark do, or "
        "factory() of mergecheck.harness.engine.FactoryEngine, as duckdb and delta-rs do."
    )


@contextlib.contextmanager
def _threads(checker: Checker, engine: ForkingEngine, num_jobs: int) -> Iterator[Begin]:
    idle: SimpleQueue[Checker] = SimpleQueue()

    def check(drawn: Drawn) -> CaseReport:
        own = idle.get()
        try:
            return _check(own, drawn)
        finally:
            idle.put(own)

    with contextlib.ExitStack() as stack:
        for job in range(1, num_jobs + 1):
            forked = stack.enter_context(contextlib.closing(engine.fork()))
            idle.put(replace(checker, engine=forked, job=job))
        pool = stack.enter_context(ending(ThreadPoolExecutor(num_jobs, thread_name_prefix="mergecheck-job")))
        yield functools.partial(_begin, pool, check)


@contextlib.contextmanager
def _processes(checker: Checker, engine: FactoryEngine, num_jobs: int) -> Iterator[Begin]:
    options = {each.name: getattr(checker, each.name) for each in fields(checker) if each.name != "engine"}
    pool = ProcessPoolExecutor(
        num_jobs,
        mp_context=multiprocessing.get_context("spawn"),  # a fork would share what the parent's threads hold
        initializer=_begin_work,
        initargs=(engine.factory(), options),
    )
    with ending(pool):
        yield functools.partial(_begin, pool, _check_in_process)


@contextlib.contextmanager
def ending(pool: Executor) -> Iterator[Executor]:
    """End a pool with the block: drop what has not begun, and wait for the rest. Ctrl+C ends the waiting."""
    try:
        yield pool
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            pool.shutdown(wait=True, cancel_futures=True)


def _begin(pool: Executor, check: Callable[[Drawn], CaseReport], drawn: Drawn) -> Callable[[], CaseReport]:
    with _telling_lost_processes():
        future = pool.submit(check, drawn)
    return functools.partial(_report, future)


def _report(future: Future[CaseReport]) -> CaseReport:
    """Wait for a report; Ctrl+C while waiting raises KeyboardInterrupt."""
    with interrupts_kept(), _telling_lost_processes():
        return future.result()


@contextlib.contextmanager
def _telling_lost_processes() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as error:
        raise HarnessBugError(
            "a process that checked cases was lost; the next fuzz run in this folder keeps its case as crashed"
        ) from error


def _check(checker: Checker, drawn: Drawn) -> CaseReport:
    return checker.check(checker.prepare(drawn.case, drawn.reference))


_own: Checker | None = None


def _begin_work(factory: Callable[[], Engine], options: Mapping[str, Any]) -> None:
    global _own  # noqa: PLW0603 - one engine per process of the pool, made before its first case
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the run, which ends its jobs itself
    _own = Checker(engine=factory(), **options)


def _check_in_process(drawn: Drawn) -> CaseReport:
    assert _own is not None  # noqa: S101 - the pool has begun with it
    return _check(_own, drawn)
