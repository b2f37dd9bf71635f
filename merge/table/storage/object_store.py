"""Tables in an object store: files are put whole, fetched whole, and deleted one by one.

A new file is written on the worker's disk and put into the store when it is complete, so no reader sees half of it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from mergecheck.merge.errors import StoreError, brief
from mergecheck.merge.table.storage.paths import bucket_and_key
from mergecheck.merge.table.storage.store_access import StoreAccess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from obstore import GetResult

STORE_ERRORS = (BaseError, OSError)
"""The errors that the client of a store raises."""


class ObjectStorage:
    """A prefix of a bucket; see ``storage.Storage``. Its client keeps its connections.

    Without ``access`` the store is reached by the environment alone.
    """

    def __init__(self, location: str, access: StoreAccess | None) -> None:
        self._location = location
        self._access = access or StoreAccess()
        bucket, key = bucket_and_key(location)
        self._client = new_client(bucket, key or None, self._access)

    def new_file(self, relative: str) -> NewObject:
        """See ``Storage``."""
        return NewObject(client=self._client, relative=relative)

    @contextlib.contextmanager
    def local_copy(self, location: str) -> Iterator[str]:
        """See ``Storage``."""
        path = _temporary_file()
        try:
            with Path(path).open("wb") as copy:
                copy.writelines(self._get(location).stream())
            yield path
        finally:
            _remove(path)

    def _get(self, location: str) -> GetResult:
        relative = location.removeprefix(f"{self._location}/")
        if relative != location:
            return obstore.get(self._client, relative)
        bucket, key = bucket_and_key(location)  # a file that lies elsewhere
        return obstore.get(new_client(bucket, None, self._access), key)

    def delete_files(self, *, containing: str, kept: frozenset[str]) -> Mapping[str, str]:
        """See ``Storage``."""
        failed: dict[str, str] = {}
        for path in [entry["path"] for batch in obstore.list(self._client) for entry in batch]:
            name = path.rpartition("/")[2]
            if containing not in name or path in kept:
                continue
            try:
                obstore.delete(self._client, path)
            except STORE_ERRORS as error:
                failed[path] = brief(error)
        return failed

    def client(self) -> S3Store:
        """See ``Storage``."""
        return self._client


def new_client(bucket: str, prefix: str | None, access: StoreAccess, **options: Any) -> S3Store:  # noqa: ANN401 - obstore's own
    """Make a client of a prefix of a bucket, or of all of it; ``options`` are further ones of the client."""
    client_options = {"allow_http": access.allows_http, **options.pop("client_options", {})}
    config = cast("Any", access.client_settings(bucket))  # the names of variables are not in its type
    return S3Store(bucket, prefix=prefix, config=config, client_options=cast("Any", client_options), **options)


@contextlib.contextmanager
def store_errors(location: str) -> Iterator[None]:
    """Name the table in errors of a store's client; errors about a missing or an existing file stay as they are.

    Raises:
        StoreError: in place of the client's own.
    """
    try:
        yield
    except (FileNotFoundError, AlreadyExistsError):
        raise
    except STORE_ERRORS as error:
        raise StoreError(brief(error), where=location) from error


@dataclass(slots=True, kw_only=True)
class NewObject:
    """A local file that becomes an object when it is complete; see ``storage.NewFile``."""

    client: S3Store
    relative: str
    _path: str = field(init=False, default="")
    _may_be_stored: bool = field(init=False, default=False)

    def begin(self) -> str:
        """Make the local file."""
        self._path = _temporary_file()
        return self._path

    def finish(self) -> int:
        """Put the file into the store."""
        size = os.path.getsize(self._path)  # noqa: PTH202 - a plain string, as of a local table
        self._may_be_stored = True  # also if the client fails
        obstore.put(self.client, self.relative, Path(self._path))
        _remove(self._path)
        return size

    def discard(self) -> None:
        """Delete the local file, and the object if there may be one."""
        _remove(self._path)
        if self._may_be_stored:
            with contextlib.suppress(*STORE_ERRORS):  # the driver, too, looks for files that are left
                obstore.delete(self.client, self.relative)


def _temporary_file() -> str:
    handle, path = tempfile.mkstemp(prefix="merge-", suffix=".parquet")
    os.close(handle)
    return path


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # the first failure is the one to report
        os.remove(path)  # noqa: PTH107 - a plain string, as of a local table
