"""Where the tables of one case lie while its engine works on them: in memory where the machine offers it.

Making and removing small files on a disk takes a tenth of the time of a case on the engines that need no JVM.
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
"""A file system in memory, on Linux."""
LEAST_FREE = 2**30
"""Bytes that must be free there: a container's 64 MiB could be filled by a large case."""
_CHOICES = ("TMPDIR", "TEMP", "TMP")


def scratch_directory() -> AbstractContextManager[Path]:
    """Make a directory for the files of one case, which goes again; see ``scratch_parent``."""
    return directory_in(scratch_parent(os.environ))


def scratch_path() -> Path:
    """Choose where ``directory_at`` may make such a directory; nothing is made yet."""
    return _path_in(scratch_parent(os.environ))


@contextmanager
def directory_at(path: Path) -> Iterator[None]:
    """Make a directory of one's own, which goes again."""
    path.mkdir(mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def directory_in(parent: Path | None) -> Iterator[Path]:
    """Make a directory that goes again, by default where temporary files go."""
    path = _path_in(parent)
    with directory_at(path):
        yield path


def _path_in(parent: Path | None) -> Path:
    return (parent or Path(tempfile.gettempdir())) / f"mergecheck-{uuid.uuid4().hex}"


def scratch_parent(environment: Mapping[str, str], *, memory: Path = MEMORY) -> Path | None:
    """Choose where such directories are made: in memory, if there is room; None for where temporary files go.

    Args:
        environment: who has chosen a place for temporary files, by ``TMPDIR`` or its like, gets it.
        memory: the directory that may be a file system in memory.
    """
    if any(environment.get(name) for name in _CHOICES):
        return None
    try:
        found = os.statvfs(memory)
    except (OSError, AttributeError):  # not on this system
        return None
    has_room = found.f_bavail * found.f_frsize >= LEAST_FREE
    return memory if has_room and os.access(memory, os.W_OK | os.X_OK) else None
