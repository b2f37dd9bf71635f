"""Memory of one process that checks very many cases.

    python -m tools.benchmarks.reliability.many_cases --cases 20000
    python -m tools.benchmarks.reliability.many_cases --cases 2000 --engine pyspark

The resident memory of the process and of its children is measured as the run goes on. It may rise while caches fill.
After the first fifth of the run it must be flat: a rise of more than ``--most-mib`` fails.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.findings.store import FINDINGS_DIRECTORY
from mergecheck.harness.report import events
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.session import FuzzOptions, open_engine, reference_for, run_fuzz

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUM_SAMPLES = 20
_WARM = 0.2
_MIB = 1024


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory after so many cases, in MiB."""

    num_cases: int
    own: float
    children: float


def check_many(engine_name: str, *, num_cases: int, seed: int, findings: Path) -> list[Sample]:
    """Check random cases in this process, and measure its memory twenty times."""
    samples: list[Sample] = []
    every = max(1, num_cases // _NUM_SAMPLES)
    started = time.monotonic()

    def measure(event: events.Event) -> None:
        if isinstance(event, events.CaseChecked) and event.summary.counts.num_cases % every == 0:
            children = sum(resident_mib(pid) for pid in descendants("self"))
            sample = Sample(event.summary.counts.num_cases, resident_mib("self"), children)
            samples.append(sample)
            seconds = time.monotonic() - started
            print(
                f"{sample.num_cases:7} cases {seconds:6.0f} s  own {sample.own:7.0f} MiB  children {children:7.0f} MiB"
            )

    with open_engine(engine_name) as engine:
        checker = Checker(engine=engine, deviations=load_deviations(()), reference=reference_for(engine).evaluate)
        options = FuzzOptions(seed=seed, budget=Budget(max_cases=num_cases), findings=findings)
        summary = run_fuzz(checker, options, listener=measure)
    print(f"{summary.counts.num_cases} cases, {len(summary.counts.findings)} findings; stopped: {summary.stop.value}")
    return samples


def rise_mib(samples: list[Sample]) -> tuple[float, float]:
    """Return by how much this process and its children have grown since the first fifth of the run."""
    warm = samples[int(len(samples) * _WARM)]
    return samples[-1].own - warm.own, samples[-1].children - warm.children


def resident_mib(pid: str) -> float:
    """Return a process' resident memory; 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / _MIB for line in status.splitlines() if line.startswith("VmRSS")), 0.0)


def descendants(pid: str) -> Iterator[str]:
    """Yield the ids of a process' children, and of theirs."""
    try:
        children = [path.read_text(encoding="ascii").split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return
    for child in (one for some in children for one in some):
        yield child
        yield from descendants(child)


@click.command()
@click.option("--cases", "num_cases", default=20_000, show_default=True)
@click.option("--engine", "engine_name", default="duckdb", show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--most-mib", default=100.0, show_default=True, help="By how much memory may rise.")
@click.option(
    "--findings", type=click.Path(path_type=Path), default=FINDINGS_DIRECTORY, show_default=True, help="Where they go."
)
def main(num_cases: int, engine_name: str, seed: int, most_mib: float, findings: Path) -> None:
    """Check many cases in one process, and measure its memory."""
    samples = check_many(engine_name, num_cases=num_cases, seed=seed, findings=findings)
    own, children = rise_mib(samples)
    print(f"rise after the first fifth: own {own:.0f} MiB, children {children:.0f} MiB")
    sys.exit(max(own, children) > most_mib)


if __name__ == "__main__":
    main()
