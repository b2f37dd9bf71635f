"""Copies the tables of a case to an object store for Spark, and back, if the table root is in a store.

The harness writes and reads tables on a local disk. If the root is in a store, they are uploaded before the merge, and
the store's files replace the local copy afterwards.
"""

from __future__ import annotations

import shutil
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import obstore

from mergecheck.harness.engines.spark.config import current_place
from mergecheck.harness.verdict import EngineDownError
from mergecheck.merge.errors import brief
from mergecheck.merge.table.storage.object_store import STORE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from obstore.store import S3Store


class StagedTables(Protocol):
    """Tables in local directories, and their copies for Spark."""

    def publish(self, table: Path) -> str:
        """Upload a table if necessary, and return the path or URI that Spark reads."""
        ...

    def download(self, table: Path) -> None:
        """Replace a local table by the present files of its copy."""
        ...


@contextmanager
def staged_tables() -> Iterator[StagedTables]:
    """Stage the tables of one case under the table root for the block; a store's copies are deleted afterwards.

    Raises:
        EngineDownError: if the store does not answer.
    """
    root = current_place().store
    if root is None:
        yield _LocalTables()
        return
    prefix = f"mergecheck-{uuid.uuid4().hex}"
    tables = _StoredTables(uri=f"{root}/{prefix}", store=root.open(prefix))
    try:
        yield tables
    finally:
        tables.clear()


class _LocalTables:
    def publish(self, table: Path) -> str:
        return str(table)

    def download(self, table: Path) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredTables:
    uri: str
    store: S3Store = field(repr=False)

    def publish(self, table: Path) -> str:
        with self._required():
            for file in sorted(path for path in table.rglob("*") if path.is_file()):
                obstore.put(self.store, f"{table.name}/{file.relative_to(table).as_posix()}", file)
        return f"{self.uri}/{table.name}"

    def download(self, table: Path) -> None:
        with self._required():
            shutil.rmtree(table)
            for path in self._paths(table.name):
                file = table.parent / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(obstore.get(self.store, path).bytes())

    def clear(self) -> None:
        with self._required():
            if paths := self._paths():
                obstore.delete(self.store, paths)

    def _paths(self, below: str | None = None) -> list[str]:
        return [entry["path"] for batch in obstore.list(self.store, below) for entry in batch]

    @contextmanager
    def _required(self) -> Iterator[None]:
        try:
            yield
        except STORE_ERRORS as error:
            raise EngineDownError(f"the store of the table root {self.uri} is gone: {brief(error)}") from error
