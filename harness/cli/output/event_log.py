"""``--events FILE``: the events of a run as lines of JSON, written as they happen."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mergecheck.harness.errors import UserInputError
from mergecheck.harness.report.event_json import event_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mergecheck.harness.report.events import Event, Listener


@contextmanager
def event_log(path: Path | None) -> Iterator[Listener]:
    """Open the log for a run; it is written anew, line by line, so that others can follow it.

    Args:
        path: the file, or None for no log.

    Raises:
        UserInputError: if the file cannot be written.
    """
    if path is None:
        yield lambda _: None
        return
    try:
        with path.open("w", encoding="utf-8", buffering=1) as lines:

            def write(event: Event) -> None:
                lines.write(json.dumps(event_json(event), ensure_ascii=True) + "\n")

            yield write
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with --events FILE.") from error
