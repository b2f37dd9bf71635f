"""Labels of how the tables of a case are declared and stored, and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.case.storage import Statistics, StringType
from mergecheck.reference.types.data_types import StructType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.case.model import Case
    from mergecheck.reference.types.data_types import DataType

_BATCH = 8_192


def _has_strict_field(data_type: DataType) -> bool:
    return isinstance(data_type, StructType) and not all(field.nullable for field in data_type.fields)


def storage_labels(case: Case) -> Iterator[str]:
    """Yield what a case says of row groups, statistics, missing columns, Arrow types, batches and NOT NULL fields."""
    layout = case.target.layout
    largest = max((len(file) for file in case.target.files), default=0)
    if layout.row_group_rows is not None and largest > layout.row_group_rows:
        yield "layout:row-groups"
    if layout.statistics is not Statistics.ALL:
        yield f"layout:statistics-{layout.statistics.value}"
    if layout.added_columns:
        yield "layout:older-files"
    if layout.string_type is not StringType.STRING:
        yield f"layout:target-{layout.string_type.value}"
    if largest > _BATCH:
        yield "rows:beyond-a-batch"
    if any(_has_strict_field(column.type) for column in case.target.schema.columns):
        yield "column:not-null-field"
    if case.source is None:
        return
    handed = case.source.layout
    if handed.batch_rows is not None and len(case.source.rows) > handed.batch_rows:
        yield "layout:source-batches"
    if handed.string_type is not StringType.STRING:
        yield f"layout:source-{handed.string_type.value}"
