"""The calls of an engine: within a limit of time, and so that nothing that an adapter does reaches the harness.

An adapter gets copies, its changes to the process are undone, and its answer and errors become plain values.
"""

from __future__ import annotations

import contextlib
import copy
import decimal
import locale
import os
import signal
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mergecheck.harness.engine import InterruptibleEngine
from mergecheck.harness.oracles.plain_answer import plain_answer
from mergecheck.harness.processes.time_limit import OutOfTime
from mergecheck.harness.verdict import BadSettingError, EngineDownError, MissingExtraError, UserInputError
from mergecheck.model.errors import shortened
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.engine import Engine, PrecheckingEngine
    from mergecheck.harness.processes.time_limit import TimeLimit
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

_MAX_TEXT_BYTES = 4_000  # of an error's message
_SIGNALS = ("SIGTERM", "SIGALRM", "SIGPIPE", "SIGCHLD", "SIGTSTP")


class AdapterError(EngineDownError):
    """An adapter raised an error that it must not raise; the message gives the error and its place."""


def run_limited(engine: Engine, case: Case, limit: TimeLimit) -> EngineResult:
    """Run one case on an engine.

    Raises:
        EngineLateError: if it takes longer than the limit.
        EngineDownError: if it declares itself down, raises any other error, or returns something that is no answer.
        BadSettingError: if it refuses a setting of the case.
    """
    with (
        limit.over(engine.interrupt if isinstance(engine, InterruptibleEngine) else None),
        adapter_errors(),
        process_kept(),
    ):
        return plain_answer(engine.run(copy.deepcopy(case)))


def unsupported_limited(engine: PrecheckingEngine, case: Case, limit: TimeLimit) -> Unsupported | None:
    """Ask an engine whether it supports a case, as ``run_limited`` runs one.

    Raises:
        EngineDownError: see ``run_limited``.
        BadSettingError: the same.
    """
    with limit.over(None), adapter_errors(), process_kept():
        refusal = engine.unsupported_reason(copy.deepcopy(case))
        answer = None if refusal is None else plain_answer(refusal)
    return answer if isinstance(answer, Unsupported) else None


@contextlib.contextmanager
def adapter_errors(
    doing: str = "the adapter raised", *, passing: type[UserInputError] = BadSettingError
) -> Iterator[None]:
    """Turn whatever an adapter raises in the block into an error with a plain text; Ctrl+C goes through.

    Args:
        doing: the beginning of the message.
        passing: mistakes of the user that go through.
    """
    try:
        yield
    except (KeyboardInterrupt, OutOfTime, MissingExtraError, passing):
        raise
    except EngineDownError as error:
        if type(error).__str__ is not BaseException.__str__ or any(type(part) is not str for part in error.args):
            raise EngineDownError(error_text(error)) from error
        raise
    except StopIteration as error:  # contextlib would raise it again if it were the cause
        raise AdapterError(f"{doing} {raised(error)}".strip()) from None
    except BaseException as error:  # sys.exit(), too
        raise AdapterError(f"{doing} {raised(error)}".strip()) from error


def raised(error: BaseException) -> str:
    """Describe the error that was raised, and at which line."""
    trace = traceback.extract_tb(error.__traceback__)
    place = f" ({trace[-1].filename}:{trace[-1].lineno} in {trace[-1].name})" if trace else ""
    return f"{type(error).__name__}: {error_text(error)}{place}"


def error_text(error: BaseException) -> str:
    """Return the text of an error, whatever its class makes of that."""
    try:
        text = str.__str__(str(error))
    except Exception as again:  # noqa: BLE001 - the text is an adapter's, too
        return f"(its text cannot be had: {type(again).__name__})"
    return shortened(text, _MAX_TEXT_BYTES)


@dataclass(frozen=True, slots=True)
class _ProcessState:
    """What all threads of the process share and an adapter may change."""

    folder: str | None
    streams: tuple[TextIO, TextIO, TextIO]
    depth: int
    language: str

    @classmethod
    def now(cls) -> _ProcessState:
        streams = sys.stdout, sys.stderr, sys.stdin
        return cls(_folder(), streams, sys.getrecursionlimit(), locale.setlocale(locale.LC_ALL))

    def restore(self) -> None:
        sys.stdout, sys.stderr, sys.stdin = self.streams
        sys.setrecursionlimit(self.depth)
        if locale.setlocale(locale.LC_ALL) != self.language:
            locale.setlocale(locale.LC_ALL, self.language)
        if self.folder is not None and _folder() != self.folder:
            with contextlib.suppress(OSError):  # the adapter has removed the folder
                os.chdir(self.folder)


class _SharedState:
    """The state of the process before the calls under way.

    A call that begins while another thread's is under way may find that one's changes, so its own state of before is
    not the one to restore.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_calls = 0
        self._before: _ProcessState | None = None

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        with self._lock:
            if self._num_calls == 0:
                self._before = _ProcessState.now()
            self._num_calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._num_calls -= 1
                if self._before is not None:
                    self._before.restore()


_shared = _SharedState()


@contextlib.contextmanager
def process_kept() -> Iterator[None]:
    """Undo the block's changes to the process: folder, streams, handlers of signals, decimals, locale.

    A new handler of Ctrl+C stays unless it ignores the signal: Spark sets its own.
    """
    decimals = decimal.getcontext().copy()
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in _signals()} if is_main else {}
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        with _shared.kept():
            yield
    finally:
        decimal.setcontext(decimals)
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        if is_main and interrupt is not None and signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGINT, interrupt)


def _signals() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]


def _folder() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None
