"""Families of types: types whose faults have a common cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import ArrayType, MapType, StructType, type_word

if TYPE_CHECKING:
    from mergecheck.model.types.data_types import DataType

_FAMILIES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "floating point"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ"), "timestamp"),
    "BOOLEAN": "boolean",
    "DECIMAL": "decimal",
    "BINARY": "binary",
    "DATE": "date",
}


def family_of(data_type: DataType) -> str:
    """Name the family of a type, ``string`` for what has none of its own."""
    nested = {StructType: "struct", ArrayType: "array", MapType: "map"}
    if type(data_type) in nested:
        return nested[type(data_type)]
    return _FAMILIES.get(type_word(data_type), "string")
