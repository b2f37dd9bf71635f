"""Bounds of one column in one file, by its statistics and partition values."""

from __future__ import annotations

import datetime as dt
import math
import struct
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import types as t

from mergecheck.merge.table.log.statistics import EXACT_DECIMAL_DIGITS
from mergecheck.merge.types.text_limits import char_length
from mergecheck.merge.types.widening import is_from_float

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.merge.table.snapshot.data_files import DataFile, FileStatistics

Comparable: TypeAlias = Any  # int, float, Decimal, str, bool, date or datetime; both ends of one column alike

INTEGRAL_TYPES = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
FRACTIONAL_TYPES = (t.FloatType, t.DoubleType)

# Writers cut strings: an upper bound of this length or more may be a prefix of the true maximum.
TRUNCATED_STRING_LENGTH = 32
_GREATEST_FLOAT = struct.unpack("f", b"\xff\xff\x7f\x7f")[0]
_MILLISECOND = dt.timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBounds:
    """Bounds of a column's values in one file.

    Attributes:
        lower, upper: inclusive bounds of the values that are neither NULL nor NaN; None means unbounded.
        may_be_null, may_be_value: whether the file may hold NULLs, and anything else, in this column.
        may_be_nan: whether it may hold NaN, which is greater than every other value (R-801).
    """

    lower: Comparable | None = None
    upper: Comparable | None = None
    may_be_null: bool = True
    may_be_value: bool = True
    may_be_nan: bool = False


def column_bounds(file: DataFile, field: t.StructField, *, is_partition: bool) -> ColumnBounds:
    """Return the bounds of a column in a file; without statistics there are none.

    The bounds of a CHAR column are left out: Spark compares it with spaces behind it (R-822).
    """
    if is_partition:
        found = _partition_bounds(file.partition_values.get(field.name), field.dataType)
    else:
        found = _statistics_bounds(file.statistics, field)
    return found if char_length(field.metadata) is None else replace(found, lower=None, upper=None)


def _statistics_bounds(statistics: FileStatistics, field: t.StructField) -> ColumnBounds:
    null_count = null_count_of(statistics, field.name)
    all_null = null_count is not None and null_count == statistics.num_records
    lower, upper = _value_bounds(
        statistics.min_values.get(field.name), statistics.max_values.get(field.name), field.dataType
    )
    if is_from_float(field.metadata or {}):
        lower, upper = _with_few_digits(lower, min), _with_few_digits(upper, max)
    return ColumnBounds(
        lower=lower,
        upper=upper,
        may_be_null=null_count is None or null_count > 0,
        may_be_value=not all_null,
        may_be_nan=isinstance(field.dataType, FRACTIONAL_TYPES),
    )


def null_count_of(statistics: FileStatistics, name: str) -> int | None:
    """Read the number of NULLs of a top-level column; None if it is not known or the column is a struct."""
    count = statistics.null_count.get(name)
    return count if isinstance(count, int) else None


def _partition_bounds(value: Any, data_type: t.DataType) -> ColumnBounds:  # noqa: ANN401 - by the column's type
    if value is None:
        return ColumnBounds(may_be_null=True, may_be_value=False)
    if isinstance(data_type, FRACTIONAL_TYPES):
        if math.isnan(value):
            return ColumnBounds(may_be_null=False, may_be_nan=True)
        value = _as_stored(value, data_type)
    if not _is_of_type(value, data_type) or _is_wide_decimal(data_type):
        return ColumnBounds(may_be_null=False)
    return ColumnBounds(lower=value, upper=value, may_be_null=False)


def _value_bounds(
    minimum: Comparable | None, maximum: Comparable | None, data_type: t.DataType
) -> tuple[Comparable | None, Comparable | None]:
    lower = minimum if _is_of_type(minimum, data_type) else None
    upper = maximum if _is_of_type(maximum, data_type) else None
    if _is_wide_decimal(data_type):
        return None, None
    if isinstance(data_type, FRACTIONAL_TYPES):
        return _finite(lower, data_type), _finite(upper, data_type)
    if isinstance(data_type, t.StringType):
        return lower, None if upper is not None and len(upper) >= TRUNCATED_STRING_LENGTH else upper
    if isinstance(data_type, t.TimestampType | t.TimestampNTZType):
        return _shift(lower, -_MILLISECOND), _shift(upper, _MILLISECOND)  # kept in milliseconds
    return lower, upper


def _is_wide_decimal(data_type: t.DataType) -> bool:
    return isinstance(data_type, t.DecimalType) and data_type.precision > EXACT_DECIMAL_DIGITS


def _finite(value: float | None, data_type: t.DataType) -> float | None:
    return None if value is None or not math.isfinite(value) else _as_stored(value, data_type)


def _with_few_digits(bound: float | None, outer: Callable[[float, float], float]) -> float | None:
    """Take a bound of a column that was FLOAT for the text of a 32-bit number, or for itself: whichever is looser."""
    if bound is None or abs(bound) > _GREATEST_FLOAT:
        return bound
    return outer(bound, _as_stored(bound, t.FloatType()))


def _as_stored(value: float, data_type: t.DataType) -> float:
    # The log has the shortest text of a FLOAT; the file has the nearest 32-bit number.
    if isinstance(data_type, t.FloatType) and math.isfinite(value):
        return float(struct.unpack("f", struct.pack("f", value))[0])
    return value


def _shift(value: dt.datetime | None, by: dt.timedelta) -> dt.datetime | None:
    if value is None:
        return None
    try:
        return value + by
    except OverflowError:
        return None


def _is_of_type(value: Any, data_type: t.DataType) -> bool:  # noqa: ANN401 - whatever the log held
    if isinstance(data_type, INTEGRAL_TYPES):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(data_type, FRACTIONAL_TYPES):
        return isinstance(value, float)
    if isinstance(data_type, t.TimestampType):
        return isinstance(value, dt.datetime) and value.tzinfo is not None
    if isinstance(data_type, t.TimestampNTZType):
        return isinstance(value, dt.datetime) and value.tzinfo is None
    if isinstance(data_type, t.DateType):
        return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    simple = {t.DecimalType: Decimal, t.StringType: str, t.BooleanType: bool}
    return isinstance(value, simple.get(type(data_type), ()))
