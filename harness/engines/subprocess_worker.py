"""A long-lived child process that answers requests: one JSON document per line each way.

Engines whose fault may end or hang a process run in one, so that the fault is an answer and not the end of the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from typing import IO, TYPE_CHECKING, Any

from mergecheck.harness.compare.answers.rejections import CRASHED, TIMED_OUT
from mergecheck.harness.processes.start import limit_memory
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_TAIL_BYTES = 2000
_START_SECONDS, _STOP_SECONDS = 120.0, 5.0


class WorkerLostError(RuntimeError):
    """The child ended before it answered; the message carries its last output."""


class WorkerTimeoutError(RuntimeError):
    """The child did not answer in time, and was ended."""


class WorkerProcess:
    """A child process; it starts with the first request and again after it was lost.

    Args:
        python: the interpreter to run.
        script: what it runs, isolated: neither the script's folder nor ``PYTHONPATH`` can hide an installed package.
            The script reads requests from its input and writes answers to its output; it must answer ``{"do":
            "version"}``.
        arguments: of the script.
        max_memory: bytes of address space that the child may have; None for no limit. A fault of an engine can ask for
            all memory, and then the system would end other processes, too.
    """

    def __init__(self, python: Path, script: Path, *arguments: str, max_memory: int | None = None) -> None:
        self._max_memory = max_memory
        self._command = [str(python), "-I", str(script), *arguments]
        self._child: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._errors: IO[bytes] | None = None

    def ask(self, request: dict[str, Any], *, timeout: float) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Args:
            request: any JSON object.
            timeout: seconds to wait.

        Raises:
            WorkerLostError: if the child ends instead of answering.
            WorkerTimeoutError: if it takes longer.
            EngineDownError: if it does not even start.
        """
        return self._exchange(self._started(), request, timeout=timeout)

    def answer(
        self, request: dict[str, Any], *, timeout: float, at: Callable[[], None] | None = None
    ) -> dict[str, Any] | Rejection:
        """Send a request about a case; a child that ends or takes too long is the engine's answer to it.

        Args:
            request: any JSON object.
            timeout: seconds to wait, from one line of the child to the next.
            at: called if the child stops on the way, which it does by ``{"stopped": true}``; it goes on by ``{"do":
                "go on"}``, or by ``{"do": "end"}`` if this raises an error, which is raised again when it has ended.

        Raises:
            EngineDownError: if the child does not even start.
        """
        try:
            return self._ask_in_steps(request, timeout, at)
        except WorkerLostError as error:
            return Rejection(error_class=CRASHED, message=str(error))
        except WorkerTimeoutError as error:
            return Rejection(error_class=TIMED_OUT, message=str(error))

    def _ask_in_steps(self, request: dict[str, Any], timeout: float, at: Callable[[], None] | None) -> dict[str, Any]:
        writer = {"writer": request["writer"]} if "writer" in request else {}
        answer = self.ask(request, timeout=timeout)
        while at is not None and answer.get("stopped"):
            try:
                at()
            except BaseException:
                self.ask({"do": "end", **writer}, timeout=timeout)
                raise
            answer = self.ask({"do": "go on", **writer}, timeout=timeout)
        return answer

    def _exchange(self, child: subprocess.Popen[str], request: dict[str, Any], *, timeout: float) -> dict[str, Any]:
        try:
            assert child.stdin is not None  # noqa: S101 - it is a pipe
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
        except OSError as error:
            raise self._lost(child) from error
        try:
            line = self._answers.get(timeout=timeout)
        except queue.Empty:
            self.close()
            raise WorkerTimeoutError(f"no answer within {timeout:.0f} s") from None
        except BaseException:
            self.close()  # an interrupt: the answer that is still to come must not be read as another's
            raise
        if not line:
            raise self._lost(child)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=_STOP_SECONDS)
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _started(self) -> subprocess.Popen[str]:
        if self._child is not None:
            return self._child
        self._errors = tempfile.TemporaryFile(prefix="mergecheck-worker-")  # noqa: SIM115 - closed with the child
        self._answers = queue.SimpleQueue()
        self._child = subprocess.Popen(  # noqa: S603 - an interpreter of ours with a script of ours
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl+C is for the harness, which ends its children itself
        )
        child = self._child
        if self._max_memory is not None:
            limit_memory(child.pid, self._max_memory)
        threading.Thread(target=_listen, args=(child, self._answers), daemon=True).start()
        try:
            self._exchange(child, {"do": "version"}, timeout=_START_SECONDS)
        except (WorkerLostError, WorkerTimeoutError) as error:
            raise EngineDownError(f"{' '.join(self._command)} does not start: {error}") from error
        return child

    def _lost(self, child: subprocess.Popen[str]) -> WorkerLostError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_STOP_SECONDS)
        said = self._tail()
        code = child.returncode
        self.close()
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return WorkerLostError(f"the process ended with {how}: {said}".rstrip(": "))

    def _tail(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _TAIL_BYTES))
        return self._errors.read().decode(errors="replace").strip()


def _listen(child: subprocess.Popen[str], answers: queue.SimpleQueue[str]) -> None:
    """Hand on every line that the child writes, then an empty one for its end."""
    with contextlib.suppress(OSError, ValueError):  # the pipe may be closed under this thread
        for line in child.stdout or ():
            answers.put(line)
    answers.put("")
