"""Values and types of a case as Python source, for scripts that build Arrow tables."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING

from mergecheck.harness.report.render import printable
from mergecheck.model.types.data_types import (
    ArrayType,
    AtomicName,
    AtomicType,
    DecimalType,
    MapType,
    StructType,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Field, Schema

_ATOMIC = {
    AtomicName.BOOLEAN: "pa.bool_()",
    AtomicName.TINYINT: "pa.int8()",
    AtomicName.SMALLINT: "pa.int16()",
    AtomicName.INT: "pa.int32()",
    AtomicName.BIGINT: "pa.int64()",
    AtomicName.FLOAT: "pa.float32()",
    AtomicName.DOUBLE: "pa.float64()",
    AtomicName.STRING: "pa.string()",
    AtomicName.BINARY: "pa.binary()",
    AtomicName.DATE: "pa.date32()",
    AtomicName.TIMESTAMP: 'pa.timestamp("us", tz="UTC")',
    AtomicName.TIMESTAMP_NTZ: 'pa.timestamp("us")',
    AtomicName.VOID: "pa.null()",
}


def arrow_schema_source(schema: Schema) -> str:
    """Write an Arrow schema; NOT NULL is kept."""
    return f"pa.schema([{', '.join(_field(column) for column in schema.columns)}])"


def rows_source(rows: Sequence[Row], schema: Schema) -> str:
    """Write rows as a list of tuples, in the form that ``pyarrow`` takes for the types."""
    types = [column.type for column in schema.columns]
    lines = [
        "(" + "".join(f"{value_source(v, t)}, " for v, t in zip(row, types, strict=True)).rstrip() + ")" for row in rows
    ]
    return "[\n" + "".join(f"    {line},\n" for line in lines) + "]" if lines else "[]"


def value_source(value: Value, data_type: DataType) -> str:
    """Write one value; the script imports ``datetime`` and ``Decimal``."""
    if value is None:
        return "None"
    if isinstance(data_type, StructType):
        fields = zip(data_type.fields, value, strict=True)
        return "{" + ", ".join(f"{field.name!r}: {value_source(each, field.type)}" for field, each in fields) + "}"
    if isinstance(data_type, ArrayType):
        return "[" + ", ".join(value_source(each, data_type.element) for each in value) + "]"
    if isinstance(data_type, MapType):
        pairs = (f"({value_source(k, data_type.key)}, {value_source(v, data_type.value)})" for k, v in value)
        return "[" + ", ".join(pairs) + "]"
    if isinstance(data_type, DecimalType):
        return f"Decimal({format(value, 'f')!r})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, dt.datetime):
        zone = ", tzinfo=datetime.timezone.utc" if value.tzinfo is not None else ""
        parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
        return f"datetime.datetime({', '.join(map(str, parts))}{zone})"
    if isinstance(value, dt.date):
        return f"datetime.date({value.year}, {value.month}, {value.day})"
    return repr(value)


def in_docstring(text: str) -> str:
    """Write a text for the docstring of a script."""
    return printable(text).replace("\\", "\\\\").replace('"', "'")


def _field(field: Field) -> str:
    nullable = "" if field.nullable else ", nullable=False"
    return f"pa.field({field.name!r}, {_type(field.type)}{nullable})"


def _type(data_type: DataType) -> str:
    if isinstance(data_type, AtomicType):
        return _ATOMIC[data_type.name]
    if isinstance(data_type, DecimalType):
        return f"pa.decimal128({data_type.precision}, {data_type.scale})"
    if isinstance(data_type, ArrayType):
        return f"pa.list_({_type(data_type.element)})"
    if isinstance(data_type, MapType):
        return f"pa.map_({_type(data_type.key)}, {_type(data_type.value)})"
    return f"pa.struct([{', '.join(_field(field) for field in data_type.fields)}])"
