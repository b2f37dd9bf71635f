"""Ctrl+C raises KeyboardInterrupt, even if a library turns it into an error of its own.

DuckDB ends an interrupted query with a RuntimeError, and py4j may end an interrupted call with a Py4JError. An adapter
may report either as its engine's failure; neither is evidence about a merge.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_REPEAT_SECONDS = 0.05
"""After this time the code that lost an interrupt has most likely ended."""


@contextlib.contextmanager
def interrupts_kept(*, also_swallowed: bool = True) -> Iterator[None]:
    """Raise KeyboardInterrupt in place of an error to which Ctrl+C led in the block.

    Args:
        also_swallowed: raise it if the block ends without an error, too: something inside swallowed it. False for a
            block that handles KeyboardInterrupt itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        yield  # the parent process asked for no interrupts
        return
    was_seen = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal was_seen
        was_seen = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception:
        if was_seen:
            raise KeyboardInterrupt from None
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is note:  # an engine may have set a handler of its own
            signal.signal(signal.SIGINT, before)
    if was_seen and also_swallowed:
        raise KeyboardInterrupt


@contextlib.contextmanager
def lost_interrupts_repeated() -> Iterator[None]:
    """Repeat Ctrl+C if it met the main thread in a finalizer or in a callback of a weak reference.

    Python prints the errors of such code and goes on, so that the interrupt would be lost.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_kill"):
        yield  # Windows has no such call
        return
    main, before = threading.get_ident(), sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            timer = threading.Timer(_REPEAT_SECONDS, signal.pthread_kill, [main, signal.SIGINT])
            timer.daemon = True
            timer.start()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
