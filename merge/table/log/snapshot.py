"""What the Delta log says of a table at one version: schema, properties, live files and their statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyroaring import BitMap64
from pyspark.sql.types import StructType, TimestampType

from mergecheck.merge.errors import AnalysisError, DamagedLogError, InvalidConfigurationError
from mergecheck.merge.table.log.add_actions import LogState, read_log_state
from mergecheck.merge.table.log.column_mapping import (
    MODE,
    MappingMode,
    logical_statistics,
    mapping_mode,
    stored_schema,
)
from mergecheck.merge.table.log.columnless import is_columnless, read_columnless
from mergecheck.merge.table.log.deletion_vectors import DeletionVector, deleted_rows
from mergecheck.merge.table.log.features import check_features
from mergecheck.merge.table.log.partition_values import PartitionValue, local_moments
from mergecheck.merge.table.log.properties import APPEND_ONLY, CHANGE_DATA_FEED, DELETION_VECTORS, TYPE_WIDENING, flag
from mergecheck.merge.table.log.protocol import VECTORS_FEATURE, Protocol
from mergecheck.merge.table.row_ids import tracking
from mergecheck.merge.table.row_ids.fresh_ids import ids_in
from mergecheck.merge.table.row_ids.tracking import FileIds, RowTracking, read_row_tracking
from mergecheck.merge.table.storage.log_errors import log_errors
from mergecheck.merge.table.storage.object_store import store_errors
from mergecheck.merge.table.storage.paths import bucket_and_key, file_location, is_in_store, table_location
from mergecheck.merge.table.storage.store_access import StoreAccess, store_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatistics:
    """Statistics of one file by column name; structs nest. An absent name or None means: nothing is known."""

    num_records: int | None = None
    null_count: Mapping[str, Any] = field(default_factory=dict)
    min_values: Mapping[str, Any] = field(default_factory=dict)
    max_values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One live data file, with the typed value of each partition column.

    Attributes:
        path: as the log spells it, percent-encoded, relative to the table unless absolute.
        location: the absolute path on disk or the URI in a store, decoded.
        size: bytes.
        vector: which of its rows are deleted; None for none.
        ids: of its rows; None if it has none (R-724).
    """

    path: str
    location: str
    size: int
    vector: DeletionVector | None = None
    ids: FileIds | None = None
    partition_values: Mapping[str, PartitionValue] = field(default_factory=dict)
    statistics: FileStatistics = field(default_factory=FileStatistics)

    @property
    def num_live(self) -> int | None:
        """How many rows are not deleted (R-513); None if the log does not tell."""
        stored = self.statistics.num_records
        return stored if stored is None or self.vector is None else stored - self.vector.cardinality


def total_records(files: Sequence[DataFile]) -> int | None:
    """Count the live rows of files by their statistics; None if these do not tell."""
    counts = [file.num_live for file in files if file.num_live is not None]
    return sum(counts) if len(counts) == len(files) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A table at one version (R-001).

    Attributes:
        location: absolute path of the table's directory, or its URI in a store.
        access: how the store is reached; None for a local table.
        transactions: version by application id, for the ids that were asked for (R-715).
        metadata: id, name, description and time of creation, as the log names them; a new ``metaData`` repeats them.
        mapping: how the columns are found in files (R-709).
        row_tracking: None if the protocol has no such feature (R-705).
    """

    location: str
    version: int
    schema: StructType
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    files: tuple[DataFile, ...]
    transactions: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    protocol: Protocol = field(default_factory=Protocol)
    access: StoreAccess | None = None
    mapping: MappingMode = MappingMode.NONE
    row_tracking: RowTracking | None = None

    @property
    def tracks_rows(self) -> bool:
        """Whether rows keep their ids (R-705)."""
        return self.row_tracking is not None and self.row_tracking.columns is not None

    @property
    def gives_row_ids(self) -> bool:
        """Whether files that are added get ids (R-724)."""
        return self.row_tracking is not None and not self.row_tracking.is_suspended

    @property
    def change_data_feed(self) -> bool:
        """Whether changes are recorded (R-601)."""
        return self.flag(CHANGE_DATA_FEED)

    @property
    def marks_rows(self) -> bool:
        """Whether rows may be deleted by vectors (R-402)."""
        return VECTORS_FEATURE in self.protocol.features and self.flag(DELETION_VECTORS)

    @property
    def widens_types(self) -> bool:
        """Whether evolution may widen the types of columns (R-237)."""
        return self.flag(TYPE_WIDENING)

    @property
    def append_only(self) -> bool:
        """Whether nothing may be removed (R-743)."""
        return self.flag(APPEND_ONLY)

    @property
    def stored_schema(self) -> StructType:
        """The columns by the names that files have for them; ``schema`` without column mapping."""
        return stored_schema(self.schema, self.mapping, where=self.location)

    @property
    def partition_positions(self) -> tuple[int, ...]:
        """Positions of the partition columns in the schema, in partitioning order."""
        return tuple(self.schema.names.index(name) for name in self.partition_columns)

    @property
    def num_records(self) -> int | None:
        """Rows of the table; None if the log does not count them."""
        return total_records(self.files)

    def deleted_rows(self, file: DataFile) -> BitMap64:
        """Read the positions of a file's deleted rows; raises as ``deletion_vectors.deleted_rows`` does."""
        if file.vector is None:
            return BitMap64()
        return deleted_rows(file.vector, of=file.location, location=self.location, access=self.access)

    def flag(self, name: str) -> bool:
        """Read a boolean table property; absent means false."""
        return flag(self.properties, name)


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
    return replace(snapshot, files=_live_files(table, snapshot, state.adds))


def open_snapshot(spark: SparkSession, path: str, *, version: int | None = None, app_id: str | None = None) -> Snapshot:
    """Read a table at a version, or its latest one, reaching its store as the session does; see ``read_snapshot``."""
    snapshot = read_snapshot(path, version=version, app_id=app_id, access=store_access(spark, path))
    moments = [position for position in snapshot.partition_positions if _is_moment(snapshot, position)]
    return replace(snapshot, files=_with_local_moments(spark, snapshot, moments)) if moments else snapshot


def _is_moment(snapshot: Snapshot, position: int) -> bool:
    return isinstance(snapshot.schema.fields[position].dataType, TimestampType)


def _with_local_moments(spark: SparkSession, snapshot: Snapshot, positions: Sequence[int]) -> tuple[DataFile, ...]:
    """Read moments of partition columns that name no zone in the session's; deltalake takes them for UTC."""
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
    """Read the actions and domains, which deltalake does not tell, if a feature of the table needs them."""
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


def _live_files(table: DeltaTable, snapshot: Snapshot, adds: Mapping[str, Any]) -> tuple[DataFile, ...]:
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
