"""Type widening: which types may become which, and its record in the log's schema (R-237, R-716)."""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 - the type of a constant
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as t

from mergecheck.merge.conf import AutomaticWidening
from mergecheck.merge.types.fields import namesake

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPE_CHANGES: Final = "delta.typeChanges"
_INTEGERS: Final = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_SMALL_INTEGERS: Final = (t.ByteType, t.ShortType, t.IntegerType)
_TYPES: Final[Mapping[str, t.DataType]] = {
    kind.typeName(): kind()
    for kind in (*_INTEGERS, t.FloatType, t.DoubleType, t.DateType, t.TimestampNTZType, t.StringType)
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_DIGITS_OF_INT, _DIGITS_OF_LONG = 10, 20


def widens(mode: AutomaticWidening, old: t.DataType, new: t.DataType) -> bool:
    """Return whether evolution makes a column of the one type a column of the other (R-237)."""
    if mode is AutomaticWidening.NEVER or not is_widening(old, new):
        return False
    return mode is AutomaticWidening.ALWAYS or not _leaves_family(old, new)


def is_widening(old: t.DataType, new: t.DataType) -> bool:
    """Return whether the protocol allows an atomic column to change its type so."""
    if isinstance(old, _INTEGERS) and isinstance(new, _INTEGERS):
        return _INTEGERS.index(type(old)) < _INTEGERS.index(type(new))
    if isinstance(new, t.DoubleType):
        return isinstance(old, (t.FloatType, *_SMALL_INTEGERS))
    if isinstance(new, t.DecimalType):
        return old != new and _fits_decimal(old, new)
    return isinstance(old, t.DateType) and isinstance(new, t.TimestampNTZType)


def changes(
    old: t.DataType, new: t.DataType, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], t.DataType, t.DataType]]:
    """List the atomic types that differ at one place of two types: path, type before, type after.

    Fields are found by name; a field that only one type has is no change. Steps into arrays and maps are called
    ``element``, ``key`` and ``value``.
    """
    if isinstance(old, t.StructType) and isinstance(new, t.StructType):
        for field in old.fields:
            kept = namesake(new, field.name)
            if kept is not None:
                yield from changes(field.dataType, kept.dataType, (*path, field.name))
    elif isinstance(old, t.ArrayType) and isinstance(new, t.ArrayType):
        yield from changes(old.elementType, new.elementType, (*path, "element"))
    elif isinstance(old, t.MapType) and isinstance(new, t.MapType):
        yield from changes(old.keyType, new.keyType, (*path, "key"))
        yield from changes(old.valueType, new.valueType, (*path, "value"))
    elif old != new:
        yield path, old, new


def unknown_changes(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Name the changes in a field's metadata that the protocol does not allow: readers may fail on such files."""
    for entry in metadata.get(TYPE_CHANGES, ()):
        words = entry["fromType"], entry["toType"]
        old, new = map(_type_of_word, words)
        if words != ("string", "string") and (old is None or new is None or not is_widening(old, new)):
            yield f"a change of type from {words[0]} to {words[1]}"


def is_from_float(metadata: Mapping[str, Any]) -> bool:
    """Return whether a column was FLOAT once: its old files have 32-bit numbers, and bounds with their few digits."""
    return any(entry["fromType"] == "float" for entry in metadata.get(TYPE_CHANGES, ()))


def was_decimal(field: t.StructField) -> bool:
    """Return whether a column or a field of it was a DECIMAL with fewer digits: old files may have smaller numbers."""
    changed = (field.metadata or {}).get(TYPE_CHANGES, ())
    inside = field.dataType.fields if isinstance(field.dataType, t.StructType) else []
    return any(_DECIMAL.fullmatch(entry["fromType"]) for entry in changed) or any(map(was_decimal, inside))


def with_type_changes(schema: t.StructType, old: t.StructType) -> t.StructType:
    """Record the change of type in the metadata of each column and field.

    A change inside of an array or a map belongs to the field that has it; earlier entries stay.

    Args:
        schema: the columns after the merge.
        old: those before.
    """
    return t.StructType([_with_own_changes(field, namesake(old, field.name)) for field in schema.fields])


def _with_own_changes(field: t.StructField, old: t.StructField | None) -> t.StructField:
    if old is None:
        return field
    own = [_entry(*change) for change in changes(_without_structs(old.dataType), _without_structs(field.dataType))]
    metadata = dict(field.metadata or {})
    if own:
        metadata[TYPE_CHANGES] = [*metadata.get(TYPE_CHANGES, ()), *own]
    return t.StructField(field.name, _with_inner_changes(field.dataType, old.dataType), field.nullable, metadata)


def _with_inner_changes(kind: t.DataType, old: t.DataType) -> t.DataType:
    if isinstance(kind, t.StructType) and isinstance(old, t.StructType):
        return with_type_changes(kind, old)
    if isinstance(kind, t.ArrayType) and isinstance(old, t.ArrayType):
        return t.ArrayType(_with_inner_changes(kind.elementType, old.elementType), kind.containsNull)
    if isinstance(kind, t.MapType) and isinstance(old, t.MapType):
        key = _with_inner_changes(kind.keyType, old.keyType)
        return t.MapType(key, _with_inner_changes(kind.valueType, old.valueType), kind.valueContainsNull)
    return kind


def _entry(path: tuple[str, ...], old: t.DataType, new: t.DataType) -> dict[str, Any]:
    place = {"fieldPath": ".".join(path)} if path else {}
    return {"fromType": old.jsonValue(), "toType": new.jsonValue(), **place}


def _without_structs(kind: t.DataType) -> t.DataType:
    """Leave the fields of structs out: each records its own changes."""
    if isinstance(kind, t.StructType):
        return t.StructType()
    if isinstance(kind, t.ArrayType):
        return t.ArrayType(_without_structs(kind.elementType))
    if isinstance(kind, t.MapType):
        return t.MapType(_without_structs(kind.keyType), _without_structs(kind.valueType))
    return kind


def _type_of_word(word: str) -> t.DataType | None:
    """Read an atomic type as the log writes it; None for any other word."""
    if decimal := _DECIMAL.fullmatch(word):
        return t.DecimalType(int(decimal[1]), int(decimal[2]))
    return _TYPES.get(word)


def _fits_decimal(old: t.DataType, new: t.DecimalType) -> bool:
    whole = new.precision - new.scale
    if isinstance(old, t.DecimalType):
        return old.scale <= new.scale and old.precision - old.scale <= whole
    return (isinstance(old, _SMALL_INTEGERS) and whole >= _DIGITS_OF_INT) or (
        isinstance(old, t.LongType) and whole >= _DIGITS_OF_LONG
    )


def _leaves_family(old: t.DataType, new: t.DataType) -> bool:
    """Return whether an integer becomes another sort of number."""
    return isinstance(old, _INTEGERS) and not isinstance(new, _INTEGERS)
