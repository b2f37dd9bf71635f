"""Rows that stand for all rows that the log allows in a file.

A column that is only compared with some values needs few representatives: each of these values, a neighbour on either
side, the bounds, and NULL. Whatever the file holds lies on the same side of all of the values as one of them. The rows
are all combinations of the representatives of the columns: within its bounds a column has any value beside any
other's.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Context, Decimal
from itertools import product
from typing import TYPE_CHECKING

from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import INTEGER_BITS, DecimalType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mergecheck.harness.oracles.work.file_bounds import Bounds, ColumnPath, FileBounds
    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

MAX_ROWS = 20_000
_DIGITS = Context(prec=1_200)  # a DOUBLE may have that many
_EXACT_FLOAT = 2**24  # up to here every whole number is a FLOAT


class TooManyRowsError(Exception):
    """There are more combinations than can be looked at."""


class InexactError(Exception):
    """A value is compared as another number than the column holds."""


def possible_rows(file: FileBounds, schema: Schema, compared: Mapping[ColumnPath, Iterable[Value]]) -> list[Row]:
    """List rows: a condition on the compared columns is TRUE for some of them if it is for any allowed row.

    Args:
        file: the log's facts.
        schema: the target's columns.
        compared: the columns and fields that conditions use, with all values that they are compared with; NULLs
            among these mean nothing.

    Returns:
        Rows of the schema; columns that are not compared are NULL.

    Raises:
        TooManyRowsError, InexactError: it cannot be done.
    """
    places = sorted({path[0] for path in compared})
    choices = [
        list(_choices((place,), schema.columns[place].type, file, compared)) if place in places else [None]
        for place in range(len(schema.columns))
    ]
    if math.prod(map(len, choices)) > MAX_ROWS:
        raise TooManyRowsError
    return list(product(*choices))


def _choices(
    path: ColumnPath, data_type: DataType, file: FileBounds, compared: Mapping[ColumnPath, Iterable[Value]]
) -> Iterator[Value]:
    """List the representatives of a column or field; of a struct, all combinations of its fields'."""
    if isinstance(data_type, StructType) and path not in compared:
        inner = [
            list(_choices((*path, place), field.type, file, compared)) for place, field in enumerate(data_type.fields)
        ]
        if math.prod(map(len, inner)) > MAX_ROWS:
            raise TooManyRowsError
        yield from product(*inner)
    elif path not in compared:
        yield None
    else:
        yield from _representatives(file.of(path), data_type, compared[path])


def _representatives(bounds: Bounds, data_type: DataType, values: Iterable[Value]) -> Iterator[Value]:
    if bounds.may_be_null:
        yield None
    if bounds.is_single:
        yield from [bounds.low] if bounds.may_be_value else []
        return
    near = [each for value in values if value is not None for each in _around(value, data_type)]
    ends = [end for end in (bounds.low, bounds.high) if end is not None]
    found = {_key(value): value for value in (*ends, *near, *_anywhere(data_type)) if bounds.allows(value)}
    yield from found.values()


def _key(value: Value) -> object:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _anywhere(data_type: DataType) -> tuple[Value, ...]:
    """Give some values of a type, for a column without bounds; of a BOOLEAN and of numbers with NaN all kinds."""
    if data_type == types.BOOLEAN:
        return (False, True)
    if data_type in (types.FLOAT, types.DOUBLE):
        return (float("-inf"), 0.0, float("inf"), float("nan"))
    if data_type in INTEGER_BITS:
        top = 2 ** (INTEGER_BITS[data_type] - 1)
        return (-top, 0, top - 1)
    if isinstance(data_type, DecimalType):
        top = 10**data_type.precision - 1
        return tuple(_decimal(units, data_type) for units in (-top, 0, top))
    if data_type in (types.STRING, types.BINARY):
        return ("",) if data_type == types.STRING else (b"",)
    if data_type == types.DATE:
        return (dt.date.min, dt.date(2000, 1, 1), dt.date.max)
    if data_type == types.TIMESTAMP:
        return tuple(moment.replace(tzinfo=dt.UTC) for moment in _MOMENTS)
    if data_type == types.TIMESTAMP_NTZ:
        return _MOMENTS
    raise TypeError(f"a column of the type {data_type.ddl()} is compared by order")


_MOMENTS = (dt.datetime.min, dt.datetime(2000, 1, 1), dt.datetime.max)  # noqa: DTZ001, DTZ901 - for both types


def _around(value: Value, data_type: DataType) -> Iterator[Value]:
    """Give a value, and its neighbours in a type, as far as the type has them."""
    if data_type in INTEGER_BITS:
        yield from _whole_numbers(value, INTEGER_BITS[data_type])
    elif isinstance(data_type, DecimalType):
        yield from _decimals(value, data_type)
    elif data_type == types.DOUBLE:
        number = float(value)
        yield from (number, math.nextafter(number, -math.inf), math.nextafter(number, math.inf))
    elif data_type == types.FLOAT:
        yield from _floats(float(value))
    elif data_type == types.STRING:
        yield from (value, value + "\0")
    elif data_type == types.BINARY:
        yield from (value, value + b"\0")
    elif data_type == types.DATE:
        yield from _moved(value, dt.timedelta(days=1))
    elif data_type in (types.TIMESTAMP, types.TIMESTAMP_NTZ):
        yield from _moved(value, dt.timedelta(microseconds=1))
    else:
        yield value


def _whole_numbers(value: Value, bits: int) -> Iterator[int]:
    if isinstance(value, float) and not math.isfinite(value):
        return  # every whole number is on the same side
    if isinstance(value, float) and abs(value) > _EXACT_FLOAT:
        raise InexactError
    whole = math.floor(value)
    top = 2 ** (bits - 1)
    yield from (number for number in (whole - 1, whole, whole + 1) if -top <= number < top)


def _decimals(value: Value, data_type: DecimalType) -> Iterator[Decimal]:
    if isinstance(value, float) and not math.isfinite(value):
        return
    units = math.floor(_DIGITS.scaleb(Decimal(value), data_type.scale))
    top = 10**data_type.precision
    yield from (_decimal(unit, data_type) for unit in (units - 1, units, units + 1) if -top < unit < top)


def _decimal(units: int, data_type: DecimalType) -> Decimal:
    return _DIGITS.scaleb(Decimal(units), -data_type.scale)


def _floats(value: float) -> Iterator[float]:
    """Give the FLOATs around a number."""
    if not math.isfinite(value):
        yield value
        return
    try:
        (nearest,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        nearest = math.copysign(math.inf, value)
    yield nearest
    if not math.isfinite(nearest):
        return
    (bits,) = struct.unpack("<i", struct.pack("<f", nearest))
    for near in (bits - 1, bits + 1):  # the numbers beside, away from zero and towards it
        if nearest != 0:
            yield struct.unpack("<f", struct.pack("<i", near))[0]
    if nearest == 0:
        tiny = math.ldexp(1, -149)
        yield from (-tiny, tiny)


def _moved(value: Value, step: dt.timedelta) -> Iterator[Value]:
    yield value
    for moved in (-step, step):
        try:
            yield value + moved
        except OverflowError:
            continue
