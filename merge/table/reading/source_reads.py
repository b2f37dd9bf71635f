"""The files of the target's table that the source of a merge reads (R-750).

A source that reads its target must see the version that the merge starts from. If another commit came between, the
merge would assign values that were computed from rows of the past.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from mergecheck.merge.errors import ConcurrentModificationError, ConflictKind
from mergecheck.merge.table.reading.scan import location_of, read_table
from mergecheck.merge.table.storage.log_store import log_file
from mergecheck.merge.table.storage.paths import is_in_store, literal_path, table_identity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.merge.table.snapshot.snapshot import Snapshot


def read_traceably(spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """Read a snapshot like ``read_table``, so that ``reads_table`` knows whatever is derived from the result.

    A table without files is read from its newest commit, of which no line becomes a row.
    """
    if snapshot.files or not snapshot.schema.fields:
        return read_table(spark, snapshot)
    try:
        lines = spark.read.text(literal_path(f"{snapshot.location.rstrip('/')}/{log_file(snapshot.version)}"))
    except AnalysisException:  # the log was cleaned up behind a checkpoint
        return read_table(spark, snapshot)
    none = lines.where("length(value) < 0")  # which no optimizer knows to be empty
    return none.select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in snapshot.schema.fields))


def reads_table(frame: DataFrame, snapshot: Snapshot) -> bool:
    """Return whether a relation reads data files of a table, or was read from it while it had none.

    The optimised plan of the relation names the files, but not the files of subqueries in expressions. Rows that were
    collected or checkpointed before count as read by the caller, not by the relation.

    Raises:
        ConcurrentModificationError: it reads the table at another version than the snapshot's.
    """
    table = table_identity(snapshot.location)
    read = {location for name in frame.inputFiles() if _is_inside(location := _identity(location_of(name)), table)}
    if not read:
        return False
    data = {location for location in read if not _is_inside(location, f"{table.rstrip('/')}/_delta_log")}
    live = {_identity(file.location) for file in snapshot.files}
    if data - live:
        raise _stale(ConflictKind.CONCURRENT_DELETE_READ, snapshot, f"{min(data - live)} is not a file of it")
    if live - data:
        raise _stale(ConflictKind.CONCURRENT_APPEND, snapshot, f"it does not read {min(live - data)}")
    return True


def _identity(location: str) -> str:
    if is_in_store(location):
        return location
    directory, name = os.path.split(location)
    return os.path.join(os.path.realpath(directory), name)  # noqa: PTH118 - a location is plain text


def _is_inside(location: str, table: str) -> bool:
    return location.startswith(f"{table.rstrip('/')}/")


def _stale(kind: ConflictKind, snapshot: Snapshot, detail: str) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        kind,
        f"The source reads the target's table, but not at version {snapshot.version}, which this MERGE starts from: "
        f"{detail}. Nothing was committed. Read the source again, with toDF() of the table, and run the MERGE again.",
    )
