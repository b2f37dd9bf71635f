"""The single scan's writer, which finds the touched files; it runs in a Python worker of Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from mergecheck.merge.table.writing.row_records import ACTION, RowAction, record_batch, routes
from mergecheck.merge.table.writing.writer import write_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.merge.table.writing.writer import WriteTask

TOUCHED_FILE, AMBIGUOUS = "touched", "ambiguous"
_NUM_IDENTITY_COLUMNS = 4


def write_touched_files(task: WriteTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the rows of touched files and the inserted ones, after having seen all rows of the join.

    The columns of ``write_partition`` are followed by four others: the file and the position of the target row, NULL
    for a row without one; whether the row is a matched pair; whether it touches its file (R-410). Every touched file
    is reported by a record of kind ``touched``. If several pairs share a target row (R-320), there is one record of
    kind ``ambiguous`` and nothing is written. Without a touched file no change files are written (R-620).
    """
    given = list(batches)
    if not given:
        return
    rows = pa.Table.from_batches(given)
    first = 1 + len(task.schema)
    file, position, is_matched, touches = rows.columns[first : first + _NUM_IDENTITY_COLUMNS]
    if _is_ambiguous(rows.column(ACTION), file, position, is_matched):
        yield record_batch([{"kind": AMBIGUOUS}])
        return
    touched = pc.unique(file.filter(touches))
    if len(touched):
        yield record_batch([{"kind": TOUCHED_FILE, "name": name} for name in touched.to_pylist()])
    else:
        task = replace(task, routes=routes(change_data=False))
    written = pc.or_(pc.is_null(file), pc.is_in(file, value_set=touched))
    yield from write_tables(task, [rows.filter(written)])


def _is_ambiguous(
    action: pa.ChunkedArray, file: pa.ChunkedArray, position: pa.ChunkedArray, is_matched: pa.ChunkedArray
) -> bool:
    """Return whether a target row is in several pairs; the second row of an update is not another pair."""
    is_pair = pc.and_(is_matched, pc.not_equal(action, int(RowAction.UPDATE_PREIMAGE)))
    pairs = pa.table({"file": file, "position": position}).filter(is_pair)
    rows = pairs.group_by(["file", "position"]).aggregate([])
    return bool(rows.num_rows < pairs.num_rows)
