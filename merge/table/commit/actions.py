"""The actions of a merge's commit in the form of Delta's protocol (R-701 to R-715)."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mergecheck.merge.table.log.partition_values import serialize
from mergecheck.merge.table.row_ids.fresh_ids import ids_entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedMerge
    from mergecheck.merge.table.row_ids.tracking import FileIds
    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot
    from mergecheck.merge.table.storage.log_store import Action
    from mergecheck.merge.table.writing.write import WrittenFile

DISTRIBUTION = "mergecheck"
IN_COMMIT_TIMESTAMP = "inCommitTimestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """An application's own transaction number, which makes a merge idempotent (R-715)."""

    app_id: str
    version: int

    def action(self) -> Action:
        """Write the ``txn`` action."""
        return {"txn": {"appId": self.app_id, "version": self.version, "lastUpdated": now_millis()}}


def now_millis() -> int:
    """Return the time in milliseconds since the epoch, as the log keeps it."""
    return int(time.time() * 1000)


def add_action(file: WrittenFile, ids: FileIds | None = None) -> Action:
    """Write the ``add`` of a new data file; ``dataChange`` is always true (R-702). The ids belong to its rows."""
    action: dict[str, Any] = {
        "path": encoded(file.path),
        "partitionValues": dict(file.partition_values),
        "size": file.size,
        "modificationTime": now_millis(),
        "dataChange": True,
        **ids_entry(ids),
    }
    if file.stats is not None:
        action["stats"] = file.stats
    return {"add": action}


def remove_action(file: DataFile, snapshot: Snapshot, ids: FileIds | None = None) -> Action:
    """Write the ``remove`` of a touched file (R-702), with the ids of its rows."""
    vector = {} if file.vector is None else {"deletionVector": file.vector.to_action()}
    return {
        "remove": {
            "path": file.path,
            **vector,
            "deletionTimestamp": now_millis(),
            "dataChange": True,
            "extendedFileMetadata": True,
            "partitionValues": {
                snapshot.stored_schema.names[position]: serialize(file.partition_values.get(name))
                for name, position in zip(snapshot.partition_columns, snapshot.partition_positions, strict=True)
            },
            "size": file.size,
            **ids_entry(ids),
        }
    }


def change_action(file: WrittenFile) -> Action:
    """Write the ``cdc`` action of a change data file; ``dataChange`` is false (R-702)."""
    return {
        "cdc": {
            "path": encoded(file.path),
            "partitionValues": dict(file.partition_values),
            "size": file.size,
            "dataChange": False,
        }
    }


def commit_info(
    merge: ResolvedMerge,
    *,
    read_version: int,
    changes_data: bool,
    changes_more: bool,
    metrics: Mapping[str, int] | None,
    user_metadata: str | None = None,
    timestamp: int | None = None,
    tags: Mapping[str, str] | None = None,
) -> Action:
    """Write the ``commitInfo`` (R-707, R-710, R-711, R-714); without metrics the map is left out (R-501).

    Its isolation level is SnapshotIsolation if it changes no data (R-702) and has no action but files.

    Args:
        merge: the statement.
        read_version: the version that was read.
        changes_data: whether a file is added or removed.
        changes_more: whether there is an action beside files: new metadata, or a transaction of the application.
        metrics: the operation metrics.
        user_metadata: the user's text.
        timestamp: the in-commit timestamp; None if the table has none.
        tags: what else readers should know of the commit.
    """
    info: dict[str, Any] = {
        **({} if timestamp is None else {IN_COMMIT_TIMESTAMP: timestamp}),
        "timestamp": now_millis(),
        "operation": "MERGE",
        "operationParameters": operation_parameters(merge),
        "readVersion": read_version,
        "isolationLevel": "Serializable" if changes_data or changes_more else "SnapshotIsolation",
        "isBlindAppend": False,
        "dataChange": changes_data,
        **({"tags": dict(tags)} if tags else {}),
        "engineInfo": engine_info(),
        "txnId": str(uuid.uuid4()),
    }
    if metrics is not None:
        info["operationMetrics"] = {name: str(value) for name, value in metrics.items()}
    if user_metadata is not None:
        info["userMetadata"] = user_metadata
    return {"commitInfo": info}


def operation_parameters(merge: ResolvedMerge) -> dict[str, str]:
    """Describe the statement for the history: four strings that hold JSON (R-711)."""
    return {
        "predicate": json.dumps([merge.condition.text]),
        "matchedPredicates": _clauses(merge.matched),
        "notMatchedPredicates": _clauses(merge.not_matched),
        "notMatchedBySourcePredicates": _clauses(merge.not_matched_by_source),
    }


def _clauses(clauses: Sequence[ResolvedClause]) -> str:
    described = []
    for clause in clauses:
        predicate = {} if clause.condition is None else {"predicate": clause.condition.text}
        described.append({**predicate, "actionType": clause.action.value})
    return json.dumps(described)


def engine_info() -> str:
    """Name this program and its version."""
    try:
        return f"{DISTRIBUTION}/{metadata.version(DISTRIBUTION)}"
    except metadata.PackageNotFoundError:
        return DISTRIBUTION  # run from a source tree that is not installed


def encoded(path: str) -> str:
    """Percent-encode a relative path: paths in the log are URIs."""
    return quote(path, safe="/=")
