"""Version 0 of a Delta table over Parquet files that are there, with statistics from their footers, and its copies."""

from __future__ import annotations

import json
import os
import shutil
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_FIRST = "00000000000000000000.json"
_INDEXED_COLUMNS = 32
VECTORS = "delta.enableDeletionVectors"


def write_log(
    table: Path,
    columns: Mapping[str, str],
    *,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> None:
    """Make a Delta table of a directory of Parquet files; partition values stand in the directories' names."""
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "00000000-0000-0000-0000-000000000001",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": _schema(columns),
                "partitionColumns": list(partition_by),
                "configuration": dict(properties or {}),
                "createdTime": 0,
            }
        },
    ]
    actions += [{"add": _add(table, file)} for file in sorted(table.rglob("*.parquet"))]
    log = table / "_delta_log"
    log.mkdir()
    (log / _FIRST).write_text("\n".join(json.dumps(action) for action in actions) + "\n", encoding="utf-8")


def copy_table(table: Path, copy: Path, *, properties: Mapping[str, str]) -> None:
    """Copy a table: hard links of its files, which no merge changes, and a log of its own.

    Args:
        table: what ``write_log`` made, on the same file system.
        copy: a directory that does not exist.
        properties: further table properties of the copy. If they switch deletion vectors on, the copy's protocol has
            the feature.
    """
    shutil.copytree(table, copy, copy_function=os.link, ignore=shutil.ignore_patterns("_delta_log"))
    lines = (table / "_delta_log" / _FIRST).read_text(encoding="utf-8").splitlines()
    actions = [json.loads(line) for line in lines[:2]]
    actions[1]["metaData"]["configuration"].update(properties)
    actions[0] = {"protocol": _protocol(properties)}
    log = copy / "_delta_log"
    log.mkdir()
    text = [json.dumps(action) for action in actions] + lines[2:]
    (log / _FIRST).write_text("\n".join(text) + "\n", encoding="utf-8")


def _protocol(properties: Mapping[str, str]) -> dict[str, Any]:
    if properties.get(VECTORS) == "true":
        features = ["appendOnly", "invariants", "changeDataFeed", "deletionVectors"]
        return {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["deletionVectors"],
            "writerFeatures": features,
        }
    return {"minReaderVersion": 1, "minWriterVersion": 4 if properties else 2}  # 4: the change data feed


def log_file(table: Path, version: int) -> Path:
    """Return the file of a version."""
    return table / "_delta_log" / f"{version:020}.json"


def actions_of(table: Path, version: int) -> list[dict[str, Any]]:
    """Read the actions of a version; none where there is no such version."""
    file = log_file(table, version)
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _schema(columns: Mapping[str, str]) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


def _add(table: Path, file: Path) -> dict[str, Any]:
    parts = (part.split("=", 1) for part in file.relative_to(table).parent.parts)
    return {
        "path": str(file.relative_to(table)),
        "partitionValues": dict(parts),
        "size": file.stat().st_size,
        "modificationTime": 0,
        "dataChange": True,
        "stats": json.dumps(_statistics(file)),
    }


def _statistics(file: Path) -> dict[str, Any]:
    footer = pq.ParquetFile(file).metadata
    lower: dict[str, Any] = {}
    upper: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for index in range(min(footer.num_columns, _INDEXED_COLUMNS)):
        name = footer.schema.column(index).path
        groups = [footer.row_group(i).column(index).statistics for i in range(footer.num_row_groups)]
        nulls[name] = sum(group.null_count for group in groups)
        bounded = [group for group in groups if group.has_min_max]
        if bounded:
            lower[name] = _json(min(group.min for group in bounded))
            upper[name] = _json(max(group.max for group in bounded))
    return {"numRecords": footer.num_rows, "minValues": lower, "maxValues": upper, "nullCount": nulls}


def _json(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value
