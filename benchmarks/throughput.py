"""Checked cases per second, verdict included, and where the time of a case goes; all engines in one run, in turn.

    python -m benchmarks.throughput --engine pyspark --engine delta-spark [--cases 100] [--batch 32] [--seed 1]

Each engine checks its own stream of the seed, a few cases at a time, so that whatever else the machine does falls on
all of them alike. With ``--batch`` every engine also has a lane of batches, in which a merge counts for the pairs of
tables that it holds.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from unittest import mock

import harness.engines.delta_spark
import harness.engines.pyspark
from harness.deviations import load_deviations
from harness.drawing import Draws
from harness.garbage import spare_what_is_loaded
from harness.session import WARM_UP, cases_for, check_one, open_engine
from harness.statistics import Statistics
from reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from harness.deviations import Deviations
    from harness.engine import Engine

_TURN = 10
# What the engines on Spark spend a case on; the rest is their settings and the reading of errors.
_PARTS: dict[str, tuple[ModuleType, dict[str, str]]] = {
    "pyspark": (
        harness.engines.pyspark,
        {"write_target": "set-up", "write_source": "set-up", "merge_sql": "merge", "observe": "read back"},
    ),
    "delta-spark": (
        harness.engines.delta_spark,
        {"write_target": "set-up", "write_source": "set-up", "observe": "read back"},
    ),
}


@dataclass(slots=True)
class Lane:
    """One engine, alone or in batches, and what it has done so far.

    Attributes:
        seconds: by phase; the parts of ``engine`` are in it too.
        num_cases: checked ones; the pairs of a batch count each.
    """

    engine: Engine
    draws: Draws
    batch: int
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    verdicts: Counter[str] = field(default_factory=Counter)
    num_cases: int = 0
    num_merges: int = 0

    @property
    def name(self) -> str:
        """Say which lane it is."""
        return self.engine.name if self.batch == 1 else f"{self.engine.name}, {self.batch} pairs"

    def turn(self, number: int) -> None:
        """Check so many merges."""
        while number:
            started = time.perf_counter()
            index, case = self.draws.draw(Statistics(seed=self.draws.seed))
            batch = self.draws.batched(case, index)
            if self.batch > 1 and batch is None:
                continue  # what cannot be batched is not this lane's business
            self.seconds["drawing"] += time.perf_counter() - started
            with _timed(self.engine.name, self.seconds):
                report = check_one(case if batch is None else batch.case, self.engine, _known(), reference=evaluate)
            for phase, seconds in report.phase_seconds.items():
                self.seconds[phase] += seconds
            self.verdicts["known deviation" if report.deviations else report.verdict.value] += 1
            self.num_cases += 1 if batch is None else len(batch.singles)
            self.num_merges += 1
            number -= 1

    @property
    def total(self) -> float:
        """Seconds of all cases."""
        return sum(self.seconds[phase] for phase in ("drawing", "reference", "engine", "compare"))


@cache
def _known() -> Deviations:
    return load_deviations()


def main() -> None:
    """Run the lanes in turn and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", required=True)
    parser.add_argument("--cases", type=int, default=100, help="merges per lane")
    parser.add_argument("--batch", type=int, default=1, help="pairs of tables of a second lane for each engine")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        engines = [stack.enter_context(open_engine(name)) for name in options.engine]
        sizes = (1,) if options.batch == 1 else (1, options.batch)
        lanes = [
            Lane(engine, Draws(cases_for(engine), seed=options.seed, batch_size=size), size)
            for engine in engines
            for size in sizes
        ]
        for engine in engines:
            for _ in range(3):
                engine.run(WARM_UP)
        spare_what_is_loaded()  # as a run does
        for lane in lanes:
            lane.turn(_TURN)  # the compilers' share: not counted
            lane.seconds.clear()
            lane.verdicts.clear()
            lane.num_cases = lane.num_merges = 0
        for _ in range(max(1, options.cases // _TURN)):
            for lane in lanes:
                lane.turn(_TURN)
    for line in _table(lanes):
        print(line)


def _table(lanes: list[Lane]) -> Iterator[str]:
    phases = ("drawing", "reference", "engine", "set-up", "merge", "read back", "compare")
    yield f"{'lane':<26}{'cases/s':>9}{'ms/case':>9}  " + "".join(f"{phase:>11}" for phase in phases) + "  verdicts"
    for lane in lanes:
        shares = "".join(f"{1000 * lane.seconds[phase] / lane.num_cases:>8.1f} ms" for phase in phases)
        speed = f"{lane.num_cases / lane.total:>9.1f}{1000 * lane.total / lane.num_cases:>9.1f}  "
        yield f"{lane.name:<26}{speed}{shares}  {dict(lane.verdicts)}"


@contextlib.contextmanager
def _timed(engine: str, seconds: defaultdict[str, float]) -> Iterator[None]:
    """Measure the parts of an engine on Spark while a case runs."""
    module, parts = _PARTS.get(engine, (None, {}))
    with contextlib.ExitStack() as stack:
        for name, part in parts.items():
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
