"""Processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
from multiprocessing.connection import wait


def is_alive(pid: int) -> bool:
    """Tell whether there is a process with an id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it lives and belongs to somebody else
    return True


def end_with_parent() -> None:
    """In a process of ``multiprocessing``: end it when its parent is gone, whatever it is doing.

    It would wait for work for ever, because it holds both ends of the pipe from which it takes work.
    """
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
