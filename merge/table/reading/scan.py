"""Reading data files with Spark: positional columns, row identity and partition values from the log."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows
from pyspark.sql import types as t

from mergecheck.merge.expressions.resolved import target_column
from mergecheck.merge.syntax.dialect import quote_name
from mergecheck.merge.table.log.column_mapping import MappingMode
from mergecheck.merge.table.log.partition_values import sql_literal, sql_string
from mergecheck.merge.table.reading.field_ids import check_field_ids
from mergecheck.merge.table.reading.file_sizes import check_sizes
from mergecheck.merge.table.reading.live_rows import without_deleted_rows
from mergecheck.merge.table.reading.row_ids import COMMIT_VERSION, ROW_ID, ids_of_file, row_ids, stored_ids
from mergecheck.merge.table.storage.paths import is_in_store, literal_path
from mergecheck.merge.types.fields import type_sql
from mergecheck.merge.types.text_limits import DECLARED_TYPE, char_length
from mergecheck.merge.types.widening import was_decimal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot

FILE_NAME = "_file_name_"
ROW_INDEX = "_row_index_"
_JOIN_KEY = "_partition_file_"
_PATH, _ROW, _POSITION = "_scanned_path_", "_scanned_row_", "_position_"
_METADATA, _OTHER_METADATA = "_metadata", "_file_metadata_"
MAX_INLINE_FILES = 8
"""Values of so many files are written into the query; values of more files are joined."""
# From how many paths on Spark lists them in a job, by default and by its setting, which is the session's.
_LISTED_AT_ONCE, _LISTING_THRESHOLD = 32, "spark.sql.sources.parallelPartitionDiscovery.threshold"
_LISTING = threading.Lock()
_NO_IDENTITY = (f"CAST('' AS STRING) AS {FILE_NAME}", f"CAST(0 AS BIGINT) AS {ROW_INDEX}")
_NO_IDS = (f"CAST(0 AS BIGINT) AS {ROW_ID}", f"CAST(0 AS BIGINT) AS {COMMIT_VERSION}")

# A file that is lost or broken makes the merge fail instead of losing rows.
_READ_OPTIONS = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}


def scan_files(
    spark: SparkSession,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    *,
    positions: Iterable[int] | None = None,
    with_row_identity: bool = True,
    with_row_ids: bool = False,
    constants: Sequence[str] = (),
    padded: Mapping[int, int] = MappingProxyType({}),
) -> DataFrame:
    """Read the live rows of data files as positional columns, after ``_file_name_`` and ``_row_index_`` if wanted.

    File name and row index identify a physical row in every job (R-A01). Columns that a file of an older schema
    lacks are NULL.

    Args:
        spark: the session that reads.
        snapshot: the table that the files belong to.
        files: which files; none gives an empty relation of the same columns.
        positions: the target columns wanted; all by default.
        with_row_identity: give file name and row index; without them Spark can read faster.
        with_row_ids: give ``_row_id_`` and ``_row_commit_version_`` of a table that tracks its rows (R-705).
        constants: further columns, each the text of a constant and its name.
        padded: lengths of CHAR columns, by position: shorter texts get spaces (R-822).

    Raises:
        ExecutionError: a file differs from its entry in the log.
    """
    wanted = set(range(len(snapshot.schema.fields)) if positions is None else positions)
    partitions = [i for i in snapshot.partition_positions if i in wanted]
    void = [i for i, field in enumerate(snapshot.schema.fields) if isinstance(field.dataType, t.NullType)]
    constants = (*constants, *(f"CAST(NULL AS VOID) AS {target_column(i)}" for i in void))  # no file has them
    stored = [i for i in range(len(snapshot.schema.fields)) if i not in (*snapshot.partition_positions, *void)]
    read = [i for i in stored if i in wanted] or stored[:1]  # Spark cannot read zero columns
    tracking = snapshot.row_tracking.columns if with_row_ids and snapshot.row_tracking is not None else None
    if not files:
        unread = (*(_NO_IDENTITY if with_row_identity else ()), *(() if tracking is None else _NO_IDS))
        return _empty(spark, snapshot, [*read, *partitions], [*unread, *constants])
    check_sizes(files)
    if snapshot.mapping is MappingMode.ID:
        check_field_ids(snapshot, files)
    by_file = snapshot.stored_schema.fields
    ids = (
        [] if tracking is None else [t.StructField(n, t.LongType()) for n in (tracking.row_id, tracking.commit_version)]
    )
    raw, metadata = _read_parquet(spark, [*(by_file[i] for i in read), *ids], files)
    path, row = f"{metadata}.file_path", f"{metadata}.row_index"
    if any(file.vector is not None for file in files):
        raw = raw.selectExpr("*", f"{path} AS {_PATH}", f"{row} AS {_ROW}")
        path, row = _PATH, _ROW
        raw = without_deleted_rows(spark, raw, snapshot, files, file=_decoded(path), row=row)
    columns = [
        f"{_padded(_column(by_file[i], snapshot.schema.fields[i]), padded.get(i))} AS {target_column(i)}" for i in read
    ]
    if with_row_identity:
        columns = [f"{path} AS {FILE_NAME}", f"{row} AS {ROW_INDEX}", *columns]
    by_value = {target_column(i): _partition_values(snapshot, files, i) for i in partitions}
    if tracking is not None:
        columns += [*stored_ids(tracking), f"{row} AS {_POSITION}"]
        by_value |= _ids_of_files(files)
    if not by_value:
        return _declared(raw.selectExpr(*columns, *constants), snapshot, wanted - padded.keys())
    frame = raw.selectExpr(*columns, f"{_decoded(path)} AS {_JOIN_KEY}")
    if len(files) <= MAX_INLINE_FILES:
        said = {name: _inline(value, files) for name, value in by_value.items()}
    else:
        frame = frame.join(F.broadcast(_relation_of_files(spark, by_value, files)), _JOIN_KEY, "left")
        said = {name: name for name in by_value}
    kept = [*((FILE_NAME, ROW_INDEX) if with_row_identity else ()), *(target_column(i) for i in read)]
    of_partitions = (f"{said[target_column(i)]} AS {target_column(i)}" for i in partitions)
    found = frame.selectExpr(*kept, *of_partitions, *(row_ids(said, _POSITION) if tracking else ()), *constants)
    return _declared(found, snapshot, wanted - padded.keys())


def read_table(spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """Read a snapshot as a plain DataFrame with the table's own column names."""
    columns = [target_column(i) for i in range(len(snapshot.schema.fields))]
    if not columns:
        return spark.range(0).select()
    frame = scan_files(spark, snapshot, snapshot.files, with_row_identity=False)
    if frame.columns != columns:
        frame = frame.select(*columns)  # partition columns and VOID columns came last
    return frame.toDF(*snapshot.schema.names)


def schema_with_nullability(frame: DataFrame, snapshot: Snapshot) -> t.StructType:
    """Give the schema of what ``read_table`` returned, with the NOT NULL inside columns that Spark's reader forgets."""
    fields = zip(frame.schema.fields, snapshot.schema.fields, strict=True)
    return t.StructType([t.StructField(f.name, own.dataType, f.nullable, f.metadata) for f, own in fields])


def not_pushed_down(column: str, data_type: t.DataType) -> str:
    """Write a column so that predicates on it stay in Spark if the Parquet reader could miss NaN or a zero.

    The reader skips row groups by their minimum and maximum, from which pyarrow omits NaN. So ``x > 5`` and ``x = NaN``
    lose rows with NaN, which is greater than every number and equal to itself (R-801). It skips them by their
    dictionaries too, in which -0.0 and 0.0 differ, so that ``x = 0.0`` loses rows with -0.0 (R-802). A column inside a
    function that changes nothing is not pushed down.
    """
    if isinstance(data_type, t.FloatType | t.DoubleType):
        return f"nanvl({column}, {column})"
    if _holds_floats(data_type):
        return _kept_in_spark(column)
    return column


def _kept_in_spark(column: str) -> str:
    """Write a column inside of a function that changes nothing: predicates on it are not pushed down."""
    return f"element_at(array({column}), 1)"


def _holds_floats(data_type: t.DataType) -> bool:
    if isinstance(data_type, t.StructType):
        return any(_holds_floats(field.dataType) for field in data_type.fields)
    return isinstance(data_type, t.FloatType | t.DoubleType)


def location_of(file_name: str) -> str:
    """Turn a value of ``_file_name_`` into the ``location`` of its ``DataFile``."""
    decoded = unquote(file_name)
    return "/" + decoded.removeprefix("file:").lstrip("/") if decoded.startswith("file:") else decoded


def _nullable(field: t.StructField) -> t.StructField:
    return t.StructField(field.name, field.dataType, nullable=True)


def _column(stored: t.StructField, field: t.StructField) -> str:
    """Write a column of a file with the table's names for the fields inside of it; Spark casts structs by position.

    On a DECIMAL that had fewer digits no predicate is pushed down: the reader cuts its constant to the size of the
    numbers in the file, and skips rows, or fails (docs/findings/spark-parquet-widened-decimals.md).
    """
    column = not_pushed_down(quote_name(stored.name), stored.dataType)
    if was_decimal(field):
        column = _kept_in_spark(column)
    same = stored.dataType.simpleString() == field.dataType.simpleString()
    return column if same else f"CAST({column} AS {type_sql(field.dataType)})"


def _declared(frame: DataFrame, snapshot: Snapshot, positions: Collection[int]) -> DataFrame:
    """Mark CHAR columns: Spark pads them in comparisons if it does not read them so (R-822)."""
    for position in positions:
        metadata = snapshot.schema.fields[position].metadata
        if char_length(metadata) is not None:
            frame = frame.withMetadata(target_column(position), {DECLARED_TYPE: metadata[DECLARED_TYPE]})
    return frame


def _padded(column: str, length: int | None) -> str:
    """Write a text with spaces up to a length; a longer one stays as it is."""
    if length is None:
        return column
    return f"CASE WHEN char_length({column}) < {length} THEN rpad({column}, {length}) ELSE {column} END"


def _read_parquet(
    spark: SparkSession, fields: Sequence[t.StructField], files: Sequence[DataFile]
) -> tuple[DataFrame, str]:
    """Read columns of files, and return the name of the file's metadata."""
    reader = spark.read.options(**_READ_OPTIONS).schema(t.StructType([_nullable(field) for field in fields]))
    with _listed_by_the_driver(spark, files):
        frame = reader.parquet(*(literal_path(file.location) for file in files))
    if all(field.name.lower() != _METADATA for field in fields):
        return frame, _METADATA
    hidden = frame.metadataColumn(_METADATA)  # the table has a column of that name
    return frame.select("*", hidden.alias(_OTHER_METADATA)), _OTHER_METADATA


@contextmanager
def _listed_by_the_driver(spark: SparkSession, files: Sequence[DataFile]) -> Iterator[None]:
    """Keep Spark from looking at each of many local files in a task of its own, which takes far longer than a look."""
    if len(files) <= _LISTED_AT_ONCE or any(is_in_store(file.location) for file in files):
        yield
        return
    with _LISTING:
        before = spark.conf.get(_LISTING_THRESHOLD, None)
        spark.conf.set(_LISTING_THRESHOLD, str(len(files)))
        try:
            yield
        finally:
            if before is None:
                spark.conf.unset(_LISTING_THRESHOLD)
            else:
                spark.conf.set(_LISTING_THRESHOLD, before)


def _decoded(file_path: str) -> str:
    """Write Spark's file path as a ``location``: percent-decoded (R-A03), and a plus sign stays one."""
    return f"regexp_replace(url_decode(replace({file_path}, '+', '%2B')), '^file:/+', '/')"


def _partition_values(snapshot: Snapshot, files: Sequence[DataFile], position: int) -> tuple[str, ...]:
    """Write a partition column's value in each file as a literal."""
    field = snapshot.schema.fields[position]
    return tuple(sql_literal(file.partition_values.get(field.name), field.dataType.simpleString()) for file in files)


def _ids_of_files(files: Sequence[DataFile]) -> dict[str, tuple[str, ...]]:
    """Write the ids of each file as literals."""
    found = [ids_of_file(file) for file in files]
    return {name: tuple(ids[name] for ids in found) for name in found[0]}


def _inline(values: Sequence[str], files: Sequence[DataFile]) -> str:
    """Choose a value by the name of a row's file; a job for a broadcast join would cost more."""
    by_value: dict[str, list[str]] = {}
    for file, literal in zip(files, values, strict=True):
        by_value.setdefault(literal, []).append(sql_string(file.location))
    if len(by_value) == 1:  # each row is in such a file
        return next(iter(by_value))
    branches = (f"WHEN {_JOIN_KEY} IN ({', '.join(locations)}) THEN {value}" for value, locations in by_value.items())
    return f"CASE {' '.join(branches)} END"


def _relation_of_files(
    spark: SparkSession, by_value: Mapping[str, Sequence[str]], files: Sequence[DataFile]
) -> DataFrame:
    """Make a relation of the files' locations and their values, each column by its name."""
    rows = zip((sql_string(file.location) for file in files), *by_value.values(), strict=True)
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    return spark.sql(f"SELECT * FROM VALUES {values} AS files({', '.join([_JOIN_KEY, *by_value])})")


def _empty(spark: SparkSession, snapshot: Snapshot, positions: Sequence[int], constants: Sequence[str]) -> DataFrame:
    # SQL text keeps this a local relation that the optimizer recognises as empty.
    columns = (f"CAST(NULL AS {type_sql(snapshot.schema.fields[i].dataType)}) AS {target_column(i)}" for i in positions)
    return spark.sql(f"SELECT {', '.join([*constants, *columns])} WHERE FALSE")
