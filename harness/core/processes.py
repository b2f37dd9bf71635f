"""Processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import sys
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


def half_of_memory() -> int:
    """Tell half of this machine's memory, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def limit_memory(pid: int, num_bytes: int) -> None:
    """Let a child process and the processes that it starts have so many bytes of address space each.

    Only Linux can limit another process; elsewhere this does nothing.
    """
    if sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):  # it has ended
            resource.prlimit(pid, resource.RLIMIT_AS, (num_bytes, num_bytes))


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
