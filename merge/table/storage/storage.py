"""The seam between tables on a local disk and tables in an object store: new files, old ones, the log, deletion.

A file of a local table is written where it belongs. Whatever concerns a store is in ``object_store``, which is
imported only for a table that lies in one: Spark's workers need no client of a store otherwise.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from obstore.store import LocalStore, S3Store

    from mergecheck.merge.table.storage.store_access import StoreAccess


def is_in_store(location: str) -> bool:
    """Tell whether a location is one of an object store."""
    return "://" in location


class NewFile(Protocol):
    """A file in the making."""

    def begin(self) -> str:
        """Return the local path at which the file is written; its directory is there."""
        ...

    def finish(self) -> int:
        """Put the file where the table has it, and return its size in bytes."""
        ...

    def discard(self) -> None:
        """Remove the file, finished or not, as far as that is possible."""
        ...


def new_file(location: str, relative: str, access: StoreAccess | None) -> NewFile:
    """Plan a file of a table; nothing is done before it begins.

    Args:
        location: of the table.
        relative: the file's path in it, decoded.
        access: how the store is reached; None for a local table.
    """
    if access is None:
        return _NewLocalFile(path=os.path.join(location, relative))  # noqa: PTH118 - a plain string for pyarrow
    from mergecheck.merge.table.storage.object_store import NewObject  # noqa: PLC0415 - see the module's first words

    return NewObject(location=location, relative=relative, access=access)


def local_copy(location: str, access: StoreAccess | None) -> AbstractContextManager[str]:
    """Give the local path of a data file: its own, or that of a copy which goes afterwards."""
    if not is_in_store(location):
        return contextlib.nullcontext(location)
    from mergecheck.merge.table.storage.object_store import fetched  # noqa: PLC0415 - the same

    return fetched(location, access)


def open_store(location: str, access: StoreAccess | None) -> LocalStore | S3Store:
    """Open a directory, local or of a store, by a client whose words are the same for both."""
    if is_in_store(location):
        from mergecheck.merge.table.storage.object_store import open_objects  # noqa: PLC0415 - the same

        return open_objects(location, access)
    from obstore.store import LocalStore  # noqa: PLC0415 - the same

    return LocalStore(prefix=location)


def delete_files(
    location: str, *, containing: str, access: StoreAccess | None, kept: frozenset[str]
) -> Mapping[str, str]:
    """Delete data and change files of a table whose name contains a text.

    Args:
        location: of the table.
        containing: the text.
        access: how the store is reached; None for a local table.
        kept: decoded relative paths of files that stay.

    Returns:
        Why files could not be deleted, by their paths.
    """
    if is_in_store(location):
        from mergecheck.merge.table.storage.object_store import delete_objects  # noqa: PLC0415 - the same

        return delete_objects(location, containing=containing, access=access, kept=kept)
    from pathlib import Path  # noqa: PLC0415 - for the driver only

    failed: dict[str, str] = {}
    root = Path(location)
    for path in root.rglob(f"part-*{containing}*"):
        if str(path.relative_to(root)) in kept:
            continue
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            failed[str(path)] = str(error)
    return failed


@dataclass(slots=True, kw_only=True)
class _NewLocalFile:
    path: str

    def begin(self) -> str:
        os.makedirs(os.path.dirname(self.path), exist_ok=True)  # noqa: PTH103, PTH120 - a plain string for pyarrow
        return self.path

    def finish(self) -> int:
        return os.path.getsize(self.path)  # noqa: PTH202 - the same

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # the first failure is the one to report
            os.remove(self.path)  # noqa: PTH107 - the same
