"""Reading the live data files of a table from its Delta log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import TimestampType

from mergecheck.merge.errors import DamagedLogError
from mergecheck.merge.table.log.add_actions import read_log_state
from mergecheck.merge.table.log.column_mapping import MappingMode, logical_statistics
from mergecheck.merge.table.log.deletion_vectors import DeletionVector
from mergecheck.merge.table.log.partition_values import local_moments
from mergecheck.merge.table.row_ids import tracking
from mergecheck.merge.table.row_ids.fresh_ids import ids_in
from mergecheck.merge.table.snapshot.data_files import DataFile, FileStatistics
from mergecheck.merge.table.storage.paths import file_location

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

    from mergecheck.merge.table.row_ids.tracking import FileIds
    from mergecheck.merge.table.snapshot.snapshot import Snapshot


def live_files(table: DeltaTable, snapshot: Snapshot, adds: Mapping[str, Any]) -> tuple[DataFile, ...]:
    """Read all live files.

    Args:
        table: the log.
        snapshot: the rest of the log's state; its own files are not looked at.
        adds: the ``add`` actions by path, as far as a feature of the table needs them.

    Raises:
        DamagedLogError: rows should have ids, and a file has none.
    """
    location, stored = snapshot.location, snapshot.stored_schema
    actions = pa.table(table.get_add_actions(flatten=False))
    plain = (actions[name].to_pylist() for name in ("path", "size_bytes", "num_records"))
    statistics = [_structs(actions, name) for name in ("null_count", "min", "max")]
    if snapshot.mapping is not MappingMode.NONE:
        statistics = [[logical_statistics(tree, snapshot.schema, stored) for tree in trees] for trees in statistics]
    structs = [_structs(actions, "partition"), *statistics]
    return tuple(
        DataFile(
            path=path,
            location=file_location(location, path),
            size=size,
            vector=_vector(adds.get(path, {})),
            ids=_ids(adds.get(path, {}), snapshot),
            partition_values=partition,
            statistics=FileStatistics(
                num_records=num_records, null_count=null_count, min_values=minimum, max_values=maximum
            ),
        )
        for path, size, num_records, partition, null_count, minimum, maximum in zip(*plain, *structs, strict=True)
    )


def _vector(add: Mapping[str, Any]) -> DeletionVector | None:
    said = add.get("deletionVector")
    return None if said is None else DeletionVector.of_action(said)


def _ids(add: Mapping[str, Any], snapshot: Snapshot) -> FileIds | None:
    ids = None if snapshot.row_tracking is None else ids_in(add)
    if ids is None and snapshot.tracks_rows:
        raise DamagedLogError(f"{tracking.ENABLED} is true, but a file has no row ids", where=snapshot.location)
    return ids


def _structs(actions: pa.Table, name: str) -> list[dict[str, Any]]:
    if name not in actions.column_names:
        return [{}] * actions.num_rows
    try:
        return [value or {} for value in actions[name].to_pylist()]
    except (ValueError, OverflowError):
        if name == "partition":
            raise  # a partition value that Python cannot hold must not be taken for NULL
        return [{}] * actions.num_rows  # bounds that Python cannot hold (year 10000): nothing is known


def with_local_moments(spark: SparkSession, snapshot: Snapshot) -> tuple[DataFile, ...]:
    """Read moments of partition columns that name no zone in the session's; deltalake takes them for UTC."""
    fields = snapshot.schema.fields
    positions = [each for each in snapshot.partition_positions if isinstance(fields[each].dataType, TimestampType)]
    if not positions:
        return snapshot.files
    adds = read_log_state(snapshot.location, snapshot.access, snapshot.version).adds
    columns = [(snapshot.schema.names[each], snapshot.stored_schema.names[each]) for each in positions]
    texts = {
        (file.path, name): adds.get(file.path, {}).get("partitionValues", {}).get(stored) or ""
        for file in snapshot.files
        for name, stored in columns
    }
    known = local_moments(spark, texts.values())
    return tuple(
        replace(
            file,
            partition_values={
                name: known.get(texts.get((file.path, name), ""), value)
                for name, value in file.partition_values.items()
            },
        )
        for file in snapshot.files
    )
