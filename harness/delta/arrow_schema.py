"""Columns of files that others wrote, as columns of a case."""

from __future__ import annotations

import pyarrow as pa

from mergecheck.harness.verdict import UserInputError
from mergecheck.model.types.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
)

# Unsigned integers have no Spark type; each takes the next one that holds all its values.
_ATOMIC: dict[str, DataType] = {
    "bool": BOOLEAN,
    "int8": TINYINT,
    "int16": SMALLINT,
    "int32": INT,
    "int64": BIGINT,
    "uint8": SMALLINT,
    "uint16": INT,
    "uint32": BIGINT,
    "uint64": DecimalType(20, 0),
    "halffloat": FLOAT,
    "float": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "large_string": STRING,
    "string_view": STRING,
    "binary": BINARY,
    "large_binary": BINARY,
    "binary_view": BINARY,
    "date32[day]": DATE,
    "date64[ms]": DATE,
    "null": VOID,
}


def schema_of(schema: pa.Schema, *, what: str) -> Schema:
    """Give the columns of a case for an Arrow schema; ``what`` leads messages.

    Raises:
        UserInputError: if a column has a type that Spark lacks.
    """
    return Schema(tuple(Field(field.name, _type(field.type, f"{what}, column {field.name}")) for field in schema))


def plain_table(table: pa.Table, wanted: pa.Schema, *, what: str) -> pa.Table:
    """Cast physical variants (dictionaries, large strings, other time units) to the case's Arrow types.

    Raises:
        UserInputError: if a value would be lost.
    """
    try:
        return table.cast(wanted)
    except pa.ArrowException as error:
        raise UserInputError(f"{what} holds a value that Spark's types cannot: {error}") from error


def _type(arrow: pa.DataType, what: str) -> DataType:
    atomic = _ATOMIC.get(str(arrow))
    if atomic is not None:
        return atomic
    if pa.types.is_timestamp(arrow):
        return TIMESTAMP if arrow.tz is not None else TIMESTAMP_NTZ
    if pa.types.is_decimal(arrow) and arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision:  # noqa: PLR2004 - Spark's limit
        return DecimalType(arrow.precision, arrow.scale)
    if pa.types.is_dictionary(arrow):
        return _type(arrow.value_type, what)
    if pa.types.is_map(arrow):
        return MapType(_type(arrow.key_type, what), _type(arrow.item_type, what))
    if pa.types.is_struct(arrow):
        return StructType(tuple(Field(f.name, _type(f.type, f"{what}.{f.name}")) for f in arrow))
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return ArrayType(_type(arrow.value_type, what))
    raise UserInputError(f"{what} has the Arrow type {arrow}, which Spark SQL lacks; cast it before writing the file")
