"""The ``add`` actions of live files as the log has them, with what deltalake leaves out: vectors, tags, statistics.

They are collected from the newest checkpoint, classic or V2, and from the commits after it.
"""

from __future__ import annotations

import json
import re
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
    from collections.abc import Callable, Iterable, Iterator

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


def read_add_actions(
    location: str, access: StoreAccess | None, version: int, wanted: Callable[[Action], bool]
) -> dict[str, Action]:
    """Read the ``add`` actions of the live files that are wanted, by their paths as the log spells them.

    Args:
        location: the table.
        access: how its store is reached.
        version: of the table.
        wanted: chooses actions; it is asked about every live file.

    Raises:
        DamagedLogError: a checkpoint or commit is not there.
    """
    client = open_storage(location, access).client()
    with store_errors(location):
        start, files = _newest_checkpoint(client, version)
        live = {} if start is None else dict(_keyed(_checkpoint_actions(client, files)))
    log = LogStore(location, access)
    for number in range(0 if start is None else start + 1, version + 1):
        try:
            actions = log.read(number)
        except FileNotFoundError as error:
            raise DamagedLogError(f"version {number} is not there", where=location, is_gap=True) from error
        for action in actions:
            if "remove" in action:
                live.pop(_key(action["remove"]), None)
        live |= dict(_keyed(action["add"] for action in actions if "add" in action))
    return {add["path"]: add for add in live.values() if wanted(add)}


def _key(said: Action) -> tuple[str, str]:
    """Name a logical file: a data file together with its vector."""
    vector = said.get("deletionVector")
    if vector is None:
        return said["path"], ""
    return said["path"], f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}"


def _keyed(adds: Iterable[Action]) -> Iterator[tuple[tuple[str, str], Action]]:
    return ((_key(add), add) for add in adds)


def _newest_checkpoint(client: LocalStore | S3Store, version: int) -> tuple[int | None, list[str]]:
    """Find the newest complete checkpoint up to a version, and its files; one of several if it is there twice."""
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
    for file in files:
        content = bytes(obstore.get(client, file).bytes())
        if file.endswith(".json"):
            actions = [json.loads(line) for line in content.decode().split("\n") if line.strip()]
            yield from (action["add"] for action in actions if "add" in action)
            sidecars = [action["sidecar"]["path"] for action in actions if "sidecar" in action]
        else:
            yield from _parquet_actions(content)
            sidecars = _sidecars(content)
        for name in sidecars:
            path = f"{_LOG}/_sidecars/{unquote(name).rpartition('/')[2]}"
            yield from _parquet_actions(bytes(obstore.get(client, path).bytes()))


def _parquet_actions(content: bytes) -> Iterator[Action]:
    file = pq.ParquetFile(pa.BufferReader(content))
    if "add" not in file.schema_arrow.names:
        return
    stored = {field.name for field in file.schema_arrow.field("add").type}
    rows = file.read(columns=[f"add.{name}" for name in _FIELDS if name in stored])
    for add in rows.column("add").drop_null().to_pylist():
        known = {name: value for name, value in add.items() if value is not None}
        maps = {name: dict(known[name]) for name in ("partitionValues", "tags") if name in known}
        if "deletionVector" in known:
            vector = known["deletionVector"].items()
            maps["deletionVector"] = {name: value for name, value in vector if value is not None}
        yield {**known, **maps}


def _sidecars(content: bytes) -> list[str]:
    file = pq.ParquetFile(pa.BufferReader(content))
    if "sidecar" not in file.schema_arrow.names:
        return []
    rows = file.read(columns=["sidecar.path"]).column("sidecar").drop_null()
    return [sidecar["path"] for sidecar in rows.to_pylist()]
