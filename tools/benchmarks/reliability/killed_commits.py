"""Writers of one log that are killed in the middle of a commit: every version is whole, and none is lost.

    python -m tools.benchmarks.reliability.killed_commits --kills 300

Two processes commit to one table as fast as they can, with ``LogStore.try_create``, by which every merge commits. One
of them is killed and replaced, so many times, at a random moment after it has begun a commit. Every commit carries its
writer and a number. Afterwards each version must be whole, and the numbers of each writer must have no gap.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.merge.table.storage.log_store import LogStore

if TYPE_CHECKING:
    from typing import NoReturn

_NUM_ACTIONS = 20
_PADDING = "x" * 100_000  # so that writing takes most of a commit
_NUM_TIMED = 4
_WRITERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledCommits:
    """What became of a log.

    Attributes:
        num_kills: writers that were killed.
        num_versions: versions of the log.
        num_in_commit: kills that left a half-written file beside the log, which no reader takes for a version.
        faults: empty if the log is right.
    """

    num_kills: int
    num_versions: int
    num_in_commit: int
    faults: tuple[str, ...]


def kill_writers(folder: Path, *, num_kills: int, seed: int) -> KilledCommits:
    """Kill writers of the log of a new table.

    Args:
        folder: where the table is made.
        num_kills: how many.
        seed: of the moments.
    """
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    moments = random.Random(seed)  # noqa: S311 - no secret
    writers = [_start_writer(folder) for _ in range(_WRITERS)]
    try:
        most_seconds = _seconds_of_commit(writers[0])
        for _ in range(num_kills):
            victim = writers.pop(moments.randrange(len(writers)))
            os.read(victim.begins, 1)
            time.sleep(moments.uniform(0, most_seconds))
            victim.kill()
            writers.append(_start_writer(folder))
    finally:
        for writer in writers:
            writer.kill()
    versions = sorted(path for path in log.iterdir() if path.suffix == ".json")
    num_other = sum(path.suffix != ".json" for path in log.iterdir())
    return KilledCommits(
        num_kills=num_kills, num_versions=len(versions), num_in_commit=num_other, faults=tuple(_faults(versions))
    )


@dataclass(frozen=True, slots=True)
class _Writer:
    """A process that commits, and writes a byte to a pipe before each commit."""

    pid: int
    begins: int

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.begins)


def _seconds_of_commit(writer: _Writer) -> float:
    os.read(writer.begins, 1)
    started = time.monotonic()
    for _ in range(_NUM_TIMED):
        os.read(writer.begins, 1)
    return (time.monotonic() - started) / _NUM_TIMED


def _start_writer(folder: Path) -> _Writer:
    begins, begin = os.pipe()
    pid = os.fork()  # of a process with one thread
    if pid == 0:
        _write(folder, begin)
    os.close(begin)
    return _Writer(pid, begins)


def _write(folder: Path, begin: int) -> NoReturn:
    try:
        store, writer, number = LogStore(str(folder)), os.getpid(), 0
        version = len(list((folder / "_delta_log").glob("*.json")))
        while True:
            info = {"writer": writer, "number": number, "padding": _PADDING}
            actions = [{"commitInfo": {**info, "line": n}} for n in range(_NUM_ACTIONS)]
            os.write(begin, b".")
            number += store.try_create(version, actions)
            version += 1
    finally:
        os._exit(1)


def _faults(versions: list[Path]) -> list[str]:
    faults, numbers = [], defaultdict(list)
    if [int(path.stem) for path in versions] != list(range(len(versions))):
        faults.append("the versions have a gap")
    for path in versions:
        lines = path.read_text(encoding="utf-8").splitlines()
        try:
            infos = [json.loads(line)["commitInfo"] for line in lines]
        except ValueError:
            faults.append(f"{path.name} is not whole")
            continue
        if [info["line"] for info in infos] != list(range(_NUM_ACTIONS)):
            faults.append(f"{path.name} has {len(infos)} of {_NUM_ACTIONS} actions")
        numbers[infos[0]["writer"]].append(infos[0]["number"])
    faults += [
        f"writer {writer} has lost a commit, or has made one twice: {found}"
        for writer, found in numbers.items()
        if found != list(range(len(found)))
    ]
    return faults


@click.command()
@click.option("--kills", "num_kills", default=300, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(num_kills: int, seed: int) -> None:
    """Kill writers in the middle of their commits."""
    with tempfile.TemporaryDirectory() as folder:
        found = kill_writers(Path(folder), num_kills=num_kills, seed=seed)
    print(
        f"{found.num_kills} writers killed, {found.num_in_commit} of them inside a commit; "
        f"{found.num_versions} versions, {len(found.faults)} faults"
    )
    print("\n".join(found.faults))
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
