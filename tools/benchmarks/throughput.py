"""Checked cases per second, verdict included, and where the time of a case goes; all engines in one run, in turn.

    python -m tools.benchmarks.throughput --engine pyspark --engine delta-spark [--cases 100] [--batch 32] [--jobs 2]

Each engine checks its own stream of the seed, a few cases at a time, so that whatever else the machine does falls on
all of them alike. A turn also lasts a while: a fast engine checks more cases than a slow one, since five seconds of it
among minutes of the others would measure a few large tables, or what the machine did then. With ``--batch`` every
engine also has a mode of batches, in which a merge counts for the pairs of tables that it holds, and with ``--jobs``
one in which so many cases are checked at once. As in a run, the next case is drawn, and the reference asked, while the
engine is at the last one: a case takes less than the sum of its phases.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from mergecheck.harness.checker import Checker
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engines import delta_spark, pyspark, spark_engine
from mergecheck.harness.properties.case_space import CaseSpace
from mergecheck.harness.search.prefetch import prefetching
from mergecheck.harness.search.session import WARM_UP, cases_for, open_engine
from mergecheck.harness.search.stream import Draws
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.search.prefetch import Prefetch
    from mergecheck.harness.search.stream import Drawn

_TURN, _TURN_OF_JOBS = 10, 50
"""Merges that a mode checks at least, per job, before the next one has its turn."""
_SECONDS, _SECONDS_OF_JOBS = 1.0, 10.0
"""How long a turn lasts at least; the jobs of a mode wait for each other at its end."""
# The phases of a case on the Spark engines; the rest is settings and the reading of errors.
_SET_UP = ((spark_engine, "write_target", "set-up"), (spark_engine, "write_source", "set-up"))
_PARTS: dict[str, tuple[tuple[ModuleType, str, str], ...]] = {
    "pyspark": (*_SET_UP, (pyspark, "merge_sql", "merge"), (pyspark, "observe", "read back")),
    "delta-spark": (*_SET_UP, (delta_spark, "observe", "read back")),
}


@dataclass(slots=True)
class Mode:
    """One engine, alone or in batches, and its counts so far.

    Attributes:
        seconds: by phase; the parts of ``engine`` are in it too, and ``all`` is the time that passed.
        num_cases: checked ones; the pairs of a batch count each.
    """

    engine: Engine
    prefetch: Prefetch
    seconds: defaultdict[str, float]
    batch: int = 1
    jobs: int = 1
    verdicts: Counter[str] = field(default_factory=Counter)
    num_cases: int = 0
    num_merges: int = 0
    num_turns: int = 0

    @property
    def name(self) -> str:
        """Say which mode it is."""
        several = f", {self.batch} pairs" * (self.batch > 1) + f", {self.jobs} jobs" * (self.jobs > 1)
        return self.engine.name + several

    @property
    def most(self) -> int:
        """Give the merges that a turn has at least."""
        return _TURN if self.jobs == 1 else _TURN_OF_JOBS * self.jobs

    def turn(self) -> None:
        """Check some merges, and whatever was begun meanwhile."""
        started = time.perf_counter()
        ends = started + (_SECONDS if self.jobs == 1 else _SECONDS_OF_JOBS)
        number, self.num_turns = self.num_merges + self.most, self.num_turns + 1
        self.prefetch.max_cases = None
        while True:
            if self.num_merges >= number and time.perf_counter() >= ends:
                if not self.prefetch.num_coming:
                    break
                self.prefetch.max_cases = 0  # nothing goes on during the others' turns
            self._check_next()
        self.seconds["all"] += time.perf_counter() - started

    def forget(self) -> None:
        """Leave the counts so far out of the figures."""
        self.seconds.clear()
        self.verdicts.clear()
        self.num_cases = self.num_merges = self.num_turns = 0

    def _check_next(self) -> None:
        upcoming = self.prefetch.next(CaseSpace())
        singles = () if upcoming is None else upcoming.drawn.singles
        if upcoming is None or upcoming.finish is None or (self.batch > 1 and not singles):
            return  # what cannot be batched is not this mode's business
        with _timed(self.engine.name, self.seconds) if self.jobs == 1 else contextlib.nullcontext():
            report = upcoming.finish()
        for phase in ("engine", "compare", *["reference"] * (self.jobs > 1)):
            self.seconds[phase] += report.phase_seconds.get(phase, 0.0)
        self.verdicts["known deviation" if report.deviations else report.verdict.value] += 1
        self.num_cases += len(singles) or 1
        self.num_merges += 1


class _TimedDraws(Draws):
    """Draws that note how long they take, the reference left out, which a batch asks whether it is accepted."""

    def __init__(self, engine: Engine, seconds: defaultdict[str, float], **options: Any) -> None:  # noqa: ANN401 - as Draws has them
        super().__init__(cases_for(engine), **options)
        self._seconds = seconds

    def draw(self, space: CaseSpace) -> Drawn:
        with self._drawing():
            return super().draw(space)

    def batched(self, drawn: Drawn) -> Drawn:
        with self._drawing():
            return super().batched(drawn)

    @contextlib.contextmanager
    def _drawing(self) -> Iterator[None]:
        started = time.perf_counter() - self._seconds["reference"]
        yield
        self._seconds["drawing"] += time.perf_counter() - self._seconds["reference"] - started


@cache
def _known() -> Deviations:
    return load_deviations()


def main() -> None:
    """Run the modes in turn and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", required=True)
    parser.add_argument("--cases", type=int, default=100, help="merges per mode at least, in whole turns")
    parser.add_argument("--batch", type=int, default=1, help="pairs of tables of a second mode for each engine")
    parser.add_argument("--jobs", type=int, default=1, help="cases at once in one more mode for each engine")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        engines = [stack.enter_context(open_engine(name)) for name in options.engine]
        modes = [stack.enter_context(_mode(engine, options.seed)) for engine in engines]
        if options.batch > 1:
            modes += [stack.enter_context(_mode(engine, options.seed, batch=options.batch)) for engine in engines]
        if options.jobs > 1:
            modes += [stack.enter_context(_mode(engine, options.seed, jobs=options.jobs)) for engine in engines]
        for engine in engines:
            for _ in range(3):
                engine.run(WARM_UP)
        for mode in modes:
            mode.turn()  # the compilers' share
            mode.forget()
        while waiting := [mode for mode in modes if mode.num_turns * mode.most < options.cases]:
            for mode in waiting:
                mode.turn()
    for line in _table(modes):
        print(line)


@contextlib.contextmanager
def _mode(engine: Engine, seed: int, *, batch: int = 1, jobs: int = 1) -> Iterator[Mode]:
    seconds: defaultdict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        evaluate = MergeReference().evaluate
        checker = Checker(
            engine=engine,
            deviations=_known(),
            reference=_measured(evaluate, "reference", seconds) if jobs == 1 else evaluate,
            skip_reference_if_unsupported=True,
            work_directory=Path(folder),
        )
        draws = _TimedDraws(engine, seconds, seed=seed, batch_size=batch, reference=checker.reference)
        with prefetching(draws, checker, num_jobs=jobs) as prefetch:
            yield Mode(engine, prefetch, seconds, batch=batch, jobs=jobs)


def _table(modes: list[Mode]) -> Iterator[str]:
    phases = ("drawing", "reference", "engine", "set-up", "merge", "read back", "compare")
    head = f"{'mode':<26}{'cases':>7}{'cases/s':>9}{'ms/case':>9}  "
    yield head + "".join(f"{phase:>11}" for phase in phases) + "  verdicts"
    for mode in modes:
        shares = "".join(f"{1000 * mode.seconds[phase] / mode.num_cases:>8.1f} ms" for phase in phases)
        speed = f"{mode.num_cases / mode.seconds['all']:>9.1f}{1000 * mode.seconds['all'] / mode.num_cases:>9.1f}  "
        yield f"{mode.name:<26}{mode.num_cases:>7}{speed}{shares}  {dict(mode.verdicts)}"


@contextlib.contextmanager
def _timed(engine: str, seconds: defaultdict[str, float]) -> Iterator[None]:
    """Measure the parts of an engine on Spark while a case runs."""
    with contextlib.ExitStack() as stack:
        for module, name, part in _PARTS.get(engine, ()):
            stack.enter_context(mock.patch.object(module, name, _measured(getattr(module, name), part, seconds)))
        yield


def _measured(function: Callable[..., Any], part: str, seconds: defaultdict[str, float]) -> Callable[..., Any]:
    def measured(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever it stands for
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[part] += time.perf_counter() - started

    return measured


if __name__ == "__main__":
    main()
