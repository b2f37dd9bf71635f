r"""Rows of a case in DuckDB, and back, exactly.

A value crosses in a form that Python, JSON and DuckDB write alike (its *carrier*), and DuckDB casts between the carrier
and the type. Python's own dates and times hold neither DuckDB's infinity nor years beyond 9999, and DuckDB gives their
last value for an infinite one. So they cross as text, and a value that no case holds is an error.

=======================================  =======================================================
DECIMAL, DATE, TIMESTAMP, TIMESTAMP_NTZ  text, as DuckDB and ISO 8601 write it
BINARY                                   text of ``\x00`` to ``\xFF``; DuckDB writes some bytes as letters
ARRAY, STRUCT, MAP                       the same type of carriers
VOID                                     INTEGER, which is NULL
all others                               the type itself
=======================================  =======================================================

The time zone of a connection must be UTC.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import duckdb

from mergecheck.model.types.data_types import (
    TIMESTAMP,
    VOID,
    ArrayType,
    AtomicName,
    AtomicType,
    DataType,
    DecimalType,
    MapType,
    StructType,
)
from mergecheck.model.types.typed import duckdb_type, identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection
    from duckdb.sqltypes import DuckDBPyType

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import Schema

_EXACT = Context(prec=38)  # the most digits that a DECIMAL has; the default context refuses more than 28
_CLASSES: dict[AtomicName, type | tuple[type, ...]] = {
    AtomicName.BOOLEAN: bool,
    AtomicName.TINYINT: int,
    AtomicName.SMALLINT: int,
    AtomicName.INT: int,
    AtomicName.BIGINT: int,
    AtomicName.FLOAT: (float, int),
    AtomicName.DOUBLE: (float, int),
    AtomicName.STRING: str,
    AtomicName.BINARY: bytes,
    AtomicName.DATE: dt.date,
    AtomicName.TIMESTAMP: dt.datetime,
    AtomicName.TIMESTAMP_NTZ: dt.datetime,
    AtomicName.VOID: (),
}
_AS_TEXT = (AtomicName.BINARY, AtomicName.DATE, AtomicName.TIMESTAMP, AtomicName.TIMESTAMP_NTZ)
_NESTED = (StructType, ArrayType, MapType)
_BYTE = re.compile(r"\\x([0-9A-F]{2})")


def create_table(connection: DuckDBPyConnection, name: str, rows: Sequence[Row], schema: Schema) -> None:
    """Create a temporary table of rows, in their order, in the place of one of the same name.

    Args:
        connection: its time zone is UTC.
        name: of the table; it needs no quotes.
        rows: of the schema.
        schema: at least one column. VOID columns become INTEGER.

    Raises:
        TypeError, ValueError, duckdb.Error: a value is none of its column's type.
        duckdb.Error: a map has a key twice.
    """
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema.columns)
    types: dict[DataType, Any] = {}
    for column in schema.columns:
        if column.type not in types:
            types[column.type] = duckdb.sqltype(f"{carrier_type(column.type)}[]")
    given = [
        duckdb.Value([to_carrier(value, column.type) for value in values], types[column.type])
        for values, column in zip(columns, schema.columns, strict=True)
    ]
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {rows_query(schema)}", given)


def rows_query(schema: Schema) -> str:
    """Write the query of the rows of a table whose columns are parameters, each a list of carriers."""
    return "SELECT " + ", ".join(
        f"CAST(unnest(${number}) AS {_stored_type(column.type)}) AS {identifier(column.name)}"
        for number, column in enumerate(schema.columns, start=1)
    )


def read_rows(connection: DuckDBPyConnection, query: str, schema: Schema) -> tuple[Row, ...]:
    """Read the rows of a query whose columns have the types of a schema, whatever their names.

    Args:
        connection: its time zone is UTC.
        query: a SELECT.
        schema: at least one column. VOID stands for INTEGER.

    Raises:
        duckdb.Error: the query fails.
        TypeError: a column has another type.
        ValueError: a case cannot hold a value, such as a date of the year 10000.
    """
    found = connection.sql(query).types
    wanted = [duckdb.sqltype(_stored_type(column.type)) for column in schema.columns]
    if found != wanted and [_typed(one) for one in found] != wanted:
        raise TypeError(f"the query gives {', '.join(map(str, found))}, not {schema.ddl()}")
    names = [f"c{i}" for i in range(len(wanted))]
    carriers = ", ".join(as_carrier(name, column.type) for name, column in zip(names, schema.columns, strict=True))
    rows = connection.execute(f"SELECT {carriers} FROM ({query}) AS q({', '.join(names)})").fetchall()
    return from_carriers(rows, schema)


def from_carriers(rows: Sequence[Sequence[Any]], schema: Schema) -> tuple[Row, ...]:
    """Read rows of carriers; see ``from_carrier``."""
    if not rows:
        return ()
    columns = [
        [from_carrier(value, column.type) for value in values] if _is_converted(column.type) else values
        for values, column in zip(zip(*rows, strict=True), schema.columns, strict=True)
    ]
    return tuple(zip(*columns, strict=True))


def _is_converted(data_type: DataType) -> bool:
    return isinstance(data_type, (*_NESTED, DecimalType)) or data_type.name in _AS_TEXT


def carrier_type(data_type: DataType) -> str:
    """Format the DuckDB type of a type's carrier."""
    if isinstance(data_type, ArrayType):
        return f"{carrier_type(data_type.element)}[]"
    if isinstance(data_type, MapType):
        return f"MAP({carrier_type(data_type.key)}, {carrier_type(data_type.value)})"
    if isinstance(data_type, StructType):
        return f"STRUCT({', '.join(f'{identifier(f.name)} {carrier_type(f.type)}' for f in data_type.fields)})"
    if isinstance(data_type, DecimalType) or data_type.name in _AS_TEXT:
        return "VARCHAR"
    return _stored_type(data_type)


def _typed(found: DuckDBPyType) -> DuckDBPyType:
    """Return a type with INTEGER for the type of an untyped NULL, which DuckDB calls "NULL"."""
    return duckdb.sqltype(str(found).replace('"NULL"', "INTEGER"))


def as_carrier(sql: str, data_type: DataType) -> str:
    """Write the carrier of a value in DuckDB SQL."""
    carrier = carrier_type(data_type)
    return sql if carrier == _stored_type(data_type) else f"CAST({sql} AS {carrier})"


def _stored_type(data_type: DataType) -> str:
    return "INTEGER" if data_type == VOID else duckdb_type(data_type)


def to_carrier(value: Any, data_type: DataType) -> Any:  # noqa: ANN401 - of many kinds
    """Write a value of a case as its carrier.

    Raises:
        TypeError: the value is of another kind than the type's, which DuckDB might cast.
        ValueError: it has more digits than the type, which DuckDB would round.
    """
    if value is None:
        return None
    if isinstance(data_type, StructType):
        return {f.name: to_carrier(member, f.type) for f, member in zip(data_type.fields, value, strict=True)}
    if isinstance(data_type, ArrayType):
        return [to_carrier(item, data_type.element) for item in value]
    if isinstance(data_type, MapType):
        return {
            "key": [to_carrier(key, data_type.key) for key, _ in value],
            "value": [to_carrier(item, data_type.value) for _, item in value],
        }
    wanted: type | tuple[type, ...] = Decimal if isinstance(data_type, DecimalType) else _CLASSES[data_type.name]
    if not isinstance(value, wanted):
        raise TypeError(f"{value!r} is no {data_type.ddl()}")
    if isinstance(value, Decimal) and isinstance(data_type, DecimalType):
        return format(_decimal(value, data_type), "f")
    if isinstance(value, bytes):
        return "".join(f"\\x{byte:02X}" for byte in value)
    return str(value) if isinstance(value, dt.date) else value  # a datetime is a date


def from_carrier(value: Any, data_type: DataType) -> Value:  # noqa: ANN401 - of many kinds
    """Read a carrier: as DuckDB gives it to Python, or with a list of pairs in the place of each ``dict``.

    Raises:
        ValueError: a case cannot hold the value.
    """
    if value is None:
        return None
    if isinstance(data_type, StructType):
        members = dict(value)
        return tuple(from_carrier(members[f.name], f.type) for f in data_type.fields)
    if isinstance(data_type, ArrayType):
        return tuple(from_carrier(item, data_type.element) for item in value)
    if isinstance(data_type, MapType):
        return tuple(
            (from_carrier(key, data_type.key), from_carrier(item, data_type.value))
            for key, item in _entries(value, data_type)
        )
    if isinstance(data_type, DecimalType):
        return _decimal(Decimal(value), data_type)
    return _atomic(value, data_type)


def _entries(value: Any, data_type: MapType) -> Sequence[tuple[Any, Any]]:  # noqa: ANN401 - of many kinds
    """List the entries of a map; DuckDB gives lists of keys and of values if Python cannot hash the keys."""
    entries = list(value.items() if isinstance(value, dict) else value)
    if isinstance(data_type.key, _NESTED):
        (_, keys), (_, values) = entries
        return list(zip(keys, values, strict=True))
    return entries


def _decimal(given: Decimal, data_type: DecimalType) -> Decimal:
    """Give a number as many digits behind the point as its type has.

    Raises:
        ValueError: it has others.
    """
    try:
        value = given.quantize(Decimal(1).scaleb(-data_type.scale), context=_EXACT)
    except InvalidOperation:
        value = None
    if value is None or value != given:
        raise ValueError(f"{given} is no {data_type.ddl()}")
    return value


def _atomic(value: Any, data_type: AtomicType) -> Value:  # noqa: ANN401 - of many kinds
    if data_type.name is AtomicName.BINARY:
        return _BYTE.sub(lambda byte: chr(int(byte[1], 16)), value).encode("latin-1")
    if data_type.name is AtomicName.DATE:
        return dt.date.fromisoformat(value)
    if data_type == TIMESTAMP:
        return dt.datetime.fromisoformat(value).astimezone(dt.UTC)
    if data_type.name is AtomicName.TIMESTAMP_NTZ:
        return dt.datetime.fromisoformat(value)
    return value
