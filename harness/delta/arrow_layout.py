"""Arrow tables as the layout of a case wants them: the type of texts, and the cut into record batches."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pyarrow as pa

from mergecheck.model.arrow import rows_to_table
from mergecheck.model.storage import StringType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Row, Source

_STRING_TYPES = {
    StringType.STRING: pa.string(),
    StringType.LARGE_STRING: pa.large_string(),
    StringType.STRING_VIEW: pa.string_view(),
    StringType.DICTIONARY: pa.dictionary(pa.int32(), pa.string()),
}


def source_batches(source: Source, *, string_view: bool = True) -> tuple[pa.RecordBatch, ...]:
    """Give the rows of a source as record batches of its layout, at least one (it may be empty).

    Args:
        source: the source of a case.
        string_view: whether the reader knows Arrow's view types; without, such columns come as large strings.
    """
    wanted = source.layout.string_type
    if wanted is StringType.STRING_VIEW and not string_view:
        wanted = StringType.LARGE_STRING
    # an empty source is one empty batch
    parts = in_parts(source.rows, source.layout.batch_rows) if source.rows else iter(((),))
    tables = [with_string_type(rows_to_table(part, source.schema), wanted) for part in parts]
    return tuple(
        table.combine_chunks().to_batches()[0]
        if table.num_rows
        else pa.RecordBatch.from_pylist([], schema=table.schema)
        for table in tables
    )


def in_parts(rows: Sequence[Row], most: int | None) -> Iterator[Sequence[Row]]:
    """Cut rows into parts of ``most`` rows, one part for None. Arrow cannot cut an array of texts of the view type."""
    size = most or max(1, len(rows))
    yield from (rows[start : start + size] for start in range(0, len(rows), size))


def schema_metadata(schema: pa.Schema, string_type: StringType) -> dict[str, str]:
    """Return the Arrow types of columns that Parquet stores as another type with the same bytes, as file metadata."""
    described = _with_type(schema, string_type).serialize().to_pybytes()
    return {"ARROW:schema": base64.b64encode(described).decode()}


def with_string_type(table: pa.Table, string_type: StringType) -> pa.Table:
    """Return a table with texts of another Arrow type, at any depth."""
    if string_type is StringType.STRING:
        return table
    return table.cast(_with_type(table.schema, string_type))


def _with_type(schema: pa.Schema, string_type: StringType) -> pa.Schema:
    wanted = _STRING_TYPES[string_type]
    return pa.schema(
        [
            # Arrow's own Parquet reader cannot put dictionaries inside of nested columns together
            column.with_type(
                column.type
                if string_type is StringType.DICTIONARY and pa.types.is_nested(column.type)
                else _converted(column.type, wanted)
            )
            for column in schema
        ]
    )


def _converted(data_type: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    if pa.types.is_string(data_type):
        return wanted
    if pa.types.is_struct(data_type):
        return pa.struct([member.with_type(_converted(member.type, wanted)) for member in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(_converted(data_type.value_type, wanted)))
    if pa.types.is_map(data_type):
        return pa.map_(_converted(data_type.key_type, wanted), _converted(data_type.item_type, wanted))
    return data_type
