"""Faults of the code that writes files: it runs in Spark's Python workers, where the driver cannot replace functions.

So the driver hands over another function to run, one of this module, which makes ``merge`` wrong in the worker for as
long as it runs there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow.compute as pc

from merge.table import partition_split, statistics, writer
from merge.table.constraints import first_violation
from merge.table.partition_values import serialize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

_right_extend_bounds = statistics._extend_bounds


def zero_null_counts(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write statistics that count no NULLs."""
    with mock.patch.object(statistics, "count_nulls", _zero):
        yield from writer.write_partition(task, batches)


def cut_maximum(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the prefix of a long string as its maximum."""
    with mock.patch.object(statistics, "truncated_maximum", _prefix):
        yield from writer.write_partition(task, batches)


def minimum_as_maximum(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the minimum of the first rows as the maximum too."""
    with mock.patch.object(statistics, "_extend_bounds", _minimum_only):
        yield from writer.write_partition(task, batches)


def nan_in_bounds(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write bounds for columns that hold NaN, as if it was not there."""
    with mock.patch.object(pc, "is_nan", _never):
        yield from writer.write_partition(task, batches)


def null_partition_as_text(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the partition of NULL as the partition of a text."""
    with mock.patch.object(partition_split, "serialize", _null_as_text):
        yield from writer.write_partition(task, batches)


def boolean_partition_as_digit(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write true and false as 1 and 0 in partition values."""
    with mock.patch.object(partition_split, "serialize", _booleans_as_digits):
        yield from writer.write_partition(task, batches)


def outer_violation_only(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Let NULL stand in fields of structs that must not be NULL."""
    with mock.patch.object(writer, "first_violation", _top_level_violation):
        yield from writer.write_partition(task, batches)


def _zero(_values: Any) -> int:
    return 0


def _prefix(text: str) -> str:
    return text[: statistics.MAX_STRING_LENGTH]


def _minimum_only(leaf: Any, values: Any) -> None:
    if leaf.minimum is None:
        _right_extend_bounds(leaf, values)
        leaf.maximum = leaf.minimum


def _never(values: Any) -> Any:
    return pc.is_null(values.combine_chunks().fill_null(0))


def _null_as_text(value: Any) -> str | None:
    return "null" if value is None else serialize(value)


def _booleans_as_digits(value: Any) -> str | None:
    return str(int(value)) if isinstance(value, bool) else serialize(value)


def _top_level_violation(rows: pa.Table, paths: Iterable[tuple[str, ...]]) -> str | None:
    return first_violation(rows, [path for path in paths if len(path) == 1])
