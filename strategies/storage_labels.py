"""Labels of how the tables of a case are stored and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference.storage import Statistics, StringType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference.case import Case

_BATCH = 8_192


def storage_labels(case: Case) -> Iterator[str]:
    """Yield what a case says of row groups, statistics, missing columns, Arrow types and batches."""
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
    if case.source is None:
        return
    handed = case.source.layout
    if handed.batch_rows is not None and len(case.source.rows) > handed.batch_rows:
        yield "layout:source-batches"
    if handed.string_type is not StringType.STRING:
        yield f"layout:source-{handed.string_type.value}"
