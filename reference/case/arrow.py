"""Typed Arrow tables from rows of a case and back. Nothing passes through text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import chain, islice
from typing import TYPE_CHECKING

import pyarrow as pa

from mergecheck.reference.types.data_types import ArrayType, AtomicName, AtomicType, DecimalType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mergecheck.reference.case.model import Row, Value
    from mergecheck.reference.types.data_types import DataType, Schema

_ATOMIC: dict[AtomicName, pa.DataType] = {
    AtomicName.BOOLEAN: pa.bool_(),
    AtomicName.TINYINT: pa.int8(),
    AtomicName.SMALLINT: pa.int16(),
    AtomicName.INT: pa.int32(),
    AtomicName.BIGINT: pa.int64(),
    AtomicName.FLOAT: pa.float32(),
    AtomicName.DOUBLE: pa.float64(),
    AtomicName.STRING: pa.string(),
    AtomicName.BINARY: pa.binary(),
    AtomicName.DATE: pa.date32(),
    AtomicName.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    AtomicName.TIMESTAMP_NTZ: pa.timestamp("us"),
    AtomicName.VOID: pa.null(),
}

_NESTED = (StructType, ArrayType, MapType)


def arrow_type(data_type: DataType) -> pa.DataType:
    """Give the Arrow type that holds exactly the values of a type."""
    if isinstance(data_type, AtomicType):
        return _ATOMIC[data_type.name]
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, ArrayType):
        return pa.list_(pa.field("element", arrow_type(data_type.element)))
    if isinstance(data_type, MapType):
        return pa.map_(arrow_type(data_type.key), arrow_type(data_type.value))
    return pa.struct([pa.field(f.name, arrow_type(f.type), nullable=f.nullable) for f in data_type.fields])


def arrow_schema(schema: Schema) -> pa.Schema:
    """Give the Arrow schema of a table; every column is nullable, as in the Parquet files of a Delta table."""
    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in schema.columns])


def rows_to_table(rows: Sequence[Row], schema: Schema) -> pa.Table:
    """Build an Arrow table from rows of a case."""
    arrow = arrow_schema(schema)
    columns: Sequence[Sequence[Value]] = list(zip(*rows, strict=True)) if rows else [()] * len(schema.columns)
    arrays = [
        pa.array(_column_to_arrow(values, column.type), type=field.type)
        for values, column, field in zip(columns, schema.columns, arrow, strict=True)
    ]
    if not arrays:
        return pa.table({}).slice(0)
    return pa.Table.from_arrays(arrays, schema=arrow)


def numbered_rows(rows: Sequence[Row], schema: Schema, *, prefix: str, number: str) -> pa.Table:
    """Build an Arrow table whose columns are ``prefix`` and a position, and a column ``number``: 0, 1, ... by row."""
    numbers = pa.array(range(len(rows)), type=pa.int64())
    if not schema.columns:
        return pa.table({number: numbers})
    table = rows_to_table(rows, schema)
    return table.rename_columns([f"{prefix}{i}" for i in range(table.num_columns)]).append_column(number, numbers)


def table_to_rows(table: pa.Table, schema: Schema) -> tuple[Row, ...]:
    """Read the rows of an Arrow table whose columns stand in the schema's order.

    Column names are not looked at; physical variants of a type (large strings, other timestamp units) are cast to the
    schema's Arrow type first, and a cast that would lose something raises ``pyarrow.ArrowInvalid``.
    """
    if table.num_columns != len(schema.columns):
        raise ValueError(f"table has {table.num_columns} columns, the schema {len(schema.columns)}: {schema.ddl()}")
    columns = [
        _column_from_arrow(_plain(table.column(i), column.type).to_pylist(), column.type)
        for i, column in enumerate(schema.columns)
    ]
    return tuple(zip(*columns, strict=True)) if columns else ((),) * table.num_rows


def _plain(column: pa.ChunkedArray, data_type: DataType) -> pa.ChunkedArray:
    wanted = arrow_type(data_type)
    if column.type == wanted or isinstance(data_type, _NESTED):
        return column
    return column.cast(wanted)


def _column_to_arrow(values: Sequence[Value], data_type: DataType) -> Sequence[Value]:
    if not isinstance(data_type, _NESTED):
        return values
    return _with_nulls(values, _nested_to_arrow([value for value in values if value is not None], data_type))


def _nested_to_arrow(values: list[Value], data_type: StructType | ArrayType | MapType) -> Iterable[Value]:
    if isinstance(data_type, StructType):
        names = [field.name for field in data_type.fields]
        parts = [
            _column_to_arrow([value[place] for value in values], field.type)
            for place, field in enumerate(data_type.fields)
        ]
        return [dict(zip(names, members, strict=True)) for members in _side_by_side(parts, len(values))]
    if isinstance(data_type, MapType):
        return _entries(values, (data_type.key, data_type.value), _column_to_arrow)
    items = iter(_column_to_arrow(list(chain(*values)), data_type.element))
    return [list(islice(items, len(value))) for value in values]


def _column_from_arrow(values: Sequence[Value], data_type: DataType) -> Sequence[Value]:
    if isinstance(data_type, AtomicType):
        convert = _CONVERTERS.get(data_type.name)
        return values if convert is None else [None if value is None else convert(value) for value in values]
    present = [value for value in values if value is not None]
    if isinstance(data_type, DecimalType):
        return _with_nulls(values, (_with_scale(value, data_type.scale) for value in present))
    return _with_nulls(values, _nested_from_arrow(present, data_type))


def _nested_from_arrow(values: list[Value], data_type: StructType | ArrayType | MapType) -> Iterable[Value]:
    if isinstance(data_type, StructType):
        fields = data_type.fields
        parts = [_column_from_arrow([value[field.name] for value in values], field.type) for field in fields]
        return _side_by_side(parts, len(values))
    if isinstance(data_type, MapType):
        pairs = [tuple(value.items()) if isinstance(value, dict) else value for value in values]
        return _entries(pairs, (data_type.key, data_type.value), _column_from_arrow)
    items = iter(_column_from_arrow(list(chain(*values)), data_type.element))
    return [tuple(islice(items, len(value))) for value in values]


def _with_nulls(values: Sequence[Value], present: Iterable[Value]) -> list[Value]:
    """Put what the values that are not NULL became into their places."""
    became = iter(present)
    return [None if value is None else next(became) for value in values]


def _side_by_side(parts: Sequence[Sequence[Value]], number: int) -> Iterable[tuple[Value, ...]]:
    """Give so many tuples of one element of each part; a struct may have no fields."""
    return zip(*parts, strict=True) if parts else ((),) * number


def _entries(
    maps: list[Value],
    types: tuple[DataType, DataType],
    convert: Callable[[Sequence[Value], DataType], Sequence[Value]],
) -> list[Value]:
    pairs = list(chain(*maps))
    keys, items = (convert([pair[side] for pair in pairs], types[side]) for side in (0, 1))
    entries = zip(keys, items, strict=True)
    return [tuple(islice(entries, len(value))) for value in maps]


def _with_scale(value: Decimal, scale: int) -> Decimal:
    return value if value.as_tuple().exponent == -scale else value.quantize(Decimal(1).scaleb(-scale))


def _utc(value: dt.datetime) -> dt.datetime:
    return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


_CONVERTERS: dict[AtomicName, Callable[[Value], Value]] = {AtomicName.TIMESTAMP: _utc}
