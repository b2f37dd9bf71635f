"""What Delta's protocol asks of each action of a commit: its fields, their types, and one action of a kind (R-717)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from mergecheck.harness.delta.tables.vectors import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Action = dict[str, Any]

_Fields: TypeAlias = "Mapping[str, type]"

_FILE: _Fields = {"path": str, "partitionValues": dict, "size": int, "dataChange": bool}
_NEEDED: Mapping[str, _Fields] = {
    "add": {**_FILE, "modificationTime": int},
    "remove": {**_FILE, "deletionTimestamp": int, "extendedFileMetadata": bool},
    "cdc": _FILE,
    "metaData": {"id": str, "format": dict, "schemaString": str, "partitionColumns": list, "configuration": dict},
    "protocol": {"minReaderVersion": int, "minWriterVersion": int},
    "txn": {"appId": str, "version": int},
    "domainMetadata": {"domain": str, "configuration": str, "removed": bool},
    "commitInfo": {},
}
_FILE_OPTIONS: _Fields = {"stats": str, "tags": dict, "deletionVector": dict, "baseRowId": int}
_OPTIONAL: Mapping[str, _Fields] = {
    "add": {**_FILE_OPTIONS, "defaultRowCommitVersion": int, "clusteringProvider": str},
    "remove": {**_FILE_OPTIONS, "defaultRowCommitVersion": int},
    "cdc": {"tags": dict},
    "metaData": {"name": str, "description": str, "createdTime": int},
    "protocol": {"readerFeatures": list, "writerFeatures": list},
    "txn": {"lastUpdated": int},
    "domainMetadata": {},
    "commitInfo": {"inCommitTimestamp": int, "timestamp": int, "tags": dict},
}
_VECTOR: _Fields = {"storageType": str, "pathOrInlineDv": str, "sizeInBytes": int, "cardinality": int}
_WORDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}

_URI = re.compile(r"([^\x00-\x20\x7f\"<>\\^`{|}%#?]|%[0-9A-Fa-f]{2})+")
"""A path: what needs an escape in a URI has one. Java and Rust take letters of other scripts as they are."""
_CHANGES = "_change_data/"
_YEAR_2000, _YEAR_2200 = 946_684_800_000, 7_258_118_400_000
_LATER_MS = 60_000
"""So much later than the commit a clock may be that dates a removed file."""


def action_faults(actions: Sequence[Action], known: Iterable[Action], *, maps_columns: bool) -> Iterator[str]:
    """List fields that a commit's actions lack, or that differ from the form in Delta's protocol.

    Args:
        actions: of the commit.
        known: the ``add`` actions of the files that the table had before it.
        maps_columns: whether the table has column mapping: Delta Lake then puts change files into folders like others.
    """
    broken = False
    for action in actions:
        for fault in _shape(action):
            broken = True
            yield fault
    yield from _repeated(actions)
    if not broken:
        yield from _file_faults(actions, tuple(known))
        changes = [] if maps_columns else [action["cdc"]["path"] for action in actions if "cdc" in action]
        outside = (path for path in changes if not path.startswith(_CHANGES))
        yield from (f"cdc of {path}, which is not in {_CHANGES} (R-703)" for path in outside)


def require_types(actions: Sequence[Action]) -> None:
    """Refuse a commit in which a field's value has another type than in Delta's protocol: no reader can read it.

    Raises:
        ValueError: with the first such field.
    """
    for action in actions:
        for kind, said in action.items():
            if kind in _NEEDED:
                if not isinstance(said, dict):
                    raise ValueError(f"{kind} is {said!r}, which is no object")
                for fault in _wrong_types(kind, said, {**_OPTIONAL[kind], **_NEEDED[kind]}):
                    raise ValueError(fault)


def _shape(action: Action) -> Iterator[str]:
    if len(action) != 1:
        yield f"a line of the commit has the actions {', '.join(action) or 'none'}, but it has one"
        return
    ((kind, said),) = action.items()
    if kind not in _NEEDED:
        return  # readers ignore actions that they do not know
    if not isinstance(said, dict):
        yield f"{kind} is {said!r}, which is no object"
        return
    what = f"{kind} of {said['path']}" if isinstance(said.get("path"), str) else kind
    yield from _wrong_fields(what, said, _NEEDED[kind], _OPTIONAL[kind])
    if kind in ("add", "remove") and isinstance(vector := said.get("deletionVector"), dict):
        yield from _vector(f"the deletion vector of the {what}", vector)


def _wrong_fields(what: str, said: Action, needed: _Fields, optional: _Fields) -> Iterator[str]:
    yield from (f"{what} has no {name}" for name in needed if said.get(name) is None)
    yield from _wrong_types(what, said, {**optional, **needed})


def _wrong_types(what: str, said: Action, fields: _Fields) -> Iterator[str]:
    for name, wanted in fields.items():
        value = said.get(name)
        if value is not None and type(value) is not wanted:  # true is no number
            yield f"{what} has the {name} {value!r}, which is not {_WORDS[wanted]}"
    for name in ("partitionValues", "tags"):
        values = said.get(name)
        if isinstance(values, dict) and not all(text is None or isinstance(text, str) for text in values.values()):
            yield f"{what} has {name} that are no texts: {values}"


def _vector(what: str, said: Action) -> Iterator[str]:
    faults = list(_wrong_fields(what, said, _VECTOR, {"offset": int}))
    yield from faults
    if faults:
        return
    if said["storageType"] not in ("u", "i", "p"):
        yield f"{what} has the storageType {said['storageType']!r}, which is none of u, i, p"
    if said["storageType"] == "i" and said.get("offset") is not None:
        yield f"{what} is in the log, but has an offset"
    if said["cardinality"] < 1:
        yield f"{what} deletes {said['cardinality']} rows"


def _repeated(actions: Sequence[Action]) -> Iterator[str]:
    """A commit has one action at most of those that would replace each other."""
    found: Counter[tuple[str, str]] = Counter()
    for action in actions:
        for kind, said in action.items():
            if isinstance(said, dict):
                names = {"txn": "appId", "domainMetadata": "domain", "add": "path", "remove": "path", "cdc": "path"}
                if kind in _NEEDED:
                    found[kind, str(said.get(names.get(kind, ""), ""))] += 1
    for (kind, name), count in found.items():
        if count > 1:
            yield f"{count} actions {kind}{name and f' of {name}'} in one commit"


def _file_faults(actions: Sequence[Action], known: Sequence[Action]) -> Iterator[str]:
    """Check the actions' descriptions of files, if all have the fields that they need."""
    live, times = {key_of(file): file for file in known}, {file["path"]: file["modificationTime"] for file in known}
    committed = next((action["commitInfo"].get("timestamp") for action in actions if "commitInfo" in action), None)
    ended = {action["remove"]["path"] for action in actions if "remove" in action}
    for action in actions:
        for kind in ("add", "remove", "cdc"):
            if (file := action.get(kind)) is not None:
                yield from _path_faults(kind, file["path"])
                if file["size"] < 0:
                    yield f"{kind} of {file['path']} has the size {file['size']}"
        if (file := action.get("remove")) is not None:
            if not file["extendedFileMetadata"]:
                yield f"remove of {file['path']} has partition values and a size, but extendedFileMetadata is false"
            if key_of(file) not in live:
                yield f"remove of {file['path']}, with this vector no file of the table"
            elif (said := file.get("deletionVector")) != (had := live[key_of(file)].get("deletionVector")):
                yield f"remove of {file['path']} has the vector {said}, but its add had {had}"
            yield from _moment_faults(file, times.get(file["path"]), committed)
        if (file := action.get("add")) is not None:
            if not _YEAR_2000 < file["modificationTime"] < _YEAR_2200:
                yield f"add of {file['path']} has the modificationTime {file['modificationTime']}: no milliseconds"
            if file["path"] in times and key_of(file) not in live and file["path"] not in ended:
                yield f"add of {file['path']} with another vector, and no remove of it"


def _path_faults(kind: str, path: str) -> Iterator[str]:
    if _URI.fullmatch(path) is None:
        yield f"{kind} of {path}, which is no URI"
    parts = path.split("/") if kind == "add" else ()
    if any(part.startswith(("_", ".")) and "=" not in part for part in parts):
        yield f"add of {path}, which is hidden: readers pass over names that begin with _ or a dot"


def _moment_faults(remove: Action, made: int | None, committed: object) -> Iterator[str]:
    """A file is removed after it was made, and not after the commit: VACUUM goes by this time."""
    moment = remove["deletionTimestamp"]
    if made is not None and moment < made:
        yield f"remove of {remove['path']} has the deletionTimestamp {moment}, but the file was made at {made}"
    if isinstance(committed, int) and moment > committed + _LATER_MS:
        yield f"remove of {remove['path']} has the deletionTimestamp {moment}, but the commit was made at {committed}"
