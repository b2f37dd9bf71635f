"""The parts of a run on the workers of a Spark cluster, for engines that need no Spark themselves.

A part is a command line of mergecheck with a range of its own, which a task runs in a process of its own. Spark gives a
task whose worker is lost to another worker, which runs the same range again.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.engines.registry import engine_has
from mergecheck.harness.engines.spark.config import spark_place, use_place
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.processes.temp_dirs import owned_prefix
from mergecheck.harness.verdict import EngineDownError, ExitCode, UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

_MOST_WAITING = 64
"""Parts that Spark has at once; it gives each to a core that is idle."""
_TAIL = 2000
_SCHEMA = "version STRING, code INT, text STRING, errors STRING"
_ENDED = frozenset({ExitCode.AGREE, ExitCode.MISMATCH, ExitCode.ENGINE, ExitCode.INCONCLUSIVE})


@dataclass(frozen=True, slots=True)
class _Part:
    """A range of a run.

    Attributes:
        numbers: the range.
        arguments: the command line, without the program's name.
        file: the file of its results; None if it prints them.
    """

    numbers: range
    arguments: tuple[str, ...]
    file: str | None = None


@dataclass(frozen=True, slots=True)
class RunInParts:
    """A run of a range on the workers of a cluster.

    Attributes:
        master: ``spark://HOST:PORT``, or ``local[N]``.
        engine: the value of ``--engine``.
        numbers: the range.
        options: of each part, without ``--range``; they name no file but those that all workers have.
        on_part: called with the number of parts that have come back, and of all.
    """

    master: str
    engine: str
    numbers: range
    options: Sequence[str]
    on_part: Callable[[int, int], None]

    def results(
        self, *command: str, size: int, file: str | None = None, wanted: frozenset[int] | None = None
    ) -> Iterator[str]:
        """Run the parts, each by a task, and yield the result of each as it comes.

        Args:
            command: the verb that checks a part, and options of the verb.
            size: numbers of a part. It does not depend on the cluster, so that the result does not either.
            file: in which a part leaves its result; None if it prints it.
            wanted: parts without any of these numbers are left out; None for all parts.

        Raises:
            UserInputError: the engine starts a Spark of its own, or the master is none that can be used.
            EngineDownError: Spark does not start, a worker lacks a package, or a part ends without a result.
        """
        _require_no_spark(self.engine)
        parts = [
            _Part(part, (*command, *self.options, "--quiet", "--range", f"{part.start}:{part.stop}"), file)
            for part in _parts_of(self.numbers, size)
            if wanted is None or not wanted.isdisjoint(part)
        ]
        use_place(spark_place(master=self.master))
        session = start_session(makes_tables=False)
        version = importlib.metadata.version("mergecheck")
        with ThreadPoolExecutor(min(_MOST_WAITING, len(parts)), thread_name_prefix="mergecheck-part") as pool:
            waiting = {pool.submit(_collect, session, part): part for part in parts}
            try:
                for number, done in enumerate(as_completed(waiting), 1):
                    yield _checked(done.result(), waiting[done], version)
                    self.on_part(number, len(parts))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                session.sparkContext.cancelAllJobs()


def _parts_of(numbers: range, size: int) -> list[range]:
    """Split a range at the multiples of a size, so that the parts of two ranges of one stream are alike."""
    cuts = [numbers.start, *range((numbers.start // size + 1) * size, numbers.stop, size), numbers.stop]
    return [range(first, end) for first, end in itertools.pairwise(cuts)]


def _require_no_spark(engine_name: str) -> None:
    if engine_has(engine_name, "session"):
        raise UserInputError(
            f"--on-spark: engine {engine_name!r} starts Spark itself, so that no worker of a cluster can run it. Run "
            "it on several machines, each with a --range of its own, and put the runs together by mergecheck lab "
            "merge-runs; or let it use the cluster by --master."
        )


def _collect(session: SparkSession, part: _Part) -> Any:  # noqa: ANN401 - a row
    """Run a part by a query of one task.

    Raises:
        EngineDownError: the task failed, on every worker that Spark has tried.
    """
    arguments, file = part.arguments, part.file

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            yield _run_here(arguments, file)

    try:
        return session.range(1).repartition(1).mapInArrow(task, _SCHEMA).collect()[0]
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines()]
        why = next((line for line in reversed(lines) if "Error: " in line and not line.startswith("at ")), lines[0])
        raise EngineDownError(
            f"the part {part.numbers.start}:{part.numbers.stop} failed on Spark: {why}\nThe Python of the workers, "
            "which PYSPARK_PYTHON names, needs mergecheck with the extra spark, and what the engine needs."
        ) from error


def _run_here(arguments: Sequence[str], file: str | None) -> Any:  # noqa: ANN401 - a batch of PyArrow
    """Run a part on the worker, in a folder of its own."""
    import pyarrow as pa  # noqa: PLC0415 - of the extra spark, which this module's importers may lack

    with tempfile.TemporaryDirectory(prefix=owned_prefix()) as folder:
        command = [sys.executable, "-P", "-m", "mergecheck", *arguments]
        ended = subprocess.run(  # noqa: S603 - our own command line
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
        )
        path = Path(folder) / (file or "")
        text = ended.stdout if file is None else path.read_text(encoding="utf-8") if path.is_file() else ""
    version = importlib.metadata.version("mergecheck")
    answer = {"version": version, "code": ended.returncode, "text": text, "errors": ended.stderr[-_TAIL:]}
    return pa.RecordBatch.from_pylist(
        [answer],
        schema=pa.schema(
            [("version", pa.string()), ("code", pa.int32()), ("text", pa.string()), ("errors", pa.string())]
        ),
    )


def _checked(row: Any, part: _Part, version: str) -> str:  # noqa: ANN401 - a row
    if row["version"] != version:
        raise EngineDownError(
            f"the workers have mergecheck {row['version']}, and this is {version}. Install the same version there."
        )
    if row["code"] not in _ENDED or not row["text"].strip():
        raise EngineDownError(
            f"the part {part.numbers.start}:{part.numbers.stop} ended on its worker with exit code {row['code']} and "
            f"without a result:\n{row['errors'].strip()}"
        )
    return str(row["text"])
