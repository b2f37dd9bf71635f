"""What other readers would stumble over in a table after a merge: the rules R-701, R-717 to R-719, R-722 and R-723.

The rows that the harness reads are no proof of that: it reads a file as tolerantly as it can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import duckdb
import pyarrow.parquet as pq

from mergecheck.harness.delta.check_actions import action_faults
from mergecheck.harness.delta.check_commit import removed_file_faults
from mergecheck.harness.delta.check_form import WRITES_PARTITIONS, form_faults
from mergecheck.harness.delta.check_partitions import partition_faults
from mergecheck.harness.delta.check_statistics import lacking_statistics
from mergecheck.harness.delta.parquet_schema import parquet_columns
from mergecheck.harness.delta.read import LiveFile, live_files, read_actions, table_metadata
from mergecheck.harness.delta.second_reader import other_readers_faults
from mergecheck.harness.delta.table_files import changed_files, leftovers
from mergecheck.harness.delta.tables.column_names import maps_columns
from mergecheck.harness.delta.tables.row_ids import stored_id_columns
from mergecheck.harness.delta.tables.stored_rows import file_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.delta.read import Action, TableState
    from mergecheck.harness.delta.table_files import TableFiles

_COLLECTS = "spark.databricks.delta.stats.collect"
_TIME_ZONE = "spark.sql.session.timeZone"
_HYBRID_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def table_faults(
    path: Path, state: TableState, *, before: TableFiles, conf: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """List the faults of a table's log and files after a merge: the rule and a text for a person.

    Args:
        path: the table.
        state: its newest version.
        before: its files before the merge.
        conf: the settings of the session that made the merge.
    """
    yield from (("R-723", text) for text in (*changed_files(path, before), *leftovers(path, before)))
    if state.version == before.version:
        return
    actions, known = read_actions(path, state.version), live_files(path, before.version)
    columns = state.stored_partition_types
    mapped = maps_columns(table_metadata(path, state.version).get("configuration") or {})
    time_zone = conf.get(_TIME_ZONE, "UTC")
    yield from removed_file_faults(actions, known, columns)
    yield from (("R-717", text) for text in action_faults(actions, known, maps_columns=mapped))
    yield from (("R-718", text) for text in partition_faults(actions, known, columns, time_zone=time_zone))
    new = [action for action in actions if _new_file(action, before) is not None]
    yield from (("R-719", text) for text in _file_faults(path, state, new))
    if conf.get(_COLLECTS, "true").lower() == "true":
        yield from (("R-722", text) for text in _statistics_faults(path, state, new))


def _new_file(action: Action, before: TableFiles) -> Action | None:
    """Return the data file or change file that an action adds, if it was not there before."""
    file: Action | None = action.get("add") or action.get("cdc")
    return None if file is None or unquote(file["path"]) in before.digests else file


def _file_faults(path: Path, state: TableState, new: Sequence[Action]) -> Iterator[str]:
    """R-719: the form of each new file, and its rows as another reader sees them."""
    properties = table_metadata(path, state.version).get("configuration") or {}
    writes_partitions = properties.get(WRITES_PARTITIONS, "true").lower() == "true"
    schema, partition_by = state.stored, state.stored_partition_by
    live = {file.add["path"]: file for file in state.files}
    files = [action.get("add") or action["cdc"] for action in new]
    full = [path / unquote(file["path"]) for file in files]
    with duckdb.cursor() as database:
        for action, file, name, columns in zip(new, files, full, parquet_columns(full, database), strict=True):
            if any(key in (pq.read_metadata(name).metadata or {}) for key in _HYBRID_CALENDAR):
                yield f"{file['path']} has days of the hybrid calendar, which only Spark reads as such"
            faults = form_faults(
                columns,
                state.schema_json,
                without=() if writes_partitions else partition_by,
                maps_columns=maps_columns(properties),
                ids_of_rows=stored_id_columns(properties),
                has_changes="cdc" in action,
                may_have_changes=state.change_data_feed,
            )
            yield from (found := list(faults))
            if not found and file.get("deletionVector") is None:
                own = live.get(file["path"]) or LiveFile(
                    add=file, rows=file_rows(path, file, schema=schema, partition_by=partition_by)
                )
                yield from other_readers_faults(path, own, schema=schema, partition_by=partition_by, database=database)


def _statistics_faults(path: Path, state: TableState, new: Sequence[Action]) -> Iterator[str]:
    """R-722: the statistics of each new data file."""
    properties = table_metadata(path, state.version).get("configuration") or {}
    live = {file.add["path"]: file for file in state.files}
    schema, partition_by = state.stored, state.stored_partition_by
    for action in new:
        if "add" in action and (file := live.get(action["add"]["path"])) is not None:
            yield from lacking_statistics(file, schema=schema, partition_by=partition_by, properties=properties)
