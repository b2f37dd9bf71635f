"""A data file's entry in the log compared with the rows of the file (P-11).

Readers skip files by these statistics, so a wrong bound loses rows in some later query, not in the merge that wrote it.
A bound may be loose, or missing; it must never be wrong. A new file also has the statistics that the table's properties
ask for, and its bounds are values that it holds, since readers take the least value of a column from there (R-722).
"""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mergecheck.harness.delta.tables.partition_values import moment
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import INTEGER_BITS, DecimalType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mergecheck.harness.delta.read import LiveFile
    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType, Field, Schema

_MILLISECOND = dt.timedelta(milliseconds=1)
_TIMESTAMPS = (types.TIMESTAMP, types.TIMESTAMP_NTZ)
_FLOATS = (types.FLOAT, types.DOUBLE)
_LONG, _KEPT = 32, 8
"""From so many bytes on, writers may cut a text, but not before so many characters."""
_NUM_INDEXED = "32"
"""The number of columns and fields with statistics if the table does not set it."""


def file_faults(file: LiveFile, *, schema: Schema, partition_by: Sequence[str]) -> Iterator[str]:
    """List the faults of a file's statistics; none if it has no statistics.

    Args:
        file: its entry in the log, and its rows.
        schema: columns of the rows.
        partition_by: columns that the statistics leave out.
    """
    text = file.add.get("stats")
    if text is None:
        if file.add.get("deletionVector") is not None:
            yield f"{file.add['path']} has a deletion vector, but no numRecords"
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
        # then only two numbers mean something: no value is NULL, and all values are
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


def lacking_statistics(
    file: LiveFile, *, schema: Schema, partition_by: Sequence[str], properties: Mapping[str, str]
) -> Iterator[str]:
    """List statistics that a new file lacks, and bounds that are no values of it (R-722).

    Args:
        file: its entry in the log, and its rows; without a deletion vector all its rows.
        schema: columns of the rows.
        partition_by: columns that the statistics leave out.
        properties: of the table.
    """
    text = file.add.get("stats")
    if text is None:
        yield f"{file.add['path']} has no statistics"
        return
    try:
        statistics = json.loads(text, parse_float=Decimal)
        if statistics.get("numRecords") is None:
            yield f"{file.add['path']} has statistics without numRecords"
        leaves = [
            leaf
            for place, column in enumerate(schema.columns)
            for leaf in _leaves(column, [row[place] for row in file.rows], ())
        ]
        for path, data_type, values in leaves[: _num_indexed(properties)]:
            if path[0] not in partition_by:
                yield from _lacking(path, data_type, values, statistics)
        if statistics.get("tightBounds") is not False:
            for path, data_type, values in leaves:
                if path[0] not in partition_by and has_order(data_type) and not isinstance(data_type, DecimalType):
                    yield from _loose(path, data_type, values, statistics)
    except (ValueError, ArithmeticError, TypeError, AttributeError):
        return  # ``file_faults`` reports that they cannot be read


def _num_indexed(properties: Mapping[str, str]) -> int | None:
    """Return how many columns and fields have statistics, from the first one on; None for all of them.

    A list of columns asks for others, and requires no particular one of the first columns.
    """
    if "delta.dataSkippingStatsColumns" in properties:
        return 0
    number = int(properties.get("delta.dataSkippingNumIndexedCols", _NUM_INDEXED))
    return None if number < 0 else number


def _leaves(
    column: Field, values: list[Value], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], DataType, list[Value]]]:
    """Go through a column, or the fields of a struct: path, type and values."""
    path = (*above, column.name)
    if not isinstance(column.type, StructType):
        yield path, column.type, values
        return
    for place, field in enumerate(column.type.fields):
        yield from _leaves(field, [None if value is None else value[place] for value in values], path)


def _lacking(path: tuple[str, ...], data_type: DataType, values: list[Value], statistics: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if has_order(data_type) and _at(statistics.get("nullCount"), path) is None:
        yield f"nullCount of {'.'.join(path)} is missing"
    present = [value for value in values if value is not None]
    for key in ("minValues", "maxValues"):
        if present and _must_have_bounds(data_type, present) and _at(statistics.get(key), path) is None:
            yield f"{key} of {'.'.join(path)} is missing"


def _must_have_bounds(data_type: DataType, present: list[Value]) -> bool:
    """Return whether nothing keeps a writer from writing bounds: texts may be long, moments and decimals too."""
    if data_type == types.STRING:
        return not any(map(_is_long, present))
    if data_type in _FLOATS:
        return all(math.isfinite(value) for value in present)
    return data_type in INTEGER_BITS or data_type == types.DATE


def _loose(path: tuple[str, ...], data_type: DataType, values: list[Value], statistics: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    present = [value for value in values if value is not None]
    if not present or any(_is_nan(value) for value in present):
        return
    for key, extreme, word in (("minValues", min(present), "least"), ("maxValues", max(present), "greatest")):
        bound = _at(statistics.get(key), path)
        if bound is not None and not _is_tight(typed_bound(bound, data_type), extreme):
            yield f"{key} {bound} of {'.'.join(path)}, but the {word} value is {extreme}"


def _is_long(text: str) -> bool:
    return len(text.encode()) >= _LONG


def _is_tight(bound: Value, extreme: Value) -> bool:
    """Return whether a bound is the extreme value, as far as writers cut it: texts, and moments at milliseconds."""
    if isinstance(bound, dt.datetime):
        return bool(abs(bound - extreme) < _MILLISECOND)
    if isinstance(bound, str) and _is_long(extreme):
        return bool(bound[:_KEPT] == extreme[:_KEPT])
    return bool(bound == extreme)


def _at(tree: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON value
    for name in path:
        if tree is None:
            return None
        tree = tree.get(name)
    return tree


def has_order(data_type: DataType) -> bool:
    """Return whether statistics may have bounds for a type."""
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
    """Return whether a lower bound is true to a value."""
    return bool(_is_nan(value) or bound <= value)


def is_high(bound: Value, value: Value) -> bool:
    """Return whether an upper bound is true to a value."""
    if _is_nan(bound):
        return True
    if isinstance(bound, dt.datetime):  # cut at milliseconds, and pruning allows for it
        return bool(value < bound + _MILLISECOND) if bound < _last(bound) else True
    return bool(value <= bound)


def _is_nan(value: Value) -> bool:
    """Return whether a value is NaN, which stands above every other number (R-801)."""
    return isinstance(value, float) and math.isnan(value)


def _last(bound: dt.datetime) -> dt.datetime:
    return dt.datetime.max.replace(tzinfo=bound.tzinfo) - _MILLISECOND
