"""Rows that no deletion vector deletes (R-513)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from mergecheck.merge.table.log.partition_values import sql_string

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyroaring import BitMap64
    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot

MAX_INLINE_ROWS = 1_000
"""So many deleted rows are written into the query; more are joined."""
_FILE, _ROW = "_deleted_file_", "_deleted_row_"


def without_deleted_rows(
    spark: SparkSession, frame: DataFrame, snapshot: Snapshot, files: Sequence[DataFile], *, file: str, row: str
) -> DataFrame:
    """Leave out the rows that the files' vectors delete.

    Args:
        spark: the session.
        frame: rows of the files.
        snapshot: the table.
        files: some files; those without a vector have no deleted rows.
        file: an expression for the location of a row's file.
        row: an expression for its position in the file.
    """
    deleted = {each.location: snapshot.deleted_rows(each) for each in files if each.vector is not None}
    if not deleted:
        return frame
    if sum(map(len, deleted.values())) <= MAX_INLINE_ROWS:
        return frame.where(f"NOT ({_any_of(deleted, file, row)})")
    names = pa.array(list(deleted), pa.string())
    places = np.repeat(np.arange(len(deleted)), [len(rows) for rows in deleted.values()])
    positions = np.concatenate([np.fromiter(rows, np.int64, len(rows)) for rows in deleted.values()])
    table = pa.table({_FILE: names.take(pa.array(places)), _ROW: pa.array(positions)})
    gone = F.broadcast(spark.createDataFrame(table))
    return frame.join(gone, F.expr(f"{file} = {_FILE} AND {row} = {_ROW}"), "left_anti")


def _any_of(deleted: Mapping[str, BitMap64], file: str, row: str) -> str:
    tests = (
        f"({file} = {sql_string(location)} AND {row} IN ({', '.join(map(str, rows))}))"
        for location, rows in deleted.items()
        if len(rows)
    )
    return " OR ".join(tests) or "FALSE"
