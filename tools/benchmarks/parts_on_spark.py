"""How well the parts of a run spread over the workers of a cluster, with the same findings, also if a worker is lost.

    python -m tools.benchmarks.parts_on_spark --engine duckdb --range 0:400

For each number of workers, a standalone cluster of workers with one core each is started on this machine, and ``fuzz
--on-spark`` checks the range with it. Efficiency is the speed-up by the number of workers, at most the machine's cores.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.processes.temp_dirs import owned_prefix
from tools.benchmarks.reliability.spark_servers import cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.benchmarks.reliability.spark_servers import Cluster

_SECONDS_UNTIL_KILL = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A run of a range on a cluster.

    Attributes:
        lost: workers that were killed meanwhile.
        seconds: until the result was there, the start of Spark's driver included.
        findings: by id, with the number of the case in the seed.
        counts: cases by verdict.
    """

    workers: int
    lost: int
    seconds: float
    findings: dict[str, int]
    counts: dict[str, int]


def measure(engine: str, numbers: str, *, seed: int, workers: int, loses_one: bool) -> Spread:
    """Check a range on a new cluster.

    Args:
        engine: the value of ``--engine``.
        numbers: the value of ``--range``.
        seed: of the cases.
        workers: of the cluster, with one core each.
        loses_one: kill a worker and its executor some seconds after the run began.
    """
    with tempfile.TemporaryDirectory(prefix=owned_prefix()) as folder, cluster(Path(folder), workers) as place:
        command = [
            *(sys.executable, "-m", "mergecheck", "fuzz", "--engine", engine, "--seed", str(seed), "--range", numbers),
            *("--floor", "0", "--no-deviations", "--on-spark", place.url, "--findings", folder, "--json"),
        ]
        started = time.monotonic()
        timer = threading.Timer(_SECONDS_UNTIL_KILL, _kill_a_worker, [place])
        if loses_one:
            timer.start()
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=folder)  # noqa: S603 - ours
        timer.cancel()
        seconds = time.monotonic() - started
        if ended.returncode not in {0, 1}:
            raise click.ClickException(f"the run ended with exit code {ended.returncode}")
        document: dict[str, Any] = json.loads(ended.stdout)
        return Spread(
            workers=workers,
            lost=workers - place.state()["aliveworkers"],
            seconds=seconds,
            findings={finding["id"]: finding["number"] for finding in document["findings"]},
            counts={name: number for name, number in document["counts"].items() if number},
        )


def _kill_a_worker(place: Cluster) -> None:
    """Kill a worker and its executors, and what these run."""
    os.killpg(place.worker_groups[0], signal.SIGKILL)


def table(runs: Sequence[Spread]) -> list[str]:
    """Write the runs as a table of Markdown; the first is the one that others are compared with."""
    lines = ["| workers | lost | seconds | speed-up | efficiency | findings |", "|---:|---:|---:|---:|---:|---|"]
    cores = os.cpu_count() or 1
    for run in runs:
        speed_up = runs[0].seconds * runs[0].workers / run.seconds
        efficiency = speed_up / min(run.workers, cores)
        same = "the same" if (run.findings, run.counts) == (runs[0].findings, runs[0].counts) else "OTHERS"
        found = f"{len(run.findings)}, {same}"
        lines.append(
            f"| {run.workers} | {run.lost} | {run.seconds:.0f} | {speed_up:.2f} | {efficiency:.0%} | {found} |"
        )
    return lines


@click.command()
@click.option("--engine", default="duckdb", show_default=True, help="An engine that needs no Spark.")
@click.option("--range", "numbers", default="0:400", show_default=True, help="Cases of the seed.")
@click.option("--seed", default=1, show_default=True)
@click.option("--workers", "each", default="1,2,4", show_default=True, help="Sizes of the clusters.")
def main(*, engine: str, numbers: str, seed: int, each: str) -> None:
    """Check a range on clusters of several sizes, and on a cluster of two workers that loses a worker."""
    runs = []
    for workers, loses_one in [*((int(one), False) for one in each.split(",")), (2, True)]:
        runs.append(measure(engine, numbers, seed=seed, workers=workers, loses_one=loses_one))
        click.echo(f"{runs[-1]}", err=True)
    click.echo("\n".join(table(runs)))


if __name__ == "__main__":
    main()
