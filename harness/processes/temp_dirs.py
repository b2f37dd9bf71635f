"""Temporary directories for the tables of one case: in memory if the machine has room.

Creating and deleting small files on a disk takes a tenth of a case's time on the engines without a JVM.

The name of a directory identifies its owner, so that a later run can remove the leftovers of a killed process.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import uuid
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.processes.start import is_alive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

MEMORY = Path("/dev/shm")  # noqa: S108 - everything below it is in a directory with a name of its own
"""Linux' file system in memory."""
LEAST_FREE = 2**30
"""Bytes that must be free there: a large case could fill a container's 64 MiB."""
_MOST_BYTES_OF_SOCKET_FOLDER = 61
"""The longest value of ``spark.python.unix.domain.socket.dir`` that Spark takes."""
_CHOICES = ("TMPDIR", "TEMP", "TMP")
_OWNED = re.compile(r"mergecheck-(?P<place>[0-9a-f]{8})-(?P<pid>[0-9]+)-.+")


def scratch_directory() -> AbstractContextManager[Path]:
    """Make a temporary directory for the files of one case; see ``scratch_parent`` for where."""
    return directory_in(scratch_parent(os.environ))


def scratch_path() -> Path:
    """Choose a path at which ``directory_at`` can make such a directory; nothing is created."""
    return _path_in(scratch_parent(os.environ))


def spill_path() -> Path:
    """Choose a path at which a DuckDB can make the folder for data that it cannot keep in memory.

    By default that folder is ``.tmp`` in the working folder, where a stranger may have left links.
    """
    return _path_in(None)


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


def owned_prefix() -> str:
    """Return how the names of this process' temporary directories begin."""
    return f"mergecheck-{_place()}-{os.getpid()}-"


def temporary_files_option(folder: Path) -> str:
    """Return the JVM's option for its temporary files: libraries, sockets, and its leftovers if it is killed.

    Args:
        folder: where they go. If the path is too long for Spark's sockets, the option is empty.
    """
    is_too_long = len(os.fsencode(folder)) > _MOST_BYTES_OF_SOCKET_FOLDER
    return "" if is_too_long else f'"-Djava.io.tmpdir={folder.as_posix()}"'


def clear_leftovers(folders: Iterable[Path] | None = None) -> tuple[Path, ...]:
    """Remove the temporary directories of processes that are gone.

    Args:
        folders: where to look; None for the file system in memory and the directory for temporary files.

    Returns:
        The removed directories.
    """
    places = (MEMORY, Path(tempfile.gettempdir())) if folders is None else folders
    found = [path for folder in places if folder.is_dir() for path in folder.glob("mergecheck-*") if _is_left(path)]
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return tuple(path for path in found if not path.exists())


def _is_left(path: Path) -> bool:
    named = _OWNED.fullmatch(path.name)
    return named is not None and named["place"] == _place() and not is_alive(int(named["pid"]))


def _place() -> str:
    """Name the host and, on Linux, the container: a process id has no meaning elsewhere, and a disk may be shared."""
    try:
        container = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - no path of ours
    except OSError:
        container = 0
    return f"{zlib.crc32(f'{platform.node()}/{container}'.encode()):08x}"


def _path_in(parent: Path | None) -> Path:
    return (parent or Path(tempfile.gettempdir())) / f"{owned_prefix()}{uuid.uuid4().hex}"


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
