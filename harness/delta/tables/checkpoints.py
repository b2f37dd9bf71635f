"""Checkpoints of a table at its newest version."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from mergecheck.model.storage import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_VECTOR = pa.struct(
    [
        pa.field("storageType", pa.string()),
        pa.field("pathOrInlineDv", pa.string()),
        pa.field("offset", pa.int32()),
        pa.field("sizeInBytes", pa.int32()),
        pa.field("cardinality", pa.int64()),
    ]
)
_ADD = pa.struct(
    [
        pa.field("path", pa.string()),
        pa.field("partitionValues", pa.map_(pa.string(), pa.string())),
        pa.field("size", pa.int64()),
        pa.field("modificationTime", pa.int64()),
        pa.field("dataChange", pa.bool_()),
        pa.field("stats", pa.string()),
        pa.field("deletionVector", _VECTOR),
        pa.field("baseRowId", pa.int64()),
        pa.field("defaultRowCommitVersion", pa.int64()),
    ]
)
_SIDECAR = pa.schema([pa.field("add", _ADD)])
_NOT_IN_CHECKPOINTS = frozenset({"commitInfo", "add"})


def write_checkpoint(path: Path, checkpoint: Checkpoint, actions: Sequence[dict[str, Any]], *, version: int) -> None:
    """Write the checkpoint of a table.

    Args:
        path: the table.
        checkpoint: the kind of checkpoint.
        actions: the actions of all commits, none of which removes anything.
        version: of the table.
    """
    if checkpoint is Checkpoint.CLASSIC:
        DeltaTable(path).create_checkpoint()
    if checkpoint is Checkpoint.V2:
        _write_v2(path / "_delta_log", actions, version)


def _write_v2(log: Path, actions: Sequence[dict[str, Any]], version: int) -> None:
    """Write a checkpoint of the V2 specification: a JSON file, and a sidecar with the files (R-706)."""
    lines: list[dict[str, Any]] = [{"checkpointMetadata": {"version": version}}]
    lines += [action for action in actions if _NOT_IN_CHECKPOINTS.isdisjoint(action)]
    if adds := [action["add"] for action in actions if "add" in action]:
        sidecar = log / "_sidecars" / f"{uuid.uuid4()}.parquet"
        sidecar.parent.mkdir()
        pq.write_table(pa.Table.from_pylist([{"add": _as_stored(add)} for add in adds], schema=_SIDECAR), sidecar)
        size, time = sidecar.stat().st_size, int(sidecar.stat().st_mtime * 1000)
        lines.append({"sidecar": {"path": sidecar.name, "sizeInBytes": size, "modificationTime": time}})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (log / f"{version:020}.checkpoint.{uuid.uuid4()}.json").write_text(text, encoding="utf-8")
    (log / "_last_checkpoint").write_text(json.dumps({"version": version, "size": len(lines)}), encoding="utf-8")


def _as_stored(add: dict[str, Any]) -> dict[str, Any]:
    return {**add, "partitionValues": list(add["partitionValues"].items()), "dataChange": False}
