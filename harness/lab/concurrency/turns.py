"""Threads that take turns: at any time one writer runs, and all others wait at their points."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from mergecheck.harness.lab.concurrency.points import footprint
from mergecheck.harness.processes.time_limit import DEFAULT_SECONDS
from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor, Future

    from mergecheck.harness.engine import Point
    from mergecheck.harness.lab.concurrency.explore import Choose

T = TypeVar("T")


class AbandonedError(BaseException):
    """Ends a writer whose run is not needed any more; no error of a merge, so that nothing takes it for one."""


@dataclass(frozen=True, slots=True)
class _Reached:
    point: Point | None = None
    is_end: bool = False


@dataclass(slots=True, kw_only=True)
class Turn:
    """One writer's side of the turns."""

    name: str
    waiting: queue.SimpleQueue[tuple[str, _Reached]]
    may_go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    is_abandoned: bool = False

    def wait(self, point: Point | None) -> None:
        """Wait at a point until this writer is chosen.

        Args:
            point: the point; None for a whole write.

        Raises:
            AbandonedError: it never will be.
        """
        self.waiting.put((self.name, _Reached(point)))
        self.may_go.acquire()
        if self.is_abandoned:
            raise AbandonedError

    def end(self) -> None:
        """Mark this writer as ended."""
        self.waiting.put((self.name, _Reached(is_end=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScheduler:
    """Runs some writers so that a chooser decides at every point who goes on.

    Attributes:
        executor: has a thread for each writer.
        newest: returns the newest version of the table's log.
        patience: seconds that a writer may take from one point to the next.
    """

    executor: Executor
    newest: Callable[[], int]
    patience: float = DEFAULT_SECONDS

    def play(self, writers: Mapping[str, Callable[[Turn], T]], choose: Choose) -> Mapping[str, T] | None:
        """Run all writers to their ends and return what they return; None if the chooser abandons the run.

        Raises:
            EngineDownError: a writer does not reach its next point.
        """
        reached: queue.SimpleQueue[tuple[str, _Reached]] = queue.SimpleQueue()
        turns = {name: Turn(name=name, waiting=reached) for name in writers}
        futures: dict[str, Future[T]] = {}
        waiting: dict[str, Point | None] = {}

        def follow() -> None:
            """Let the one writer that runs come to its next point, or its end."""
            try:
                name, there = reached.get(timeout=self.patience)
            except queue.Empty:
                late = f"a writer did not come to its next point within {self.patience:g} s (--case-timeout)"
                raise EngineDownError(late) from None
            if not there.is_end:
                waiting[name] = there.point

        try:
            for name, writer in writers.items():
                futures[name] = self.executor.submit(_run, writer, turns[name])
                follow()
            while waiting:
                newest = self.newest()
                chosen = choose({name: footprint(point, newest=newest) for name, point in waiting.items()})
                if chosen is None:
                    return None
                del waiting[chosen]
                turns[chosen].may_go.release()
                follow()
        finally:
            for name in waiting:
                turns[name].is_abandoned = True
                turns[name].may_go.release()
                futures[name].exception(timeout=self.patience)  # it removes its files
        return {name: future.result() for name, future in futures.items()}


def _run(writer: Callable[[Turn], T], turn: Turn) -> T:
    try:
        return writer(turn)
    finally:
        turn.end()
