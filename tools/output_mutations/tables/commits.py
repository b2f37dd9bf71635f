"""Changes of one thing in a commit's JSON."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from mergecheck.harness.delta.read import table_metadata
from mergecheck.harness.delta.tables.column_names import PHYSICAL_NAME
from mergecheck.model.table_properties import IN_COMMIT_TIMESTAMPS, is_on
from mergecheck.model.types import data_types as types
from tools.output_mutations.tables.written import Mutant, file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.output_mutations.tables.written import Action, WrittenTable

_NEEDED = {
    "add": ("path", "partitionValues", "size", "modificationTime", "dataChange"),
    "remove": ("path", "partitionValues", "size", "deletionTimestamp", "dataChange", "extendedFileMetadata"),
    "cdc": ("path", "partitionValues", "size", "dataChange"),
    "txn": ("appId", "version"),
    "domainMetadata": ("domain", "configuration", "removed"),
    "metaData": ("id", "format", "schemaString", "partitionColumns", "configuration"),
}
_TYPED = {"size": "0", "modificationTime": "0", "deletionTimestamp": "0", "dataChange": "true", "baseRowId": "0"}
_IDS = ("baseRowId", "defaultRowCommitVersion")
_FILES = ("add", "remove", "cdc")
_ABSENT = object()
_YEAR_2100 = 4_102_444_800_000


def commit_mutants(table: WrittenTable) -> Iterator[Mutant]:
    """Change one thing in the merge's commit."""
    actions = table.actions
    for place, action in enumerate(actions):
        ((kind, said),) = action.items()
        for changed in _of_action(kind, said, table):
            others = copy.deepcopy(actions)
            others[place] = {kind: changed[1]}
            yield Mutant(kind=f"{kind}: {changed[0]}", files=table.committing(others))
        others = [*actions[:place], *actions[place + 1 :]]
        if kind != "metaData" or _parsed(said) != _parsed(table_metadata(table.path, table.before.version)):
            yield Mutant(kind=f"{kind}: the action is lost", files=table.committing(others))
        yield Mutant(kind=f"{kind}: the action is there twice", files=table.committing([*actions, action]))
        if kind in ("add", "cdc") and not _is_again(actions, said):
            yield from _moved(table, place, kind, said)
    if len(actions) > 1 and _is_timed(table):
        yield Mutant(kind="commitInfo: it is the last action", files=table.committing([*actions[1:], actions[0]]))
    for extra in (
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"txn": {"appId": "other", "version": 1}},
        {"domainMetadata": {"domain": "other", "configuration": "{}", "removed": False}},
        {"metaData": {**table.metadata, "name": "other"}},
    ):
        (name,) = extra
        yield Mutant(kind=f"{name}: one more action", files=table.committing([*actions, extra]))


def _is_timed(table: WrittenTable) -> bool:
    return is_on(table.metadata["configuration"], IN_COMMIT_TIMESTAMPS)


def legal_commit_mutants(table: WrittenTable) -> Iterator[Mutant]:
    """Change what Delta's protocol leaves to the writer."""
    actions = table.actions
    info, rest = actions[0], actions[1:]
    order = "the actions of a commit have no order, but that commitInfo is first with in-commit timestamps"
    if len(rest) > 1:
        yield Mutant(kind="actions in another order", files=table.committing([info, *reversed(rest)]), reason=order)
    if rest and not _is_timed(table):
        yield Mutant(kind="commitInfo: it is the last action", files=table.committing([*rest, info]), reason=order)
    unknown = "readers ignore actions and fields that they do not know (Protocol Evolution)"
    yield Mutant(
        kind="an unknown action", files=table.committing([*actions, {"sessionNote": {"a": 1}}]), reason=unknown
    )
    told = {"commitInfo": {**info["commitInfo"], "clientVersion": "x"}}
    commits = "commitInfo may hold anything (Commit Provenance Information)"
    yield Mutant(kind="one more entry of commitInfo", files=table.committing([told, *rest]), reason=commits)
    spaced = "".join(json.dumps(action, indent=None, separators=(", ", ":  ")) + "\n" for action in actions)
    yield Mutant(kind="other blanks in JSON", files={table.log_file: spaced.encode()}, reason="JSON")
    for place, action in enumerate(actions):
        ((kind, said),) = action.items()
        if kind not in _FILES:
            continue
        for name, change, reason in (
            ("tags", {"tags": {"a": "b"}}, "tags are optional and free"),
            ("an unknown field", {"clientNote": 1}, unknown),
            ("a field without value", {"tags": None}, "an optional field may be null"),
        ):
            others = [*actions[:place], {kind: {**said, **change}}, *actions[place + 1 :]]
            yield Mutant(kind=f"{kind}: {name}", files=table.committing(others), reason=reason)


def _of_action(kind: str, said: Action, table: WrittenTable) -> Iterator[tuple[str, Action]]:
    for name in _NEEDED.get(kind, ()):
        yield f"{name} is missing", _with(said, name, _ABSENT)
    for name in _TYPED.keys() & said.keys():
        yield f"{name} is a text", _with(said, name, str(said[name]).lower())
    if kind in _FILES:
        yield from _of_file(kind, said, table)
    if kind == "domainMetadata" and "rowIdHighWaterMark" in said["configuration"]:
        spoken = json.loads(said["configuration"])
        for step in (-1, 1):
            other = {**spoken, "rowIdHighWaterMark": spoken["rowIdHighWaterMark"] + step}
            yield f"the greatest row id is {step:+}", _with(said, "configuration", json.dumps(other))
        yield "the domain is removed", _with(said, "removed", value=True)
    if kind == "txn":
        yield "another version", _with(said, "version", said["version"] + 1)
    if kind == "metaData":
        for name, value in (said.get("configuration") or {}).items():
            configuration = {**said["configuration"], name: f"{value}0"}
            yield "another property", _with(said, "configuration", configuration)
        yield "another id", _with(said, "id", "0")


def _of_file(kind: str, said: Action, table: WrittenTable) -> Iterator[tuple[str, Action]]:
    yield "size + 1", _with(said, "size", said["size"] + 1)
    yield "size is negative", _with(said, "size", -1)
    yield "dataChange is the other", _with(said, "dataChange", not said["dataChange"])
    yield "a tag that is no text", _with(said, "tags", {"a": 1})
    yield "path of no file", _with(said, "path", f"x{said['path']}")
    if kind == "remove":
        yield "extendedFileMetadata is false", _with(said, "extendedFileMetadata", value=False)
        for word, moment in (("0", 0), ("in the year 2100", _YEAR_2100)):
            yield f"deletionTimestamp {word}", _with(said, "deletionTimestamp", moment)
        yield "the path is spelled otherwise", _with(said, "path", _respelled(said["path"]))
    if kind == "add":
        yield "modificationTime in seconds", _with(said, "modificationTime", said["modificationTime"] // 1000)
        yield from _of_statistics(said, _integers(table))
    for name in _IDS:
        if name in said:
            yield f"{name} is missing", _with(said, name, _ABSENT)
            for step in (-1, 1, 1000):
                yield f"{name} {step:+}", _with(said, name, said[name] + step)
    if (vector := said.get("deletionVector")) is not None:
        yield "no deletionVector", _with(said, "deletionVector", _ABSENT)
        for name in ("cardinality", "sizeInBytes", "offset"):
            if name in vector:
                yield f"{name} of the vector + 1", _with(said, "deletionVector", {**vector, name: vector[name] + 1})
        for name in ("cardinality", "sizeInBytes", "storageType", "pathOrInlineDv"):
            yield f"{name} of the vector is missing", _with(said, "deletionVector", _with(vector, name, _ABSENT))
    yield from _of_partition(kind, said, table)


def _of_partition(kind: str, said: Action, table: WrittenTable) -> Iterator[tuple[str, Action]]:
    values = said["partitionValues"]
    yield "a value for another column", _with(said, "partitionValues", {**values, "no column": "1"})
    for name, text in values.items():
        if text is not None or kind == "add":
            yield "a partition value is missing", _with(said, "partitionValues", _with(values, name, _ABSENT))
        if text is None:
            yield "a partition value for NULL", _with(said, "partitionValues", {**values, name: "1"})
            continue
        yield "NULL for a partition value", _with(said, "partitionValues", {**values, name: None})
        for word, other in _spellings(text, table):
            yield f"a partition value {word}", _with(said, "partitionValues", {**values, name: other})


def _spellings(text: str, table: WrittenTable) -> Iterator[tuple[str, str]]:
    columns = table.case.target.schema.columns
    if any(column.type == types.STRING for column in columns if column.name in table.case.target.partition_by):
        yield "with one more letter", f"{text}x"
        return
    yield "with a blank", f"{text} "
    if text[0].isdigit():
        yield "with a leading zero", f"0{text}"
        yield "with a plus sign", f"+{text}"
    if text in ("true", "false"):
        yield "in capitals", text.upper()
    if text.endswith("Z"):
        yield "with another offset", f"{text[:-1]}+00:00"
        yield "without its zone, with a T", text[:-1]


def _of_statistics(said: Action, integers: frozenset[str]) -> Iterator[tuple[str, Action]]:
    if said.get("stats") is None:
        return
    yield "no statistics", _with(said, "stats", _ABSENT)
    yield "statistics that are no JSON", _with(said, "stats", said["stats"][:-1])
    yield "statistics that are an object", _with(said, "stats", json.loads(said["stats"]))
    for word, statistics in _other_statistics(json.loads(said["stats"]), integers):
        yield word, _with(said, "stats", json.dumps(statistics, ensure_ascii=False))


def _integers(table: WrittenTable) -> frozenset[str]:
    """Name the columns of whole numbers as files do; bounds of others may be missing, or less exact."""
    fields = json.loads(table.metadata["schemaString"])["fields"]
    names = ((field, (field.get("metadata") or {}).get(PHYSICAL_NAME, field["name"])) for field in fields)
    return frozenset(name for field, name in names if field["type"] in ("byte", "short", "integer", "long"))


def _other_statistics(spoken: Action, integers: frozenset[str]) -> Iterator[tuple[str, Action]]:
    yield "no numRecords", _with(spoken, "numRecords", _ABSENT)
    for step in (-1, 1):
        yield f"numRecords {step:+}", _with(spoken, "numRecords", spoken["numRecords"] + step)
    if spoken.get("tightBounds") is False:
        yield "tightBounds is missing", _with(spoken, "tightBounds", _ABSENT)
        return
    counts = spoken.get("nullCount") or {}
    for name in (name for name, count in counts.items() if isinstance(count, int)):
        yield "nullCount + 1", _with(spoken, "nullCount", _with(counts, name, counts[name] + 1))
    for key, step in (("minValues", 1), ("maxValues", -1)):
        bounds = spoken.get(key) or {}
        for name in sorted(integers & bounds.keys()):
            for word, by in (("beyond the values", step), ("loose", -step)):
                yield f"{key} {word}", _with(spoken, key, _with(bounds, name, bounds[name] + by))
            yield f"{key} is missing", _with(spoken, key, _with(bounds, name, _ABSENT))


def _moved(table: WrittenTable, place: int, kind: str, said: Action) -> Iterator[Mutant]:
    """Put a file elsewhere: into the folder of another partition, under a name that no URI has, or a hidden one."""
    name, actions = file_name(said), table.actions
    folder, slash, own = name.rpartition("/")
    content = table.contents[name]

    def mutant(word: str, path: str, file: str) -> Mutant:
        others = copy.deepcopy(actions)
        others[place][kind]["path"] = path
        return Mutant(kind=f"{kind}: {word}", files=table.committing(others, {name: None, file: content}))

    blank = f"{quote(folder, safe='/=')}{slash}a b.parquet"
    yield mutant("a path that is no URI", blank, f"{folder}{slash}a b.parquet")
    if kind == "add":
        yield mutant("a hidden file", f"{quote(folder, safe='/=')}{slash}_{own}", f"{folder}{slash}_{own}")
    parts = folder.split("/")
    for number, part in enumerate(parts):
        column, equals, value = part.partition("=")
        if equals and value:
            wrong = "/".join([*parts[:number], f"{column}={value}9", *parts[number + 1 :]])
            yield mutant("in the folder of another partition", f"{quote(wrong, safe='/=')}/{own}", f"{wrong}/{own}")


def _parsed(metadata: Action) -> Action:
    return {**metadata, "schemaString": json.loads(metadata["schemaString"])}


def _is_again(actions: list[Action], said: Action) -> bool:
    return any(action.get("remove", {}).get("path") == said["path"] for action in actions)


def _respelled(path: str) -> str:
    """Escape the last letter of a path, which needs no escape."""
    return f"{path[:-1]}%{ord(path[-1]):02X}"


def _with(said: Action, name: str, value: object) -> Action:
    return {key: other for key, other in said.items() if key != name} | ({} if value is _ABSENT else {name: value})
