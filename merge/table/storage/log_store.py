"""The Delta log as a store of numbered JSON files that are written once (R-730)."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import obstore
from obstore.exceptions import AlreadyExistsError

from mergecheck.merge.errors import StoreError, UncertainCommitError, brief
from mergecheck.merge.table.storage.log_errors import log_errors
from mergecheck.merge.table.storage.object_store import store_errors
from mergecheck.merge.table.storage.paths import is_in_store
from mergecheck.merge.table.storage.storage import flush_to_disk, open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.merge.table.storage.store_access import StoreAccess

Action = dict[str, Any]  # one line of a log file: {"add": {...}} and so on


class LogStore:
    """The log of the table at a location; ``access`` reaches its store, None for a local table."""

    def __init__(self, location: str, access: StoreAccess | None = None) -> None:
        self._location = location
        self._client = open_storage(location, access).client()

    def read(self, version: int) -> tuple[Action, ...]:
        """Read the actions of a version.

        Raises:
            FileNotFoundError: there is no such version.
            DamagedLogError: it holds what no log holds.
        """
        content = self._content(version)
        with log_errors(self._location):
            return tuple(_action(line) for line in content.decode().split("\n") if line.strip())

    def read_from(self, version: int) -> Iterator[tuple[int, tuple[Action, ...]]]:
        """Read the actions of a version and of all that follow it, each with its number."""
        with contextlib.suppress(FileNotFoundError):
            for number in itertools.count(version):
                yield number, self.read(number)

    def paths_after(self, version: int) -> frozenset[str]:
        """Collect the decoded paths of all data and change files that later versions add."""
        later = (action for _, actions in self.read_from(version + 1) for action in actions)
        return frozenset(unquote(a[kind]["path"]) for a in later for kind in ("add", "cdc") if kind in a)

    def try_create(self, version: int, actions: Sequence[Action]) -> bool:
        """Write a version unless it exists: all of it at once, or nothing. Returns whether it was written.

        Raises:
            UncertainCommitError: a store failed, and may have written it, or may do so yet.
        """
        # Unescaped: deltalake 1.6 reads an escaped surrogate pair as another character.
        lines = "\n".join(json.dumps(action, separators=(",", ":"), ensure_ascii=False) for action in actions)
        content = lines.encode()
        try:
            with store_errors(self._location):
                obstore.put(self._client, log_file(version), content, mode="create", use_multipart=False)
        except StoreError as error:
            if not is_in_store(self._location):
                raise  # a local file appears with all its content, or not at all
            raise UncertainCommitError(error.reason, where=error.where) from error
        except AlreadyExistsError:
            # The client repeats a request that failed, although the first one may have been served.
            return is_in_store(self._location) and self._content(version) == content
        if not is_in_store(self._location):
            try:
                flush_to_disk(f"{self._location}/{log_file(version)}")  # before success is reported
            except OSError as error:
                raise UncertainCommitError(brief(error), where=self._location) from error
        return True

    def is_there(self) -> bool:
        """Return whether the table still has a log."""
        with store_errors(self._location):
            return any(len(batch) > 0 for batch in obstore.list(self._client, "_delta_log", chunk_size=1))

    def _content(self, version: int) -> bytes:
        with store_errors(self._location):
            return bytes(obstore.get(self._client, log_file(version)).bytes())


def _action(line: str) -> Action:
    """Parse a line. An action is an object of objects, and those that name a file have its path."""
    action = json.loads(line)
    if not isinstance(action, dict) or not all(isinstance(given, dict) for given in action.values()):
        raise ValueError(f"a line is no action: {line:.60}")
    for kind in ("add", "remove", "cdc"):
        if kind in action and not isinstance(action[kind].get("path"), str):
            raise ValueError(f"{kind} without a path: {line:.60}")
    return action


def log_file(version: int) -> str:
    """Name a version's file, relative to the table."""
    return f"_delta_log/{version:020d}.json"
