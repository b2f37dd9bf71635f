"""Files of a table on a local disk or in an object store: new ones, copies of old ones, deletion.

``open_storage`` chooses the implementation. ``object_store`` is imported only for a table in a store: Spark's workers
need no client of a store otherwise.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mergecheck.merge.table.storage.paths import is_in_store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from obstore.store import LocalStore, S3Store

    from mergecheck.merge.table.storage.store_access import StoreAccess


class NewFile(Protocol):
    """A file in the making."""

    def begin(self) -> str:
        """Return the local path at which the file is written; its directory exists."""

    def finish(self) -> int:
        """Move the file to its place in the table for good, and return its size in bytes."""

    def discard(self) -> None:
        """Remove the file, finished or not, as far as that is possible."""


class Storage(Protocol):
    """The place of one table."""

    def new_file(self, relative: str) -> NewFile:
        """Plan a file by its decoded path in the table; nothing is done before it begins."""

    def local_copy(self, location: str) -> AbstractContextManager[str]:
        """Yield the local path of a data file: its own, or the path of a copy which is deleted afterwards."""

    def delete_files(self, *, containing: str, kept: frozenset[str]) -> Mapping[str, str]:
        """Delete files whose name contains a text, but not those whose decoded relative paths are kept.

        Returns why files could not be deleted, by their paths.
        """

    def client(self) -> LocalStore | S3Store:
        """Return a client of the table's directory whose methods are the same for both places."""


def open_storage(location: str, access: StoreAccess | None) -> Storage:
    """Open the place of the table at a location; without ``access`` a store is reached by the environment alone."""
    if not is_in_store(location):
        return LocalStorage(location)
    from mergecheck.merge.table.storage.object_store import ObjectStorage  # noqa: PLC0415 - see the module's docstring

    return ObjectStorage(location, access)


def flush_to_disk(path: str) -> None:
    """Have a local file and its entry in the directory survive a crash of the machine (fsync)."""
    for name in (path, os.path.dirname(path)):  # noqa: PTH120 - a plain string for pyarrow
        descriptor = os.open(name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """A directory of a local disk."""

    location: str

    def new_file(self, relative: str) -> NewFile:
        """See ``Storage``."""
        return _NewLocalFile(path=os.path.join(self.location, relative))  # noqa: PTH118 - a plain string for pyarrow

    def local_copy(self, location: str) -> AbstractContextManager[str]:
        """See ``Storage``; a local table may name files of a store."""
        if is_in_store(location):
            return open_storage(location, None).local_copy(location)
        return contextlib.nullcontext(location)

    def delete_files(self, *, containing: str, kept: frozenset[str]) -> Mapping[str, str]:
        """See ``Storage``."""
        failed: dict[str, str] = {}
        root = Path(self.location)
        for path in root.rglob(f"*{containing}*"):
            if str(path.relative_to(root)) in kept:
                continue
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                failed[str(path)] = str(error)
        return failed

    def client(self) -> LocalStore:
        """See ``Storage``."""
        from obstore.store import LocalStore  # noqa: PLC0415 - see the module's docstring

        return LocalStore(prefix=self.location)


@dataclass(slots=True, kw_only=True)
class _NewLocalFile:
    path: str

    def begin(self) -> str:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)  # noqa: PTH103, PTH120 - a plain string for pyarrow
        return self.path

    def finish(self) -> int:
        flush_to_disk(self.path)
        return os.path.getsize(self.path)  # noqa: PTH202 - the same

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # the first failure is the one to report
            os.remove(self.path)  # noqa: PTH107 - the same
