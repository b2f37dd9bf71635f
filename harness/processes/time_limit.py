"""A limit for the time that an engine takes for one case, whatever it is doing.

At the limit, the engine's own ``interrupt`` ends the call if there is one. Else a signal raises an error in the main
thread, where it breaks off Python code, sleeping and waiting. If neither helps, the process ends: code that never comes
back to Python cannot be left. ``faulthandler`` ends it without Python's help, and shows where it was.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

DEFAULT_SECONDS = 600.0
GRACE_SECONDS = 10.0
"""The time for an interrupted engine before the next means is used."""
_REPEAT_SECONDS = 1.0
_STDERR = 2
_AT_ONCE = 0.001


class EngineLateError(EngineDownError):
    """The engine took too long; nothing is known about the merge."""


class OutOfTime(BaseException):
    """Interrupts the main thread's work; no Exception, because an adapter may catch those."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimit:
    """How long an engine may take for a case.

    Attributes:
        seconds: until the engine is interrupted.
        grace_seconds: until the next means, if that is no help.
        told: file descriptor for the stacks of a process that must be killed.
        late: the step that the engine did not finish in time, for the message.
    """

    seconds: float = DEFAULT_SECONDS
    grace_seconds: float = GRACE_SECONDS
    told: int = _STDERR
    late: str = "had no answer within {seconds:g} s (--case-timeout)"

    @contextlib.contextmanager
    def over(self, interrupt: Callable[[], None] | None) -> Iterator[None]:
        """Limit the time of the block; a process whose block cannot be ended ends with exit code 1.

        Args:
            interrupt: makes the block end soon. It is called in another thread.

        Raises:
            EngineLateError: the block took longer. It is raised in place of whatever the block ends with.
        """
        started = time.monotonic()
        with contextlib.ExitStack() as stack:
            if interrupt is not None:
                stack.enter_context(_called_after(self.seconds, interrupt))
            if interrupt is None and _can_be_signalled():
                stack.enter_context(raising_after(self.seconds, OutOfTime))
            stack.enter_context(self._ending_after(self.seconds + self.grace_seconds))
            try:
                yield
            except OutOfTime:
                raise self._late() from None
            except Exception as error:
                if time.monotonic() - started >= self.seconds:
                    raise self._late() from error
                raise
        if time.monotonic() - started >= self.seconds:
            raise self._late()

    def _late(self) -> EngineLateError:
        return EngineLateError(f"the engine {self.late.format(seconds=self.seconds)}")

    @contextlib.contextmanager
    def _ending_after(self, seconds: float) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # faulthandler has one clock for the process
            with _called_after(seconds, self._end):
                yield
            return
        faulthandler.dump_traceback_later(seconds, exit=True, file=self.told)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _end(self) -> None:
        faulthandler.dump_traceback(file=self.told)
        os._exit(1)


DEFAULT_LIMIT = TimeLimit()


@contextlib.contextmanager
def _called_after(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call a function in another thread after a time, and again every second until the end of the block.

    One call may not be enough: it may interrupt the engine just before the step that takes long.
    """
    ended = threading.Event()

    def run() -> None:
        wait = seconds
        while not ended.wait(wait):
            call()
            wait = _REPEAT_SECONDS

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()  # it must not interrupt the next case


def _can_be_signalled() -> bool:
    return threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")


@contextlib.contextmanager
def raising_after(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raise an error in the main thread, by a signal, if the block takes too long; a limit around it goes on.

    Args:
        seconds: the limit.
        error: the error to raise.
    """

    def break_off(_number: int, _frame: FrameType | None) -> None:
        raise error

    started = time.monotonic()
    before = signal.signal(signal.SIGALRM, break_off)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), _AT_ONCE), interval)
