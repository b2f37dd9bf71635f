"""Read a table after a merge: its rows, its version, and its log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import DeltaTable

from mergecheck.harness.delta.tables.column_names import stored_names, stored_schema
from mergecheck.harness.delta.tables.stored_rows import file_rows
from mergecheck.harness.delta.tables.vectors import deleted_rows, key_of
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.schema_json import members_not_null, schema_from_json
from mergecheck.model.table_properties import is_on

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import DataType, Schema

Action = dict[str, Any]
_COMPACTION = "OPTIMIZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFile:
    """A data file of a table: its ``add`` action, and its live rows in the table's schema."""

    add: Action
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table at its newest version.

    Attributes:
        members_not_null: paths of arrays and maps whose elements or values are NOT NULL, which ``schema`` cannot
            express.
        schema_json: the columns in the log's notation.
    """

    version: int
    schema: Schema
    members_not_null: tuple[str, ...]
    partition_by: tuple[str, ...]
    change_data_feed: bool
    schema_json: str
    files: tuple[LiveFile, ...]

    @property
    def stored(self) -> Schema:
        """The columns by the names that files have for them (R-709)."""
        return stored_schema(self.schema, self.schema_json)

    @property
    def stored_partition_by(self) -> tuple[str, ...]:
        """The partition columns by the names that files have for them."""
        return stored_names(self.partition_by, self.schema, self.stored)

    @property
    def stored_partition_types(self) -> dict[str, DataType]:
        """The types of the partition columns, by these names."""
        types = {column.name: column.type for column in self.stored.columns}
        return {name: types[name] for name in self.stored_partition_by}

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, file by file."""
        return tuple(row for file in self.files for row in file.rows)


def read_table(path: Path) -> TableState:
    """Read a Delta table whose log has all commits from version 0 on; checkpoints are not looked at.

    Version, schema and settings come from delta-rs, so a log that it cannot read is found out. The rows are read here
    file by file: delta-rs 1.6 does not survive every partition value (``DECIMAL`` -0.0000000001 is one). A table
    without columns, which delta-rs refuses, comes from the log alone.

    Raises:
        deltalake.exceptions.DeltaError: when delta-rs cannot read the table.
    """
    version = newest_version(path)
    metadata = table_metadata(path, version)
    schema = schema_from_json(metadata["schemaString"])
    partition_by = tuple(metadata["partitionColumns"])
    properties = metadata.get("configuration") or {}
    if schema.columns:
        table = DeltaTable(path)
        version = table.version()
        schema = schema_from_json(table.schema().to_json())
        partition_by = tuple(table.metadata().partition_columns)
        properties = table.metadata().configuration
    return _state(path, version, metadata, schema=schema, partition_by=partition_by, properties=properties)


def table_at(path: Path, version: int) -> TableState:
    """Read a Delta table as it was at a version, by the log alone."""
    metadata = table_metadata(path, version)
    schema, partition_by = schema_from_json(metadata["schemaString"]), tuple(metadata["partitionColumns"])
    properties = metadata.get("configuration") or {}
    return _state(path, version, metadata, schema=schema, partition_by=partition_by, properties=properties)


def _state(
    path: Path,
    version: int,
    metadata: Action,
    *,
    schema: Schema,
    partition_by: tuple[str, ...],
    properties: Mapping[str, str],
) -> TableState:
    stored = stored_schema(schema, metadata["schemaString"])
    return TableState(
        version=version,
        schema=schema,
        members_not_null=members_not_null(metadata["schemaString"]),
        partition_by=partition_by,
        change_data_feed=_records_changes(properties),
        schema_json=metadata["schemaString"],
        files=_live(path, version, schema=stored, partition_by=stored_names(partition_by, schema, stored)),
    )


def _records_changes(properties: Mapping[str, str]) -> bool:
    return is_on(properties, CDF_PROPERTY)


def _live(path: Path, version: int, *, schema: Schema, partition_by: tuple[str, ...]) -> tuple[LiveFile, ...]:
    return tuple(
        LiveFile(add=add, rows=live_rows(path, add, schema=schema, partition_by=partition_by))
        for add in live_files(path, version)
    )


def newest_version(path: Path) -> int:
    """Return the highest version in the log, by the names of its commits; -1 for a directory without a log."""
    return max((int(file.stem) for file in (path / "_delta_log").glob("*.json") if file.stem.isdigit()), default=-1)


def merge_version(path: Path, *, since: int) -> int:
    """Return the version that a merge made, or ``since`` if it made none.

    A commit after it is auto compaction, a commit of Delta Lake's own. Any other commit after it counts as the
    merge's, which makes one only.

    Args:
        path: the table.
        since: its newest version before the merge.
    """
    newest = newest_version(path)
    while newest > since + 1 and commit_info(read_actions(path, newest)).get("operation") == _COMPACTION:
        newest -= 1
    return newest


def read_actions(path: Path, version: int) -> tuple[Action, ...]:
    """Return the actions of one commit in order, each a dict with one key."""
    text = (path / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.split("\n") if line.strip())


def operation_metrics(actions: tuple[Action, ...]) -> dict[str, int]:
    """Return ``commitInfo.operationMetrics`` as numbers (R-501); empty if the commit has none.

    Raises:
        ValueError: when a metric is neither a text of digits nor a number without sign and fraction.
    """
    found = commit_info(actions).get("operationMetrics") or {}
    wrong = {name: value for name, value in found.items() if not str(value).isdecimal()}
    if wrong:
        raise ValueError(f"operationMetrics must be whole numbers (R-501), but the commit has {wrong}")
    return {name: int(value) for name, value in found.items()}


def live_rows(path: Path, file: Action, *, schema: Schema, partition_by: tuple[str, ...]) -> tuple[Row, ...]:
    """Read the rows of a data file that its vector does not delete; see ``stored_rows.file_rows``.

    Raises:
        ValueError: the vector is damaged, or deletes rows that the file has not.
    """
    rows = file_rows(path, file, schema=schema, partition_by=partition_by)
    deleted = deleted_rows(path, file.get("deletionVector"))
    if deleted and max(deleted) >= len(rows):
        raise ValueError(f"the deletion vector of {file['path']} deletes row {max(deleted)} of {len(rows)}")
    return tuple(row for place, row in enumerate(rows) if place not in deleted) if deleted else rows


def num_removed_records(path: Path, version: int) -> int:
    """Count the live rows of the data files that a commit removes, by the files and vectors themselves."""
    removes = [action["remove"] for action in read_actions(path, version) if "remove" in action]
    stored = sum(int(pq.read_metadata(path / unquote(remove["path"])).num_rows) for remove in removes)
    return stored - sum(len(deleted_rows(path, remove.get("deletionVector"))) for remove in removes)


def paths_named_again(actions: tuple[Action, ...]) -> frozenset[str]:
    """Give the paths of the files that a commit removes and adds: they get another vector (R-701)."""
    added = {action["add"]["path"] for action in actions if "add" in action}
    return frozenset(added & {action["remove"]["path"] for action in actions if "remove" in action})


def table_metadata(path: Path, version: int) -> Action:
    """Return the ``metaData`` action of a version: the newest up to it.

    Raises:
        ValueError: for a log without any.
    """
    return _newest(path, version, "metaData")


def table_protocol(path: Path, version: int) -> Action:
    """Return the ``protocol`` action of a version: the newest up to it.

    Raises:
        ValueError: for a log without any.
    """
    return _newest(path, version, "protocol")


def _newest(path: Path, version: int, kind: str) -> Action:
    for commit in range(version, -1, -1):
        for action in read_actions(path, commit):
            if kind in action:
                found: Action = action[kind]
                return found
    raise ValueError(f"no commit in the log of {path} has a {kind} action")


def live_files(path: Path, version: int) -> list[Action]:
    """Return the ``add`` actions of the files that a version has; the log must begin at version 0."""
    live: dict[tuple[str, str], Action] = {}
    for commit in range(version + 1):
        actions = read_actions(path, commit)
        for action in actions:
            if "remove" in action:
                live.pop(key_of(action["remove"]), None)
        live |= {key_of(action["add"]): action["add"] for action in actions if "add" in action}
    return list(live.values())


def commit_info(actions: tuple[Action, ...]) -> Action:
    """Return the ``commitInfo`` of a commit; empty if it has none."""
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
