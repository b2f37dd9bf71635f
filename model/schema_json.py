"""Delta's JSON form of a table schema, both ways, and the CHECK constraints among its properties."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mergecheck.model.errors import CaseFormatError
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import (
    ArrayType,
    AtomicType,
    DecimalType,
    Field,
    Identity,
    MapType,
    Schema,
    StructType,
    TextLimit,
    declared_ddl,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.types.data_types import DataType

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
_CHAR = re.compile(r"\bchar\(", re.IGNORECASE)
DEFAULT_KEY = "CURRENT_DEFAULT"
"""Metadata of a column that has a default: its Spark SQL text (R-220)."""
GENERATED_KEY = "delta.generationExpression"
"""Metadata of a generated column: the Spark SQL text of its expression (R-222)."""

IDENTITY_START, IDENTITY_STEP, IDENTITY_BY_DEFAULT, IDENTITY_MARK = (
    f"delta.identity.{name}" for name in ("start", "step", "allowExplicitInsert", "highWaterMark")
)
"""Metadata of an identity column (R-226); the mark is left out until a value is generated."""

INVARIANT_KEY = "delta.invariants"
"""Metadata of a column with an invariant: JSON around its Spark SQL text (R-746)."""
LIMIT_KEY = "__CHAR_VARCHAR_TYPE_STRING"
"""Metadata of a column with texts that were declared as CHAR or VARCHAR: the column's type (R-822)."""

_CONSTRAINT_PREFIX = "delta.constraints."


def check_constraints(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the CHECK constraints among a table's properties (R-742): condition by name, in the properties' order."""
    return {key[len(_CONSTRAINT_PREFIX) :]: text for key, text in properties.items() if is_constraint(key)}


def is_constraint(key: str) -> bool:
    """Return whether a table property is a CHECK constraint."""
    return key.lower().startswith(_CONSTRAINT_PREFIX)


def schema_to_json(schema: Schema, *, comment: str | None = None) -> str:
    """Format a schema as Delta's log does.

    Args:
        schema: the columns.
        comment: a comment for every column, followed by its name; None for no comments.

    Raises:
        ValueError: for a VOID column, which a table cannot store.
    """
    spelled = _struct_to_json(schema.columns)
    if comment is not None:
        for member in spelled["fields"]:
            member["metadata"]["comment"] = f"{comment} {member['name']}"
    return json.dumps(spelled, ensure_ascii=False)


def schema_from_json(text: str) -> Schema:
    """Read a schema as Delta's log writes it, with NOT NULL, defaults and generation expressions.

    The nullability of array elements and map values is not kept: a case's types have none.

    Raises:
        ValueError: for a type that a case cannot hold.
    """
    return Schema(_fields_from_json(json.loads(text)))


def members_not_null(text: str) -> tuple[str, ...]:
    """Return the paths of the arrays and maps whose elements or values the log's schema calls NOT NULL.

    A case's types do not have it, and evolution stores everything nullable, at every depth (R-235).
    """
    return tuple(_members_not_null(json.loads(text), path=""))


def _members_not_null(spelled: str | dict[str, Any], *, path: str) -> Iterator[str]:
    if isinstance(spelled, str):
        return
    if not (spelled.get("containsNull", True) and spelled.get("valueContainsNull", True)):
        yield path
    for field in spelled.get("fields", ()):
        yield from _members_not_null(field["type"], path=f"{path}.{field['name']}" if path else field["name"])
    for key, step in (("elementType", "element"), ("keyType", "key"), ("valueType", "value")):
        if key in spelled:
            yield from _members_not_null(spelled[key], path=f"{path}.{step}")


def columns_with_char(text: str) -> tuple[str, ...]:
    """Name the columns of the log's schema that are CHAR or have one inside: Spark pads them where it reads them."""
    columns = json.loads(text)["fields"]
    return tuple(c["name"] for c in columns if _CHAR.search(c.get("metadata", {}).get(LIMIT_KEY, "")))


def contains_type(schema: Schema, wanted: DataType) -> bool:
    """Return whether a type occurs anywhere in a schema, nested places included."""
    return any(wanted in _parts(column.type) for column in schema.columns)


def as_nullable(schema: Schema) -> Schema:
    """Drop NOT NULL at every depth, as the Parquet files of a Delta table do: the log alone states it."""
    return Schema(tuple(Field(c.name, _nullable_type(c.type)) for c in schema.columns))


def _nullable_type(data_type: DataType) -> DataType:
    if isinstance(data_type, StructType):
        return StructType(tuple(Field(f.name, _nullable_type(f.type)) for f in data_type.fields))
    if isinstance(data_type, ArrayType):
        return ArrayType(_nullable_type(data_type.element))
    if isinstance(data_type, MapType):
        return MapType(_nullable_type(data_type.key), _nullable_type(data_type.value))
    return data_type


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
            {"name": f.name, "type": type_to_json(f.type), "nullable": f.nullable, "metadata": _metadata(f)}
            for f in fields
        ],
    }


def _metadata(field: Field) -> dict[str, Any]:
    said: dict[str, Any] = {DEFAULT_KEY: field.default, GENERATED_KEY: field.generated}
    if field.invariant is not None:
        said[INVARIANT_KEY] = json.dumps({"expression": {"expression": field.invariant}})
    if field.limits:
        said[LIMIT_KEY] = field.limit.ddl().lower() if field.limit else declared_ddl(field.type, field.limits)
    if (identity := field.identity) is not None:
        said |= {IDENTITY_START: identity.start, IDENTITY_STEP: identity.step}
        said |= {IDENTITY_BY_DEFAULT: identity.by_default, IDENTITY_MARK: identity.mark}
    return {key: value for key, value in said.items() if value is not None}


def _identity(metadata: Mapping[str, Any]) -> Identity | None:
    if IDENTITY_STEP not in metadata:
        return None
    return Identity(
        start=metadata[IDENTITY_START],
        step=metadata[IDENTITY_STEP],
        by_default=metadata[IDENTITY_BY_DEFAULT],
        mark=metadata.get(IDENTITY_MARK),
    )


def _invariant(said: str | None) -> str | None:
    return None if said is None else str(json.loads(said)["expression"]["expression"])


def _limits(said: str | None) -> tuple[TextLimit, ...]:
    if said is None:
        return ()
    from mergecheck.model.types.ddl import parse_schema  # noqa: PLC0415 - it loads sqlglot, which takes its time

    try:
        return parse_schema(f"declared {said}").columns[0].limits
    except CaseFormatError as error:
        raise ValueError(f"the table has lengths of texts that a case cannot hold: {said!r}") from error


def type_to_json(data_type: DataType) -> str | dict[str, Any]:
    """Format a type as Delta's log does.

    Raises:
        ValueError: for a type that a table cannot store.
    """
    if isinstance(data_type, DecimalType):
        return f"decimal({data_type.precision},{data_type.scale})"
    if isinstance(data_type, StructType):
        return _struct_to_json(data_type.fields)
    if isinstance(data_type, ArrayType):
        return {"type": "array", "elementType": type_to_json(data_type.element), "containsNull": True}
    if isinstance(data_type, MapType):
        return {
            "type": "map",
            "keyType": type_to_json(data_type.key),
            "valueType": type_to_json(data_type.value),
            "valueContainsNull": True,
        }
    if data_type not in _WORD_OF_ATOMIC:
        raise ValueError(f"a Delta table cannot store a column of type {data_type.ddl()}; give it another type")
    return _WORD_OF_ATOMIC[data_type]


def _fields_from_json(struct: dict[str, Any]) -> tuple[Field, ...]:
    return tuple(
        Field(
            f["name"],
            _type_from_json(f["type"]),
            nullable=f.get("nullable", True),
            default=f.get("metadata", {}).get(DEFAULT_KEY),
            generated=f.get("metadata", {}).get(GENERATED_KEY),
            identity=_identity(f.get("metadata", {})),
            invariant=_invariant(f.get("metadata", {}).get(INVARIANT_KEY)),
            limits=_limits(f.get("metadata", {}).get(LIMIT_KEY)),
        )
        for f in struct["fields"]
    )


def _type_from_json(spelled: str | dict[str, Any]) -> DataType:
    if isinstance(spelled, str):
        return _atomic_from_word(spelled)
    if spelled["type"] == "struct":
        if any(INVARIANT_KEY in f.get("metadata", {}) for f in spelled["fields"]):
            raise ValueError("the table has an invariant of a field inside a column, which a case cannot hold")
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
