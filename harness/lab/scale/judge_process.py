"""The judge in a process of its own, so that its memory is limited and measured apart from Spark's driver.

Reads one request from standard input and writes lines of JSON: ``step`` whenever something begins, and one ``done``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from mergecheck.harness.lab.scale.judge import Judgement, Merged, judge
from mergecheck.harness.lab.scale.tables.spec import ScaleSpec
from mergecheck.harness.verdict import Check, ExitCode, HarnessBugError, Mismatch, UserInputError, Verdict
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DATABASE_SHARE = 0.7
"""How much of the memory limit DuckDB may count on; Python, libraries and what DuckDB does not count get the rest."""
_OUT_OF_MEMORY = 3
_KILOBYTE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judgement with its time and memory.

    Attributes:
        seconds: by step, in order.
        peak_bytes: the largest resident memory of the process; None if the system does not report it.
    """

    judgement: Judgement
    seconds: Mapping[str, float]
    peak_bytes: int | None


def judge_apart(
    spec: ScaleSpec,
    tables: Mapping[str, Path],
    merged: Merged,
    *,
    memory_bytes: int,
    spill: Path,
    on_step: Callable[[str, int | None], None],
) -> Judged:
    """Judge a merge in a child process.

    Args:
        spec: as of ``judge``.
        tables: the same.
        merged: the same.
        memory_bytes: the most that the process may use; DuckDB spills to disk before.
        spill: a folder for data that do not fit in memory.
        on_step: as of ``judge``.

    Raises:
        UserInputError: if the memory does not suffice although DuckDB spills.
        HarnessBugError: if the process fails otherwise.
    """
    request = {
        "spec": asdict(spec),
        "tables": {name: str(path) for name, path in tables.items()},
        "merged": {**asdict(merged), "rejection": merged.rejection and _rejection_json(merged.rejection)},
        "memory_bytes": memory_bytes,
        "spill": str(spill),
    }
    command = [sys.executable, "-P", "-m", __name__]  # not from the working folder
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603 - this interpreter
        assert child.stdin is not None  # noqa: S101 - tells mypy
        assert child.stdout is not None  # noqa: S101 - the same
        child.stdin.write(json.dumps(request))
        child.stdin.close()
        done: dict[str, Any] = {}
        for line in child.stdout:
            event = json.loads(line)
            if "step" in event:
                on_step(event["step"], event["rows"])
            else:
                done = event["done"]
    if child.returncode == _OUT_OF_MEMORY:
        raise UserInputError(
            f"{memory_bytes / 2**30:.1f} GiB are too little for the reference of {spec.rows} rows "
            f"({done.get('message')}). Give more with --memory-limit, or fewer --rows."
        )
    if child.returncode or not done:
        raise HarnessBugError(f"the judge ended with code {child.returncode}; its message is above")
    return Judged(judgement=_judgement(done["judgement"]), seconds=done["seconds"], peak_bytes=done["peak_bytes"])


def connect(*, memory_bytes: int, spill: Path) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB that keeps to a limit and spills to a folder."""
    connection = duckdb.connect()
    limit = int(memory_bytes * DATABASE_SHARE)
    connection.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
    connection.execute(f"SET memory_limit = '{limit // 2**20}MiB'")
    connection.execute("SET temp_directory = '" + str(spill).replace("'", "''") + "'")
    return connection


def peak_bytes() -> int | None:
    """Return the largest resident memory of this process so far; None if the system does not report it.

    Linux keeps the peak of the parent in ``ru_maxrss`` across the start of a program, so its own count goes first.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * _KILOBYTE
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else _KILOBYTE)


def _main() -> int:
    request = json.loads(sys.stdin.read())
    steps: list[tuple[str, float]] = []

    def on_step(name: str, rows: int | None) -> None:
        steps.append((name, time.perf_counter()))
        _say({"step": name, "rows": rows})

    spill = Path(request["spill"])
    try:
        with connect(memory_bytes=request["memory_bytes"], spill=spill) as connection:
            judgement = judge(
                ScaleSpec(**request["spec"]),
                {name: Path(path) for name, path in request["tables"].items()},
                _merged(request["merged"]),
                connection,
                on_step=on_step,
            )
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        _say({"done": {"message": str(error).split("\n", maxsplit=1)[0]}})
        return _OUT_OF_MEMORY
    except KeyboardInterrupt:  # the parent gets it too, and reports it to the user
        return ExitCode.INTERRUPTED
    ends = [start for _, start in steps[1:]] + [time.perf_counter()]
    seconds = {name: round(end - start, 2) for (name, start), end in zip(steps, ends, strict=True)} if steps else {}
    _say({"done": {"judgement": _judgement_json(judgement), "seconds": seconds, "peak_bytes": peak_bytes()}})
    return 0


def _say(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def _rejection_json(rejection: Rejection) -> dict[str, Any]:
    return {"error_class": rejection.error_class, "message": rejection.message}


def _merged(document: dict[str, Any]) -> Merged:
    failed = document["rejection"]
    return Merged(**{**document, "rejection": Rejection(**failed) if failed else None})


def _judgement_json(judgement: Judgement) -> dict[str, Any]:
    mismatches = [{**asdict(one), "check": one.check.value} for one in judgement.mismatches]
    return {**asdict(judgement), "verdict": judgement.verdict.value, "mismatches": mismatches}


def _judgement(document: dict[str, Any]) -> Judgement:
    mismatches = tuple(
        Mismatch(**{**one, "check": Check(one["check"]), "lines": tuple(one["lines"]), "parts": tuple(one["parts"])})
        for one in document["mismatches"]
    )
    keys = tuple(document["keys"])
    return Judgement(**{**document, "verdict": Verdict(document["verdict"]), "mismatches": mismatches, "keys": keys})


if __name__ == "__main__":
    sys.exit(_main())
