"""Read back what a merge left behind: the table's rows, its version, and the change rows of one version."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import DeltaTable

from harness.delta_schema import schema_from_json
from harness.partition_values import parse
from reference.arrow import table_to_rows
from reference.types import STRING, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reference.case import Row

Action = dict[str, Any]

_CHANGE_METRICS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table at its newest version."""

    version: int
    schema: Schema
    partition_by: tuple[str, ...]
    change_data_feed: bool
    rows: tuple[Row, ...]


def read_table(path: Path) -> TableState:
    """Read a Delta table whose log starts at version 0 and has no checkpoint, as the harness writes them.

    Version, schema and settings come from delta-rs, so a log that it cannot read is found out. The rows are read here
    file by file: delta-rs 1.6 does not survive every partition value (``DECIMAL`` -0.0000000001 is one).

    Raises:
        deltalake.exceptions.DeltaError: when delta-rs cannot read the table.
    """
    table = DeltaTable(path)
    metadata = table.metadata()
    version = table.version()
    schema = schema_from_json(table.schema().to_json())
    partition_by = tuple(metadata.partition_columns)
    files = _live_files(path, version)
    return TableState(
        version=version,
        schema=schema,
        partition_by=partition_by,
        change_data_feed=metadata.configuration.get("delta.enableChangeDataFeed", "false").lower() == "true",
        rows=tuple(row for file in files for row in _file_rows(path, file, schema=schema, partition_by=partition_by)),
    )


def newest_version(path: Path) -> int:
    """Return the highest version in the log, by the names of its commits; -1 for a directory without a log."""
    return max((int(file.stem) for file in (path / "_delta_log").glob("*.json") if file.stem.isdigit()), default=-1)


def read_actions(path: Path, version: int) -> tuple[Action, ...]:
    """Return the actions of one commit in order, each a dict with one key."""
    text = (path / "_delta_log" / f"{version:020}.json").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.split("\n") if line.strip())


def operation_metrics(actions: tuple[Action, ...]) -> dict[str, int]:
    """Return ``commitInfo.operationMetrics`` as numbers (R-501); empty where the commit has none.

    Raises:
        ValueError: when a metric is not a decimal string.
    """
    texts = _commit_info(actions).get("operationMetrics") or {}
    wrong = {name: text for name, text in texts.items() if not isinstance(text, str) or not text.isdigit()}
    if wrong:
        raise ValueError(f"operationMetrics must be strings of digits (R-501), but the commit has {wrong}")
    return {name: int(text) for name, text in texts.items()}


def change_rows(path: Path, *, version: int, state: TableState) -> tuple[Row, ...]:
    """Read the change feed of one version by R-604 and R-605: the table's columns, then ``_change_type``.

    Args:
        path: the table.
        version: the commit to read.
        state: gives the schema in which the rows are presented (R-630) and the partition columns.
    """
    actions = read_actions(path, version)
    if changes := [action["cdc"] for action in actions if "cdc" in action]:
        return tuple(
            row for change in changes for row in _change_rows_of_file(path, change, state=state, change_type=None)
        )
    if _changed_nothing(actions):
        return ()
    return tuple(_derived(path, actions, version=version, state=state))


def has_change_files(path: Path, version: int) -> bool:
    """Tell whether a commit wrote change files."""
    return any("cdc" in action for action in read_actions(path, version))


def _live_files(path: Path, version: int) -> list[Action]:
    live: dict[str, Action] = {}
    for commit in range(version + 1):
        for action in read_actions(path, commit):
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
            elif "add" in action:
                live[action["add"]["path"]] = action["add"]
    return list(live.values())


def _derived(path: Path, actions: tuple[Action, ...], *, version: int, state: TableState) -> Iterator[Row]:
    for action in actions:
        if "add" in action and action["add"]["dataChange"]:
            yield from _change_rows_of_file(path, action["add"], state=state, change_type="insert")
        if "remove" in action and action["remove"]["dataChange"]:
            removed = _with_partition_values(path, action["remove"], version)
            yield from _change_rows_of_file(path, removed, state=state, change_type="delete")


def _change_rows_of_file(path: Path, file: Action, *, state: TableState, change_type: str | None) -> Iterator[Row]:
    """Read a change file, or a data file all of whose rows are changes of one type."""
    if change_type is not None:
        rows = _file_rows(path, file, schema=state.schema, partition_by=state.partition_by)
        return ((*row, change_type) for row in rows)
    typed = Schema((*state.schema.columns, Field("_change_type", STRING)))
    return iter(_file_rows(path, file, schema=typed, partition_by=state.partition_by))


def _file_rows(path: Path, file: Action, *, schema: Schema, partition_by: tuple[str, ...]) -> tuple[Row, ...]:
    """Read one file; a column that it lacks has the log's partition value, or is NULL (R-630)."""
    data = pq.ParquetFile(path / unquote(file["path"])).read()
    texts = file.get("partitionValues") or {}
    stored = Schema(tuple(c for c in schema.columns if c.name in data.column_names and c.name not in partition_by))
    rows = table_to_rows(data.select(list(stored.names)), stored)
    if len(stored.columns) == len(schema.columns):
        return rows
    positions = {name: position for position, name in enumerate(stored.names)}
    constants = [parse(texts.get(c.name), c.type) for c in schema.columns]
    sources = [positions.get(c.name) for c in schema.columns]
    return tuple(
        tuple(constant if source is None else row[source] for source, constant in zip(sources, constants, strict=True))
        for row in rows
    )


def _with_partition_values(path: Path, remove: Action, version: int) -> Action:
    """Complete a ``remove`` that does not repeat the partition values of its file."""
    if remove.get("partitionValues") is not None:
        return remove
    for earlier in range(version - 1, -1, -1):
        for action in read_actions(path, earlier):
            if action.get("add", {}).get("path") == remove["path"]:
                return {**remove, "partitionValues": action["add"]["partitionValues"]}
    raise ValueError(f"commit {version} removes {remove['path']}, which no earlier commit added")


def _changed_nothing(actions: tuple[Action, ...]) -> bool:
    """Tell whether R-605 hides the commit: a MERGE whose three row metrics are all "0"."""
    info = _commit_info(actions)
    metrics = info.get("operationMetrics") or {}
    return info.get("operation") == "MERGE" and all(metrics.get(name) == "0" for name in _CHANGE_METRICS)


def _commit_info(actions: tuple[Action, ...]) -> Action:
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
