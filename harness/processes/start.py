"""Processes of this machine.

The working folder may come from a stranger. A Python that starts by ``-c`` or ``-m`` imports from it before anything
else, unless ``PYTHONSAFEPATH`` is set; the processes of ``multiprocessing`` start so.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import sys
import threading
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SAFE_PATH: Mapping[str, str] = {"PYTHONSAFEPATH": "mergecheck"}
"""Environment of a Python that does not import from the folder in which it starts. Any text switches it on; this one
names the writer.
"""
_starting = threading.Lock()  # the environment belongs to all threads


def is_alive(pid: int) -> bool:
    """Return whether there is a process with an id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it lives and belongs to another user
    return True


def half_of_memory() -> int:
    """Return half of this machine's memory, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def limit_memory(pid: int, num_bytes: int) -> None:
    """Let a child process and the processes that it starts have so many bytes of address space each, or fewer.

    A lower limit that the user has set (``ulimit -v``) stays, since it cannot be raised. Only Linux can limit another
    process; elsewhere this does nothing.
    """
    if sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):  # it has ended
            soft, hard = (
                num_bytes if limit == resource.RLIM_INFINITY else min(limit, num_bytes)
                for limit in resource.prlimit(pid, resource.RLIMIT_AS)
            )
            resource.prlimit(pid, resource.RLIMIT_AS, (soft, hard))


@contextmanager
def environment_with(variables: Mapping[str, str]) -> Iterator[None]:
    """For the block, let processes that start find these variables; those that the user has set stay as they are."""
    with _starting:
        new = [name for name in variables if not os.environ.get(name)]
        os.environ.update({name: variables[name] for name in new})
        try:
            yield
        finally:
            for name in new:
                os.environ.pop(name, None)


def forget_safe_path() -> None:
    """Undo ``environment_with(SAFE_PATH)`` in a process started with it: the engine's processes are its own matter."""
    for name, value in SAFE_PATH.items():
        if os.environ.get(name) == value:
            del os.environ[name]


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
