"""The rows of a new file as DuckDB reads them: another reader of Parquet than Arrow must see the same (R-719)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import duckdb
import pyarrow as pa

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.delta.tables.stored_rows import rows_in
from mergecheck.model.formatting import row_text
from mergecheck.model.types.data_types import STRING, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mergecheck.harness.delta.read import LiveFile
    from mergecheck.model.case import Row

_QUERY = "SELECT * FROM read_parquet(?, hive_partitioning = false)"


def other_readers_faults(
    path: Path,
    file: LiveFile,
    *,
    schema: Schema,
    partition_by: tuple[str, ...],
    database: duckdb.DuckDBPyConnection,
) -> Iterator[str]:
    """List the rows of a file for which DuckDB's values differ from Arrow's, if DuckDB reads the file.

    Partition columns in the file, as in Delta Lake's files, must have the values of the log.

    Args:
        path: the table.
        file: without a deletion vector.
        schema: columns of the rows, by the names that files have for them.
        partition_by: the partition columns.
        database: any.
    """
    try:
        data = database.sql(_QUERY, params=[str(path / unquote(file.add["path"]))]).to_arrow_table()
        outside = tuple(name for name in partition_by if name not in data.column_names)
        rows = rows_in(data, file.add, schema=schema, partition_by=outside)
    except (duckdb.Error, pa.ArrowException, ValueError) as error:
        yield f"DuckDB cannot read {file.add['path']}: {type(error).__name__}: {error}"
        return
    places = [
        schema.names.index(name) for name in partition_by if schema.columns[schema.names.index(name)].type == STRING
    ]
    rows = tuple(_without_empty(row, places) for row in rows) if places else rows
    if len(rows) != len(file.rows):
        yield f"DuckDB reads {len(rows)} rows of {file.add['path']}, and Arrow {len(file.rows)}"
        return
    for place, (other, own) in enumerate(zip(rows, file.rows, strict=True)):
        if row_identity(other, schema) != row_identity(own, schema):
            yield f"row {place}: {row_text(other, schema)} for DuckDB, {row_text(own, schema)} for Arrow and the log"
            return


def _without_empty(row: Row, places: list[int]) -> Row:
    """Make empty texts of partition columns NULL, as they are in the log (R-744)."""
    return tuple(None if place in places and cell == "" else cell for place, cell in enumerate(row))
