"""When two cells are the same: a hashable identity per value and type.

Python's ``==`` is never asked about raw cells: it holds ``1``, ``True``, ``1.0`` and ``Decimal("1.00")`` for one value,
``NaN`` for none, and ``-0.0`` for ``0.0``. Here, NaN is NaN, everything else differs from whatever it can be told from.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections import Counter
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import BINARY, DATE, INTEGER_BITS, STRING, ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from mergecheck.reference.case.model import Row, Value
    from mergecheck.reference.types.data_types import DataType, Schema

    Identify = Callable[[Value], Hashable]

_NAN = (float, "NaN")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PLAIN: dict[DataType, type] = {**dict.fromkeys(INTEGER_BITS, int), STRING: str, BINARY: bytes, DATE: dt.date}
_NULL = type(None)
_STRUCT = "struct"
_KINDS = frozenset(_PLAIN.values())
"""Kinds of values that are their own identity; what Python may call equal to them is none of these and gets a tuple."""


@cache
def identifier(data_type: DataType) -> Identify:
    """Return the function that gives the identity of a cell of a type.

    NULL is None. Arrays keep their order, maps do not (R-807 has no order either). The identity carries the Python
    type of the value, so an engine that hands out a text where a number belongs is found out.
    """
    if isinstance(data_type, StructType):
        return _struct_identifier(tuple(identifier(field.type) for field in data_type.fields))
    if isinstance(data_type, ArrayType):
        return _array_identifier(identifier(data_type.element))
    if isinstance(data_type, MapType):
        return _map_identifier(identifier(data_type.key), identifier(data_type.value))
    plain = _PLAIN.get(data_type)
    return _atomic_identity if plain is None else _plain_identifier(plain)


def row_identifier(schema: Schema) -> Callable[[Row], tuple[Hashable, ...]]:
    """Return the function that gives the identities of a row's cells, in column order.

    A row of another width than the schema's is identified cell by cell as far as types are known.
    """
    identifiers = tuple(identifier(column.type) for column in schema.columns)
    width = len(identifiers)

    def identify(row: Row) -> tuple[Hashable, ...]:
        known = tuple([identify(value) for identify, value in zip(identifiers, row, strict=False)])
        return known if len(row) <= width else known + tuple(_foreign(value) for value in row[width:])

    return identify


def row_identities(rows: Sequence[Row], schema: Schema) -> list[tuple[Hashable, ...]]:
    """Give the identities of rows as ``row_identifier`` does for each; column by column, because types are few."""
    types = tuple(column.type for column in schema.columns)
    return _rows_of(rows, types) if _are_rows(rows, types) else list(map(row_identifier(schema), rows))


def _are_rows(values: Sequence[Value], types: tuple[DataType, ...]) -> bool:
    return bool(types) and {*map(type, values)} == {tuple} and {*map(len, values)} == {len(types)}


def _rows_of(rows: Sequence[Row], types: tuple[DataType, ...]) -> list[tuple[Hashable, ...]]:
    return list(zip(*map(_identities, types, zip(*rows, strict=True)), strict=True))


def _identities(data_type: DataType, values: Sequence[Value]) -> Iterable[Hashable]:
    kind = _PLAIN.get(data_type)
    if kind is not None and {*map(type, values)} <= {kind, _NULL}:
        return values
    if isinstance(data_type, StructType):
        types = tuple(field.type for field in data_type.fields)
        structs = [value for value in values if value is not None]
        if _are_rows(structs, types):
            present = iter(_rows_of(structs, types))
            return [None if value is None else (_STRUCT, next(present)) for value in values]
    return map(identifier(data_type), values)


def _plain_identifier(kind: type) -> Identify:
    def identify(value: Value) -> Hashable:
        return value if type(value) is kind else _atomic_identity(value)

    return identify


def _struct_identifier(fields: tuple[Identify, ...]) -> Identify:
    def identify(value: Value) -> Hashable:
        if value is None:
            return None
        if not isinstance(value, tuple) or len(value) != len(fields):
            return _foreign(value)
        return (_STRUCT, tuple(field(member) for field, member in zip(fields, value, strict=True)))

    return identify


def _array_identifier(element: Identify) -> Identify:
    def identify(value: Value) -> Hashable:
        if value is None:
            return None
        if not isinstance(value, tuple):
            return _foreign(value)
        return ("array", tuple(element(item) for item in value))

    return identify


def _map_identifier(key: Identify, item: Identify) -> Identify:
    def identify(value: Value) -> Hashable:
        if value is None:
            return None
        if not isinstance(value, tuple) or any(not isinstance(pair, tuple) or len(pair) != 2 for pair in value):  # noqa: PLR2004 - a pair
            return _foreign(value)
        return ("map", frozenset(Counter((key(k), item(v)) for k, v in value).items()))

    return identify


def _atomic_identity(value: Value) -> Hashable:
    if value is None:
        return None
    kind = type(value)
    if kind is float:
        # The bits, because -0.0 == 0.0; every NaN is one value.
        return _NAN if value != value else (float, struct.pack(">d", value))  # noqa: PLR0124 - only NaN differs from itself
    if kind is Decimal:
        # The digits and the scale, because 1.0 == 1.00. SQL has no negative zero among decimals.
        return (Decimal, str(value or value.copy_abs()))
    if kind is dt.datetime:
        return _timestamp_identity(value)
    if kind in _KINDS:
        own: Hashable = value
        return own
    return (kind, value) if kind is bool else _foreign(value)


def _timestamp_identity(value: dt.datetime) -> Hashable:
    if value.tzinfo is None:
        return ("timestamp_ntz", value)
    return ("timestamp", (value - _EPOCH) // dt.timedelta(microseconds=1))


def _foreign(value: Value) -> Hashable:
    """Identify a value that is none of a case's; it equals only its like."""
    return None if value is None else ("foreign", type(value).__name__, repr(value))
