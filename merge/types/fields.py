"""Types: their members, the fields that a name such as ``a.b.c`` reaches, their text (R-120, R-212, R-214)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.syntax.dialect import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Part(NamedTuple):
    """A type inside another one, and the field of a struct that has it, if it is one.

    The path leads from the outside to the inside. Members that are no fields are called ``element``, ``key`` or
    ``value``, as in Spark.
    """

    path: tuple[str, ...]
    type: DataType
    field: StructField | None = None


def parts_of(data_type: DataType, path: tuple[str, ...] = ()) -> Iterator[Part]:
    """Walk through everything inside a type, at every depth."""
    inside: list[Part] = []
    if isinstance(data_type, StructType):
        inside = [Part((*path, field.name), field.dataType, field) for field in data_type.fields]
    elif isinstance(data_type, ArrayType):
        inside = [Part((*path, "element"), data_type.elementType)]
    elif isinstance(data_type, MapType):
        inside = [Part((*path, "key"), data_type.keyType), Part((*path, "value"), data_type.valueType)]
    for part in inside:
        yield part
        yield from parts_of(part.type, part.path)


def element_pairs(left: DataType, right: DataType) -> list[tuple[DataType, DataType]]:
    """Pair the types inside two arrays or two maps; nothing for other types."""
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        return [(left.elementType, right.elementType)]
    if isinstance(left, MapType) and isinstance(right, MapType):
        return [(left.keyType, right.keyType), (left.valueType, right.valueType)]
    return []


def field_type(start: DataType, path: Sequence[str], *, case_sensitive: bool) -> DataType:
    """Return the type at the end of a path: of a struct's field, an array's elements' field, or a map's value.

    Raises:
        AnalysisError: ``FIELD_NOT_FOUND``, ``AMBIGUOUS_REFERENCE_TO_FIELDS`` or ``INVALID_EXTRACT_BASE_FIELD_TYPE``.
    """
    reached = start
    for name in path:
        reached = _step(reached, name, case_sensitive=case_sensitive)
    return reached


def find_field(struct: StructType, name: str, *, case_sensitive: bool) -> StructField:
    """Find a field by name.

    Raises:
        AnalysisError: ``FIELD_NOT_FOUND`` or ``AMBIGUOUS_REFERENCE_TO_FIELDS``.
    """
    wanted = name if case_sensitive else name.lower()
    found = [f for f in struct.fields if (f.name if case_sensitive else f.name.lower()) == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise AnalysisError(
            "AMBIGUOUS_REFERENCE_TO_FIELDS",
            f"Ambiguous reference to the field {quote_name(name)}. It appears {len(found)} times in the schema.",
        )
    known = ", ".join(quote_name(f.name) for f in struct.fields)
    raise AnalysisError("FIELD_NOT_FOUND", f"No such struct field {quote_name(name)} in {known}.")


def namesake(struct: StructType, name: str) -> StructField | None:
    """Find a field by its name, whatever the case (R-120); None if there is none. The first of several."""
    wanted = name.lower()
    return next((field for field in struct.fields if field.name.lower() == wanted), None)


def type_sql(data_type: DataType, *, not_null: bool = False) -> str:
    """Write a type for CAST; field names are quoted. NOT NULL of fields is only written on demand."""
    if isinstance(data_type, StructType):
        return f"STRUCT<{', '.join(_field_sql(field, not_null=not_null) for field in data_type.fields)}>"
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{type_sql(data_type.elementType, not_null=not_null)}>"
    if isinstance(data_type, MapType):
        key, value = (type_sql(kind, not_null=not_null) for kind in (data_type.keyType, data_type.valueType))
        return f"MAP<{key}, {value}>"
    return data_type.simpleString().upper()


def _field_sql(field: StructField, *, not_null: bool) -> str:
    suffix = " NOT NULL" if not_null and not field.nullable else ""
    return f"{quote_name(field.name)}: {type_sql(field.dataType, not_null=not_null)}{suffix}"


def same_type(left: DataType, right: DataType, *, ignore_case: bool = False) -> bool:
    """Return whether two types are equal apart from nullability, comments and, if asked, the case of names."""
    if isinstance(left, StructType) and isinstance(right, StructType):
        return len(left.fields) == len(right.fields) and all(
            (a.name == b.name or (ignore_case and a.name.lower() == b.name.lower()))
            and same_type(a.dataType, b.dataType, ignore_case=ignore_case)
            for a, b in zip(left.fields, right.fields, strict=True)
        )
    pairs = element_pairs(left, right)
    return all(same_type(a, b, ignore_case=ignore_case) for a, b in pairs) if pairs else left == right


def _step(reached: DataType, name: str, *, case_sensitive: bool) -> DataType:
    if isinstance(reached, StructType):
        return find_field(reached, name, case_sensitive=case_sensitive).dataType
    if isinstance(reached, ArrayType) and isinstance(reached.elementType, StructType):
        inner = find_field(reached.elementType, name, case_sensitive=case_sensitive)
        return ArrayType(inner.dataType, containsNull=True)
    if isinstance(reached, MapType):
        return reached.valueType
    raise AnalysisError(
        "INVALID_EXTRACT_BASE_FIELD_TYPE",
        f"Can't extract the field {quote_name(name)} from a value of type {reached.simpleString()}. "
        "Only structs, arrays of structs and maps have fields.",
    )
