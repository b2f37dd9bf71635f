"""Ctrl+C stays Ctrl+C, even if a library turns it into an error of its own.

DuckDB ends a query that is interrupted with a RuntimeError. Spark's own handler calls the JVM in the middle of another
call to it, which fails with an error of Py4J. An adapter may report either as the engine's failure; none of them says
anything about a merge.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class InterruptWatch:
    """Tells whether Ctrl+C came."""

    def __init__(self) -> None:
        self.seen = False


@contextlib.contextmanager
def interrupts_kept() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the block if Ctrl+C came in it, whatever became of it inside."""
    watch = InterruptWatch()
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        yield  # the parent process asked for no interrupts
        return

    def note(number: int, frame: FrameType | None) -> None:
        watch.seen = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, note)
    logging.getLogger().addFilter(_is_news)
    try:
        yield
    except Exception:
        if watch.seen:
            raise KeyboardInterrupt from None
        raise
    finally:
        logging.getLogger().removeFilter(_is_news)
        if signal.getsignal(signal.SIGINT) is note:  # Spark sets a handler of its own with its first session
            signal.signal(signal.SIGINT, before)
    if watch.seen:
        raise KeyboardInterrupt


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out the traceback that Py4J logs for a Ctrl+C: the user knows."""
    return record.msg != "KeyboardInterrupt while sending command."
