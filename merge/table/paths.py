"""Where the table and its files lie on disk."""

from __future__ import annotations

import os
from urllib.parse import unquote

from merge.errors import UnsupportedTableError


def local_path(path: str) -> str:
    """Make an absolute local path of a path or ``file:`` URI.

    Raises:
        UnsupportedTableError: the path names another file system.
    """
    if path.startswith("file:"):
        path = "/" + unquote(path.removeprefix("file:")).lstrip("/")
    if "://" in path:
        scheme = path.split("://", 1)[0]
        raise UnsupportedTableError([f"storage by {scheme}://"], where=path)
    return os.path.abspath(path)  # noqa: PTH100 - Path.resolve would follow links and change the reported location


def file_location(table_location: str, path: str) -> str:
    """Resolve a path of the log against the table; decodes percent escapes once (protocol: paths are URIs)."""
    decoded = unquote(path)
    if decoded.startswith("file:"):
        return "/" + decoded.removeprefix("file:").lstrip("/")
    return decoded if decoded.startswith("/") else f"{table_location.rstrip('/')}/{decoded}"
