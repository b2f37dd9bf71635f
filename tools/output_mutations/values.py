"""Other values of a type, for a changed cell."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mergecheck.model.types.data_types import ArrayType, DecimalType, MapType, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType

_STEPS: Mapping[type, Callable[[Any], Value]] = {
    bool: lambda value: not value,
    int: lambda value: value - 1 if value > 0 else value + 1,
    float: lambda value: 0.07 if value != value else value + 0.07,  # noqa: PLR0124 - NaN
    Decimal: lambda value: -value if value else Decimal((0, (7,), value.as_tuple().exponent)),
    str: lambda value: f"{value}~",
    bytes: lambda value: value + b"~",
    dt.datetime: lambda value: value + dt.timedelta(days=1, seconds=1),
    dt.date: lambda value: value + dt.timedelta(days=1),
}
_OF_TYPE = {
    "BOOLEAN": True,
    "FLOAT": 0.5,
    "DOUBLE": 0.07,
    "STRING": "~",
    "BINARY": b"~",
    "DATE": dt.date(2001, 2, 3),
    "TIMESTAMP": dt.datetime(2001, 2, 3, tzinfo=dt.UTC),
    "TIMESTAMP_NTZ": dt.datetime(2001, 2, 3),  # noqa: DTZ001 - that is the type
}


def other_rows(row: Row, schema: Schema) -> Iterator[Row]:
    """Give the row with one cell changed, for each cell, and for each field of a struct."""
    for place, column in enumerate(schema.columns):
        for value in other_values(row[place], column.type):
            yield (*row[:place], value, *row[place + 1 :])


def other_values(value: Value, data_type: DataType) -> Iterator[Value]:
    """Give other values of a type; of a struct, one for each field, and NULL."""
    if value is None:
        yield some_value(data_type)
        return
    if isinstance(data_type, StructType):
        for place, field in enumerate(data_type.fields):
            for part in other_values(value[place], field.type):
                yield (*value[:place], part, *value[place + 1 :])
    elif isinstance(data_type, ArrayType | MapType):
        yield () if value else None
        return
    else:
        step = next(step for kind, step in _STEPS.items() if isinstance(value, kind))
        yield step(value)
    yield None


def some_value(data_type: DataType) -> Value:
    """Give a value of a type that is not NULL."""
    if isinstance(data_type, StructType):
        return tuple(some_value(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType | MapType):
        return ()
    if isinstance(data_type, DecimalType):
        return Decimal((0, (7,), -data_type.scale))
    return _OF_TYPE.get(data_type.ddl(), 7)
