"""Rows of one data file or change file, in the schema that the table has by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from mergecheck.harness.compare.evolution import row_converter
from mergecheck.harness.delta.tables.partition_values import parse
from mergecheck.model.arrow import arrow_type, table_to_rows
from mergecheck.model.schema_json import as_nullable
from mergecheck.model.types.data_types import (
    DATE,
    FLOAT,
    INTEGER_BITS,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
)
from mergecheck.model.types.widening import is_widening

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import DataType


def file_rows(path: Path, file: dict[str, Any], *, schema: Schema, partition_by: tuple[str, ...]) -> tuple[Row, ...]:
    """Read one file in the table's schema.

    A column that the file lacks has the log's partition value, or is NULL; so is a nested field that it lacks (R-630).

    Raises:
        ValueError: if a column's type in the file is not one that evolves to the table's.
    """
    # Spark writes timestamps as INT96, whose years 1 to 9999 do not fit into nanoseconds.
    # Bytes in hand, and no threads: opening a file of a few rows otherwise takes three times as long as reading it.
    content = pa.BufferReader((path / unquote(file["path"])).read_bytes())
    data = pq.ParquetFile(content, coerce_int96_timestamp_unit="us").read(use_threads=False)
    return rows_in(data, file, schema=schema, partition_by=partition_by)


def rows_in(data: pa.Table, file: dict[str, Any], *, schema: Schema, partition_by: tuple[str, ...]) -> tuple[Row, ...]:
    """Give the rows of a file that was read, see ``file_rows``.

    Raises:
        ValueError: if a column's type in the file is not one that evolves to the table's.
    """
    texts = file.get("partitionValues") or {}
    inside = [c for c in schema.columns if c.name in data.column_names and c.name not in partition_by]
    wanted = as_nullable(Schema(tuple(inside)))
    stored = Schema(tuple(_as_stored(c, data.schema.field(c.name).type) for c in wanted.columns))
    rows = table_to_rows(data.select(list(stored.names)), stored)
    if stored != wanted:
        convert = row_converter(stored, wanted)
        if convert is None:
            raise ValueError(f"{file['path']} has the columns {stored.ddl()}, which do not evolve to {wanted.ddl()}")
        rows = tuple(map(convert, rows))
    if len(wanted.columns) == len(schema.columns):
        return rows
    positions = {name: position for position, name in enumerate(wanted.names)}
    constants = [parse(texts.get(c.name), c.type) for c in schema.columns]
    sources = [positions.get(c.name) for c in schema.columns]
    return tuple(
        tuple(constant if source is None else row[source] for source, constant in zip(sources, constants, strict=True))
        for row in rows
    )


def _as_stored(column: Field, found: pa.DataType) -> Field:
    """Give a column the struct fields, and of widened types the earlier ones, that the file has, at every depth."""
    return Field(column.name, _stored_type(column.type, found))


def _stored_type(wanted: DataType, found: pa.DataType, *, inside: bool = False) -> DataType:
    if not _is_readable(wanted, found, inside=inside):
        raise ValueError(f"a data file holds {found}, where the table's schema has {wanted.ddl()}")
    if isinstance(wanted, StructType) and pa.types.is_struct(found):
        names = [field.name for field in found]
        kept = [field for field in wanted.fields if field.name in names]
        return StructType(
            tuple(Field(f.name, _stored_type(f.type, found.field(f.name).type, inside=True)) for f in kept)
        )
    if isinstance(wanted, ArrayType) and pa.types.is_list(found):
        return ArrayType(_stored_type(wanted.element, found.value_type, inside=True))
    if isinstance(wanted, MapType) and pa.types.is_map(found):
        return MapType(
            _stored_type(wanted.key, found.key_type, inside=True),
            _stored_type(wanted.value, found.item_type, inside=True),
        )
    earlier = _type_of(found)  # files of before a column was widened keep its earlier type
    return wanted if earlier is None or not is_widening(earlier, wanted) else earlier


def _is_readable(wanted: DataType, found: pa.DataType, *, inside: bool) -> bool:
    """Return whether values of a file can be read as a type; those that are no part of another are cast to it."""
    earlier = _type_of(found)
    if pa.types.is_null(found) or (earlier is not None and is_widening(earlier, wanted)):
        return True
    if isinstance(wanted, StructType):
        return bool(pa.types.is_struct(found))
    if isinstance(wanted, ArrayType):
        return bool(pa.types.is_list(found) or pa.types.is_large_list(found))
    if isinstance(wanted, MapType):
        return bool(pa.types.is_map(found))
    if inside and isinstance(wanted, DecimalType):
        return bool(pa.types.is_decimal(found))
    return not inside or wanted != TIMESTAMP or bool(pa.types.is_timestamp(found))


def _type_of(found: pa.DataType) -> DataType | None:
    """Name the type that a file has for a number or a date; None for all others."""
    if pa.types.is_decimal(found):
        return DecimalType(found.precision, found.scale)
    return next((own for own in (*INTEGER_BITS, FLOAT, DATE) if arrow_type(own) == found), None)
