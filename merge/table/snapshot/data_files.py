"""The live data files of a table, with their partition values and statistics."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.merge.table.log.deletion_vectors import DeletionVector  # noqa: TC001 - the same
from mergecheck.merge.table.log.partition_values import PartitionValue  # noqa: TC001 - the same
from mergecheck.merge.table.row_ids.tracking import FileIds  # noqa: TC001 - the same

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        path: as the log writes it, percent-encoded, relative to the table unless absolute.
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
        """The number of rows that are not deleted (R-513); None if the log lacks it."""
        stored = self.statistics.num_records
        return stored if stored is None or self.vector is None else stored - self.vector.cardinality


def total_records(files: Sequence[DataFile]) -> int | None:
    """Count the live rows of files by their statistics; None without statistics."""
    counts = [file.num_live for file in files if file.num_live is not None]
    return sum(counts) if len(counts) == len(files) else None
