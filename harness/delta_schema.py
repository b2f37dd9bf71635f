"""Delta's JSON form of a table schema, both ways."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from reference import types
from reference.types import ArrayType, AtomicType, DecimalType, Field, MapType, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference.types import DataType

_WORD_OF_ATOMIC = {
    types.BOOLEAN: "boolean",
    types.TINYINT: "byte",
    types.SMALLINT: "short",
    types.INT: "integer",
    types.BIGINT: "long",
    types.FLOAT: "float",
    types.DOUBLE: "double",
    types.STRING: "string",
    types.BINARY: "binary",
    types.DATE: "date",
    types.TIMESTAMP: "timestamp",
    types.TIMESTAMP_NTZ: "timestamp_ntz",
}
_ATOMIC_OF_WORD = {word: atomic for atomic, word in _WORD_OF_ATOMIC.items()}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def schema_to_json(schema: Schema) -> str:
    """Spell a schema as Delta's log does.

    Raises:
        ValueError: for a VOID column, which a table cannot store.
    """
    return json.dumps(_struct_to_json(schema.columns), ensure_ascii=False)


def schema_from_json(text: str) -> Schema:
    """Read a schema as Delta's log spells it; nullability of array elements and map values is not kept.

    Raises:
        ValueError: for a type that a case cannot hold.
    """
    return Schema(_fields_from_json(json.loads(text)))


def contains_type(schema: Schema, wanted: DataType) -> bool:
    """Tell whether a type occurs anywhere in a schema, nested places included."""
    return any(wanted in _parts(column.type) for column in schema.columns)


def _parts(data_type: DataType) -> Iterator[DataType]:
    yield data_type
    if isinstance(data_type, ArrayType):
        yield from _parts(data_type.element)
    elif isinstance(data_type, MapType):
        yield from _parts(data_type.key)
        yield from _parts(data_type.value)
    elif isinstance(data_type, StructType):
        for field in data_type.fields:
            yield from _parts(field.type)


def _struct_to_json(fields: tuple[Field, ...]) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": f.name, "type": _type_to_json(f.type), "nullable": f.nullable, "metadata": {}} for f in fields
        ],
    }


def _type_to_json(data_type: DataType) -> str | dict[str, Any]:
    if isinstance(data_type, DecimalType):
        return f"decimal({data_type.precision},{data_type.scale})"
    if isinstance(data_type, StructType):
        return _struct_to_json(data_type.fields)
    if isinstance(data_type, ArrayType):
        return {"type": "array", "elementType": _type_to_json(data_type.element), "containsNull": True}
    if isinstance(data_type, MapType):
        return {
            "type": "map",
            "keyType": _type_to_json(data_type.key),
            "valueType": _type_to_json(data_type.value),
            "valueContainsNull": True,
        }
    if data_type not in _WORD_OF_ATOMIC:
        raise ValueError(f"a Delta table cannot store a column of type {data_type.ddl()}; give it another type")
    return _WORD_OF_ATOMIC[data_type]


def _fields_from_json(struct: dict[str, Any]) -> tuple[Field, ...]:
    return tuple(
        Field(f["name"], _type_from_json(f["type"]), nullable=f.get("nullable", True)) for f in struct["fields"]
    )


def _type_from_json(spelled: str | dict[str, Any]) -> DataType:
    if isinstance(spelled, str):
        return _atomic_from_word(spelled)
    if spelled["type"] == "struct":
        return StructType(_fields_from_json(spelled))
    if spelled["type"] == "array":
        return ArrayType(_type_from_json(spelled["elementType"]))
    if spelled["type"] == "map":
        return MapType(_type_from_json(spelled["keyType"]), _type_from_json(spelled["valueType"]))
    raise ValueError(f"the table's schema has a type that a case cannot hold: {json.dumps(spelled)}")


def _atomic_from_word(word: str) -> AtomicType | DecimalType:
    if atomic := _ATOMIC_OF_WORD.get(word):
        return atomic
    if decimal := _DECIMAL.fullmatch(word):
        return DecimalType(int(decimal[1]), int(decimal[2]))
    raise ValueError(
        f"the table's schema has a type that a case cannot hold: {word!r}; "
        f"a case holds {', '.join(sorted(_ATOMIC_OF_WORD))}, decimal(p,s), struct, array and map"
    )
