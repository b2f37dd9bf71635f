"""An earlier schema and a later one: what evolution may change, and the earlier rows in the later schema.

Evolution adds columns and nested fields at the end of their struct, nothing else (R-234, R-235). In rows of before they
are NULL, at every depth (R-610); a NULL struct, and a NULL element of an array or a map, stays NULL (R-241).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from mergecheck.model.schema_json import as_nullable
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import INTEGER_BITS, ArrayType, DecimalType, MapType, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Field

    Convert = Callable[[Value], Value]

_EXACT = Context(prec=76)  # the default of 28 digits would refuse a DECIMAL(38,s)


def evolution_faults(old: Schema, new: Schema, *, widens: bool) -> Iterator[str]:
    """List changes of a schema that no evolution makes: columns lost, moved, renamed or changed, NOT NULL added.

    Args:
        old: the schema before.
        new: the schema after.
        widens: whether the types of existing columns may be widened (R-237).
    """
    yield from _field_faults(old.columns, new.columns, widens=widens, where="")


def _field_faults(old: Sequence[Field], new: Sequence[Field], *, widens: bool, where: str) -> Iterator[str]:
    for place, field in enumerate(old):
        kept = new[place] if place < len(new) else None
        name = f"{where}{field.name}"
        if kept is None or kept.name != field.name:
            yield f"{name} was column {place + 1}, now {'nothing' if kept is None else kept.name} is"
            return
        if _own_values(kept) != _own_values(field):
            yield f"{name} has another NOT NULL, DEFAULT or GENERATED than before"
        yield from _type_faults(field.type, kept.type, widens=widens, name=name)
    for field in new[len(old) :]:
        if not _is_plain(field):
            yield f"{where}{field.name} is new, and a new field may be NULL and has no value of its own"


def _own_values(field: Field) -> tuple[object, ...]:
    """Return what evolution leaves alone; the high-water mark of an identity column moves with its values (R-226)."""
    identity = None if field.identity is None else replace(field.identity, mark=None)
    return (field.nullable, field.default, field.generated, identity, field.invariant, field.limits)


def _type_faults(old: DataType, new: DataType, *, widens: bool, name: str) -> Iterator[str]:
    if isinstance(old, StructType) and isinstance(new, StructType):
        yield from _field_faults(old.fields, new.fields, widens=widens, where=f"{name}.")
    elif isinstance(old, ArrayType) and isinstance(new, ArrayType):
        yield from _type_faults(old.element, new.element, widens=widens, name=f"{name}.element")
    elif isinstance(old, MapType) and isinstance(new, MapType):
        yield from _type_faults(old.key, new.key, widens=widens, name=f"{name}.key")
        yield from _type_faults(old.value, new.value, widens=widens, name=f"{name}.value")
    elif old != new and not (widens and _converter(old, new) is not None):
        yield f"{name} was {old.ddl()} and is {new.ddl()}"


def _is_plain(field: Field) -> bool:
    bare = as_nullable(Schema((field,))).columns[0]
    return field == bare


def row_converter(old: Schema, new: Schema) -> Callable[[Row], Row] | None:
    """Return the function that presents a row of the old schema in the new one.

    Args:
        old: columns of the rows.
        new: columns of the result, in their order.

    Returns:
        None if a column of the old schema is lost, or changed to a type that no evolution leads to (R-236, R-237).
    """
    return _members(old.columns, new.columns)


def null_structs_expanded(values: Sequence[Value], fields: Sequence[Field]) -> Row:
    """Replace every NULL struct by a struct of NULLs, on all levels, in arrays and maps too."""
    return tuple(_expanded(value, field.type) for value, field in zip(values, fields, strict=True))


def _expanded(value: Value, data_type: DataType) -> Value:
    if isinstance(data_type, StructType):
        return null_structs_expanded(value or (None,) * len(data_type.fields), data_type.fields)
    if value is None:
        return None
    if isinstance(data_type, ArrayType):
        return tuple(_expanded(item, data_type.element) for item in value)
    if isinstance(data_type, MapType):
        return tuple((_expanded(key, data_type.key), _expanded(item, data_type.value)) for key, item in value)
    return value


def _members(old: Sequence[Field], new: Sequence[Field]) -> Callable[[Row], Row] | None:
    places = {field.name: place for place, field in enumerate(old)}
    if not places.keys() <= {field.name for field in new}:
        return None
    steps: list[tuple[int, Convert] | None] = []
    for field in new:
        place = places.get(field.name)
        if place is None:
            steps.append(None)
            continue
        convert = _converter(old[place].type, field.type)
        if convert is None:
            return None
        steps.append((place, convert))
    return lambda row: tuple(None if step is None else step[1](row[step[0]]) for step in steps)


def _converter(old: DataType, new: DataType) -> Convert | None:
    if old == new:
        return _same
    if isinstance(old, StructType) and isinstance(new, StructType):
        return _unless_null(_members(old.fields, new.fields))
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return _unless_null(_array(_converter(old.element, new.element)))
    if isinstance(old, MapType) and isinstance(new, MapType):
        return _unless_null(_map(_converter(old.key, new.key), _converter(old.value, new.value)))
    return _unless_null(_widening(old, new))


def _array(element: Convert | None) -> Convert | None:
    return None if element is None else lambda value: tuple(element(item) for item in value)


def _map(key: Convert | None, item: Convert | None) -> Convert | None:
    if key is None or item is None:
        return None
    return lambda value: tuple((key(k), item(v)) for k, v in value)


def _widening(old: DataType, new: DataType) -> Convert | None:
    """Return the conversion of a value whose type was widened (R-236, R-237)."""
    if old in INTEGER_BITS and new in INTEGER_BITS:
        return _same if INTEGER_BITS[old] <= INTEGER_BITS[new] else None
    if new == types.DOUBLE and (old == types.FLOAT or old in INTEGER_BITS):
        return float
    if isinstance(new, DecimalType) and (isinstance(old, DecimalType) or old in INTEGER_BITS):
        step = Decimal(1).scaleb(-new.scale)
        return lambda value: Decimal(value).quantize(step, context=_EXACT)
    if old == types.DATE and new == types.TIMESTAMP_NTZ:
        return lambda value: dt.datetime.combine(value, dt.time())
    return None


def _unless_null(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _same(value: Value) -> Value:
    return value
