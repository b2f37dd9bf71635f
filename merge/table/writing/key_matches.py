"""Rows of files that equal rows of the source in their keys, found without Spark; in Spark's Python workers."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mergecheck.merge.table.storage.storage import open_storage
from mergecheck.merge.table.writing.copied_rows import file_column
from mergecheck.merge.table.writing.modified_rows import unpack
from mergecheck.merge.table.writing.row_records import record_batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mergecheck.merge.table.storage.store_access import StoreAccess

MATCHED_ROWS, AMBIGUOUS_ROWS = "matched", "ambiguous"
ROWS_AT_ONCE = 1_000_000
"""Keys of so many rows are looked up together: each lookup begins by hashing the keys of the source."""
_NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToMatch:
    """A data file and the packed positions of its deleted rows."""

    location: str
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumns:
    """The columns that ON equates.

    Attributes:
        stored: the target's, by the names that files have for them and with the table's types.
        compared: the type in which both sides of each pair are compared.
        source: the source's, a row per row of the source.
    """

    stored: tuple[pa.Field, ...]
    compared: tuple[pa.DataType, ...]
    source: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTask:
    """Everything that a worker must know to find matches in a table's files."""

    location: str
    access: StoreAccess | None
    keys: KeyColumns
    groups: tuple[tuple[FileToMatch, ...], ...]


def find_matches(task: MatchTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Find the matches in the groups of files whose numbers are in the first column.

    Each file with a match has a record of kind ``matched``: its location and, as ``stats``, the packed pairs. If a row
    matches several rows of the source (R-320), a record of kind ``ambiguous`` is the last.
    """
    index = _KeyIndex(task.keys)
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    for files in _in_pieces(task, [file for number in numbers for file in task.groups[number]]):
        sources = index.look_up(pa.concat_tables([keys for _, keys in files]))
        first = 0
        for file, keys in files:
            found = sources[first : first + keys.num_rows]
            first += keys.num_rows
            found[unpack(file.deleted)] = _NONE
            positions = np.flatnonzero(found != _NONE)
            if index.is_repeated[found[positions]].any():
                yield record_batch([{"kind": AMBIGUOUS_ROWS}])
                return
            if len(positions):
                packed = pack_pairs(positions, found[positions])
                yield record_batch([{"kind": MATCHED_ROWS, "name": file.location, "stats": packed}])


def _in_pieces(task: MatchTask, files: Sequence[FileToMatch]) -> Iterator[list[tuple[FileToMatch, pa.Table]]]:
    """Read the keys of files, of so many files together that they have ``ROWS_AT_ONCE`` rows."""
    storage = open_storage(task.location, task.access)
    piece: list[tuple[FileToMatch, pa.Table]] = []
    for file in files:
        with (
            storage.local_copy(file.location) as path,
            pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as parquet,
        ):
            wanted = {field.name.lower() for field in task.keys.stored}
            names = [name for name in parquet.schema_arrow.names if name.lower() in wanted]
            read = parquet.read(columns=names, use_threads=False)
        columns = [file_column(read, field) for field in task.keys.stored]
        piece.append((file, pa.Table.from_arrays(columns, names=_numbered(columns))))
        if sum(keys.num_rows for _, keys in piece) >= ROWS_AT_ONCE:
            yield piece
            piece = []
    if piece:
        yield piece


def _numbered(columns: Sequence[object]) -> list[str]:
    return [str(number) for number in range(len(columns))]


class _KeyIndex:
    """The rows of the source by their keys.

    Each distinct tuple of keys has a number: the place among the distinct pairs of the number of the keys before and
    the place of the last key among the distinct values of its column.
    """

    def __init__(self, keys: KeyColumns) -> None:
        self._compared = keys.compared
        self._levels: list[tuple[pa.Array, pa.Array]] = []
        numbers = np.zeros(keys.source.num_rows, np.int64)
        for column, compared in zip(keys.source.columns, self._compared, strict=True):
            values = comparable(column, compared)
            distinct = pc.unique(values).drop_null()
            pairs = _paired(numbers, values, distinct)
            distinct_pairs = pa.array(np.unique(pairs[pairs != _NONE]))
            self._levels.append((distinct, distinct_pairs))
            numbers = _places(pa.array(pairs), distinct_pairs)
        rows = np.flatnonzero(numbers != _NONE)
        num_keys = len(self._levels[-1][1])
        self._row_of_key = np.zeros(num_keys, np.int64)
        self._row_of_key[numbers[rows]] = rows
        counts = np.bincount(numbers[rows], minlength=num_keys)
        self.is_repeated = np.zeros(keys.source.num_rows, dtype=bool)
        self.is_repeated[self._row_of_key] = counts > 1
        """Whether a row of the source that ``look_up`` gives shares its keys with another one."""

    def look_up(self, target: pa.Table) -> np.ndarray:
        """Give for each row the position of a source row with the same keys, or -1."""
        numbers = np.zeros(target.num_rows, np.int64)
        for (distinct, pairs), column, compared in zip(self._levels, target.columns, self._compared, strict=True):
            numbers = _places(pa.array(_paired(numbers, comparable(column, compared), distinct)), pairs)
        found = np.full(target.num_rows, _NONE, np.int64)
        found[numbers != _NONE] = self._row_of_key[numbers[numbers != _NONE]]
        return found


def comparable(column: pa.ChunkedArray, compared: pa.DataType) -> pa.Array:
    """Make values that are the same if and only if Spark calls them equal.

    To Spark NaN equals NaN, and -0.0 equals 0.0 (R-801, R-802); so floats are compared by the bits of one of each.
    """
    array = column.cast(compared, safe=False).combine_chunks()
    if not pa.types.is_floating(compared):
        return array
    numbers = array.to_numpy(zero_copy_only=False) + 0.0  # NULL becomes NaN
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(np.int32 if compared == pa.float32() else np.int64)
    return pa.array(bits, mask=array.is_null(nan_is_null=False).to_numpy(zero_copy_only=False))


def _paired(numbers: np.ndarray, values: pa.Array, distinct: pa.Array) -> np.ndarray:
    """Join numbers with the places of values among the distinct ones; -1 where one of the two is missing."""
    places = _places(values, distinct)
    is_missing = (numbers == _NONE) | (places == _NONE)
    return np.where(is_missing, _NONE, numbers * max(1, len(distinct)) + places)


def _places(values: pa.Array, among: pa.Array) -> np.ndarray:
    """Find values among distinct ones; -1 where there is none, and for NULL."""
    places = pc.index_in(values, value_set=among, skip_nulls=True)
    return np.asarray(pc.fill_null(places, _NONE).to_numpy(zero_copy_only=False), np.int64)


def pack_pairs(positions: np.ndarray, others: np.ndarray) -> str:
    """Pack ascending positions, each with a number of its own, as text."""
    steps = np.diff(positions.astype(np.int64), prepend=0)
    both = np.concatenate([steps, others.astype(np.int64)])
    return base64.b64encode(zlib.compress(both.tobytes(), level=1)).decode("ascii")


def unpack_pairs(packed: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what ``pack_pairs`` got."""
    steps, others = np.frombuffer(zlib.decompress(base64.b64decode(packed)), np.int64).reshape(2, -1)
    return np.cumsum(steps), others
