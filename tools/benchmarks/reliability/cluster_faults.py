"""A standalone cluster that runs tasks twice and loses a worker: the merge counts each row once, and commits its files.

    python -m tools.benchmarks.reliability.cluster_faults

A master and two workers are started on this machine. In the first merge a task that writes is so slow that Spark runs
it a second time elsewhere (speculation). In the second one, a worker and its executor are killed by a task. Both merges
must insert every row once, report it, and commit files that are there; files of the lost tasks are in no version.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa
from deltalake import DeltaTable as Reader
from deltalake import write_deltalake

from mergecheck.harness.engines.spark.config import spark_place, use_place
from mergecheck.harness.engines.spark.session import JVM_FOR_SMALL_DATA, start_session
from mergecheck.merge.builder import DeltaTable
from mergecheck.merge.conf import MATERIALIZE_SOURCE
from tools.benchmarks.reliability.spark_servers import cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

_NUM_TASKS = 4
_ROWS_PER_TASK = 10
_SLOW_SECONDS = 300.0
_SLEPT = "slept"
_SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.executor.memory": "512m",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The faults that a merge met, and its result.

    Attributes:
        attempts: attempts at the task that met it, the retries of its stage included.
        slept: whether the first attempt came to its end, so that it was not overtaken.
        version: the version that the merge committed.
        num_inserted: rows by the merge's metrics.
        num_files: files that the log names.
        num_on_disk: files in the table's folder.
        seconds: of the merge.
    """

    name: str
    attempts: int
    slept: bool
    version: int
    num_inserted: int
    num_files: int
    num_on_disk: int
    seconds: float


def run_faults(master: str, folder: Path) -> list[Fault]:
    """Merge on a cluster of two workers, one of which is lost in the end.

    Raises:
        AssertionError: a table is not what its merge has to make of it.
    """
    use_place(spark_place(master=master, remote=None, table_root=str(folder)))
    spark = start_session(jvm={**JVM_FOR_SMALL_DATA, **_SETTINGS})
    try:
        return [_merge(spark, folder, name, kills=name == "killed") for name in ("slow", "killed")]
    finally:
        spark.stop()


def _merge(spark: SparkSession, folder: Path, name: str, *, kills: bool) -> Fault:
    """Insert rows; the first attempt at one task meets the fault between two of its batches."""
    table, marks = folder / name, folder / f"{name}-attempts"
    marks.mkdir()
    write_deltalake(table, pa.table({"id": [-1], "v": ["old"]}))
    source = spark.range(0, _NUM_TASKS * _ROWS_PER_TASK, 1, _NUM_TASKS)
    rows = source.mapInArrow(_task(str(marks), kills=kills), "id BIGINT, v STRING").alias("s")
    spark.conf.set(MATERIALIZE_SOURCE, "none")  # so that the task that meets the fault is one that writes
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10485760")
    started = time.monotonic()
    target = DeltaTable.forPath(spark, str(table)).alias("t")
    done = target.merge(rows, "t.id = s.id").whenNotMatchedInsertAll().execute()
    seconds = time.monotonic() - started
    found = Reader(table)
    ids = sorted(row["id"] for row in found.to_pyarrow_table().to_pylist())
    if ids != [-1, *range(_NUM_TASKS * _ROWS_PER_TASK)]:
        raise AssertionError(f"{name}: the rows are {ids}")
    return Fault(
        name=name,
        attempts=len(list(marks.glob("attempt-*"))),
        slept=(marks / _SLEPT).exists(),
        version=done.version or 0,
        num_inserted=done.metrics["numTargetRowsInserted"],
        num_files=len(found.file_uris()),
        num_on_disk=len(list(table.glob("*.parquet"))),
        seconds=seconds,
    )


def _task(marks: str, *, kills: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Make the function of the source's tasks. It travels by value: workers do not have this module."""
    slow_seconds, slept = _SLOW_SECONDS, f"{marks}/{_SLEPT}"

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import os  # noqa: PLC0415 - as above
        import signal  # noqa: PLC0415 - the same
        import time  # noqa: PLC0415 - the same
        from pathlib import Path  # noqa: PLC0415 - the same

        import pyarrow as pa  # noqa: PLC0415 - the same
        from pyspark import TaskContext  # noqa: PLC0415 - the same

        def parent(pid: int) -> int:
            return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])

        for batch in batches:
            ids = batch.column(0).to_pylist()
            for number in ids:
                yield pa.RecordBatch.from_pydict({"id": [number], "v": ["new"]})
            if 0 not in ids:
                continue
            context = TaskContext.get()
            is_first = not any(Path(marks).iterdir())  # a stage that is repeated counts its attempts anew
            Path(f"{marks}/attempt-{context.taskAttemptId() if context else 0}").touch()
            if is_first and kills:
                executor = parent(os.getppid())  # this process comes from a daemon of its executor
                for pid in (parent(executor), executor):  # the worker first: it would start another executor
                    os.kill(pid, signal.SIGKILL)
            if is_first:
                time.sleep(slow_seconds)
                Path(slept).touch()

    return rows


@click.command()
@click.option("--master", help="A running cluster of two workers, which loses one; by default one is started.")
def main(master: str | None) -> None:
    """Merge on a cluster that runs tasks twice and loses a worker."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if master is None:
            master = stack.enter_context(cluster(Path(folder))).url
        tables = Path(folder) / "tables"
        tables.mkdir()
        faults = run_faults(master, tables)
    for fault in faults:
        print(fault)
    # a task that ran once, or to its end, met no fault
    sys.exit(any(fault.attempts < 2 or fault.slept for fault in faults))  # noqa: PLR2004 - the first and another one


if __name__ == "__main__":
    main()
