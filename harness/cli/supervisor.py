"""A small parent process for each command: if the run's own process is ended, the command does not end green.

The engine under test runs in the process of the run. It may end that process (``os._exit``), crash it, or be killed for
its memory. So the run is a child that reports its exit code before it ends. If it ends without a report, the parent
prints that and ends with the exit code for engines, whatever the child's own exit code was.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

_EXIT_SECONDS = 30.0
"""The time for a process to end after it has reported its exit code: libraries join threads and close connections."""
_ORPHAN_SECONDS = 20.0
"""A run whose parent is gone gets this time for its summary and its temporary files."""
_CLOSE_SECONDS = 65.0
"""The time for an engine to close; it is interrupted before (``CLOSE_SECONDS``)."""
_FORWARDED = (signal.SIGINT, signal.SIGTERM)
_WAKE_SECONDS = 0.5
"""The time from an interrupt to the next wake-up of a blocking call that may have missed it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the arguments after the program's name. None means this process's own; it then becomes the parent of
            the run. Given ones run in this process.

    Returns:
        The exit code (``ExitCode``).
    """
    if arguments is None:
        _open_closed_streams()
    types_the_case = "-" in sys.argv and sys.stdin is not None and sys.stdin.isatty()
    if arguments is not None or not hasattr(os, "fork") or types_the_case:  # only the terminal's own group may read it
        return _run(arguments)
    return _supervise()


def _open_closed_streams() -> None:
    """Open closed standard streams (``>&-``) to nowhere; otherwise a file would get a stream's number and its text."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _run(arguments: Sequence[str] | None, closing: list[Callable[[], None]] | None = None) -> int:
    from mergecheck.harness.processes.interrupts import interrupts_kept, lost_interrupts_repeated  # noqa: PLC0415 - as below

    # a library that is interrupted while it is imported may raise an ImportError
    with lost_interrupts_repeated(), interrupts_kept(also_swallowed=False):
        from mergecheck.harness.cli.command_line import main as run  # noqa: PLC0415 - the parent needs none of it

        return run(arguments, closing=closing)


def _supervise() -> int:
    """Fork before anything is imported or any thread is started, and wait for the child."""
    watched, held = os.pipe()
    read_end, said = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)  # Ctrl+C reaches the parent alone, which hands it on once
        os.close(held)
        os.close(read_end)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
        return _be_child(watched, said)
    os.close(watched)
    os.close(said)
    return _be_parent(child, read_end)


def _be_child(watched: int, said: int) -> int:
    ended: list[int] = []
    signal.signal(signal.SIGURG, _wake)
    atexit.register(_leave, ended)  # nothing is imported yet, and what is registered first runs last
    threading.Thread(target=_end_with_parent, args=(watched,), daemon=True).start()
    closing: list[Callable[[], None]] = []
    try:
        code = _run(None, closing)
    except KeyboardInterrupt:  # before the command line was there to catch it
        code = 130
    ended.append(code)
    _flush()
    with contextlib.suppress(BrokenPipeError):  # the parent was killed
        os.write(said, bytes([code]))
    _close(closing, code)
    ending = threading.Timer(_EXIT_SECONDS, os._exit, [code])
    ending.daemon = True
    ending.start()
    return code


def _close(closing: list[Callable[[], None]], code: int) -> None:
    """Close the engines of the run, whose code is reported and whose output is out; nothing can get into it."""
    sys.stdout = sys.stderr
    while closing:
        ending = threading.Timer(_CLOSE_SECONDS, _leave_open, [code])
        ending.daemon = True
        ending.start()
        with contextlib.suppress(KeyboardInterrupt):
            closing.pop()()
        ending.cancel()


def _leave_open(code: int) -> None:
    """End the process although an engine does not close, and swallows whatever interrupts it."""
    sys.stderr.write(f"warning: the engine did not close within {_CLOSE_SECONDS:g} s, and its process was ended\n")
    _flush()
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # its reader is gone
            stream.flush()


def _leave(ended: Sequence[int]) -> None:
    """End the process after everything was closed, and before a library reports supposed leaks at Python's end."""
    if ended:
        _flush()
        os._exit(ended[0])


def _end_with_parent(watched: int) -> None:
    """Wait for the end of the parent, which holds the other end of a pipe, and end this process as Ctrl+C does."""
    try:
        os.read(watched, 1)
    except OSError:  # an engine has closed all files
        return
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(round(_ORPHAN_SECONDS / _WAKE_SECONDS)):
        time.sleep(_WAKE_SECONDS)
        os.kill(os.getpid(), signal.SIGURG)
    os._exit(130)


def _wake(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the signal ends a blocking call, and Python then handles an interrupt that came just before it.

    Between Python's last look at its signals and the system call lies the release of the interpreter's lock. An
    interrupt that comes in between is handled after the call, which may be a sleep of minutes.
    """


def _be_parent(child: int, read_end: int) -> int:
    was_asked_to_end = False

    def forward(number: int, _frame: FrameType | None) -> None:
        nonlocal was_asked_to_end
        was_asked_to_end = was_asked_to_end or number == signal.SIGTERM
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(child, number)
        if number == signal.SIGINT:
            signal.setitimer(signal.ITIMER_REAL, _WAKE_SECONDS, _WAKE_SECONDS)

    def wake(_number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGURG)

    def stop(_number: int, _frame: FrameType | None) -> None:
        os.killpg(child, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.killpg(child, signal.SIGCONT)

    signal.signal(signal.SIGALRM, wake)
    for number, handler in ((signal.SIGINT, forward), (signal.SIGTERM, forward), (signal.SIGTSTP, stop)):
        if signal.getsignal(number) != signal.SIG_IGN:  # of a background job
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left, or nothing that runs
        # a JVM whose start was interrupted waits for ever: the file to which it writes its port is gone
        os.killpg(child, signal.SIGTERM)
    os.set_blocking(read_end, False)  # a process that the engine has forked may hold the other end
    try:
        word = os.read(read_end, 1)
    except BlockingIOError:
        word = b""
    if word:
        return word[0]
    ended = os.waitstatus_to_exitcode(status)
    if was_asked_to_end and ended == -signal.SIGTERM:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    return _tell_loss(child, ended)


def _tell_loss(child: int, ended: int) -> int:
    from mergecheck.harness.cli.output.terminal import error_line  # noqa: PLC0415 - it takes its time
    from mergecheck.harness.findings.store import RunningCase  # noqa: PLC0415 - the same
    from mergecheck.harness.verdict import ExitCode  # noqa: PLC0415 - the same

    how = f"was ended by {signal.Signals(-ended).name}" if ended < 0 else f"ended with exit code {ended}"
    kept = ", ".join(str(path) for path in RunningCase().of_process(child))
    case = f" The case under way is {kept}; the next fuzz run in this folder keeps it as crashed." if kept else ""
    error_line(
        f"the process of this run {how} before it had a result, so nothing of it counts as checked. An engine or one "
        f"of its libraries has ended it, or the machine for want of memory.{case}"
    )
    return ExitCode.ENGINE
