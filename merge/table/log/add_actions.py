"""What deltalake leaves out of a log: the ``add`` actions of live files as the log has them, and metadata domains.

They are collected from the newest checkpoint, classic or V2, and from the commits after it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import obstore
import pyarrow as pa
import pyarrow.parquet as pq

from mergecheck.merge.errors import DamagedLogError
from mergecheck.merge.table.storage.log_store import LogStore
from mergecheck.merge.table.storage.object_store import store_errors
from mergecheck.merge.table.storage.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from obstore.store import LocalStore, S3Store

    from mergecheck.merge.table.storage.store_access import StoreAccess

    Action = dict[str, Any]

_LOG: Final = "_delta_log"
_CHECKPOINT: Final = re.compile(
    r"(?P<version>\d{20})\.checkpoint(\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.[0-9a-f-]{36})?\.(parquet|json)"
)
# All that a new action for the same file repeats.
_FIELDS: Final = (
    *("path", "partitionValues", "size", "modificationTime", "tags", "stats", "deletionVector"),
    *("baseRowId", "defaultRowCommitVersion", "clusteringProvider"),
)
_IN_STATE: Final = frozenset({"add", "domainMetadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """The state of a log at one version.

    Attributes:
        adds: the ``add`` actions of the live files, by their paths as the log writes them.
        domains: the configurations of the metadata domains, by their names.
    """

    adds: Mapping[str, Action]
    domains: Mapping[str, str]


def read_add_actions(
    location: str, access: StoreAccess | None, version: int, wanted: Callable[[Action], bool]
) -> dict[str, Action]:
    """Read the ``add`` actions of the live files that are wanted, by their paths as the log writes them.

    Args:
        location: the table.
        access: how its store is reached.
        version: of the table.
        wanted: chooses actions; it is asked about every live file.

    Raises:
        DamagedLogError: a checkpoint or commit is not there.
    """
    adds = read_log_state(location, access, version).adds
    return {path: add for path, add in adds.items() if wanted(add)}


def read_log_state(location: str, access: StoreAccess | None, version: int) -> LogState:
    """Read the live files and the domains of a table at a version; see ``read_add_actions``."""
    client = open_storage(location, access).client()
    live: dict[tuple[str, str], Action] = {}
    domains: dict[str, str] = {}
    with store_errors(location):
        start, files = _newest_checkpoint(client, version)
        if start is not None:
            _replay(_checkpoint_actions(client, files), live, domains)
    log = LogStore(location, access)
    for number in range(0 if start is None else start + 1, version + 1):
        try:
            actions = log.read(number)
        except FileNotFoundError as error:
            raise DamagedLogError(f"version {number} is not there", where=location, is_gap=True) from error
        _replay(actions, live, domains)
    return LogState(adds={add["path"]: add for add in live.values()}, domains=domains)


def _replay(actions: Iterable[Action], live: dict[tuple[str, str], Action], domains: dict[str, str]) -> None:
    """Follow the actions of a commit or a checkpoint; of a commit, all removals go first."""
    added = []
    for action in actions:
        if "remove" in action:
            live.pop(_key(action["remove"]), None)
        elif "add" in action:
            added.append(action["add"])
        elif said := action.get("domainMetadata"):
            follow_domain(domains, said)
    live.update((_key(add), add) for add in added)


def follow_domain(domains: dict[str, str], said: Action) -> None:
    """Store the configuration of a ``domainMetadata``, or drop a domain that it removes."""
    domains.pop(said["domain"], None)
    if not said.get("removed"):
        domains[said["domain"]] = said["configuration"]


def _key(said: Action) -> tuple[str, str]:
    """Name a logical file: a data file together with its vector."""
    vector = said.get("deletionVector")
    if vector is None:
        return said["path"], ""
    return said["path"], f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}"


def _newest_checkpoint(client: LocalStore | S3Store, version: int) -> tuple[int | None, list[str]]:
    """Find the newest complete checkpoint up to a version, and its files; any of several for one version."""
    found: dict[int, dict[str, list[str]]] = {}
    for batch in obstore.list(client, _LOG):
        for meta in batch:
            name = meta["path"].rpartition("/")[2]
            match = _CHECKPOINT.fullmatch(name)
            if match and int(match["version"]) <= version and meta["path"] == f"{_LOG}/{name}":
                kind = f"parts {match['parts']}" if match["parts"] else name
                found.setdefault(int(match["version"]), {}).setdefault(kind, []).append(meta["path"])
    for number in sorted(found, reverse=True):
        for kind, files in found[number].items():
            if len(files) == (int(kind.removeprefix("parts ")) if kind.startswith("parts ") else 1):
                return number, files
    return None, []


def _checkpoint_actions(client: LocalStore | S3Store, files: Iterable[str]) -> Iterator[Action]:
    """Read the actions of a checkpoint that ``LogState`` is made of."""
    for file in files:
        content = bytes(obstore.get(client, file).bytes())
        if file.endswith(".json"):
            actions = [json.loads(line) for line in content.decode().split("\n") if line.strip()]
            yield from (action for action in actions if not _IN_STATE.isdisjoint(action))
            sidecars = [action["sidecar"]["path"] for action in actions if "sidecar" in action]
        else:
            yield from _parquet_actions(content)
            sidecars = [sidecar["path"] for sidecar in _column(content, "sidecar", ("path",))]
        for name in sidecars:
            path = f"{_LOG}/_sidecars/{unquote(name).rpartition('/')[2]}"
            yield from _parquet_actions(bytes(obstore.get(client, path).bytes()))


def _parquet_actions(content: bytes) -> Iterator[Action]:
    for add in _column(content, "add", _FIELDS):
        known = {name: value for name, value in add.items() if value is not None}
        maps: dict[str, Any] = {name: dict(known[name]) for name in ("partitionValues", "tags") if name in known}
        if "deletionVector" in known:
            vector = known["deletionVector"].items()
            maps["deletionVector"] = {name: value for name, value in vector if value is not None}
        yield {"add": {**known, **maps}}
    for domain in _column(content, "domainMetadata", ("domain", "configuration", "removed")):
        yield {"domainMetadata": domain}


def _column(content: bytes, name: str, fields: Iterable[str]) -> list[Action]:
    """Read some fields of a column of structs, as far as they are there; rows without the struct are left out."""
    file = pq.ParquetFile(pa.BufferReader(content))
    if name not in file.schema_arrow.names:
        return []
    stored = {field.name for field in file.schema_arrow.field(name).type}
    rows = file.read(columns=[f"{name}.{field}" for field in fields if field in stored])
    found: list[Action] = rows.column(name).drop_null().to_pylist()
    return found
