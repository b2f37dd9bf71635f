"""Files of a run that others follow: a line of JSON for each event, written as it happens."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.processes.output_files import open_stream, require_writable
from mergecheck.harness.report.event_json import event_json
from mergecheck.harness.report.events import broadcast
from mergecheck.harness.report.observations import Observations
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mergecheck.harness.report.events import Event, Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    """The files that a run was asked for; None for none."""

    events: Path | None
    observations: Path | None

    @contextmanager
    def open(self, name: str, *, prefix: str = "--") -> Iterator[Listener]:
        """Open the logs for a run, and yield the receiver of its events.

        Args:
            name: the verb that runs.
            prefix: the beginning of the names of options, for messages.

        Raises:
            UserInputError: a log cannot be written.
        """
        observed = Observations(name=name, run_start=time.time())
        with (
            _event_log(self.events, lambda event: [event_json(event)], option=f"{prefix}events") as events,
            _event_log(self.observations, observed.of, option=f"{prefix}observations") as observations,
        ):
            yield broadcast(events, observations)


@contextmanager
def _event_log(
    path: Path | None, documents_of: Callable[[Event], Iterable[dict[str, Any]]], *, option: str
) -> Iterator[Listener]:
    """Open a log of a run; it is written anew, line by line, so that others can follow it.

    Args:
        path: the file, or None for no log.
        documents_of: returns the documents that an event adds to it.
        option: the option that names the file, for messages.

    Raises:
        UserInputError: if the file cannot be written.
    """
    if path is None:
        yield lambda _: None
        return
    with _reported(path, option):
        require_writable(path, over=r'\{"(event|type)"')
        lines = open_stream(path)

    def write(event: Event) -> None:
        for document in documents_of(event):
            line = json.dumps(document, ensure_ascii=True, allow_nan=False)
            with _reported(path, option):
                lines.write(line + "\n")

    try:
        yield write
    finally:
        with _reported(path, option):
            lines.close()


@contextmanager
def _reported(path: Path, option: str) -> Iterator[None]:
    """Add the name of the option to an error of the file."""
    try:
        yield
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with {option} FILE.") from error
