"""Reading a snapshot: by Spark's access to the store, or by the environment's."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyspark.sql.types import StructType

from mergecheck.merge.errors import AnalysisError, InvalidConfigurationError
from mergecheck.merge.table.log.add_actions import LogState, read_log_state
from mergecheck.merge.table.log.column_mapping import MODE, MappingMode, mapping_mode
from mergecheck.merge.table.log.columnless import is_columnless, read_columnless
from mergecheck.merge.table.log.features import check_features
from mergecheck.merge.table.log.protocol import VECTORS_FEATURE, Protocol
from mergecheck.merge.table.row_ids import tracking
from mergecheck.merge.table.row_ids.tracking import RowTracking, read_row_tracking
from mergecheck.merge.table.snapshot.live_files import live_files, with_local_moments
from mergecheck.merge.table.snapshot.snapshot import Snapshot
from mergecheck.merge.table.storage.log_errors import log_errors
from mergecheck.merge.table.storage.object_store import store_errors
from mergecheck.merge.table.storage.paths import bucket_and_key, is_in_store, table_location
from mergecheck.merge.table.storage.store_access import StoreAccess, store_access

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


def open_snapshot(spark: SparkSession, path: str, *, version: int | None = None, app_id: str | None = None) -> Snapshot:
    """Read a table at a version, or its latest one, reaching its store as the session does; see ``read_snapshot``."""
    snapshot = read_snapshot(path, version=version, app_id=app_id, access=store_access(spark, path))
    return replace(snapshot, files=with_local_moments(spark, snapshot))


def read_snapshot(
    path: str, *, version: int | None = None, app_id: str | None = None, access: StoreAccess | None = None
) -> Snapshot:
    """Read the snapshot of the table at a path, the latest unless ``version`` is given.

    The path may be a ``file:`` URI, or a URI in a store; without ``access`` the store is reached by the environment
    alone. ``app_id`` is the application whose last transaction is wanted (R-715).

    Raises:
        AnalysisError: there is no Delta table at the path (R-140).
        StoreError: the disk or the store refuses, or does not answer.
        DamagedLogError: the log is damaged or incomplete.
        UnsupportedTableError: the table has features that this package lacks, or lies in a store that cannot be read.
    """
    location = table_location(path)
    if access is None and is_in_store(location):
        access = StoreAccess()
    with log_errors(location):
        try:
            table = _open_log(location, version, access)
        except TableNotFoundError as error:
            raise AnalysisError(
                "DELTA_MISSING_DELTA_TABLE",
                f"{path} is not a Delta table. Give the directory that holds _delta_log, or create the table first.",
            ) from error
        except DeltaError as error:
            if not is_columnless(error):
                raise
            return _columnless_snapshot(location, access)
        return _snapshot(table, location, app_id=app_id, access=access)


def _snapshot(table: DeltaTable, location: str, *, app_id: str | None, access: StoreAccess | None) -> Snapshot:
    metadata, protocol = table.metadata(), _protocol(table)
    last = table.transaction_version(app_id) if app_id else None
    snapshot = Snapshot(
        location=location,
        version=table.version(),
        schema=StructType.fromJson(json.loads(table.schema().to_json())),
        partition_columns=tuple(metadata.partition_columns),
        properties=dict(metadata.configuration),
        files=(),
        transactions={app_id: last} if app_id and last is not None else {},
        metadata=_known(
            id=str(metadata.id),
            name=metadata.name,
            description=metadata.description,
            createdTime=metadata.created_time,
        ),
        protocol=protocol,
        access=access,
        mapping=_mapping(metadata.configuration, protocol),
    )
    _check_features(snapshot)
    state = _log_state(snapshot)
    snapshot = replace(snapshot, row_tracking=_row_tracking(snapshot, state.domains))
    return replace(snapshot, files=live_files(table, snapshot, state.adds))


def _open_log(location: str, version: int | None, access: StoreAccess | None) -> DeltaTable:
    if access is None:
        return DeltaTable(location, version=version)
    bucket, key = bucket_and_key(location)
    with store_errors(location):
        settings = access.log_reader_settings(bucket)
        return DeltaTable(f"s3://{bucket}/{quote(key)}", version=version, storage_options=settings)


def _columnless_snapshot(location: str, access: StoreAccess | None) -> Snapshot:
    table = read_columnless(location, access)
    snapshot = Snapshot(
        location=location,
        version=table.version,
        schema=StructType(),
        partition_columns=(),
        properties=table.metadata.get("configuration") or {},
        files=(),
        transactions=table.transactions,
        metadata=_known(**{key: table.metadata.get(key) for key in ("id", "name", "description", "createdTime")}),
        protocol=table.protocol,
        access=access,
        mapping=_mapping(table.metadata.get("configuration") or {}, table.protocol),
    )
    _check_features(snapshot)
    return replace(snapshot, row_tracking=_row_tracking(snapshot, table.domains))


def _check_features(snapshot: Snapshot) -> None:
    check_features(
        where=snapshot.location,
        writer_version=snapshot.protocol.min_writer_version,
        protocol_features=snapshot.protocol.features,
        properties=snapshot.properties,
        schema=snapshot.schema,
        partition_columns=snapshot.partition_columns,
        has_mapping=snapshot.mapping is not MappingMode.NONE,
    )


def _mapping(properties: Mapping[str, str], protocol: Protocol) -> MappingMode:
    try:
        return mapping_mode(properties, protocol)
    except ValueError:
        raise InvalidConfigurationError(
            "INVALID_CONF_VALUE.TYPE_MISMATCH",
            f"The table property {MODE} is {properties[MODE]!r:.100}, but must be none, name or id.",
        ) from None


def _known(**metadata: object) -> dict[str, object]:
    return {key: value for key, value in metadata.items() if value is not None}


def _protocol(table: DeltaTable) -> Protocol:
    found = table.protocol()
    return Protocol(
        min_reader_version=found.min_reader_version,
        min_writer_version=found.min_writer_version,
        reader_features=frozenset(found.reader_features or ()),
        writer_features=frozenset(found.writer_features or ()),
    )


def _log_state(snapshot: Snapshot) -> LogState:
    """Read the actions and domains, which deltalake does not return, if a feature of the table needs them."""
    if snapshot.protocol.features.isdisjoint({VECTORS_FEATURE, tracking.FEATURE}):
        return LogState(adds={}, domains={})
    return read_log_state(snapshot.location, snapshot.access, snapshot.version)


def _row_tracking(snapshot: Snapshot, domains: Mapping[str, str]) -> RowTracking | None:
    if tracking.FEATURE not in snapshot.protocol.features:
        return None
    return read_row_tracking(
        snapshot.properties,
        domains.get(tracking.DOMAIN),
        is_enabled=snapshot.flag(tracking.ENABLED),
        is_suspended=snapshot.flag(tracking.SUSPENDED),
        where=snapshot.location,
    )
