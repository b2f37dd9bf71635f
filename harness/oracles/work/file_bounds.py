"""The log's facts about the values of a data file: its partition values, bounds and counts of NULLs.

A bound may be loose, or missing, but never wrong (PROTOCOL.md of Delta, "Per-file Statistics"). NaN is the greatest
number (R-801), so a file with a finite upper bound holds none.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from mergecheck.harness.delta.stored_files import statistics, stored_rows, with_deleted_copies
from mergecheck.model.layout import has_vector, partition_indexes, physical_files
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import StructType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.case import Target, Value
    from mergecheck.model.layout import PhysicalFile
    from mergecheck.model.types.data_types import DataType, Schema

ColumnPath: TypeAlias = "tuple[int, ...]"
"""The position of a column, then the positions of fields inside it."""

_CUT_OFF = dt.timedelta(microseconds=999)
"""The log's timestamps have no microseconds (R-804), so a value may be greater than its upper bound by that much."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The known facts about the values of one column, or of one field of a struct.

    Attributes:
        low, high: no value is below or above; None if that is not known.
        may_be_null: whether some row may hold NULL.
        may_be_value: whether some row may hold anything else.
    """

    low: Value = None
    high: Value = None
    may_be_null: bool = True
    may_be_value: bool = True

    @property
    def is_single(self) -> bool:
        """Whether all rows have one and the same value."""
        if not self.may_be_value:
            return True
        return not self.may_be_null and self.low is not None and bool(self.low == self.high)

    def allows(self, value: Value) -> bool:
        """Return whether a value other than NULL lies within the bounds."""
        if not self.may_be_value:
            return False
        not_below = self.low is None or not is_less(value, self.low)
        return not_below and (self.high is None or not is_less(self.high, value))


UNKNOWN = Bounds()
"""Of a column without statistics."""


@dataclass(frozen=True, slots=True)
class FileBounds:
    """The log's facts about one data file.

    Attributes:
        known: the bounds of columns and fields; what is missing is ``UNKNOWN``.
    """

    known: Mapping[ColumnPath, Bounds]

    def of(self, path: ColumnPath) -> Bounds:
        """Give the bounds of a column or field."""
        return self.known.get(path, UNKNOWN)


def bounds_of_files(target: Target) -> tuple[FileBounds, ...]:
    """Read the log's facts about each physical file of a target, in the order of ``model.layout.physical_files``."""
    return tuple(_file_bounds(target, number, file) for number, file in enumerate(physical_files(target)))


def is_less(left: Value, right: Value) -> bool:
    """Compare two values of one type in Spark's order: NaN is the greatest number, and equal to itself."""
    if isinstance(left, float) and math.isnan(left):
        return False
    if isinstance(right, float) and math.isnan(right):
        return True
    return bool(left < right)


def _file_bounds(target: Target, number: int, file: PhysicalFile) -> FileBounds:
    values, rows = file
    known: dict[ColumnPath, Bounds] = {
        (place,): Bounds(value, value, may_be_null=value is None, may_be_value=value is not None)
        for place, value in zip(partition_indexes(target), values, strict=True)
    }
    written = with_deleted_copies(rows) if has_vector(target.layout, number) else rows
    text = statistics(target.layout, stored_rows(target, written), number)
    if text is not None:
        known.update(_logged(target.schema, json.loads(text, parse_float=Decimal)))
    return FileBounds(known)


def _logged(schema: Schema, said: Mapping[str, Any]) -> Iterator[tuple[ColumnPath, Bounds]]:
    low, high, nulls = (said.get(name, {}) for name in ("minValues", "maxValues", "nullCount"))
    for place, column in enumerate(schema.columns):
        yield from _leaves((place,), column.name, column.type, (low, high, nulls, said["numRecords"]))


def _leaves(
    path: ColumnPath, name: str, data_type: DataType, said: tuple[Any, Any, Any, int]
) -> Iterator[tuple[ColumnPath, Bounds]]:
    lows, highs, nulls, num_records = said
    if isinstance(data_type, StructType):
        inner = lows.get(name, {}), highs.get(name, {}), nulls.get(name, {}), num_records
        for place, field in enumerate(data_type.fields):
            yield from _leaves((*path, place), field.name, field.type, inner)
    elif name in nulls:
        high = _value(highs.get(name), data_type)
        if high is not None and data_type in (types.TIMESTAMP, types.TIMESTAMP_NTZ):
            high += _CUT_OFF
        yield (
            path,
            Bounds(
                _value(lows.get(name), data_type),
                high,
                may_be_null=nulls[name] > 0,
                may_be_value=nulls[name] < num_records,
            ),
        )


def _value(said: Any, data_type: DataType) -> Value:  # noqa: ANN401 - JSON
    if said is None:
        return None
    if data_type == types.DOUBLE:
        return float(said)
    if data_type == types.FLOAT:  # the log has as many digits as tell it from other FLOATs
        return struct.unpack("<f", struct.pack("<f", said))[0]
    if isinstance(data_type, types.DecimalType):
        return Decimal(said)
    if data_type == types.DATE:
        return dt.date.fromisoformat(said)
    if data_type in (types.TIMESTAMP, types.TIMESTAMP_NTZ):
        return dt.datetime.fromisoformat(said)
    return said
