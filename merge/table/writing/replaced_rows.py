"""New versions of files in which some rows are replaced by rows of the source; in Spark's Python workers.

No row passes through the JVM. The other rows are copied as ``copied_rows`` does; the order of rows is not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mergecheck.merge.table.storage.storage import open_storage
from mergecheck.merge.table.writing.copied_rows import as_output, within, without_rows
from mergecheck.merge.table.writing.key_matches import unpack_pairs
from mergecheck.merge.table.writing.modified_rows import unpack
from mergecheck.merge.table.writing.row_records import ACTION
from mergecheck.merge.table.writing.writer import write_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.merge.table.storage.storage import Storage
    from mergecheck.merge.table.writing.writer import WriteTask


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToRewrite:
    """A data file, the packed positions of its deleted rows, and the packed pairs of its rows and the source's."""

    location: str
    pairs: str
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesToRewrite:
    """The work of one task: some files, and the positions of source rows to insert."""

    files: tuple[FileToRewrite, ...]
    inserted: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfClause:
    """The rows that a clause makes.

    Attributes:
        action: of the rows.
        values: per column of the table the place of its values in ``SourceRows.values``, or None where the old value
            stays; nothing if the rows are deleted.
    """

    action: int
    values: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRows:
    """What the clauses do with each row of the source.

    Attributes:
        clauses: the clauses of the merge.
        matched, not_matched: per source row the position of the clause that fires if the row has a match, or if it has
            none; -1 for none.
        values: a row per source row.
    """

    clauses: tuple[RowsOfClause, ...]
    matched: np.ndarray
    not_matched: np.ndarray
    values: pa.Table


def rewrite_files(
    task: WriteTask,
    stored: frozenset[str],
    source: SourceRows,
    groups: tuple[FilesToRewrite, ...],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Write the new rows of the groups whose numbers are in the first column; see ``copied_rows.copy_groups``."""
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    storage = open_storage(task.location, task.access)
    yield from write_tables(task, (rows for n in numbers for rows in _rows(task, storage, stored, source, groups[n])))


def _rows(
    task: WriteTask, storage: Storage, stored: frozenset[str], source: SourceRows, group: FilesToRewrite
) -> Iterator[pa.Table]:
    for file in group.files:
        yield from _rows_of_file(task, storage, stored, source, file)
    fired = source.not_matched[group.inserted]
    for number in np.unique(fired[fired >= 0]):
        yield _rows_of_clause(task, source, int(number), group.inserted[fired == number], old=None)


def _rows_of_file(
    task: WriteTask, storage: Storage, stored: frozenset[str], source: SourceRows, file: FileToRewrite
) -> Iterator[pa.Table]:
    positions, sources = unpack_pairs(file.pairs)
    fired = source.matched[sources]
    deleted, changed = unpack(file.deleted), positions[fired >= 0]
    with (
        storage.local_copy(file.location) as path,
        pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as parquet,
    ):
        first = 0
        for group in range(parquet.num_row_groups):
            last = first + parquet.metadata.row_group(group).num_rows
            gone = np.concatenate([within(deleted, first, last), within(changed, first, last)])
            inside = (positions >= first) & (positions < last) & (fired >= 0)
            clauses = [source.clauses[number] for number in np.unique(fired[inside])]
            rows = None
            if len(gone) < last - first or any(None in clause.values for clause in clauses):  # else none of it stays
                rows = as_output(parquet.read_row_group(group, use_threads=False), task.schema, stored)
                yield without_rows(rows, gone)
            for number in np.unique(fired[inside]):
                chosen = inside & (fired == number)
                old = None if rows is None else _kept(rows, source.clauses[number], positions[chosen] - first)
                yield _rows_of_clause(task, source, int(number), sources[chosen], old=old)
            first = last


def _kept(rows: pa.Table, clause: RowsOfClause, positions: np.ndarray) -> pa.Table:
    """Cut out the old values that a clause keeps."""
    kept = [1 + place for place, value in enumerate(clause.values) if value is None]
    return rows.select(kept).take(pa.array(positions))


def _rows_of_clause(
    task: WriteTask, source: SourceRows, number: int, sources: np.ndarray, *, old: pa.Table | None
) -> pa.Table:
    """Make the rows of a clause from rows of the source and, if it keeps values, from columns of the old rows."""
    clause, taken = source.clauses[number], pa.array(sources)
    columns = [pa.chunked_array([pa.array(np.full(len(sources), clause.action, np.int32))])]
    for place, field in enumerate(task.schema):
        if not clause.values:
            columns.append(pa.chunked_array([pa.nulls(len(sources), field.type)]))
        elif (value := clause.values[place]) is not None:
            columns.append(source.values.column(value).take(taken))
        elif old is not None:
            columns.append(old.column(field.name))
        else:
            raise ValueError(f"{field.name} of an inserted row has no value")
    return pa.Table.from_arrays(columns, names=[ACTION, *task.schema.names])
