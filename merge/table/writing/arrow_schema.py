"""The Arrow schema of data files: one type per Spark type, instants in UTC."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as t

from mergecheck.merge.table.log.column_mapping import COLUMN_ID

_FIELD_ID = "PARQUET:field_id"
_ATOMIC: dict[type[t.DataType], pa.DataType] = {
    t.BooleanType: pa.bool_(),
    t.ByteType: pa.int8(),
    t.ShortType: pa.int16(),
    t.IntegerType: pa.int32(),
    t.LongType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.StringType: pa.string(),
    t.BinaryType: pa.binary(),
    t.DateType: pa.date32(),
    t.TimestampType: pa.timestamp("us", tz="UTC"),
    t.TimestampNTZType: pa.timestamp("us"),
    t.NullType: pa.null(),  # a VOID column: in the output, but in no file
}


def arrow_type(data_type: t.DataType) -> pa.DataType:
    """Translate a Spark type; struct fields keep their order and names.

    Raises:
        TypeError: Delta tables that this package accepts have no such column.
    """
    if isinstance(data_type, t.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, t.StructType):
        return pa.struct([arrow_field(field) for field in data_type.fields])
    if isinstance(data_type, t.ArrayType):
        return pa.list_(pa.field("element", arrow_type(data_type.elementType)))
    if isinstance(data_type, t.MapType):
        return pa.map_(arrow_type(data_type.keyType), arrow_type(data_type.valueType))
    try:
        return _ATOMIC[type(data_type)]
    except KeyError:
        raise TypeError(f"{data_type.simpleString()} has no place in a data file") from None


def arrow_field(field: t.StructField) -> pa.Field:
    """Translate a column or a struct's field; always optional, since NOT NULL is a constraint of the table.

    A column's id becomes the id of the field in the file (R-709).
    """
    number = (field.metadata or {}).get(COLUMN_ID)
    metadata = None if number is None else {_FIELD_ID: str(number)}
    return pa.field(field.name, arrow_type(field.dataType), metadata=metadata)


def arrow_schema(schema: t.StructType) -> pa.Schema:
    """Translate a table's schema."""
    return pa.schema([arrow_field(field) for field in schema.fields])
