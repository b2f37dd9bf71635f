"""Merges on Spark whose process is killed: a merge is committed as a whole or not at all, and none is lost.

    python -m tools.benchmarks.reliability.killed_merges --kills 20

A process merges ``n = n + 1`` into a table of several files, over and over. It is killed at a random moment of a merge
and replaced, so many times. After each kill, ``n`` must be the number of commits in every row, and every file that the
log names must be there with the size in the log. Files that no version names are left over; they are counted.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from mergecheck.harness.engines.spark.session import start_session
from mergecheck.merge.sql import merge_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

_SQL = "MERGE INTO t USING (SELECT k, n + 1 AS n FROM t) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET n = s.n"
_ROOT = Path(__file__).parents[3]
_NUM_FILES = 3
_BEGIN, _END = "begin", "end"


def make_table(folder: Path) -> Path:
    """Make a table of several files with one row each; ``n`` counts the commits after this."""
    table = folder / "table"
    for number in range(_NUM_FILES):
        write_deltalake(table, pa.table({"k": [number], "n": [0]}), mode="append")
    return table


def merge_forever(table: Path) -> None:
    """Merge until somebody kills this process; tell where a merge begins and ends."""
    spark = start_session()
    while True:
        print(_BEGIN, flush=True)
        merge_sql(spark, _SQL, tables={"t": str(table)})
        print(_END, flush=True)


def kill_merges(table: Path, *, num_kills: int, seed: int) -> Iterator[str]:
    """Kill merging processes.

    Yields:
        What became of the table after each kill.

    Raises:
        AssertionError: the table differs from the result of the committed merges.
    """
    moments = random.Random(seed)  # noqa: S311 - no secret
    base = DeltaTable(table).version()
    for number in range(1, num_kills + 1):
        before = DeltaTable(table).version()
        command = [sys.executable, "-m", "tools.benchmarks.reliability.killed_merges", "--work", str(table)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as process:  # noqa: S603 - this module
            seconds = _one_merge(process)
            at = moments.uniform(0, 1.2 * seconds)
            time.sleep(at)
            process.kill()
        yield f"kill {number}: {at:.2f} s into a merge of {seconds:.2f} s; {_state(table, base, before)}"


def _one_merge(process: subprocess.Popen[str]) -> float:
    """Wait for a first merge and the beginning of the second; return how long the first took."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    started = time.monotonic()
    for line in process.stdout:
        if line.strip() == _END:
            break
        started = time.monotonic()
    seconds = time.monotonic() - started
    process.stdout.readline()
    return seconds


def _state(table: Path, base: int, before: int) -> str:
    found = DeltaTable(table)
    values = {row["n"] for row in found.to_pyarrow_table().to_pylist()}
    if values != {found.version() - base} or found.version() <= before:
        raise AssertionError(f"version {found.version()}, {base} before the first merge, but n is {values}")
    files = {action["path"]: action["size_bytes"] for action in pa.table(found.get_add_actions()).to_pylist()}
    for path, size in files.items():
        if (table / path).stat().st_size != size:
            raise AssertionError(f"{path} has not the {size} bytes that the log says")
    on_disk = sum(1 for _ in table.glob("*.parquet"))
    return f"version {found.version()}, n as it must be, {len(files)} files in use, {on_disk} on disk"


@click.command()
@click.option("--kills", "num_kills", default=20, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--work", type=click.Path(path_type=Path), hidden=True)
def main(num_kills: int, seed: int, work: Path | None) -> None:
    """Kill processes in the middle of a merge."""
    if work is not None:
        merge_forever(work)
    with tempfile.TemporaryDirectory() as folder:
        for line in kill_merges(make_table(Path(folder)), num_kills=num_kills, seed=seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
