"""Which rows of a case's target lie in which physical file (R-541 needs to know)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mergecheck.model.storage import Statistics, Vectors
from mergecheck.model.types.data_types import BINARY, STRING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Row, Target
    from mergecheck.model.storage import TargetLayout

PhysicalFile: TypeAlias = "tuple[Row, tuple[Row, ...]]"
"""The values of the partition columns (empty if unpartitioned), and the complete rows in order."""


def physical_files(target: Target) -> tuple[PhysicalFile, ...]:
    """Lay the target out as a Delta table must store it.

    An unpartitioned table has the case's files as they are. In a partitioned table one file holds one tuple of
    partition values, so a file of the case that mixes several is split, in order of first appearance. Files
    without rows do not exist (R-701). An empty text in a partition column is stored as NULL (R-744), so the rows
    returned show NULL there.

    Args:
        target: the target; ``partition_by`` names columns of its schema.

    Returns:
        One ``(partition values, rows)`` per file; the values follow ``partition_by``, the rows the schema.
    """
    if not target.partition_by:
        return tuple(((), file) for file in target.files if file)
    return tuple(part for file in target.files for part in _split(file, target))


def physical_rows(target: Target) -> tuple[Row, ...]:
    """Return the rows that the table holds before the merge, in file order."""
    return tuple(row for _, rows in physical_files(target) for row in rows)


def has_vector(layout: TargetLayout, number: int) -> bool:
    """Return whether a physical file, by its number, has a deletion vector."""
    if layout.vectors is Vectors.NONE:
        return False
    return number % 2 == 0 if layout.files_with_vectors is None else number in layout.files_with_vectors


def counts_rows(layout: TargetLayout, number: int) -> bool:
    """Return whether the log counts the rows of a physical file; it does of every file with a vector (R-463)."""
    left_out = layout.statistics is Statistics.NONE or (layout.statistics is Statistics.ALTERNATE and number % 2 == 0)
    return not left_out or has_vector(layout, number)


def partition_indexes(target: Target) -> tuple[int, ...]:
    """Return the positions of the partition columns in the schema, in the order of ``partition_by``."""
    return tuple(target.schema.names.index(name) for name in target.partition_by)


def _split(file: tuple[Row, ...], target: Target) -> Iterator[PhysicalFile]:
    indexes = partition_indexes(target)
    texts = [index for index in indexes if target.schema.columns[index].type in (STRING, BINARY)]
    parts: dict[str, tuple[Row, list[Row]]] = {}
    for row in file:
        stored = row
        for index in texts:
            if row[index] is not None and not row[index]:
                stored = (*stored[:index], None, *stored[index + 1 :])
        values = tuple([stored[index] for index in indexes])
        # repr distinguishes -0.0 from 0.0 and makes NaN equal to itself, as the log's text does.
        parts.setdefault(repr(values), (values, []))[1].append(stored)
    for values, rows in parts.values():
        yield values, tuple(rows)
