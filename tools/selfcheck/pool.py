"""Seeds and shrinking spread over processes, each with a Spark session of its own."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import sys
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.processes.start import SAFE_PATH, end_with_parent, environment_with, forget_safe_path
from mergecheck.harness.search.session import WARM_UP, stream_for
from tools.selfcheck.shrinking import Shrunk, shrink_fault
from tools.selfcheck.trial import SeedResult, alone, run_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from tools.selfcheck.fault import Fault
    from tools.selfcheck.scope_cases import Scopes

T = TypeVar("T")

_EVERY = 50  # cases between two lines of progress

_engine: PySparkEngine | None = None


def run_seeds(
    faults: Sequence[Fault],
    seeds: Sequence[int],
    *,
    max_cases: int,
    jobs: int,
    listener: Callable[[SeedResult], None],
    known: Sequence[SeedResult] = (),
    drop_missed: bool = False,
    scopes: Scopes | None = None,
    ends: float = math.inf,
) -> list[SeedResult]:
    """Run seeds in so many processes.

    Args:
        faults: which faults.
        seeds: which seeds; each is one piece of work.
        max_cases: cases per seed.
        jobs: processes.
        listener: called after each seed.
        known: results of other seeds, and of seeds that were cut short, which go on.
        scopes: the small scopes whose merges are the cases; None for random cases.
        ends: when seeds are cut short, by ``time.monotonic``.
        drop_missed: seeds that begin later skip a fault that one seed has missed: it is not solved anyway.

    Raises:
        HarnessBugError: see ``run_seed``.
    """
    found: list[SeedResult] = []

    def told(result: SeedResult) -> None:
        found.append(result)
        listener(result)

    def submitted(pool: ProcessPoolExecutor) -> Iterator[Future[SeedResult]]:
        for seed in seeds:
            missed = _missed(faults, [one for one in (*known, *found) if not one.is_cut_short]) if drop_missed else ()
            before = next((one for one in known if one.seed == seed), SeedResult(seed=seed, passed_over=missed))
            left = [fault for fault in faults if fault.id not in before.passed_over]
            yield _submitted(pool, _run_seed, left, before, max_cases, ends, scopes)

    with _pool(min(jobs, len(seeds))) as pool:
        return _collected(submitted(pool), told, at_once=jobs)


def _missed(faults: Sequence[Fault], results: Sequence[SeedResult]) -> tuple[str, ...]:
    """Name the faults that a seed has missed."""
    return tuple(fault.id for fault in faults if any(fault.id not in result.kills for result in results))


def shrink_faults(
    faults: Sequence[Fault], results: Sequence[SeedResult], *, jobs: int, listener: Callable[[Shrunk | None], None]
) -> list[Shrunk | None]:
    """Shrink a killing case of every fault that a seed found: the case of the lowest seed.

    Args:
        faults: which faults.
        results: the seeds.
        jobs: processes.
        listener: called after each fault.
    """
    first: dict[str, tuple[int, int]] = {}
    for result in sorted(results, key=lambda result: result.seed):
        for name, kill in result.kills.items():
            first.setdefault(name, (result.seed, kill.index))
    found = (fault for fault in faults if fault.id in first)
    with _pool(jobs) as pool:
        return _collected(
            (_submitted(pool, _shrink, fault, *first[fault.id]) for fault in found), listener, at_once=jobs
        )


def _pool(jobs: int) -> ProcessPoolExecutor:
    # A new interpreter each: a fork would share the parent's JVM connection, if it has one.
    context = multiprocessing.get_context("spawn")
    with environment_with(SAFE_PATH):  # the queues of a pool start a process, too
        return ProcessPoolExecutor(max_workers=jobs, mp_context=context, initializer=_start)


def _submitted(pool: ProcessPoolExecutor, do: Callable[..., T], *arguments: object) -> Future[T]:
    with environment_with(SAFE_PATH):  # a pool starts its processes as work comes
        return pool.submit(do, *arguments)


def _collected(futures: Iterator[Future[T]], listener: Callable[[T], None], *, at_once: int) -> list[T]:
    """Wait for pieces of work, so many at once; a piece is submitted when the iterator is asked for it."""
    found: list[T] = []
    waiting: set[Future[T]] = set()
    try:
        while True:
            waiting.update(itertools.islice(futures, at_once - len(waiting)))
            if not waiting:
                return found
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                listener(future.result())
                found.append(future.result())
    except BaseException:
        for future in waiting:
            future.cancel()
        raise


def _start() -> None:
    global _engine  # noqa: PLW0603 - one engine per process of the pool, made before its first piece of work
    end_with_parent()
    forget_safe_path()
    _engine = PySparkEngine()
    _engine.run(WARM_UP)


def _run_seed(
    faults: Sequence[Fault],
    before: SeedResult,
    max_cases: int,
    ends: float,
    scopes: Scopes | None,
) -> SeedResult:
    assert _engine is not None  # noqa: S101 - the pool has started it
    cases = scopes.cases(before.seed) if scopes else alone(stream_for(_engine, before.seed))
    return run_seed(
        faults,
        _engine,
        cases,
        seed=before.seed,
        max_cases=max_cases,
        ends=ends,
        before=before,
        listener=_progress,
    )


def _progress(result: SeedResult) -> None:
    if result.num_cases % _EVERY == 0:
        sys.stderr.write(f"seed {result.seed}: {len(result.kills)} faults found in {result.num_cases} cases\n")


def _shrink(fault: Fault, seed: int, index: int) -> Shrunk | None:
    assert _engine is not None  # noqa: S101 - the pool has started it
    return shrink_fault(fault, _engine, seed=seed, first=index)
