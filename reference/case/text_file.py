"""Reading a text file that a user names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.errors import CaseFormatError

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path) -> str:
    """Read a file as UTF-8.

    Raises:
        CaseFormatError: there is no such file, it is no ordinary one (a pipe may never end), or it is not UTF-8.
    """
    try:
        is_other = path.exists() and not path.is_file()
    except (OSError, ValueError) as error:
        raise CaseFormatError(f"{path}: cannot be read: {error}") from error
    if is_other:
        raise CaseFormatError(f"{path}: is no ordinary file. Save the text to a file and give that.")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise CaseFormatError(f"{path}: cannot be read as UTF-8 text: {error}") from error
