"""Typed Arrow tables from rows of a case and back. Nothing passes through text."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from mergecheck.model.types.data_types import (
    TIMESTAMP,
    ArrayType,
    AtomicName,
    AtomicType,
    DecimalType,
    MapType,
    NestedType,
    StructType,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

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

_EXACT = Context(prec=38)  # the most digits that a DECIMAL has; the default context refuses more than 28


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
        pa.array([_to_arrow(value, column.type) for value in values], type=field.type)
        for values, column, field in zip(columns, schema.columns, arrow, strict=True)
    ]
    if not arrays:
        return pa.table({}).slice(0)
    return pa.Table.from_arrays(arrays, schema=arrow)


def table_to_rows(table: pa.Table, schema: Schema) -> tuple[Row, ...]:
    """Read the rows of an Arrow table whose columns stand in the schema's order.

    Column names are not looked at; physical variants of a type (large strings, other timestamp units) are cast to the
    schema's Arrow type first, and a cast that would lose something raises ``pyarrow.ArrowInvalid``.
    """
    if table.num_columns != len(schema.columns):
        raise ValueError(f"table has {table.num_columns} columns, the schema {len(schema.columns)}: {schema.ddl()}")
    columns = [
        [_from_arrow(value, column.type) for value in _plain(table.column(i), column.type).to_pylist()]
        for i, column in enumerate(schema.columns)
    ]
    return tuple(zip(*columns, strict=True)) if columns else ((),) * table.num_rows


def _plain(column: pa.ChunkedArray, data_type: DataType) -> pa.ChunkedArray:
    wanted = arrow_type(data_type)
    if column.type == wanted or isinstance(data_type, NestedType):
        return column
    return column.cast(wanted)


def _to_arrow(value: Value, data_type: DataType) -> Value:
    """Turn a value of a case into what pyarrow takes for the type."""
    if value is None:
        return None
    if isinstance(data_type, StructType):
        return {f.name: _to_arrow(member, f.type) for f, member in zip(data_type.fields, value, strict=True)}
    if isinstance(data_type, ArrayType):
        return [_to_arrow(item, data_type.element) for item in value]
    if isinstance(data_type, MapType):
        return [(_to_arrow(key, data_type.key), _to_arrow(item, data_type.value)) for key, item in value]
    return value


def _from_arrow(value: Value, data_type: DataType) -> Value:
    """Turn what pyarrow gives for the type into a value of a case."""
    if value is None:
        return None
    if isinstance(data_type, StructType):
        return tuple(_from_arrow(value[f.name], f.type) for f in data_type.fields)
    if isinstance(data_type, ArrayType):
        return tuple(_from_arrow(item, data_type.element) for item in value)
    if isinstance(data_type, MapType):
        entries = value.items() if isinstance(value, dict) else value
        return tuple((_from_arrow(key, data_type.key), _from_arrow(item, data_type.value)) for key, item in entries)
    if isinstance(data_type, DecimalType):
        return value.quantize(Decimal(1).scaleb(-data_type.scale), context=_EXACT)
    if data_type == TIMESTAMP:
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
    return value
