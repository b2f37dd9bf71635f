"""Ctrl+C stays Ctrl+C, also where a library turns it into an error of its own.

DuckDB ends a query that is interrupted with a RuntimeError, and an engine's adapter may report the same as its failure;
neither says anything about a merge.
"""

from __future__ import annotations

import contextlib
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
    """Raise KeyboardInterrupt at the end of the block where Ctrl+C came in it, whatever became of it inside."""
    watch = InterruptWatch()
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        watch.seen = True
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception:
        if watch.seen:
            raise KeyboardInterrupt from None
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is note:  # Spark sets a handler of its own with its first session
            signal.signal(signal.SIGINT, before)
    if watch.seen:
        raise KeyboardInterrupt
