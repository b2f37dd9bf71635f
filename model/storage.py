"""How the tables of a case are stored, beyond which rows lie in which file: what no merge may depend on.

The reference looks at the statistics only, which decide whether a file may be pruned (R-322). An engine that cannot
honour a part of it (a local relation has no row groups) leaves that part out; the rows are the same either way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.types.data_types import DataType


class StringType(Enum):
    """The Arrow type of STRING columns: in the source's record batches, and in the schema that a data file carries."""

    STRING = "string"
    LARGE_STRING = "large_string"
    STRING_VIEW = "string_view"
    DICTIONARY = "dictionary"
    """``dictionary<int32, string>``, for columns; fields of nested columns stay ``string``"""


class Statistics(Enum):
    """Which files of the target have statistics in the log."""

    ALL = "all"
    COUNTS = "counts"
    """every file has its number of records, and nothing about its columns"""
    ALTERNATE = "alternate"
    """every second file has statistics, the first one has none"""
    NONE = "none"


class Checkpoint(Enum):
    """The checkpoint at the target's version."""

    NONE = "none"
    CLASSIC = "classic"
    V2 = "v2"
    """a JSON file of the V2 specification, whose file actions are in a sidecar; a table feature (R-706)"""


class ColumnNames(Enum):
    """The names of columns in the files of a table with column mapping (R-709)."""

    GENERATED = "generated"
    """like nothing else"""
    OF_OTHERS = "of others"
    """what another column is called now, and a field of a struct what another field is: both were renamed"""


class RowIds(Enum):
    """How the rows of a table with row tracking have their ids (R-705)."""

    BY_FILES = "by files"
    """each by the id of its file's first row"""
    STORED = "stored"
    """files hold ids that rows had before they were copied or updated; the table is several versions old"""


class Vectors(Enum):
    """Where the deletion vectors of the target are (R-463)."""

    NONE = "none"
    INLINE = "inline"
    OWN_FILES = "own files"
    """one file for each, in a directory of their own"""
    SHARED_FILE = "shared file"
    """one file for all of them"""
    ABSOLUTE = "absolute"
    """as ``OWN_FILES``, by absolute paths"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLayout:
    """How the data files of the target are written.

    Attributes:
        row_group_rows: most rows of one row group; None for one group per file.
        string_type: of STRING columns and fields, in the Arrow schema that the files carry; with STRING they carry none
            and store DECIMALs as integers, as Spark's do.
        statistics: which files have statistics.
        added_columns: columns that the table got after its oldest files were written. A file that holds nothing but
            NULL in such a column does not store it, as a file from before an ``ADD COLUMN`` (it stores one column at
            least). Partition columns are never stored, so none of them is named here.
        checkpoint: the checkpoint beside the commits.
        cluster_by: the columns of a clustered table, which has no partition columns (R-708).
        column_names: what files call the columns, if the table has column mapping.
        vectors: deletion vectors. A file that has one holds deleted copies of its rows.
        files_with_vectors: the numbers of the physical files that have one, if ``vectors`` is set
            (``model.layout.has_vector``); None for every second file, the first one among them.
        dropped_columns: names of columns that the table had once, if it has column mapping. Its files still have them.
        widened_columns: the types that columns had once, by name (R-716); no partition columns, and no structs. Every
            second file, the first one among them, holds those types if all its values fit.
        row_ids: how the rows have their ids, if the table has row tracking.
    """

    row_group_rows: int | None = None
    string_type: StringType = StringType.STRING
    statistics: Statistics = Statistics.ALL
    added_columns: tuple[str, ...] = ()
    checkpoint: Checkpoint = Checkpoint.NONE
    cluster_by: tuple[str, ...] = ()
    column_names: ColumnNames = ColumnNames.GENERATED
    dropped_columns: tuple[str, ...] = ()
    vectors: Vectors = Vectors.NONE
    files_with_vectors: tuple[int, ...] | None = None
    widened_columns: Mapping[str, DataType] = field(default_factory=dict)
    row_ids: RowIds = RowIds.BY_FILES

    def __post_init__(self) -> None:
        """Refuse a row group that can hold no row."""
        _require_positive("row_group_rows", self.row_group_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLayout:
    """How the source is handed over.

    Attributes:
        batch_rows: most rows of one record batch (of one row group, if it is a table); None for one batch.
        string_type: of STRING columns and fields.
    """

    batch_rows: int | None = None
    string_type: StringType = StringType.STRING

    def __post_init__(self) -> None:
        """Refuse a batch that can hold no row."""
        _require_positive("batch_rows", self.batch_rows)


def _require_positive(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError(f"{name}={value}: must be at least 1, or None for no limit")
