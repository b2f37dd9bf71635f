"""What a data file's entry in the log says, held against the rows that the file has (P-11).

Readers skip files by these statistics, so a wrong bound loses rows in some later query, not in the merge that wrote it.
A bound may be loose, or missing; it must never be wrong.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mergecheck.harness.delta.tables.partition_values import moment
from mergecheck.reference.types import data_types as types
from mergecheck.reference.types.data_types import INTEGER_BITS, DecimalType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.delta.read import LiveFile
    from mergecheck.reference.case.model import Value
    from mergecheck.reference.types.data_types import DataType, Field, Schema

_MILLISECOND = dt.timedelta(milliseconds=1)
_TIMESTAMPS = (types.TIMESTAMP, types.TIMESTAMP_NTZ)
_FLOATS = (types.FLOAT, types.DOUBLE)


def file_faults(file: LiveFile, *, schema: Schema, partition_by: Sequence[str]) -> Iterator[str]:
    """Tell what is wrong in the statistics of a file; nothing if it has none.

    Args:
        file: its entry in the log, and its rows.
        schema: columns of the rows.
        partition_by: columns that the statistics leave out.
    """
    text = file.add.get("stats")
    if text is None:
        return
    try:
        statistics = json.loads(text, parse_float=Decimal)
        vector = file.add.get("deletionVector")
        num_stored = len(file.rows) + (0 if vector is None else vector["cardinality"])
        if statistics.get("numRecords", None if vector else num_stored) != num_stored:
            yield f"numRecords {statistics.get('numRecords')}, but the file has {num_stored} rows"
        if vector is not None and statistics.get("tightBounds") is not False:
            yield "tightBounds is not false, but rows are deleted"
        for place, column in enumerate(schema.columns):
            if column.name not in partition_by:
                yield from _column(column, [row[place] for row in file.rows], statistics, path=())
    except (ValueError, ArithmeticError, TypeError, AttributeError) as error:
        yield f"statistics that cannot be read: {type(error).__name__}: {error}"


def _column(column: Field, values: list[Value], statistics: dict[str, Any], *, path: tuple[str, ...]) -> Iterator[str]:
    path = (*path, column.name)
    if isinstance(column.type, StructType):
        for place, field in enumerate(column.type.fields):
            members = [None if value is None else value[place] for value in values]
            yield from _column(field, members, statistics, path=path)
        return
    name = ".".join(path)
    present = [value for value in values if value is not None]
    num_nulls = _at(statistics.get("nullCount"), path)
    if statistics.get("tightBounds") is False:
        # then only two numbers say something, that no value is NULL and that all are
        if num_nulls == 0 and len(present) < len(values):
            yield f"nullCount 0 of {name}, but {len(values) - len(present)} values are NULL"
        if num_nulls == statistics.get("numRecords") and present:
            yield f"nullCount {num_nulls} of {name}, which means all, but {len(present)} values are not NULL"
    elif num_nulls is not None and num_nulls != len(values) - len(present):
        yield f"nullCount {num_nulls} of {name}, but {len(values) - len(present)} values are NULL"
    for key, is_kept in (("minValues", is_low), ("maxValues", is_high)):
        bound = _at(statistics.get(key), path)
        if bound is None or not has_order(column.type):
            continue
        typed = typed_bound(bound, column.type)
        if outside := [value for value in present if not is_kept(typed, value)]:
            yield f"{key} {bound} of {name}, but the file holds {outside[0]}"


def _at(tree: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON value
    for name in path:
        if tree is None:
            return None
        tree = tree.get(name)
    return tree


def has_order(data_type: DataType) -> bool:
    """Tell whether statistics may have bounds for a type."""
    ordered = (types.STRING, types.DATE, *_TIMESTAMPS, *_FLOATS)
    return isinstance(data_type, DecimalType) or data_type in INTEGER_BITS or data_type in ordered


def typed_bound(bound: Any, data_type: DataType) -> Value:  # noqa: ANN401 - any JSON value
    """Read a bound of a column; decimal numbers come as ``Decimal``.

    Raises:
        ValueError, ArithmeticError, TypeError: if it is none of the type's.
    """
    if data_type == types.STRING:
        return str(bound)
    if data_type == types.DATE:
        return dt.date.fromisoformat(bound)
    if data_type == types.TIMESTAMP:
        return moment(bound)
    if data_type == types.TIMESTAMP_NTZ:
        return dt.datetime.fromisoformat(bound)
    if data_type == types.FLOAT:  # the text means the nearest number of 32 bits
        return struct.unpack("f", struct.pack("f", float(bound)))[0]
    return float(bound) if data_type == types.DOUBLE else Decimal(bound)


def is_low(bound: Value, value: Value) -> bool:
    """Tell whether a lower bound is true to a value."""
    return bool(_is_nan(value) or bound <= value)


def is_high(bound: Value, value: Value) -> bool:
    """Tell whether an upper bound is true to a value."""
    if _is_nan(bound):
        return True
    if isinstance(bound, dt.datetime):  # cut at milliseconds, and pruning allows for it
        return bool(value < bound + _MILLISECOND) if bound < _last(bound) else True
    return bool(value <= bound)


def _is_nan(value: Value) -> bool:
    """Tell whether a value is NaN, which stands above every other number (R-801)."""
    return isinstance(value, float) and math.isnan(value)


def _last(bound: dt.datetime) -> dt.datetime:
    return dt.datetime.max.replace(tzinfo=bound.tzinfo) - _MILLISECOND
