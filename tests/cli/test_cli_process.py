"""The output of a command as a process: its result last, a few known lines on stderr, and the same after Ctrl+C."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_cases import write_case

from mergecheck.harness.processes.temp_dirs import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = Path(sysconfig.get_path("scripts")) / "mergecheck"
# A background job ignores SIGINT, and its children inherit that.
WITH_CTRL_C = "import os, sys; from signal import *; signal(SIGINT, SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
SEED = "7"
ENGINES = ["duckdb", pytest.param("pyspark", marks=pytest.mark.spark)]
# All that a run without a finding writes to stderr if that is no terminal.
STATUS = re.compile(
    r"starting engine \S+ \.\.\.|engine \S+ \S+  seed \d+"
    r"|\d+ cases  .*/s  verified \d+%  findings 0.*"
)
PATIENCE = 120.0  # seconds


@dataclass(frozen=True, slots=True)
class Running:
    """A command in a process group of its own, as a terminal starts one; its output goes to files."""

    process: subprocess.Popen[bytes]
    folder: Path

    @classmethod
    def start(cls, *arguments: str, folder: Path) -> Running:
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            process = subprocess.Popen(  # noqa: S603 - the command under test
                [sys.executable, "-c", WITH_CTRL_C, COMMAND, *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return cls(process, folder)

    @property
    def out(self) -> list[str]:
        return (self.folder / "out").read_text("utf-8").splitlines()

    @property
    def err(self) -> list[str]:
        return (self.folder / "err").read_text("utf-8").splitlines()

    def wait_for(self, text: str) -> None:
        """Wait until a line on stderr contains a text."""
        ends = time.monotonic() + PATIENCE
        while not any(text in line for line in self.err):
            assert self.process.poll() is None, self.err
            assert time.monotonic() < ends, self.err
            time.sleep(0.02)

    def child(self) -> int:
        """Return the process of the run, which leads a group of its own."""
        (child,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(child)

    def press_ctrl_c(self) -> None:
        """Interrupt the command and its children, as a terminal does."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def wait_until(happened: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.02)


def has_ended(group: int) -> bool:
    """Return whether no process of a group runs; one that nobody waits for does not."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            state, _, its_group, *_ = stat.read_text().rpartition(")")[2].split()
            if int(its_group) == group and state != "Z":
                return False
    return True


def undocumented(lines: list[str]) -> list[str]:
    return [line for line in lines if not STATUS.fullmatch(line)]


def fuzz(engine: str, max_cases: int, folder: Path) -> Running:
    options = ("--engine", engine, "--max-cases", str(max_cases), "--seed", SEED, "--floor", "0")
    return Running.start("fuzz", *options, folder=folder)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_ends_with_its_summary(engine: str, tmp_path: Path) -> None:
    """Nothing follows it: no leaks that a library reports, no word of the JVM."""
    running = fuzz(engine, 3, tmp_path)
    assert running.end() == 0
    assert running.out[-1] == (
        f"seed {SEED}  same cases again: mergecheck fuzz --engine {engine} --floor 0 --seed {SEED} --max-cases 3"
    )
    assert undocumented(running.err) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_ends_a_run_with_the_summary_of_what_it_did(engine: str, tmp_path: Path) -> None:
    running = fuzz(engine, 100_000, tmp_path)
    running.wait_for(f"seed {SEED}")
    time.sleep(1.5)  # some cases
    running.press_ctrl_c()
    assert running.end() == 130
    assert "stopped: interrupted" in running.out
    assert re.fullmatch(
        rf"seed {SEED}  same cases again: mergecheck fuzz --engine {engine} --floor 0( --batch \d+)? "
        rf"--seed {SEED} --max-cases \d+",
        running.out[-1],
    )
    assert undocumented(running.err) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_ctrl_c_while_an_engine_starts_ends_in_one_line(engine: str, seconds: float, tmp_path: Path) -> None:
    running = fuzz(engine, 100_000, tmp_path)
    running.wait_for("starting engine")
    time.sleep(seconds)
    group = running.child()
    running.press_ctrl_c()
    assert running.end() == 130
    wait_until(lambda: has_ended(group))
    # the empty line ends the line of the terminal's ^C
    assert [line for line in undocumented(running.err) if line] in ([], ["error: interrupted"])


def own_engine(name: str, folder: Path) -> str:
    """Put the engines of these tests where the command finds them."""
    shutil.copy(Path(__file__).with_name("echo_engine.py"), folder)
    return f"echo_engine:{name}"


def test_a_process_that_an_engine_ends_is_no_success(tmp_path: Path) -> None:
    """Whatever exit code the engine gave it; the next run keeps the case."""
    running = fuzz(own_engine("EndsTheProcess", tmp_path), 100, tmp_path)
    assert running.end() == 3
    assert running.out == []
    assert "the process of this run ended with exit code 0 before it had a result" in running.err[-1]
    (left,) = (tmp_path / ".mergecheck/running").glob("*.json")
    assert str(left.relative_to(tmp_path)) in running.err[-1]


def test_a_killed_run_leaves_no_process_and_its_directory_is_cleared(tmp_path: Path) -> None:
    """The process that is killed is the parent, in the middle of a case."""
    running = fuzz(own_engine("Hangs", tmp_path), 100, tmp_path)
    wait_until((tmp_path / "hangs").exists)
    child = running.child()
    running.process.kill()
    running.end()
    wait_until(lambda: not Path(f"/proc/{child}/cmdline").exists() or not Path(f"/proc/{child}/cmdline").read_text())
    places = (MEMORY, Path(tempfile.gettempdir()))
    assert [path for place in places for path in place.glob(f"mergecheck-*-{child}-*")] == []


def test_the_next_run_tells_of_the_case_of_a_killed_one(tmp_path: Path) -> None:
    """``kill -9`` of the process in which a case runs; the case is kept."""
    running = fuzz(own_engine("Hangs", tmp_path), 100, tmp_path)
    wait_until((tmp_path / "hangs").exists)
    os.killpg(running.child(), signal.SIGKILL)
    assert running.end() == 3
    left = [json.loads(path.read_text()) for path in (tmp_path / ".mergecheck" / "running").glob("*.json")]
    again = fuzz("echo_engine:Echo", 1, tmp_path)
    assert again.end() == 0
    assert any("crashed: the process was lost while this case ran" in line for line in again.err)
    kept = [json.loads(path.read_text()) for path in (tmp_path / ".mergecheck" / "findings").rglob("*.json")]
    assert {case["sql"] for case in kept} == {case["sql"] for case in left}
    assert len(kept) > 0


@pytest.mark.parametrize("verb", ["run", "replay"])
def test_checking_saved_cases_writes_the_result_alone(verb: str, tmp_path: Path) -> None:
    running = Running.start(verb, write_case(tmp_path / "case.json"), "--engine", "duckdb", folder=tmp_path)
    assert running.end() == 0
    assert running.out
    assert running.err == []


def test_python_m_runs_the_same_command_line(tmp_path: Path) -> None:
    """For an environment whose scripts are not on the path."""
    runs = [
        subprocess.run([*command, "run", "nothing.json"], cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 - the command under test
        for command in ([str(COMMAND)], [sys.executable, "-m", "mergecheck"])
    ]
    assert [run.returncode for run in runs] == [2, 2]
    assert runs[0].stderr == runs[1].stderr != ""


CLOSES_AFTER_REPORTING = """
import time
from mergecheck.harness.cli import supervisor

def closes():
    print("an engine's noise")

def never_closes():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass

supervisor._CLOSE_SECONDS = 0.3
print("the result", flush=True)
supervisor._close([never_closes, closes], 1)
"""


def test_an_engine_that_swallows_its_interruption_costs_no_result() -> None:
    """Engines are closed when the output is out and the exit code is known; the last one first."""
    ended = subprocess.run(  # noqa: S603 - this project's own code
        [sys.executable, "-c", CLOSES_AFTER_REPORTING], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (ended.returncode, ended.stdout) == (1, "the result\n")
    noise, warning = ended.stderr.splitlines()
    assert noise == "an engine's noise"
    assert warning == "warning: the engine did not close within 0.3 s, and its process was ended"
