"""Processes in which writers run, and which can be killed with all that they have started."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.lab.concurrency.race.engines import open_client
from mergecheck.harness.processes.start import SAFE_PATH, environment_with, forget_safe_path
from mergecheck.harness.processes.temp_dirs import clear_leftovers
from mergecheck.harness.verdict import EngineDownError, MergecheckError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from mergecheck.harness.lab.concurrency.race.clients import Answer
    from mergecheck.harness.lab.concurrency.scenario import Writer
    from mergecheck.model.case import Target

_START_SECONDS, _STOP_SECONDS = 300.0, 30.0
_READY = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A host's work in a thread of its own.

    Attributes:
        tag: names the commit.
        delay: seconds before it begins.
    """

    writer: Writer
    path: Path
    target: Target
    tag: str
    delay: float


class Host:
    """A process whose threads have a client each; it starts with the first task, again after it was killed.

    Args:
        engine: whose clients it has.
        num_threads: how many.
    """

    def __init__(self, engine: str, num_threads: int) -> None:
        self._engine = engine
        self._num_threads = num_threads
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def start(self) -> None:
        """Start the process, unless it runs.

        Raises:
            EngineDownError: it does not start.
        """
        if self._process is not None:
            return
        clear_leftovers()  # of those that were killed
        # A new interpreter: a JVM and its threads cannot be forked.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._engine, self._num_threads), daemon=True, name="mergecheck-writers"
        )
        with environment_with(SAFE_PATH):
            self._process.start()
        theirs.close()
        if not self._connection.poll(_START_SECONDS):
            self.kill()
            raise EngineDownError(f"the writers of {self._engine} did not start within {_START_SECONDS:.0f} s")
        said = self._received()
        if said != _READY:
            self.kill()
            raise EngineDownError(f"the writers of {self._engine} did not start: {said or 'the process ended'}")

    def send(self, tasks: tuple[Task, ...]) -> None:
        """Have tasks done, each in a thread."""
        assert self._connection is not None  # noqa: S101 - it was started
        for index, task in enumerate(tasks):
            self._connection.send((index, task))

    def answers(self, count: int, *, deadline: float) -> dict[str, Answer]:
        """Receive up to so many answers, by the tags of their tasks, until a time of ``time.monotonic``.

        Raises:
            EngineDownError: the process has ended by itself.
        """
        found: dict[str, Answer] = {}
        while len(found) < count and self._connection is not None:
            if not self._connection.poll(max(0.0, deadline - time.monotonic())):
                break
            said = self._received()
            if not isinstance(said, tuple):
                raise EngineDownError(f"a process of writers ended: {said or 'no answer came'}")
            found[said[0]] = said[1]
        return found

    def kill(self) -> None:
        """Kill the process and all processes it started, at once."""
        if self._process is not None and self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()  # if it had no group of its own yet
            self._process.join(_STOP_SECONDS)
        self._forget()

    def close(self) -> None:
        """Let the process end."""
        if self._process is not None and self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.send(None)
            self._process.join(_STOP_SECONDS)
            if self._process.is_alive():
                self.kill()
        self._forget()

    def _received(self) -> object:
        try:
            return None if self._connection is None else self._connection.recv()
        except (EOFError, OSError):
            return None

    def _forget(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None


def _serve(connection: Connection, engine: str, num_threads: int) -> None:
    """Run in the process: open the clients, then do tasks until there are none."""
    os.setsid()  # a group of its own, which is killed as a whole
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends its hosts itself
    forget_safe_path()
    try:
        clients = [open_client(engine) for _ in range(num_threads)]
    except MergecheckError as error:
        connection.send(str(error))
        return
    connection.send(_READY)
    sending = threading.Lock()

    def do(index: int, task: Task) -> None:
        time.sleep(task.delay)
        said: object
        try:
            said = (task.tag, clients[index].write(task.writer, task.path, task.target, task.tag))
        except Exception as error:  # noqa: BLE001 - the run must hear of it; it would wait for an answer
            said = f"{type(error).__name__}: {error}"
        with sending:
            connection.send(said)

    # The pipe closes if the run was killed: no process is left to answer.
    with ThreadPoolExecutor(num_threads) as executor, contextlib.suppress(EOFError):
        while (received := connection.recv()) is not None:
            executor.submit(do, *received)
