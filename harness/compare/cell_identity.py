"""Identities of cells: two cells are the same if their identities are equal.

Python's ``==`` is never asked about raw cells. It holds ``1``, ``True``, ``1.0`` and ``Decimal("1.00")`` for one value,
distinguishes ``NaN`` from itself, and ``-0.0`` equals ``0.0``. Here NaN is NaN, and all else that differs differs.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_OWN_IDENTITY = (int, str, bytes, dt.date)
"""Types whose values are their own identities. A value that equals such a value in Python has a tuple instead."""


def row_identity(row: Row, schema: Schema) -> tuple[Hashable, ...]:
    """Return the identities of a row's cells, in column order.

    Cells beyond the schema's columns, which only a broken engine gives, differ if their Python types or texts differ.
    """
    columns = schema.columns
    known = [cell_identity(value, column.type) for column, value in zip(columns, row, strict=False)]
    return (*known, *(_foreign_identity(value) for value in row[len(columns) :]))


def cell_identity(value: Value, data_type: DataType) -> Hashable:
    """Return the identity of a cell.

    NULL is None. Arrays keep their order, maps do not (R-807). The identity carries the Python type of the value, so
    that a text differs from a number of the same spelling.

    Args:
        value: the cell as the case model has it; a broken engine may give anything.
        data_type: the type of its column.
    """
    if value is None:
        return None
    if isinstance(data_type, StructType):
        if not isinstance(value, tuple) or len(value) != len(data_type.fields):
            return _foreign_identity(value)
        fields = zip(value, data_type.fields, strict=True)
        return ("struct", tuple(cell_identity(member, field.type) for member, field in fields))
    if isinstance(data_type, ArrayType):
        if not isinstance(value, tuple):
            return _foreign_identity(value)
        return ("array", tuple(cell_identity(item, data_type.element) for item in value))
    if isinstance(data_type, MapType):
        if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):  # noqa: PLR2004 - a pair
            return _foreign_identity(value)
        entries = Counter((cell_identity(k, data_type.key), cell_identity(v, data_type.value)) for k, v in value)
        return ("map", frozenset(entries.items()))
    return _atomic_identity(value)


def _atomic_identity(value: Value) -> Hashable:
    kind = type(value)
    if kind in _OWN_IDENTITY:
        own: Hashable = value
        return own
    if kind is bool:
        return (bool, value)
    if kind is float:
        # The bits, because -0.0 == 0.0; every NaN is one value.
        return (float, "NaN") if value != value else (float, struct.pack(">d", value))  # noqa: PLR0124 - only NaN differs from itself
    if kind is Decimal:
        # The digits and the scale, because 1.0 == 1.00. SQL has no negative zero among decimals.
        return (Decimal, str(value or value.copy_abs()))
    if kind is dt.datetime:
        if value.tzinfo is None:
            return ("timestamp_ntz", value)
        return ("timestamp", (value - _EPOCH) // dt.timedelta(microseconds=1))
    return _foreign_identity(value)


def _foreign_identity(value: Value) -> Hashable:
    """Return the identity of a value that no case has."""
    return None if value is None else ("foreign", type(value).__name__, repr(value))
