"""Actions of rows that reach the writer, and the records in which it reports its work.

An action decides to which files a row goes and in which metric it counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa

ACTION = "_action_"
KEPT_ROW_ID, KEPT_COMMIT_VERSION = "_kept_row_id_", "_kept_row_commit_version_"
"""The id and version that an existing row keeps; NULL where the commit gives a new one (R-705)."""
DATA_FILE, CHANGE_FILE, ROW_COUNT = "data", "change", "rows"
NULL_VIOLATION, CHECK_VIOLATION, NO_MORE_IDS = "null", "check", "no more ids"
FURTHEST_ID = "furthest id"

RECORD_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string()),
        pa.field("name", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("num_records", pa.int64()),
        pa.field("partition_values", pa.map_(pa.string(), pa.string())),
        pa.field("stats", pa.string()),
        pa.field("action", pa.int32()),
    ]
)
RECORD_DDL = (
    "kind STRING, name STRING, size BIGINT, num_records BIGINT, partition_values MAP<STRING, STRING>, stats STRING, "
    "action INT"
)


def record_batch(records: list[dict[str, object]]) -> pa.RecordBatch:
    """Make a batch of records; missing values are NULL."""
    return pa.RecordBatch.from_pylist(records, schema=RECORD_SCHEMA)


class RowAction(IntEnum):
    """Why a row is in the output; the number is the value of the column ``_action_``."""

    COPY = 0
    MATCHED_UPDATE = 1
    MATCHED_DELETE = 2
    INSERT = 3
    NOT_MATCHED_BY_SOURCE_UPDATE = 4
    NOT_MATCHED_BY_SOURCE_DELETE = 5
    UPDATE_PREIMAGE = 6
    INSERT_WITH_IDS = 7
    """an INSERT that leaves identity columns to the writer (R-226); it counts as an INSERT"""


UPDATES = (RowAction.MATCHED_UPDATE, RowAction.NOT_MATCHED_BY_SOURCE_UPDATE)
DELETES = (RowAction.MATCHED_DELETE, RowAction.NOT_MATCHED_BY_SOURCE_DELETE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Whether rows of an action go to data files, and their ``_change_type`` if they go to change files (R-603)."""

    table: bool
    change_type: str | None = None


def routes(*, change_data: bool) -> dict[int, Route]:
    """Route every action (R-610); with change data, updated and inserted rows go to both places at once.

    Writing one row twice, instead of sending two copies of it, also gives table and change feed the same value of a
    non-deterministic expression (R-330).
    """
    table: dict[int, Route] = {int(RowAction.COPY): Route(table=True)}
    for action in UPDATES:
        table[action] = Route(table=True, change_type="update_postimage" if change_data else None)
    for action in DELETES:
        table[action] = Route(table=False, change_type="delete" if change_data else None)
    for action in (RowAction.INSERT, RowAction.INSERT_WITH_IDS):
        table[action] = Route(table=True, change_type="insert" if change_data else None)
    table[RowAction.UPDATE_PREIMAGE] = Route(table=False, change_type="update_preimage")
    return table
