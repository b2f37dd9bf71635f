"""Which maps are rebuilt key by key when their keys are cast, so that Spark checks the keys (R-256)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as t

from mergecheck.merge.types.casts import can_up_cast
from mergecheck.merge.types.fields import namesake, parts_of, same_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


def has_checked_keys(source: DataType, target: DataType) -> bool:
    """Return whether the cast of a value rebuilds a map in it key by key.

    Delta goes into structs and arrays of structs field by field. It casts everything else as a whole, and such a cast
    may give a map with one key twice.
    """
    if isinstance(source, t.MapType) and isinstance(target, t.MapType):
        structs = _has_struct(source) and _has_struct(target) and not same_type(source.keyType, target.keyType)
        return structs or _may_give_null(source.keyType, target.keyType)
    if isinstance(source, t.ArrayType) and isinstance(target, t.ArrayType):
        elements = source.elementType, target.elementType
        return all(isinstance(element, t.StructType) for element in elements) and has_checked_keys(*elements)
    if isinstance(source, t.StructType) and isinstance(target, t.StructType):
        found = ((field.dataType, namesake(source, field.name)) for field in target.fields)
        return any(given is not None and has_checked_keys(given.dataType, wanted) for wanted, given in found)
    return False


def _has_struct(data_type: DataType) -> bool:
    return any(isinstance(part.type, t.StructType) for part in parts_of(data_type))


def _may_give_null(source: DataType, target: DataType) -> bool:
    """Return whether Spark thinks that its CAST without ANSI mode makes NULL of some value: ``Cast.forceNullable``."""
    if same_type(source, target) or isinstance(source, t.NullType) or isinstance(target, t.StringType):
        return False
    if isinstance(source, t.StringType):
        return not isinstance(target, t.BinaryType)
    if isinstance(source, t.DateType) or isinstance(target, t.DateType):
        return not (isinstance(source, t.TimestampType) or isinstance(target, t.TimestampType))
    if isinstance(target, t.DecimalType):
        return not _has_room(source, target)
    if isinstance(target, t.TimestampType):
        return isinstance(source, t.FractionalType) and not isinstance(source, t.DecimalType)
    if isinstance(target, t.IntegralType):
        seconds = isinstance(source, t.TimestampType) and not isinstance(target, t.LongType)
        return seconds or isinstance(source, t.FractionalType)
    return False


def _has_room(source: DataType, target: t.DecimalType) -> bool:
    digits = target.precision - target.scale
    if isinstance(source, t.BooleanType):
        return digits > 0
    if isinstance(source, t.DecimalType) and digits > source.precision - source.scale:
        return True
    return isinstance(source, t.IntegralType | t.DecimalType) and can_up_cast(source, target)
