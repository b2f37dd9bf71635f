"""The content of a data file of a case's target, and the log's record of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.delta.file_statistics import count_statistics, file_statistics
from mergecheck.model.layout import counts_rows, has_vector, partition_indexes
from mergecheck.model.schema_json import as_nullable
from mergecheck.model.storage import Statistics
from mergecheck.model.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Row, Target
    from mergecheck.model.storage import TargetLayout


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of one data file with the columns that the file stores."""

    schema: Schema
    rows: Sequence[Row]


def with_deleted_copies(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Put a copy of the last row before the first one, and a copy of each row after it."""
    return (rows[-1], *(copy for row in rows for copy in (row, row)))


def stored_rows(target: Target, rows: tuple[Row, ...]) -> StoredRows:
    """Leave out the partition columns, and the added columns that this file is too old to have."""
    partitions = partition_indexes(target)
    kept = [i for i in range(len(target.schema.columns)) if i not in partitions]
    added = [target.schema.names.index(name) for name in target.layout.added_columns]
    lacking = {i for i in added if all(row[i] is None for row in rows)}
    kept = [i for i in kept if i not in lacking] or kept
    schema = as_nullable(Schema(tuple(target.schema.columns[i] for i in kept)))
    whole = len(kept) == len(target.schema.columns)
    return StoredRows(schema, rows if whole else [tuple(row[i] for i in kept) for row in rows])


def statistics(layout: TargetLayout, stored: StoredRows, number: int) -> str | None:
    """Give the ``stats`` of file ``number``; None for a file without."""
    wanted, marked = layout.statistics, has_vector(layout, number)
    if not counts_rows(layout, number):
        return None
    if wanted is Statistics.ALL or (wanted is Statistics.ALTERNATE and not marked):
        text = file_statistics(stored.rows, stored.schema.columns)
    else:
        text = count_statistics(len(stored.rows))
    return f'{text[:-1]},"tightBounds":false}}' if marked else text
