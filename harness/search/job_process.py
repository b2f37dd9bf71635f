"""A job in a process of its own: it checks cases one after the other, and starts anew after it was lost.

The pools of the standard library give up all their work if one process is lost, and do not report which case it had.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mergecheck.harness.checker import Checker
from mergecheck.harness.findings.store import RunningCase
from mergecheck.harness.processes.library_warnings import ignore_irrelevant_warnings
from mergecheck.harness.processes.start import SAFE_PATH, end_with_parent, environment_with, forget_safe_path
from mergecheck.harness.verdict import CaseReport, HarnessBugError, Verdict
from mergecheck.model.outcome import Unsupported
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.search.stream import Drawn

_SPAWN = multiprocessing.get_context("spawn")  # a fork would share the locks and files of the parent's threads
_STOP_SECONDS = 5.0
_LOST = Reference(answer=Unsupported("the case, because its process was lost"))


class JobProcess:
    """A checker with an engine of its own, in another process. One thread at a time may use it.

    Args:
        checker: the other checker has the same attributes, except for the engine. Known deviations are looked up
            here: their bug models are functions that cannot be sent.
        factory: makes the engine there.
    """

    def __init__(self, checker: Checker, factory: Callable[[], Engine]) -> None:
        self._checker = checker
        self._factory = factory
        sent = [each.name for each in fields(checker) if each.name not in ("engine", "deviations")]
        self._options = {name: getattr(checker, name) for name in sent}
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def check(self, drawn: Drawn) -> CaseReport:
        """Check a case there. If the process ends instead, that is the report, and the next case gets a new process.

        Raises:
            MergecheckError: raised by the other checker, or by the start of its engine.
        """
        started = time.monotonic()
        process, connection = self._started()
        try:
            connection.send(drawn)
            answer = connection.recv()
        except (EOFError, OSError):
            return self._lost(process, drawn, time.monotonic() - started)
        if isinstance(answer, CaseReport):
            return self._checker.deviations.annotated(answer, self._checker.engine.capabilities)
        self.close()
        raise answer

    def close(self) -> None:
        """End the process, if there is one."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if connection is not None:
            connection.close()  # which the process takes for the end of its work
        if process is not None:
            process.join(_STOP_SECONDS)
            process.kill()
            process.join()
            process.close()

    def _started(self) -> tuple[SpawnProcess, Connection]:
        if self._process is None or self._connection is None:
            connection, other_end = _SPAWN.Pipe()
            process = _SPAWN.Process(target=_serve, args=(other_end, self._factory, self._options), daemon=True)
            with environment_with(SAFE_PATH):
                process.start()
            other_end.close()
            self._process, self._connection = process, connection
        return self._process, self._connection

    def _lost(self, process: SpawnProcess, drawn: Drawn, seconds: float) -> CaseReport:
        process.join()
        code, pid, engine = process.exitcode, process.pid or 0, self._checker.engine
        self.close()
        if self._checker.work_directory is not None:  # the report keeps the case
            RunningCase(self._checker.work_directory).clear_of(pid)
        how = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        is_late = seconds >= self._checker.limit.seconds
        why = f"the engine had no answer within {self._checker.limit.seconds:g} s (--case-timeout), and " * is_late
        return CaseReport(
            case=drawn.case,
            engine=engine.name,
            engine_version=engine.version,
            verdict=Verdict.ENGINE_ERROR,
            reference=_LOST,
            result=None,
            reason=f"{why}the process that checked the case ended with {how}",
            is_lost=True,
            seconds=seconds,
        )


def _serve(connection: Connection, factory: Callable[[], Engine], options: Mapping[str, Any]) -> None:
    """Check cases until no more are sent, or until the parent is gone, which ends a case under way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the run, which ends its jobs itself
    end_with_parent()
    forget_safe_path()
    ignore_irrelevant_warnings()
    checker: Checker | None = None
    while True:
        try:
            drawn: Drawn = connection.recv()
        except (EOFError, OSError):
            break
        try:
            if checker is None:
                checker = Checker(engine=factory(), **options)
            answer: CaseReport | Exception = checker.check(checker.prepare(drawn.case, drawn.reference))
        except Exception as error:  # noqa: BLE001 - raised again where the case came from
            answer = error
        _send(connection, answer)
    if checker is not None:
        checker.engine.close()
    os._exit(0)  # nothing is left to do, and a library reports supposed leaks at Python's end


def _send(connection: Connection, answer: CaseReport | Exception) -> None:
    try:
        if isinstance(answer, Exception):
            pickle.loads(pickle.dumps(answer))  # noqa: S301 - our own bytes; some errors can be written, but not read
        connection.send(answer)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        connection.send(HarnessBugError(f"an answer cannot be sent between processes: {error}; it is {answer!r:.500}"))
