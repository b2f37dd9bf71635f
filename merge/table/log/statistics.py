"""Statistics of a data file, gathered batch by batch while it is written (Delta protocol, per-file statistics).

Runs inside Spark's Python workers: plain pyarrow, nothing of Spark.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from mergecheck.merge.table.log.indexed_columns import IndexedColumns

MAX_STRING_LENGTH = 32
# A JSON number that other writers and readers pass through a double keeps this many digits.
EXACT_DECIMAL_DIGITS = 15
_LAST_BMP_REPLACEMENT = "\ufffd"
_LAST_CHARACTER = "\U0010ffff"
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - an origin to add microseconds to, without a zone on purpose
_MICROS_PER_MILLI = 1000


@dataclass(slots=True)
class _Leaf:
    """The statistics of one leaf column so far; ``has_nan`` voids the bounds."""

    path: tuple[str, ...]
    type: pa.DataType
    null_count: int = 0
    minimum: Any = None
    maximum: Any = None
    has_nan: bool = False


class StatisticsCollector:
    """Gathers numRecords, minValues, maxValues and nullCount of one file with the columns of a schema."""

    def __init__(self, schema: pa.Schema, indexed: IndexedColumns) -> None:
        leaves = [_Leaf(path, leaf_type) for field in schema for path, leaf_type in _leaves(field)]
        self._leaves = [leaf for position, leaf in enumerate(leaves) if indexed.holds(position, leaf.path)]
        self.num_records = 0

    def add(self, table: pa.Table) -> None:
        """Take the rows of one piece of the file into account."""
        self.num_records += table.num_rows
        for leaf in self._leaves:
            values = table.column(leaf.path[0])
            for name in leaf.path[1:]:
                values = pc.struct_field(values, [name])  # NULL if the struct is NULL
            leaf.null_count += values.null_count
            _extend_bounds(leaf, values)

    def to_json(self) -> str:
        """Write the ``stats`` of an add action."""
        lower: dict[str, Any] = {}
        upper: dict[str, Any] = {}
        nulls: dict[str, Any] = {}
        for leaf in self._leaves:
            _put(nulls, leaf.path, leaf.null_count)
            if leaf.minimum is None or leaf.has_nan:
                continue
            _put(lower, leaf.path, _bound(leaf.minimum, leaf.type, upper=False))
            _put(upper, leaf.path, _bound(leaf.maximum, leaf.type, upper=True))
        return json.dumps(
            {"numRecords": self.num_records, "minValues": lower, "maxValues": upper, "nullCount": nulls},
            separators=(",", ":"),
            ensure_ascii=False,
        )


def _leaves(field: pa.Field, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    path = (*prefix, field.name)
    if not pa.types.is_struct(field.type):
        yield path, field.type
        return
    for child in field.type:
        yield from _leaves(child, path)


def _has_bounds(data_type: pa.DataType) -> bool:
    kinds = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_string,
        pa.types.is_date32,
        pa.types.is_timestamp,
    )
    return any(is_kind(data_type) for is_kind in kinds)


def _extend_bounds(leaf: _Leaf, values: pa.ChunkedArray) -> None:
    if not _has_bounds(leaf.type) or leaf.has_nan or values.null_count == len(values):
        return
    if pa.types.is_floating(leaf.type) and pc.any(pc.is_nan(values)).as_py():
        leaf.has_nan = True  # NaN is above every bound that JSON can express
        return
    if pa.types.is_timestamp(leaf.type) or pa.types.is_date32(leaf.type):
        values = values.cast(pa.int64() if pa.types.is_timestamp(leaf.type) else pa.int32())
    found = pc.min_max(values)
    low, high = found["min"].as_py(), found["max"].as_py()
    leaf.minimum = low if leaf.minimum is None else min(leaf.minimum, low)
    leaf.maximum = high if leaf.maximum is None else max(leaf.maximum, high)


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:  # noqa: ANN401 - any JSON value
    if value is None:
        return
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _bound(value: Any, data_type: pa.DataType, *, upper: bool) -> Any:  # noqa: ANN401 - by the column's type
    """Write a bound; one that JSON cannot hold exactly becomes wider, or None."""
    if pa.types.is_string(data_type):
        return truncated_maximum(value) if upper else value[:MAX_STRING_LENGTH]
    if pa.types.is_timestamp(data_type):
        return _timestamp(-(-value // _MICROS_PER_MILLI) if upper else value // _MICROS_PER_MILLI, data_type)
    if pa.types.is_floating(data_type):
        return _floating(value, data_type, zero=0.0 if upper else -0.0)
    if pa.types.is_date32(data_type):
        return _iso(dt.timedelta(days=value), "%Y-%m-%d")
    return _decimal(value) if pa.types.is_decimal(data_type) else value


def truncated_maximum(text: str) -> str | None:
    """Cut a string to a prefix that is still an upper bound by bytes; None if no such prefix exists."""
    if len(text) <= MAX_STRING_LENGTH:
        return text
    prefix, following = text[:MAX_STRING_LENGTH], text[MAX_STRING_LENGTH]
    if following < _LAST_BMP_REPLACEMENT:
        return prefix + _LAST_BMP_REPLACEMENT
    return prefix + _LAST_CHARACTER if following < _LAST_CHARACTER else None


def _floating(value: float, data_type: pa.DataType, *, zero: float) -> float | None:
    if not math.isfinite(value):
        return None  # JSON has no infinity
    if value == 0:
        return zero  # -0.0 = 0.0, but a reader may order them
    if pa.types.is_float32(data_type):
        return float(pa.scalar(value, pa.float32()).cast(pa.string()).as_py())
    return value


def _decimal(value: Decimal) -> int | float | None:
    if len(value.as_tuple().digits) > EXACT_DECIMAL_DIGITS:
        return None
    return int(value) if value == value.to_integral_value() else float(value)


def _timestamp(millis: int, data_type: pa.DataType) -> str | None:
    text = _iso(dt.timedelta(milliseconds=millis), "%Y-%m-%dT%H:%M:%S")
    if text is None:
        return None
    return f"{text}.{millis % 1000:03d}" + ("Z" if data_type.tz else "")


def _iso(since_epoch: dt.timedelta, form: str) -> str | None:
    try:
        moment = _EPOCH + since_epoch
    except OverflowError:
        return None  # outside the years 1 to 9999
    return moment.strftime(form.replace("%Y", f"{moment.year:04d}"))  # strftime does not pad years everywhere
