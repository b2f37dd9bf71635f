"""Cells in a case file: JSON on the outside, typed Python values on the inside, exactly both ways.

The JSON forms of the case file, version 1: JSON for booleans, integers, strings, null; a number or one
of "NaN", "Infinity", "-Infinity", "-0.0" for floats; text for decimals, dates and timestamps (ISO 8601, UTC);
base64 for binary; objects for structs; lists for arrays; lists of [key, value] pairs for maps.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import math
import re
import struct
from decimal import Decimal, InvalidOperation, localcontext
from typing import TYPE_CHECKING, Any

from mergecheck.model.errors import CaseFormatError
from mergecheck.model.formatting import cell_text
from mergecheck.model.types.data_types import (
    INTEGER_BITS,
    ArrayType,
    AtomicName,
    AtomicType,
    DecimalType,
    Field,
    MapType,
    StructType,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

_SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0.0": -0.0}
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?(Z|[+-]\d\d:\d\d)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def decode_row(cells: object, schema: Schema, where: str) -> Row:
    """Read one row of a case file; ``where`` leads every error message.

    Raises:
        CaseFormatError: if the row is not a list of as many cells as the schema has columns, or a cell does not fit.
    """
    if not isinstance(cells, list) or len(cells) != len(schema.columns):
        given = f"a list of {len(cells)}" if isinstance(cells, list) else repr(cells)
        names = ", ".join(schema.names)
        raise CaseFormatError(f"{where}: a row must be a list of {len(schema.columns)} cells ({names}), given {given}")
    return tuple(
        decode(cell, column.type, f"{where}, column {column.name!r}")
        for cell, column in zip(cells, schema.columns, strict=True)
    )


def encode_row(row: Row, schema: Schema) -> list[Any]:
    """Write one row for a case file."""
    return [encode(value, column.type) for value, column in zip(row, schema.columns, strict=True)]


def encode_rows(rows: Sequence[Row], schema: Schema) -> list[list[Any]]:
    """Write rows for a case file."""
    return [encode_row(row, schema) for row in rows]


def decode(cell: object, data_type: DataType, where: str) -> Value:
    """Read one JSON cell as a value of a type.

    Raises:
        CaseFormatError: if the cell is no value of the type.
    """
    if cell is None:
        return None
    if isinstance(data_type, DecimalType):
        return _decode_decimal(cell, data_type, where)
    if isinstance(data_type, ArrayType):
        items = _list(cell, data_type, where)
        return tuple(decode(item, data_type.element, f"{where}[{i}]") for i, item in enumerate(items))
    if isinstance(data_type, MapType):
        return _decode_map(cell, data_type, where)
    if isinstance(data_type, StructType):
        return _decode_struct(cell, data_type, where)
    return _ATOMIC_DECODERS[data_type.name](cell, data_type, where)


def encode(value: Value, data_type: DataType) -> Any:  # noqa: ANN401 - JSON has no better type
    """Write one value as JSON; ``decode`` gives the same value back."""
    if value is None:
        return None
    if isinstance(data_type, DecimalType):
        return format(value, "f")
    if isinstance(data_type, ArrayType):
        return [encode(item, data_type.element) for item in value]
    if isinstance(data_type, MapType):
        return [[encode(k, data_type.key), encode(v, data_type.value)] for k, v in value]
    if isinstance(data_type, StructType):
        return {f.name: encode(v, f.type) for f, v in zip(data_type.fields, value, strict=True)}
    return _ENCODERS.get(data_type.name, _same)(value)


def describe_row(row: Row, schema: Schema) -> list[Any]:
    """Write one row of an engine's answer for a report.

    A cell is written as in a case file. If its value is none of its column's type, it is an object with the value's
    Python type and its text, as in ``{"python_type": "int", "text": "5"}``.
    """
    return [
        encode(value, column.type) if value is None or _is_of_type(value, column.type) else _foreign(value, column.type)
        for value, column in zip(row, schema.columns, strict=True)
    ]


def describe_rows(rows: Sequence[Row], schema: Schema) -> list[list[Any]]:
    """Write rows of an engine's answer for a report; see ``describe_row``."""
    return [describe_row(row, schema) for row in rows]


def _is_of_type(value: Value, data_type: DataType) -> bool:
    if isinstance(data_type, DecimalType):
        return type(value) is Decimal and value.is_finite()
    if isinstance(data_type, AtomicType):
        return type(value) is _PYTHON_TYPES.get(data_type.name, int)
    if not isinstance(value, tuple):
        return False
    if isinstance(data_type, StructType):
        kinds = [field.type for field in data_type.fields]
        return len(value) == len(kinds) and all(
            v is None or _is_of_type(v, k) for v, k in zip(value, kinds, strict=True)
        )
    if isinstance(data_type, ArrayType):
        return all(item is None or _is_of_type(item, data_type.element) for item in value)
    pair = StructType((Field("key", data_type.key), Field("value", data_type.value)))
    return all(_is_of_type(entry, pair) for entry in value)


def _foreign(value: Value, data_type: DataType) -> dict[str, str]:
    return {"python_type": type(value).__name__, "text": cell_text(value, data_type)}


def _wrong(cell: object, data_type: DataType, where: str, allowed: str) -> CaseFormatError:
    return CaseFormatError(f"{where}: {cell!r} is no {data_type.ddl()}; allowed: {allowed}")


def _list(cell: object, data_type: DataType, where: str) -> list[object]:
    if not isinstance(cell, list):
        raise _wrong(cell, data_type, where, "a list or null")
    return cell


def _decode_map(cell: object, data_type: MapType, where: str) -> Value:
    pairs: list[tuple[Value, Value]] = []
    for i, pair in enumerate(_list(cell, data_type, where)):
        if not isinstance(pair, list) or len(pair) != 2 or pair[0] is None:  # noqa: PLR2004 - a pair
            raise _wrong(pair, data_type, f"{where}[{i}]", "a [key, value] pair whose key is not null")
        key = decode(pair[0], data_type.key, f"{where}[{i}] key")
        pairs.append((key, decode(pair[1], data_type.value, f"{where}[{i}] value")))
    return tuple(pairs)


def _decode_struct(cell: object, data_type: StructType, where: str) -> Value:
    names = [f.name for f in data_type.fields]
    if not isinstance(cell, dict) or set(cell) - set(names):
        raise _wrong(cell, data_type, where, f"an object with the fields {', '.join(names)}, or null")
    return tuple(decode(cell.get(f.name), f.type, f"{where}.{f.name}") for f in data_type.fields)


def _decode_decimal(cell: object, data_type: DecimalType, where: str) -> Decimal:
    allowed = f"text such as '1.50' with at most {data_type.precision} digits, {data_type.scale} behind the point"
    if isinstance(cell, bool) or not isinstance(cell, str | int):
        raise _wrong(cell, data_type, where, allowed)
    with localcontext(prec=60):
        try:
            given = Decimal(cell)
            value = given.quantize(Decimal(1).scaleb(-data_type.scale))
        except InvalidOperation:
            raise _wrong(cell, data_type, where, allowed) from None
        fits = value == given and abs(value) < Decimal(10) ** (data_type.precision - data_type.scale)
    if not fits:
        raise _wrong(cell, data_type, where, allowed)
    return value


def _decode_boolean(cell: object, data_type: AtomicType, where: str) -> bool:
    if not isinstance(cell, bool):
        raise _wrong(cell, data_type, where, "true, false or null")
    return cell


def _decode_integer(cell: object, data_type: AtomicType, where: str) -> int:
    limit = 1 << (INTEGER_BITS[data_type] - 1)
    if isinstance(cell, bool) or not isinstance(cell, int) or not -limit <= cell < limit:
        raise _wrong(cell, data_type, where, f"an integer from {-limit} to {limit - 1}, or null")
    return cell


def _decode_float(cell: object, data_type: AtomicType, where: str) -> float:
    if isinstance(cell, str) and cell in _SPECIAL_FLOATS:
        return _SPECIAL_FLOATS[cell]
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise _wrong(cell, data_type, where, f"a number or one of {', '.join(_SPECIAL_FLOATS)}, or null")
    try:
        value = float(cell)
        return struct.unpack("<f", struct.pack("<f", value))[0] if data_type.name is AtomicName.FLOAT else value
    except OverflowError:
        raise _wrong(cell, data_type, where, "a number within the type's range") from None


def _decode_string(cell: object, data_type: AtomicType, where: str) -> str:
    if not isinstance(cell, str):
        raise _wrong(cell, data_type, where, "text or null")
    try:
        cell.encode()
    except UnicodeEncodeError:
        raise _wrong(cell, data_type, where, "text without lone surrogates") from None
    return cell


def _decode_binary(cell: object, data_type: AtomicType, where: str) -> bytes:
    if not isinstance(cell, str):
        raise _wrong(cell, data_type, where, "base64 text or null")
    try:
        return base64.b64decode(cell, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(cell, data_type, where, "base64 text or null") from None


def _decode_date(cell: object, data_type: AtomicType, where: str) -> dt.date:
    if isinstance(cell, str) and _DATE.fullmatch(cell):
        try:
            return dt.date.fromisoformat(cell)
        except ValueError:
            pass  # not in the calendar: reported below
    raise _wrong(cell, data_type, where, "text such as '2026-01-31' (years 0001 to 9999), or null")


def _decode_timestamp(cell: object, data_type: AtomicType, where: str) -> dt.datetime:
    zoned = data_type.name is AtomicName.TIMESTAMP
    allowed = "text such as '2026-01-31T23:59:59.123456" + ("Z' (UTC), or null" if zoned else "' without zone, or null")
    if not isinstance(cell, str) or not _TIMESTAMP.fullmatch(cell):
        raise _wrong(cell, data_type, where, allowed)
    try:
        value = dt.datetime.fromisoformat(cell)
    except ValueError:
        raise _wrong(cell, data_type, where, allowed) from None
    if not zoned:
        if value.tzinfo is not None:
            raise _wrong(cell, data_type, where, allowed)
        return value
    return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


def _decode_void(cell: object, data_type: AtomicType, where: str) -> None:
    raise _wrong(cell, data_type, where, "null only")


def _encode_float(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "-0.0" if value == 0 and math.copysign(1, value) < 0 else value


def _encode_timestamp(value: dt.datetime) -> str:
    text = value.replace(tzinfo=None).isoformat()
    return text + "Z" if value.tzinfo is not None else text


def _encode_binary(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _same(value: Value) -> Value:
    return value


_ATOMIC_DECODERS: dict[AtomicName, Callable[[object, Any, str], Value]] = {
    AtomicName.BOOLEAN: _decode_boolean,
    AtomicName.TINYINT: _decode_integer,
    AtomicName.SMALLINT: _decode_integer,
    AtomicName.INT: _decode_integer,
    AtomicName.BIGINT: _decode_integer,
    AtomicName.FLOAT: _decode_float,
    AtomicName.DOUBLE: _decode_float,
    AtomicName.STRING: _decode_string,
    AtomicName.BINARY: _decode_binary,
    AtomicName.DATE: _decode_date,
    AtomicName.TIMESTAMP: _decode_timestamp,
    AtomicName.TIMESTAMP_NTZ: _decode_timestamp,
    AtomicName.VOID: _decode_void,
}
_PYTHON_TYPES: dict[AtomicName, type] = {
    AtomicName.BOOLEAN: bool,
    AtomicName.FLOAT: float,
    AtomicName.DOUBLE: float,
    AtomicName.STRING: str,
    AtomicName.BINARY: bytes,
    AtomicName.DATE: dt.date,
    AtomicName.TIMESTAMP: dt.datetime,
    AtomicName.TIMESTAMP_NTZ: dt.datetime,
    AtomicName.VOID: type(None),
}
"""Of the values of a type, where that is not ``int``."""

_ENCODERS: dict[AtomicName, Callable[[Any], Any]] = {
    AtomicName.FLOAT: _encode_float,
    AtomicName.DOUBLE: _encode_float,
    AtomicName.BINARY: _encode_binary,
    AtomicName.DATE: dt.date.isoformat,
    AtomicName.TIMESTAMP: _encode_timestamp,
    AtomicName.TIMESTAMP_NTZ: _encode_timestamp,
}
