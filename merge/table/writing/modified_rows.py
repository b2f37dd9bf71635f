"""The writer of changed rows, which reports their positions in the old files; in Spark's Python workers."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mergecheck.merge.table.writing.row_records import ACTION, DELETES, UPDATES, record_batch
from mergecheck.merge.table.writing.writer import write_partition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.merge.table.writing.writer import WriteTask

MODIFIED_ROWS = "modified"
MODIFIED_FILE, MODIFIED_ROW = "_modified_file_", "_modified_row_"
_MODIFIES = [int(action) for action in (*UPDATES, *DELETES)]


def write_modified_rows(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write one partition as ``write_partition`` does, and report which rows of the target were changed.

    The input ends with the columns ``_modified_file_`` and ``_modified_row_``, which are NULL for inserted rows. Each
    file has a record of kind ``modified``: its name, the number of rows and, as ``stats``, their packed positions.
    """
    modified = _ModifiedRows()
    yield from write_partition(task, modified.watch(batches))
    records = modified.records()
    if records:
        yield record_batch(records)


class _ModifiedRows:
    def __init__(self) -> None:
        self._positions: dict[str, list[np.ndarray]] = {}

    def watch(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._add(batch.filter(pc.is_in(batch.column(ACTION), value_set=pa.array(_MODIFIES, pa.int32()))))
            yield batch

    def _add(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows == 0:
            return
        files = rows.column(MODIFIED_FILE).dictionary_encode()
        numbers = files.indices.to_numpy(zero_copy_only=False)
        positions = rows.column(MODIFIED_ROW).to_numpy(zero_copy_only=False)
        for number, name in enumerate(files.dictionary.to_pylist()):
            self._positions.setdefault(name, []).append(positions[numbers == number])

    def records(self) -> list[dict[str, object]]:
        found = ((name, np.concatenate(pieces)) for name, pieces in self._positions.items())
        return [
            {"kind": MODIFIED_ROWS, "name": name, "num_records": len(rows), "stats": pack(rows)} for name, rows in found
        ]


def pack(positions: np.ndarray) -> str:
    """Pack different positions as text: the steps between them compress well."""
    steps = np.diff(np.sort(positions.astype(np.int64)), prepend=0)
    return base64.b85encode(zlib.compress(steps.tobytes(), level=1)).decode("ascii")


def unpack(packed: Iterable[str]) -> np.ndarray:
    """Return the positions of several packs, in ascending order."""
    pieces = [np.cumsum(np.frombuffer(zlib.decompress(base64.b85decode(text)), np.int64)) for text in packed]
    return np.sort(np.concatenate(pieces)) if pieces else np.empty(0, np.int64)
