"""Type widening: earlier types of columns, and wider columns of the source (R-237, R-716)."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from decimal import Context, Decimal
from functools import partial
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TIMESTAMP_NTZ,
    TINYINT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    Schema,
)
from mergecheck.model.types.widening import is_widening
from mergecheck.strategies.choices import chance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Source, Target, Value

_EARLIER_PERCENT = 60
_EARLIER_TYPES: tuple[DataType, ...] = (INT, SMALLINT, TINYINT, BIGINT, FLOAT, DATE)
_LATER_TYPES: tuple[DataType, ...] = (
    *(BIGINT, INT, SMALLINT, DOUBLE, TIMESTAMP_NTZ, DecimalType(12, 2), DecimalType(22, 1)),
)
_NARROWER: dict[DataType, tuple[DataType, int]] = {BIGINT: (INT, 32), INT: (SMALLINT, 16), SMALLINT: (TINYINT, 8)}
"""A narrower type of whole numbers, and its bits."""
_MOST_DIGITS = 35
_EXACT = Context(prec=38)
_CONSTRAINT = "delta.constraints."
_WIDER_PERCENT, _WIDER_USED_PERCENT = 75, 20
_WORD = re.compile(r"`([^`]*)`|(\w+)")


def draw_earlier_types(draw: DrawFn, target: Target) -> dict[str, DataType]:
    """Draw earlier types for some of the columns that can have had one; shrinks to none."""
    found = {}
    for column in target.schema.columns:
        earlier = () if column.name in target.partition_by else tuple(_earlier_types(column.type))
        if earlier and chance(draw, _EARLIER_PERCENT):
            found[column.name] = draw(st.sampled_from(earlier))
    return found


def _earlier_types(data_type: DataType) -> Iterator[DataType]:
    """List types that a column of a type can have had; columns with structs inside are left out."""
    if isinstance(data_type, ArrayType):
        yield from (ArrayType(element) for element in _earlier_types(data_type.element))
    elif isinstance(data_type, MapType):
        yield from (MapType(data_type.key, value) for value in _earlier_types(data_type.value))
        yield from (MapType(key, data_type.value) for key in _earlier_types(data_type.key))
    else:
        yield from filter(partial(is_widening, new=data_type), (*_EARLIER_TYPES, *_decimals(data_type)))


def with_wider_columns(draw: DrawFn, target: Target, source: Source | None) -> Source | None:
    """Give some columns of the source wider types than their namesakes in the target have; shrinks to the source.

    Seldom if a constraint or a generated column uses the namesake, since the merge is refused then (R-240).
    """
    if source is None:
        return None
    wanted = {column.name.lower(): column.type for column in target.schema.columns}
    used = used_names(target)
    columns = list(source.schema.columns)
    for i, column in enumerate(columns):
        wider = _wider_types(column.type) if wanted.get(column.name.lower()) == column.type else ()
        if wider and chance(draw, _WIDER_USED_PERCENT if column.name.lower() in used else _WIDER_PERCENT):
            columns[i] = replace(column, type=draw(st.sampled_from(wider)))
    rows = tuple(
        tuple(_widened(value, column.type) for value, column in zip(row, columns, strict=True)) for row in source.rows
    )
    return replace(source, schema=Schema(tuple(columns)), rows=rows)


def with_narrower_columns(draw: DrawFn, target: Target, source: Source) -> Target:
    """Give some columns of the target narrower types than their namesakes in the source have; shrinks to the target.

    For a source whose types are in its query. A column is left as it is if something of the table needs its type.
    """
    names = {column.name.lower() for column in source.schema.columns}
    used = used_names(target) | {name.lower() for name in (*target.partition_by, *target.layout.cluster_by)}
    columns = list(target.schema.columns)
    for i, column in enumerate(columns):
        free = column.default is None and column.generated is None and column.name.lower() in names - used
        if not free or column.type not in _NARROWER:
            continue
        narrower, bits = _NARROWER[column.type]
        largest = 2 ** (bits - 1) - 1
        fits = all(row[i] is None or -largest <= row[i] <= largest for row in target.rows)
        if fits and chance(draw, _WIDER_PERCENT):
            columns[i] = replace(column, type=narrower)
    return replace(target, schema=Schema(tuple(columns)))


def used_names(target: Target) -> set[str]:
    """Return the words of constraints and of generated columns, in lower case."""
    texts = [text for name, text in target.properties.items() if name.startswith(_CONSTRAINT)]
    texts += [column.generated for column in target.schema.columns if column.generated is not None]
    return {(quoted or word).lower() for text in texts for quoted, word in _WORD.findall(text)}


def _wider_types(data_type: DataType) -> tuple[DataType, ...]:
    """List wider types, and for a decimal as often one with more digits of which fewer are behind the point."""
    if isinstance(data_type, ArrayType):
        return tuple(ArrayType(element) for element in _wider_types(data_type.element))
    if isinstance(data_type, MapType):
        return tuple(MapType(data_type.key, value) for value in _wider_types(data_type.value))
    wider = tuple(filter(partial(is_widening, data_type), _LATER_TYPES))
    if isinstance(data_type, DecimalType) and data_type.precision <= _MOST_DIGITS:
        precision, scale = data_type.precision, data_type.scale
        wider += (DecimalType(precision + 1, scale), DecimalType(precision + 3, scale + 1))
        return wider if scale == 0 else (*wider, *[DecimalType(precision + 2, scale - 1)] * len(wider))
    return wider


def _widened(value: Value, wanted: DataType) -> Value:
    """Convert a value to a wider type, or leave it as it is."""
    if value is None:
        return None
    if isinstance(wanted, ArrayType):
        return tuple(_widened(item, wanted.element) for item in value)
    if isinstance(wanted, MapType):
        return tuple((key, _widened(item, wanted.value)) for key, item in value)
    if wanted == DOUBLE:
        return float(value)
    if isinstance(wanted, DecimalType):
        return Decimal(value).quantize(Decimal(1).scaleb(-wanted.scale), context=_EXACT)
    if wanted == TIMESTAMP_NTZ and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    return value


def _decimals(data_type: DataType) -> Iterator[DecimalType]:
    if isinstance(data_type, DecimalType):
        precision, scale = data_type.precision, data_type.scale
        for fewer, digits in ((1, 0), (2, 1), (3, 2)):
            if precision > fewer and scale >= digits and precision - fewer >= scale - digits:
                yield DecimalType(precision - fewer, scale - digits)
