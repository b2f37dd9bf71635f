"""Reading a text file that a user names, or that lies in any folder."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING, BinaryIO

from mergecheck.model.errors import CaseFormatError

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 1 << 29
"""The most bytes of a file, more than any real one has: reading one that never ends would take all memory."""
_TOO_LARGE = f"it has more than {MOST_BYTES >> 20} MiB"
_DESCRIPTOR = re.compile(r"/dev/(stdin|fd/\d+)|/proc/self/fd/\d+")  # only a user gives one, such as <(command)


class NotOrdinaryError(OSError):
    """There is something else than a file of a usual size."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EINVAL, what)


def read_text(path: Path) -> str:
    """Read a file as UTF-8.

    Raises:
        CaseFormatError: there is no such file, it is no ordinary one (a pipe may never end), it is too large, or it is
            not UTF-8.
    """
    try:
        return read_ordinary(path)
    except NotOrdinaryError as error:
        raise CaseFormatError(f"{path}: {error.strerror}. Save the text to a file and give that.") from error
    except (OSError, ValueError) as error:
        raise CaseFormatError(f"{path}: cannot be read as UTF-8 text: {error}") from error


def read_ordinary(path: Path) -> str:
    """Read a file as UTF-8, for callers with a message of their own.

    Raises:
        OSError: it cannot be read, is neither an ordinary file nor a descriptor, or has more than ``MOST_BYTES``.
        ValueError: it is not UTF-8, or the path is none.
    """
    if _DESCRIPTOR.fullmatch(str(path)) is None and not stat.S_ISREG(path.stat().st_mode):
        raise NotOrdinaryError("it is no ordinary file")  # before it is opened: a device may answer to that
    with _open(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise NotOrdinaryError(_TOO_LARGE)
    return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def _open(path: Path) -> BinaryIO:
    if _DESCRIPTOR.fullmatch(str(path)) is not None:
        return path.open("rb")
    # without O_NONBLOCK, opening a pipe without a writer never ends
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES:
        return file
    file.close()
    raise NotOrdinaryError(_TOO_LARGE if stat.S_ISREG(status.st_mode) else "it is no ordinary file")
