"""Temporary directories for the tables of one case: in memory if the machine has room.

Creating and deleting small files on a disk takes a tenth of a case's time on the engines without a JVM.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

MEMORY = Path("/dev/shm")  # noqa: S108 - everything below it is in a directory with a name of its own
"""Linux' file system in memory."""
LEAST_FREE = 2**30
"""Bytes that must be free there: a large case could fill a container's 64 MiB."""
_CHOICES = ("TMPDIR", "TEMP", "TMP")


def scratch_directory() -> AbstractContextManager[Path]:
    """Make a temporary directory for the files of one case; see ``scratch_parent`` for where."""
    return directory_in(scratch_parent(os.environ))


def scratch_path() -> Path:
    """Choose a path at which ``directory_at`` can make such a directory; nothing is created."""
    return _path_in(scratch_parent(os.environ))


@contextmanager
def directory_at(path: Path) -> Iterator[None]:
    """Make a private directory for the block."""
    path.mkdir(mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def directory_in(parent: Path | None) -> Iterator[Path]:
    """Make a directory with a unique name for the block; without a parent, where temporary files go."""
    path = _path_in(parent)
    with directory_at(path):
        yield path


def _path_in(parent: Path | None) -> Path:
    return (parent or Path(tempfile.gettempdir())) / f"mergecheck-{uuid.uuid4().hex}"


def scratch_parent(environment: Mapping[str, str], *, memory: Path = MEMORY) -> Path | None:
    """Return the file system in memory if it has room; None for the directory for temporary files.

    Args:
        environment: a directory for temporary files that it names (``TMPDIR``, ``TEMP``, ``TMP``) is used.
        memory: the mount point of the file system in memory.
    """
    if any(environment.get(name) for name in _CHOICES):
        return None
    try:
        found = os.statvfs(memory)
    except (OSError, AttributeError):  # not on this system
        return None
    has_room = found.f_bavail * found.f_frsize >= LEAST_FREE
    return memory if has_room and os.access(memory, os.W_OK | os.X_OK) else None
