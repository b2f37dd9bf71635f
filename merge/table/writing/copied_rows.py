"""Copies of the rows that a merge does not change, from Parquet to Parquet, in Spark's Python workers.

No row passes through the JVM, and their order stays. Only for tables whose columns are all atomic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mergecheck.merge.table.row_ids.tracking import FileIds  # noqa: TC001 - dataclass fields are read at run time
from mergecheck.merge.table.storage.storage import open_storage
from mergecheck.merge.table.writing.modified_rows import unpack
from mergecheck.merge.table.writing.row_records import ACTION, KEPT_COMMIT_VERSION, KEPT_ROW_ID, RowAction
from mergecheck.merge.table.writing.writer import as_type, write_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.merge.table.storage.storage import Storage
    from mergecheck.merge.table.writing.writer import WriteTask


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToCopy:
    """A data file and the packed positions of its rows that are not copied.

    Attributes:
        ids: of its rows, if they have some; a table that tracks its rows has them for every file.
    """

    location: str
    left_out: tuple[str, ...] = ()
    ids: FileIds | None = None


def copy_groups(
    task: WriteTask,
    stored: frozenset[str],
    groups: tuple[tuple[FileToCopy, ...], ...],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Copy the groups of files whose numbers are in the first column; describe the result as ``write_partition`` does.

    Rows are checked for NULLs in NOT NULL columns, as every row that is written is (R-741). Columns that the table does
    not have stored until now are NULL, whatever a file holds.
    """
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    storage = open_storage(task.location, task.access)
    yield from write_tables(
        task, (rows for number in numbers for file in groups[number] for rows in _rows(task, storage, stored, file))
    )


def _rows(task: WriteTask, storage: Storage, stored: frozenset[str], file: FileToCopy) -> Iterator[pa.Table]:
    left_out = unpack(file.left_out)
    with (
        storage.local_copy(file.location) as path,
        pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as parquet,
    ):
        first = 0
        for group in range(parquet.num_row_groups):
            read = parquet.read_row_group(group, use_threads=False)
            rows = _with_ids(as_output(read, task.schema, stored), read, task, file.ids, first=first)
            last = first + rows.num_rows
            rows = without_rows(rows, within(left_out, first, last))
            first = last
            if rows.num_rows:
                yield rows


def within(positions: np.ndarray, first: int, last: int) -> np.ndarray:
    """Cut a range out of ascending positions, and count them from its start."""
    return positions[np.searchsorted(positions, first) : np.searchsorted(positions, last)] - first


def without_rows(rows: pa.Table, positions: np.ndarray) -> pa.Table:
    """Leave out the rows at some positions."""
    if not len(positions):
        return rows
    kept = np.ones(rows.num_rows, dtype=bool)
    kept[positions] = False
    return rows.filter(pa.array(kept))


def as_output(rows: pa.Table, schema: pa.Schema, stored: frozenset[str]) -> pa.Table:
    """Arrange a file's columns as the writer's input; a column that the file lacks is NULL (R-241).

    Columns are cast to the table's types first: Arrow cannot filter some types of files, such as string views.
    """
    actions = pa.chunked_array([pa.array(np.full(rows.num_rows, int(RowAction.COPY), np.int32))])
    columns = [file_column(rows, field) if field.name in stored else _nulls(rows, field.type) for field in schema]
    return pa.Table.from_arrays([actions, *columns], names=[ACTION, *schema.names])


def _with_ids(output: pa.Table, rows: pa.Table, task: WriteTask, ids: FileIds | None, *, first: int) -> pa.Table:
    """Append what copied rows keep, if the table tracks its rows: ids and commit versions (R-705).

    Args:
        output: the columns for the writer.
        rows: the same rows as the file has them.
        task: names the columns.
        ids: of the file's rows, unless it holds others.
        first: position of the first of these rows.
    """
    if not task.id_columns or ids is None:
        return output
    start = ids.base_row_id + first
    own = {
        KEPT_ROW_ID: np.arange(start, start + rows.num_rows, dtype=np.int64),
        KEPT_COMMIT_VERSION: np.full(rows.num_rows, ids.commit_version, np.int64),
    }
    for name, stored in task.id_columns.items():
        column = pa.chunked_array([pa.array(own[name])])
        if stored in rows.column_names:
            column = pc.coalesce(rows.column(stored), column)
        output = output.append_column(name, column)
    return output


def file_column(rows: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    """Find a column of the table in rows of a file, in the table's type; it is NULL if the file lacks it (R-241)."""
    names = [field.name] if field.name in rows.column_names else _same_but_for_case(rows, field.name)
    if not names:
        return _nulls(rows, field.type)
    return as_type(rows.column(names[0]), field.type)


def _nulls(rows: pa.Table, data_type: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(rows.num_rows, data_type)])


def _same_but_for_case(rows: pa.Table, name: str) -> list[str]:
    return [found for found in rows.column_names if found.lower() == name.lower()]
