"""Columns that were widened once: their entries in the log's schema, and files that hold the earlier type (R-716)."""

from __future__ import annotations

import json
import math
import struct
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from mergecheck.harness.compare.log_invariants.widening_invariants import TYPE_CHANGES, type_changes
from mergecheck.model.types.data_types import (
    DATE,
    FLOAT,
    INTEGER_BITS,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    Schema,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType

_EXACT = Context(prec=76)


def with_type_changes(text: str, schema: Schema, earlier: Mapping[str, DataType]) -> str:
    """Write into a log's schema that some columns had other types once.

    Args:
        text: the schema in the log's notation.
        schema: the same.
        earlier: the types that columns had, by their names.
    """
    spelled = json.loads(text)
    for member, column in zip(spelled["fields"], schema.columns, strict=True):
        if column.name in earlier:
            member["metadata"][TYPE_CHANGES] = type_changes(earlier[column.name], column.type)
    return json.dumps(spelled, ensure_ascii=False)


def earlier_rows(
    schema: Schema, rows: Sequence[Row], earlier: Mapping[str, DataType]
) -> tuple[Schema, Sequence[Row]] | None:
    """Give the rows of a file as they were stored when its columns had their earlier types.

    Returns:
        None if a value does not fit.
    """
    columns = tuple(Field(c.name, earlier.get(c.name, c.type), nullable=c.nullable) for c in schema.columns)
    changed = [i for i, (old, new) in enumerate(zip(columns, schema.columns, strict=True)) if old.type != new.type]
    found = []
    for row in rows:
        cells = list(row)
        for i in changed:
            try:
                cells[i] = _narrowed(row[i], schema.columns[i].type, columns[i].type)
            except _DoesNotFitError:
                return None
        found.append(tuple(cells))
    return Schema(columns), found


class _DoesNotFitError(Exception):
    """A value is none of the earlier type."""


def _narrowed(value: Value, new: DataType, old: DataType) -> Value:
    if value is None or new == old:
        return value
    if isinstance(new, ArrayType) and isinstance(old, ArrayType):
        return tuple(_narrowed(item, new.element, old.element) for item in value)
    if isinstance(new, MapType) and isinstance(old, MapType):
        return tuple((_narrowed(k, new.key, old.key), _narrowed(v, new.value, old.value)) for k, v in value)
    if old in INTEGER_BITS:
        return _whole(value, INTEGER_BITS[old])
    if isinstance(old, DecimalType):
        return _decimal(value, old)
    return _float(value) if old == FLOAT else _date(value, old)


def _whole(value: float | Decimal, bits: int) -> int:
    """Narrow a number to an integer type; there is no negative zero among them."""
    fits = math.isfinite(value) and value == int(value) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)
    if not fits or (value == 0 and isinstance(value, float) and math.copysign(1, value) < 0):
        raise _DoesNotFitError
    return int(value)


def _decimal(value: Decimal, old: DecimalType) -> Decimal:
    narrow = value.quantize(Decimal(1).scaleb(-old.scale), context=_EXACT)
    if narrow != value or abs(narrow) >= Decimal(10) ** (old.precision - old.scale):
        raise _DoesNotFitError
    return narrow


def _float(value: float) -> float:
    try:
        narrow: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        raise _DoesNotFitError from None
    if narrow != value and not math.isnan(value):
        raise _DoesNotFitError
    return narrow


def _date(value: dt.datetime, old: DataType) -> dt.date:
    if old != DATE or value.time() != value.min.time():
        raise _DoesNotFitError
    return value.date()
