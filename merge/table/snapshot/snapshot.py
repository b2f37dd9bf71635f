"""A table at one version: schema, properties, protocol and live files."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field
from typing import Any

from pyroaring import BitMap64
from pyspark.sql.types import StructType  # noqa: TC002 - the same

from mergecheck.merge.table.log.column_mapping import MappingMode, stored_schema
from mergecheck.merge.table.log.deletion_vectors import deleted_rows
from mergecheck.merge.table.log.properties import APPEND_ONLY, CHANGE_DATA_FEED, DELETION_VECTORS, TYPE_WIDENING, flag
from mergecheck.merge.table.log.protocol import VECTORS_FEATURE, Protocol
from mergecheck.merge.table.row_ids.tracking import RowTracking  # noqa: TC001 - the same
from mergecheck.merge.table.snapshot.data_files import DataFile, total_records
from mergecheck.merge.table.storage.store_access import StoreAccess  # noqa: TC001 - the same


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
