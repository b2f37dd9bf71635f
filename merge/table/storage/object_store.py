"""Tables in an object store: files are put whole, fetched whole, and deleted one by one.

A new file is written beside the worker and put into the store when it is complete, so nobody ever sees half of it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from mergecheck.merge.errors import StoreError
from mergecheck.merge.table.storage.paths import bucket_and_key
from mergecheck.merge.table.storage.storage import is_in_store
from mergecheck.merge.table.storage.store_access import StoreAccess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STORE_ERRORS = (BaseError, OSError)
"""What the client of a store raises."""

_OPEN_STORES = 16
_MAX_REASON = 400
_NOT_TEXT = re.compile(r"\x1b\[\d*m|↳")  # delta-rs draws a tree in colours


def open_objects(location: str, access: StoreAccess | None) -> S3Store:
    """Open a directory of a store; without ``access`` by the environment alone."""
    bucket, key = bucket_and_key(location)
    return _open_bucket(bucket, key or None, access or StoreAccess())


@functools.lru_cache(maxsize=_OPEN_STORES)
def _open_bucket(bucket: str, prefix: str | None, access: StoreAccess) -> S3Store:
    """Open a store, or take the one that is open: its connections last."""
    return new_client(bucket, prefix, access)


def new_client(bucket: str, prefix: str | None, access: StoreAccess, **options: Any) -> S3Store:  # noqa: ANN401 - obstore's own
    """Make a client of a prefix of a bucket.

    Args:
        bucket: its name.
        prefix: None for the whole bucket.
        access: how the store is reached.
        options: of the client, besides these.
    """
    client_options = {"allow_http": access.allows_http, **options.pop("client_options", {})}
    config = cast("Any", access.client_settings(bucket))  # the names of variables are not in its type
    return S3Store(bucket, prefix=prefix, config=config, client_options=cast("Any", client_options), **options)


@contextlib.contextmanager
def fetched(location: str, access: StoreAccess | None) -> Iterator[str]:
    """Copy an object to a local file, which goes afterwards; gives its path."""
    bucket, key = bucket_and_key(location)
    path = _temporary_file()
    try:
        with Path(path).open("wb") as copy:
            copy.writelines(obstore.get(_open_bucket(bucket, None, access or StoreAccess()), key).stream())
        yield path
    finally:
        _remove(path)


def delete_objects(
    location: str, *, containing: str, access: StoreAccess | None, kept: frozenset[str]
) -> Mapping[str, str]:
    """Do in a store what ``storage.delete_files`` says."""
    store = open_objects(location, access)
    failed: dict[str, str] = {}
    for path in [entry["path"] for batch in obstore.list(store) for entry in batch]:
        name = path.rpartition("/")[2]
        if not name.startswith("part-") or containing not in name or path in kept:
            continue
        try:
            obstore.delete(store, path)
        except STORE_ERRORS as error:
            failed[path] = brief(error)
    return failed


@contextlib.contextmanager
def store_errors(location: str) -> Iterator[None]:
    """Name the table in errors of a store's client; local tables keep theirs, and so does whatever is not there.

    Raises:
        StoreError: in place of the client's own.
    """
    if not is_in_store(location):
        yield
        return
    try:
        yield
    except (FileNotFoundError, AlreadyExistsError):
        raise
    except STORE_ERRORS as error:
        raise StoreError(brief(error), where=location) from error


def brief(error: Exception) -> str:
    """Give what a client's error begins with, in one line; the client's inner life follows."""
    text = _NOT_TEXT.sub(" ", str(error).partition("Debug source")[0])
    return textwrap.shorten(text, _MAX_REASON, placeholder=" ...") or type(error).__name__


@dataclass(slots=True, kw_only=True)
class NewObject:
    """A file in the making that becomes an object; see ``storage.NewFile``."""

    location: str
    relative: str
    access: StoreAccess
    _path: str = field(init=False, default="")
    _may_be_stored: bool = field(init=False, default=False)

    def begin(self) -> str:
        """Make the local file."""
        self._path = _temporary_file()
        return self._path

    def finish(self) -> int:
        """Put the file into the store."""
        size = os.path.getsize(self._path)  # noqa: PTH202 - a plain string, as of a local table
        self._may_be_stored = True  # also where the client fails
        obstore.put(open_objects(self.location, self.access), self.relative, Path(self._path))
        _remove(self._path)
        return size

    def discard(self) -> None:
        """Delete the local file, and the object where there may be one."""
        _remove(self._path)
        if self._may_be_stored:
            with contextlib.suppress(*STORE_ERRORS):  # the driver, too, looks for what is left
                obstore.delete(open_objects(self.location, self.access), self.relative)


def _temporary_file() -> str:
    handle, path = tempfile.mkstemp(prefix="merge-", suffix=".parquet")
    os.close(handle)
    return path


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # the first failure is the one to report
        os.remove(path)  # noqa: PTH107 - a plain string, as of a local table
