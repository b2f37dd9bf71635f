"""Statistics of a data file as Delta's log keeps them: numRecords, minValues, maxValues, nullCount.

A bound may be loose, or missing, but never wrong: readers skip files by it. The forms are the same as in Delta's own
writer: texts are cut at 32 characters, timestamps at milliseconds (R-804), a FLOAT has the digits that distinguish it
from other FLOATs, and there are no bounds for BOOLEAN, BINARY, ARRAY and MAP. A column that holds NaN or an infinity
gets no bounds, because JSON has no such numbers (R-801).
"""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from typing import TYPE_CHECKING

from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import INTEGER_BITS, DecimalType, StructType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Field

_PREFIX_LENGTH = 32
_LAST_CHARACTER = "\U0010ffff"
_FLOAT_DIGITS = 9  # are enough for every FLOAT
_FLOATS = (types.FLOAT, types.DOUBLE)


def file_statistics(rows: Sequence[Row], columns: Sequence[Field]) -> str:
    """Compute the ``stats`` text of an ``add`` action.

    Args:
        rows: the file's rows, restricted to ``columns``.
        columns: the columns that are in the file (not the partition columns).
    """
    bounds: dict[str, list[str]] = {"minValues": [], "maxValues": [], "nullCount": []}
    for index, column in enumerate(columns):
        _add_column(bounds, column, [row[index] for row in rows])
    parts = [f'"{name}":{{{",".join(members)}}}' for name, members in bounds.items()]
    return f'{{"numRecords":{len(rows)},{",".join(parts)}}}'


def count_statistics(num_records: int) -> str:
    """Give the ``stats`` text of a file of which only the number of records is known."""
    return f'{{"numRecords":{num_records}}}'


def _add_column(bounds: dict[str, list[str]], column: Field, values: list[Value]) -> None:
    key = _json(column.name)
    if isinstance(column.type, StructType):
        inner: dict[str, list[str]] = {name: [] for name in bounds}
        for position, field in enumerate(column.type.fields):
            _add_column(inner, field, [None if value is None else value[position] for value in values])
        for name, members in inner.items():
            bounds[name].append(f"{key}:{{{','.join(members)}}}")
        return
    present = [value for value in values if value is not None]
    bounds["nullCount"].append(f"{key}:{len(values) - len(present)}")
    if not present or not _has_bounds(column.type, present):
        return
    low, high = _lower(min(present), column.type), _upper(max(present), column.type)
    bounds["minValues"].append(f"{key}:{low}")
    if high is not None:
        bounds["maxValues"].append(f"{key}:{high}")


def _has_bounds(data_type: DataType, present: list[Value]) -> bool:
    if data_type in _FLOATS:
        return all(math.isfinite(value) for value in present)
    if isinstance(data_type, DecimalType) or data_type in INTEGER_BITS:
        return True
    return data_type in (types.STRING, types.DATE, types.TIMESTAMP, types.TIMESTAMP_NTZ)


def _lower(value: Value, data_type: DataType) -> str:
    if data_type == types.STRING:
        return _json(value[:_PREFIX_LENGTH])
    return _literal(value, data_type)


def _upper(value: Value, data_type: DataType) -> str | None:
    if data_type != types.STRING or len(value) <= _PREFIX_LENGTH:
        return _literal(value, data_type)
    if value[_PREFIX_LENGTH] == _LAST_CHARACTER:
        return None  # no character sorts after it, so a cut text could not be an upper bound
    return _json(value[:_PREFIX_LENGTH] + _LAST_CHARACTER)


def _literal(value: Value, data_type: DataType) -> str:
    if isinstance(data_type, DecimalType):
        return format(value, "f")
    if data_type == types.TIMESTAMP:
        return _json(value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z")
    if data_type == types.TIMESTAMP_NTZ:
        return _json(value.isoformat(timespec="milliseconds"))
    if data_type == types.DATE:
        return _json(value.isoformat())
    return _json(_as_float(value) if data_type == types.FLOAT else value)


def _as_float(value: float) -> float:
    """Give the shortest number that is this FLOAT if it is read as one, which may be another DOUBLE."""
    texts = (f"{value:.{digits}g}" for digits in range(1, _FLOAT_DIGITS + 1))
    return next(float(text) for text in texts if struct.unpack("f", struct.pack("f", float(text)))[0] == value)


def _json(value: Value) -> str:
    # Characters as they are: delta-rs 1.6 reads an escaped pair of surrogates as another character.
    return json.dumps(value, ensure_ascii=False)
