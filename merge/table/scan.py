"""Reading data files with Spark: positional columns, row identity and partition values from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows
from pyspark.sql import types as t

from merge.resolution.resolved import target_column
from merge.resolution.type_sql import type_sql
from merge.table.partition_values import sql_literal, sql_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from merge.table.snapshot import DataFile, Snapshot

FILE_NAME = "_file_name_"
ROW_INDEX = "_row_index_"
_JOIN_KEY = "_partition_file_"

# Spark's file_path is percent-encoded (danger 14); url_decode alone would turn a plus sign into a space.
_DECODED_FILE_NAME = f"regexp_replace(url_decode(replace({FILE_NAME}, '+', '%2B')), '^file:/+', '/')"

# Paths are taken literally, and a file that is lost or broken makes the merge fail instead of losing rows.
_READ_OPTIONS = {
    "__globPaths__": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
}


def scan_files(
    spark: SparkSession, snapshot: Snapshot, files: Sequence[DataFile], *, positions: Iterable[int] | None = None
) -> DataFrame:
    """Read data files as positional columns, preceded by ``_file_name_`` and ``_row_index_``.

    The pair of file name and row index identifies a physical row in every job that reads it (danger 12). Columns that
    a file of an older schema lacks are NULL.

    Args:
        spark: the session that reads.
        snapshot: the table that the files belong to.
        files: which files; none gives an empty relation of the same columns.
        positions: the target columns wanted; all by default. Partition columns are always there (R-422).
    """
    partition_positions = snapshot.partition_positions
    wanted = set(range(len(snapshot.schema.fields)) if positions is None else positions)
    stored = [i for i in range(len(snapshot.schema.fields)) if i not in partition_positions]
    read = [i for i in stored if i in wanted] or stored[:1]  # Spark cannot read zero columns
    if not files:
        return _empty(spark, snapshot, [*read, *partition_positions])
    raw = (
        spark.read.options(**_READ_OPTIONS)
        .schema(t.StructType([_nullable(snapshot.schema.fields[i]) for i in read]))
        .parquet(*(file.location for file in files))
    )
    metadata = raw.metadataColumn("_metadata")
    frame = raw.select(metadata.getField("file_path"), metadata.getField("row_index"), "*").toDF(
        FILE_NAME, ROW_INDEX, *(target_column(i) for i in read)
    )
    if not partition_positions:
        return frame
    values = _partition_relation(spark, snapshot, files)
    return (
        frame.withColumn(_JOIN_KEY, F.expr(_DECODED_FILE_NAME))
        .join(F.broadcast(values), _JOIN_KEY, "left")
        .drop(_JOIN_KEY)
    )


def read_table(spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """Read a snapshot as a plain DataFrame with the table's own column names."""
    columns = [target_column(i) for i in range(len(snapshot.schema.fields))]
    return scan_files(spark, snapshot, snapshot.files).select(*columns).toDF(*snapshot.schema.names)


def location_of(file_name: str) -> str:
    """Turn a value of ``_file_name_`` into the ``location`` of its ``DataFile``."""
    decoded = unquote(file_name)
    return "/" + decoded.removeprefix("file:").lstrip("/") if decoded.startswith("file:") else decoded


def _nullable(field: t.StructField) -> t.StructField:
    return t.StructField(field.name, field.dataType, nullable=True)


def _partition_relation(spark: SparkSession, snapshot: Snapshot, files: Sequence[DataFile]) -> DataFrame:
    fields = [snapshot.schema.fields[i] for i in snapshot.partition_positions]
    types = [field.dataType.simpleString() for field in fields]
    rows = (
        ", ".join(
            [
                sql_string(file.location),
                *(
                    sql_literal(file.partition_values.get(field.name), sql_type)
                    for field, sql_type in zip(fields, types, strict=True)
                ),
            ]
        )
        for file in files
    )
    names = ", ".join([_JOIN_KEY, *(target_column(i) for i in snapshot.partition_positions)])
    return spark.sql(f"SELECT * FROM VALUES {', '.join(f'({row})' for row in rows)} AS files({names})")


def _empty(spark: SparkSession, snapshot: Snapshot, positions: Sequence[int]) -> DataFrame:
    # SQL text keeps this a local relation that the optimizer recognises as empty.
    columns = [f"CAST('' AS STRING) AS {FILE_NAME}", f"CAST(0 AS BIGINT) AS {ROW_INDEX}"]
    columns += [
        f"CAST(NULL AS {type_sql(snapshot.schema.fields[i].dataType)}) AS {target_column(i)}" for i in positions
    ]
    return spark.sql(f"SELECT {', '.join(columns)} WHERE FALSE")
