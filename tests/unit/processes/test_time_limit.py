"""A limit of time ends whatever an engine is doing: in Python, in a wait, in another thread, in code without Python."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mergecheck.harness.processes.time_limit import EngineLateError, TimeLimit, raising_after

SHORT = TimeLimit(seconds=0.05)
# sleeps in C without giving up the interpreter, and no signal wakes it, as in a library that hangs
HANGS = """
import ctypes, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
from mergecheck.harness.processes.time_limit import TimeLimit
with TimeLimit(seconds=0.1, grace_seconds=0.1).over(None):
    ctypes.PyDLL(None).sleep(60)
"""


def swallowing() -> None:
    """Wait like an adapter that takes every error for its engine's."""
    try:
        time.sleep(60)
    except Exception:  # noqa: BLE001 - the fault
        return


def calculating() -> None:
    while True:
        pass


@pytest.mark.parametrize("hang", [swallowing, calculating, threading.Event().wait], ids=lambda hang: hang.__name__)
def test_what_python_does_is_broken_off(hang: object) -> None:
    with pytest.raises(EngineLateError, match=r"no answer within 0.05 s \(--case-timeout\)"), SHORT.over(None):
        hang()  # type: ignore[operator]


class Late(BaseException):
    """The error of the outer limit."""


def test_a_limit_inside_another_leaves_that_one_running() -> None:
    """A test may have a limit of its own, and so may a benchmark that calls the command line."""

    def with_two_limits() -> None:
        with raising_after(0.2, Late):
            with TimeLimit(seconds=30).over(None):
                pass
            time.sleep(60)

    with pytest.raises(Late):
        with_two_limits()


def test_an_engine_that_can_be_interrupted_is() -> None:
    """In any thread; its own error or answer after that counts as none."""

    def run() -> None:
        ended = threading.Event()
        with SHORT.over(ended.set):
            assert ended.wait(60)

    with pytest.raises(EngineLateError):
        run()
    with ThreadPoolExecutor(1) as pool, pytest.raises(EngineLateError):
        pool.submit(run).result()


def test_an_engine_is_interrupted_until_it_hears() -> None:
    """The first interrupt may come before the query that takes long."""
    heard = threading.Semaphore(0)
    with pytest.raises(EngineLateError), SHORT.over(heard.release):
        assert all(heard.acquire(timeout=60) for _ in range(2))


def test_in_time_nothing_happens() -> None:
    with TimeLimit(seconds=60).over(lambda: pytest.fail("interrupted")):
        pass
    with pytest.raises(ValueError, match="own"), TimeLimit(seconds=60).over(None):
        raise ValueError("own")


def test_a_process_that_never_comes_back_is_ended_and_shows_where_it_was() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - this interpreter
    assert ended.returncode == 1
    assert "Timeout" in ended.stderr
    assert 'File "<string>", line 6' in ended.stderr
