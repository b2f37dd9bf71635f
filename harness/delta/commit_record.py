"""Read a merge's commit from a table's log, and the table's definition in the log before and after it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mergecheck.harness.compare.table_outcome import CommitRecord, LoggedAction
from mergecheck.harness.compare.tracked_rows import TrackedFile, TrackedMerge, TrackedRow, TrackedTable
from mergecheck.harness.delta.read import (
    commit_info,
    merge_version,
    paths_named_again,
    read_actions,
    table_at,
    table_metadata,
    table_protocol,
)
from mergecheck.harness.delta.tables.row_ids import (
    BASE,
    DOMAIN,
    FEATURE,
    VERSION,
    high_water_mark,
    stored_ids,
)
from mergecheck.harness.delta.tables.vectors import deleted_rows
from mergecheck.model.table_properties import ROW_TRACKING, ROW_TRACKING_SUSPENDED, is_on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.delta.read import Action, LiveFile
    from mergecheck.harness.delta.tables.row_ids import Stored

_FILE_ACTIONS = frozenset({"add", "remove", "cdc"})

# The features that a version implied before features had names: feature -> the first version that has it.
_READER_VERSIONS = {"columnMapping": 2}
_WRITER_VERSIONS = {
    "appendOnly": 2,
    "invariants": 2,
    "checkConstraints": 3,
    "changeDataFeed": 4,
    "generatedColumns": 4,
    "columnMapping": 5,
    "identityColumns": 6,
}
_NAMED_READER, _NAMED_WRITER = 3, 7
"""The versions from which on a protocol names its features."""


def commit_record(path: Path, *, since: int) -> CommitRecord:
    """Read the log's commits after a version, up to the merge's.

    Args:
        path: the table; its log starts at version 0 and has no checkpoint.
        since: the table's version before the merge.

    Raises:
        ValueError: for a log without metadata or protocol.
    """
    version = merge_version(path, since=since)
    actions = read_actions(path, version) if version > since else ()
    info, earlier = commit_info(actions), commit_info(read_actions(path, since))
    before, after = table_metadata(path, since), table_metadata(path, version)
    return CommitRecord(
        read_version=since,
        num_commits=version - since,
        actions=tuple(_logged(path, action, paths_named_again(actions)) for action in actions),
        info={name: value for name, value in info.items() if name != "operationMetrics"},
        timestamp_before=earlier.get("inCommitTimestamp"),
        definition_before=table_definition(before, table_protocol(path, since)) | _domains(path, since),
        definition=table_definition(after, table_protocol(path, version)) | _domains(path, version),
        added_columns=frozenset(_fields(after)).difference(_fields(before)),
        tracked=_tracked_merge(path, actions, since=since, version=version),
    )


def _tracked_merge(path: Path, actions: Iterable[Action], *, since: int, version: int) -> TrackedMerge | None:
    """Read the rows by their ids before and after the merge; None if the table has no row tracking."""
    if FEATURE not in (table_protocol(path, since).get("writerFeatures") or ()):
        return None
    removed = tuple(_tracked_file(action["remove"], num_rows=0) for action in actions if "remove" in action)
    before, after = _tracked_table(path, since), _tracked_table(path, version)
    return TrackedMerge(before=before, after=after, removed=removed)


def _tracked_table(path: Path, version: int) -> TrackedTable:
    configuration = table_metadata(path, version).get("configuration") or {}
    is_enabled = is_on(configuration, ROW_TRACKING)
    files: list[TrackedFile] = []
    rows: list[TrackedRow] = []
    for file in table_at(path, version).files:
        stored = stored_ids(path / unquote(file.add["path"]), configuration)
        files.append(_tracked_file(file.add, num_rows=len(stored)))
        if is_enabled:
            rows += _tracked_rows(path, file, stored)
    return TrackedTable(
        version=version,
        is_enabled=is_enabled,
        is_suspended=is_on(configuration, ROW_TRACKING_SUSPENDED),
        high_water_mark=high_water_mark(_domains(path, version).get(f"domain {DOMAIN}")),
        files=tuple(files),
        rows=tuple(rows),
    )


def _tracked_file(said: Action, *, num_rows: int) -> TrackedFile:
    return TrackedFile(
        path=said["path"], base_row_id=said.get(BASE), commit_version=said.get(VERSION), num_rows=num_rows
    )


def _tracked_rows(path: Path, file: LiveFile, stored: Sequence[Stored]) -> Iterator[TrackedRow]:
    """Give each live row its id: the stored one, else by its position in the file (R-705)."""
    base, version = file.add.get(BASE), file.add.get(VERSION)
    deleted = deleted_rows(path, file.add.get("deletionVector"))
    live = [place for place in range(len(stored)) if place not in deleted]
    for place, values in zip(live, file.rows, strict=True):
        row_id, commit_version = stored[place]
        if row_id is None and base is not None:
            row_id = base + place
        yield TrackedRow(row_id, version if commit_version is None else commit_version, values)


def size_faults(path: Path, version: int) -> tuple[str, ...]:
    """List files that a commit wrote whose size differs from the commit's entry."""
    written = [action.get("add") or action.get("cdc") for action in read_actions(path, version)]
    sizes = ((file["path"], file["size"], _size(path, file)) for file in written if file is not None)
    return tuple(f"size {said} of {name}, but the file has {size} bytes" for name, said, size in sizes if said != size)


def table_definition(metadata: Action, protocol: Action) -> dict[str, str]:
    """List the table's definition in its log, besides the names and types of its columns.

    Features that an old version of the protocol implies are named, so that an upgrade that keeps them keeps the entry.
    """
    readers = _features(protocol, "minReaderVersion", "readerFeatures", _READER_VERSIONS, _NAMED_READER)
    writers = _features(protocol, "minWriterVersion", "writerFeatures", _WRITER_VERSIONS, _NAMED_WRITER)
    entries = {
        **{name: metadata.get(name) for name in ("id", "name", "description", "createdTime", "format")},
        "partitionColumns": metadata["partitionColumns"],
        **{f"property {name}": value for name, value in (metadata.get("configuration") or {}).items()},
        **{
            f"{key} of column {path}": value
            for path, said in _fields(metadata).items()
            for key, value in (said.get("metadata") or {}).items()
        },
        "minReaderVersion": protocol["minReaderVersion"],
        "minWriterVersion": protocol["minWriterVersion"],
        "reader features": ", ".join(sorted(readers)),
        "writer features": ", ".join(sorted(writers)),
    }
    return {name: _text(value) for name, value in entries.items() if value is not None}


def _domains(path: Path, version: int) -> dict[str, str]:
    """List the metadata domains that a version has (R-708)."""
    found: dict[str, str] = {}
    for commit in range(version + 1):
        for action in read_actions(path, commit):
            if said := action.get("domainMetadata"):
                entry = f"domain {said['domain']}"
                found = {name: text for name, text in found.items() if name != entry}
                found |= {} if said["removed"] else {entry: said["configuration"]}
    return found


def _fields(metadata: Action) -> dict[str, dict[str, Any]]:
    """Return all columns and nested fields of a table's schema, by their paths."""
    return dict(_nested_fields(json.loads(metadata["schemaString"]), path=""))


def _nested_fields(spelled: str | dict[str, Any], *, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(spelled, str):
        return
    for member in spelled.get("fields", ()):
        where = f"{path}.{member['name']}" if path else member["name"]
        yield where, member
        yield from _nested_fields(member["type"], path=where)
    for key, step in (("elementType", "element"), ("keyType", "key"), ("valueType", "value")):
        if key in spelled:
            yield from _nested_fields(spelled[key], path=f"{path}.{step}")


def _features(
    protocol: Action, version_key: str, features_key: str, first_versions: Mapping[str, int], named_from: int
) -> frozenset[str]:
    version = protocol[version_key]
    if version >= named_from:
        return frozenset(protocol.get(features_key) or ())
    return frozenset(name for name, first in first_versions.items() if first <= version)


def _logged(path: Path, action: Action, again: frozenset[str]) -> LoggedAction:
    ((kind, said),) = action.items()
    if kind not in _FILE_ACTIONS:
        return LoggedAction(kind=kind)
    size = said.get("size")
    return LoggedAction(
        kind=kind,
        size=_size(path, said) if size is None else size,
        data_change=said.get("dataChange"),
        again=said["path"] in again,
    )


def _size(path: Path, file: Action) -> int:
    return (path / unquote(file["path"])).stat().st_size


def _text(value: Any) -> str:  # noqa: ANN401 - JSON
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
