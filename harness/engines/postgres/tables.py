"""The tables of a case in PostgreSQL: types, values as texts, and the statements that make them."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types import data_types as t
from mergecheck.model.types.data_types import type_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

_TYPES: dict[DataType, str] = {
    t.TINYINT: "tinyint",
    t.SMALLINT: "smallint",
    t.INT: "integer",
    t.BIGINT: "bigint",
    t.FLOAT: "real",
    t.DOUBLE: "double precision",
    t.BOOLEAN: "boolean",
    t.STRING: 'text COLLATE "C"',
    t.BINARY: "bytea",
    t.DATE: "date",
    t.TIMESTAMP: "timestamp with time zone",
    t.TIMESTAMP_NTZ: "timestamp without time zone",
}
_ROWS_PER_INSERT = 500
TINYINT_DOMAIN = "CREATE DOMAIN tinyint AS smallint CHECK (VALUE BETWEEN -128 AND 127)"
"""PostgreSQL has no integers of one byte."""


def identifier(name: str) -> str:
    """Quote a name in lower case: Spark's names are the same in any case, PostgreSQL's quoted names are not.

    Raises:
        UnsupportedByReferenceError: for a name that PostgreSQL cuts off, or cannot hold.
    """
    if "\0" in name or len(name.encode()) > 63:  # noqa: PLR2004 - PostgreSQL's NAMEDATALEN
        raise UnsupportedByReferenceError("a name that PostgreSQL has no room for")
    return '"' + name.lower().replace('"', '""') + '"'


def postgres_type(data_type: DataType) -> str:
    """Name a type.

    Raises:
        UnsupportedByReferenceError: for a nested type, and one without values.
    """
    if isinstance(data_type, t.DecimalType):
        return f"numeric({data_type.precision},{data_type.scale})"
    if data_type not in _TYPES:
        raise UnsupportedByReferenceError(f"type {type_word(data_type)}")
    return _TYPES[data_type]


def constant(value: Value, data_type: DataType) -> str:
    """Write a value with its type.

    Raises:
        UnsupportedByReferenceError: for a text with a NUL character, or a type that there is not.
    """
    if value is None:
        return f"CAST(NULL AS {_plain(data_type)})"
    return f"CAST({quoted(_text(value))} AS {_plain(data_type)})"


def quoted(text: str) -> str:
    """Write a text as a literal.

    Raises:
        UnsupportedByReferenceError: if it has a NUL character.
    """
    if "\0" in text:
        raise UnsupportedByReferenceError("a text with a NUL character")
    return "'" + text.replace("'", "''") + "'"


def _plain(data_type: DataType) -> str:
    return postgres_type(data_type).removesuffix(' COLLATE "C"')


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value).replace("inf", "Infinity")
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)


def inserts(table: str, rows: Sequence[Row], schema: Schema) -> Iterator[str]:
    """Write the statements that fill a table."""
    types = [column.type for column in schema.columns]
    for start in range(0, len(rows), _ROWS_PER_INSERT):
        some = rows[start : start + _ROWS_PER_INSERT]
        lines = (", ".join(constant(value, each) for value, each in zip(row, types, strict=True)) for row in some)
        yield f"INSERT INTO {table} VALUES ({'), ('.join(lines)})"


def texts(schema: Schema, qualifier: str) -> str:
    """List the columns of a table as texts, as ``cells`` reads them."""
    return ", ".join(f"CAST({qualifier}.{identifier(column.name)} AS text)" for column in schema.columns)


def cells(row: Sequence[str | None], schema: Schema) -> Row:
    """Read a row of texts."""
    return tuple(
        None if text is None else _value(text, column.type) for text, column in zip(row, schema.columns, strict=True)
    )


def _value(text: str, data_type: DataType) -> Value:
    if isinstance(data_type, t.DecimalType):
        return Decimal(text)
    if data_type in t.INTEGER_BITS:
        return int(text)
    if data_type == t.FLOAT:
        single: float = struct.unpack("f", struct.pack("f", float(text)))[0]  # the text has the digits of a single
        return single
    if data_type == t.DOUBLE:
        return float(text)
    if data_type == t.BOOLEAN:
        return text == "true"
    if data_type == t.BINARY:
        return bytes.fromhex(text.removeprefix("\\x"))
    if data_type == t.DATE:
        return date.fromisoformat(text)
    if data_type == t.TIMESTAMP:
        return datetime.fromisoformat(text).astimezone(UTC)
    return datetime.fromisoformat(text) if data_type == t.TIMESTAMP_NTZ else text
