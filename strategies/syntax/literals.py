"""Constants as Spark SQL text that Spark and a sqlglot-translated DuckDB read as the same typed value."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DecimalType,
    MapType,
    NestedType,
    StructType,
)

if TYPE_CHECKING:
    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType

_LEAST_BIGINT = -(2**63)


def writable(value: Value) -> bool:
    """Return whether a value can stand in SQL text without a layer below reading something else.

    A NUL character ends strings in some clients, and ``${`` starts Spark's variable substitution. An array or a map
    without members has no type of its own.
    """
    if isinstance(value, tuple):
        return bool(value) and all(map(writable, value))
    return not isinstance(value, str) or ("\0" not in value and "${" not in value)


def literal(value: Value, data_type: DataType | None) -> str:
    """Write a constant as Spark SQL.

    Raises:
        ValueError: for a value that is not of the type.
    """
    if value is None:
        return "NULL" if data_type is None else f"CAST(NULL AS {data_type.ddl()})"
    if isinstance(data_type, NestedType):
        # the constructors alone would have a type in which no member is NULL
        return f"CAST({_constructed(value, data_type)} AS {data_type.ddl()})"
    if data_type == BOOLEAN:
        return "TRUE" if value else "FALSE"
    if data_type in INTEGER_BITS:
        return _integer(value, data_type)
    if data_type in (FLOAT, DOUBLE):
        return f"CAST('{_float_text(value)}' AS {data_type.ddl()})"
    if isinstance(data_type, DecimalType):
        return f"CAST({value:f} AS {data_type.ddl()})"
    if data_type == STRING:
        return _string(value)
    if data_type == BINARY:
        return f"X'{value.hex().upper()}'"
    return _moment(value, data_type)


def _constructed(value: Value, data_type: NestedType) -> str:
    match data_type:
        case StructType(fields):
            parts = [
                part
                for field, member in zip(fields, value, strict=True)
                for part in (_string(field.name), literal(member, field.type))
            ]
            return f"named_struct({', '.join(parts)})"
        case ArrayType(element):
            return f"array({', '.join(literal(member, element) for member in value)})"
        case MapType(key, item):
            pairs = [part for one, other in value for part in (literal(one, key), literal(other, item))]
            return f"map({', '.join(pairs)})"


def _integer(value: int, data_type: DataType) -> str:
    # -9223372036854775808 would be read as the negation of a number that BIGINT does not hold
    if value == _LEAST_BIGINT:
        return f"CAST('{value}' AS BIGINT)"
    return str(value) if data_type in (INT, BIGINT) else f"CAST({value} AS {data_type.ddl()})"


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _string(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _moment(value: date, data_type: DataType | None) -> str:
    if data_type == DATE:
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat(sep=" ")
        if data_type == TIMESTAMP:
            return f"TIMESTAMP '{text}+00:00'"
        if data_type == TIMESTAMP_NTZ:
            return f"TIMESTAMP_NTZ '{text}'"
    name = "NULL" if data_type is None else data_type.ddl()
    raise ValueError(f"{name} has no literal for {value!r}; compare such a column with IS NULL only")
