"""Reading data files with Spark: positional columns, row identity and partition values from the log."""

from __future__ import annotations

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
from mergecheck.merge.table.storage.paths import literal_path
from mergecheck.merge.types.fields import type_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.merge.table.log.snapshot import DataFile, Snapshot

FILE_NAME = "_file_name_"
ROW_INDEX = "_row_index_"
_JOIN_KEY = "_partition_file_"
_PATH, _ROW = "_scanned_path_", "_scanned_row_"
_METADATA, _OTHER_METADATA = "_metadata", "_file_metadata_"
MAX_INLINE_FILES = 8
"""Partition values of so many files are written into the query; those of more files are joined."""
_NO_IDENTITY = (f"CAST('' AS STRING) AS {FILE_NAME}", f"CAST(0 AS BIGINT) AS {ROW_INDEX}")

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
    constants: Sequence[str] = (),
) -> DataFrame:
    """Read the live rows of data files as positional columns, after ``_file_name_`` and ``_row_index_`` if wanted.

    File name and row index identify a physical row in every job (R-A01). Columns that a file of an older schema
    lacks are NULL.

    Args:
        spark: the session that reads.
        snapshot: the table that the files belong to.
        files: which files; none gives an empty relation of the same columns.
        positions: the target columns wanted; all by default. Partition columns are always there (R-422).
        with_row_identity: give file name and row index; without them Spark can read faster.
        constants: further columns, each the text of a constant and its name.

    Raises:
        ExecutionError: a file is not as the log says.
    """
    partitions = snapshot.partition_positions
    wanted = set(range(len(snapshot.schema.fields)) if positions is None else positions)
    void = [i for i, field in enumerate(snapshot.schema.fields) if isinstance(field.dataType, t.NullType)]
    constants = (*constants, *(f"CAST(NULL AS VOID) AS {target_column(i)}" for i in void))  # no file has them
    stored = [i for i in range(len(snapshot.schema.fields)) if i not in partitions and i not in void]
    read = [i for i in stored if i in wanted] or stored[:1]  # Spark cannot read zero columns
    if not files:
        return _empty(spark, snapshot, [*read, *partitions], [*(_NO_IDENTITY if with_row_identity else ()), *constants])
    check_sizes(files)
    if snapshot.mapping is MappingMode.ID:
        check_field_ids(snapshot, files)
    by_file = snapshot.stored_schema.fields
    raw, metadata = _read_parquet(spark, [by_file[i] for i in read], files)
    path, row = f"{metadata}.file_path", f"{metadata}.row_index"
    if any(file.vector is not None for file in files):
        raw = raw.selectExpr("*", f"{path} AS {_PATH}", f"{row} AS {_ROW}")
        path, row = _PATH, _ROW
        raw = without_deleted_rows(spark, raw, snapshot, files, file=_decoded(path), row=row)
    columns = [f"{_column(by_file[i], snapshot.schema.fields[i])} AS {target_column(i)}" for i in read]
    if with_row_identity:
        columns = [f"{path} AS {FILE_NAME}", f"{row} AS {ROW_INDEX}", *columns]
    if not partitions:
        return raw.selectExpr(*columns, *constants)
    kept = [*((FILE_NAME, ROW_INDEX) if with_row_identity else ()), *(target_column(i) for i in read)]
    frame = raw.selectExpr(*columns, f"{_decoded(path)} AS {_JOIN_KEY}")
    if len(files) <= MAX_INLINE_FILES:
        return frame.selectExpr(*kept, *(_inline_partition_value(snapshot, files, i) for i in partitions), *constants)
    values = F.broadcast(_partition_relation(spark, snapshot, files))
    joined = frame.join(values, _JOIN_KEY, "left")
    return joined.selectExpr(*kept, *(target_column(i) for i in partitions), *constants)


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
    """Write a column so that predicates on it stay in Spark if the Parquet reader could miss NaN.

    The reader skips row groups by their minimum and maximum, from which pyarrow omits NaN. So ``x > 5`` and ``x = NaN``
    lose rows with NaN, which is greater than every number and equal to itself (R-801). A column inside a function that
    changes nothing is not pushed down.
    """
    if isinstance(data_type, t.FloatType | t.DoubleType):
        return f"nanvl({column}, {column})"
    if _holds_floats(data_type):
        return f"element_at(array({column}), 1)"
    return column


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
    """Write a column of a file with the table's names for the fields inside of it; Spark casts structs by position."""
    column = not_pushed_down(quote_name(stored.name), stored.dataType)
    same = stored.dataType.simpleString() == field.dataType.simpleString()
    return column if same else f"CAST({column} AS {type_sql(field.dataType)})"


def _read_parquet(
    spark: SparkSession, fields: Sequence[t.StructField], files: Sequence[DataFile]
) -> tuple[DataFrame, str]:
    """Read columns of files, and tell by which name the file's metadata can be referred to."""
    frame = (
        spark.read.options(**_READ_OPTIONS)
        .schema(t.StructType([_nullable(field) for field in fields]))
        .parquet(*(literal_path(file.location) for file in files))
    )
    if all(field.name.lower() != _METADATA for field in fields):
        return frame, _METADATA
    hidden = frame.metadataColumn(_METADATA)  # the table has a column of that name
    return frame.select("*", hidden.alias(_OTHER_METADATA)), _OTHER_METADATA


def _decoded(file_path: str) -> str:
    """Write Spark's file path as a ``location``: percent-decoded (R-A03), and a plus sign stays one."""
    return f"regexp_replace(url_decode(replace({file_path}, '+', '%2B')), '^file:/+', '/')"


def _inline_partition_value(snapshot: Snapshot, files: Sequence[DataFile], position: int) -> str:
    """Choose a row's partition value by the name of its file; a job for a broadcast join would cost more."""
    field = snapshot.schema.fields[position]
    by_value: dict[str, list[str]] = {}
    for file in files:
        literal = sql_literal(file.partition_values.get(field.name), field.dataType.simpleString())
        by_value.setdefault(literal, []).append(sql_string(file.location))
    if len(by_value) == 1:  # every row is of one of these files
        return f"{next(iter(by_value))} AS {target_column(position)}"
    branches = (f"WHEN {_JOIN_KEY} IN ({', '.join(locations)}) THEN {value}" for value, locations in by_value.items())
    return f"CASE {' '.join(branches)} END AS {target_column(position)}"


def _partition_relation(spark: SparkSession, snapshot: Snapshot, files: Sequence[DataFile]) -> DataFrame:
    fields = [snapshot.schema.fields[i] for i in snapshot.partition_positions]
    types = {field.name: field.dataType.simpleString() for field in fields}
    rows = []
    for file in files:
        values = (sql_literal(file.partition_values.get(name), sql_type) for name, sql_type in types.items())
        rows.append(f"({', '.join([sql_string(file.location), *values])})")
    names = ", ".join([_JOIN_KEY, *(target_column(i) for i in snapshot.partition_positions)])
    return spark.sql(f"SELECT * FROM VALUES {', '.join(rows)} AS files({names})")


def _empty(spark: SparkSession, snapshot: Snapshot, positions: Sequence[int], constants: Sequence[str]) -> DataFrame:
    # SQL text keeps this a local relation that the optimizer recognises as empty.
    columns = (f"CAST(NULL AS {type_sql(snapshot.schema.fields[i].dataType)}) AS {target_column(i)}" for i in positions)
    return spark.sql(f"SELECT {', '.join([*constants, *columns])} WHERE FALSE")
