"""Faults of the code that writes files: it runs in Spark's Python workers, where the driver cannot replace functions.

So the driver hands over another function to run, one of this module, which makes ``merge`` wrong in the worker for as
long as it runs there.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow.compute as pc

from mergecheck.merge.table.log import statistics
from mergecheck.merge.table.log.partition_values import serialize
from mergecheck.merge.table.writing import copied_rows, modified_rows, partition_split, touched_rows, writer
from mergecheck.merge.table.writing.constraints import first_violation
from mergecheck.merge.table.writing.row_positions import unpack
from mergecheck.merge.table.writing.rows import UPDATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

_right_extend_bounds = statistics._extend_bounds
_right_serialized = partition_split._serialized


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


def _nulls_as_text(column: Any) -> Any:
    return _right_serialized(column).fill_null("null")


def _booleans_as_digits(value: Any) -> str | None:
    return str(int(value)) if isinstance(value, bool) else serialize(value)


def _top_level_violation(rows: pa.Table, paths: Iterable[tuple[str, ...]]) -> str | None:
    return first_violation(rows, [path for path in paths if len(path) == 1])


# By name: where the wrong function takes the place of which one.
_WRONG: Mapping[str, tuple[Any, str, Any]] = {
    "no null counts": (statistics, "count_nulls", _zero),
    "maximum cut": (statistics, "truncated_maximum", _prefix),
    "minimum as maximum": (statistics, "_extend_bounds", _minimum_only),
    "bounds without NaN": (pc, "is_nan", _never),
    "NULL partition as text": (partition_split, "_serialized", _nulls_as_text),
    "boolean partition as digit": (partition_split, "serialize", _booleans_as_digits),
    "NOT NULL at the top only": (writer, "first_violation", _top_level_violation),
}


def write_wrongly(name: str, task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do what ``write_partition`` does, with one function of it replaced; the name says which."""
    owner, function, wrong = _WRONG[name]
    with mock.patch.object(owner, function, wrong):
        yield from writer.write_partition(task, batches)


def write_first_batch(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do what ``write_partition`` does, with the first batch of rows alone."""
    yield from writer.write_partition(task, itertools.islice(batches, 1))


def report_no_deletes(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do what ``write_modified_rows`` does, and report updated rows alone."""
    with mock.patch.object(modified_rows, "_MODIFIES", [int(action) for action in UPDATES]):
        yield from modified_rows.write_modified_rows(task, batches)


def copy_but_first(task: Any, stored: Any, groups: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do what ``copy_groups`` does, and leave out of each file the first of the rows to leave out."""
    with mock.patch.object(copied_rows, "unpack", lambda packed: unpack(packed)[:1]):
        yield from copied_rows.copy_groups(task, stored, groups, batches)


def write_doubled_matches(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do what ``write_touched_files`` does, and never call the rows ambiguous."""
    with mock.patch.object(touched_rows, "_is_ambiguous", return_value=False):
        yield from touched_rows.write_touched_files(task, batches)


def write_untouched_rows_too(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do what ``write_touched_files`` does, and leave out no row."""
    with mock.patch.object(pc, "is_in", lambda values, **_options: pc.is_valid(values)):
        yield from touched_rows.write_touched_files(task, batches)


def write_change_files_of_inserts(task: Any, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do what ``write_touched_files`` does, and write change files whatever was touched."""
    with mock.patch.object(touched_rows, "replace", lambda task, **_changes: task):
        yield from touched_rows.write_touched_files(task, batches)
