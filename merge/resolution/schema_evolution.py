"""The final schema of a merge with schema evolution: which columns and fields the source adds (R-230 to R-238)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pyspark.sql import types as t

from mergecheck.merge.conf import AutomaticWidening
from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.types.fields import namesake, parts_of, same_type
from mergecheck.merge.types.nullability import as_nullable, nullable_field
from mergecheck.merge.types.widening import widens

if TYPE_CHECKING:
    from collections.abc import Collection

_DATETIMES: Final = (t.DateType, t.TimestampType, t.TimestampNTZType)


def filter_schema(
    source: t.StructType,
    assigned: Collection[tuple[str, ...]],
    *,
    star: bool,
    case_sensitive: bool,
    prefix: tuple[str, ...] = (),
) -> t.StructType:
    """Keep the columns and fields of the source that the clauses assign (R-233), arrays and maps whole.

    Args:
        source: the source's schema, or the fields of a struct in it, whose path is ``prefix``.
        assigned: the left-hand paths of all explicit assignments in matched and not matched clauses.
        star: whether such a clause has a star.
        case_sensitive: the session's rule for comparing paths.
        prefix: empty for the schema.
    """

    def fold(path: tuple[str, ...]) -> tuple[str, ...]:
        return path if case_sensitive else tuple(part.lower() for part in path)

    paths = {fold(path) for path in assigned}
    kept = []
    for field in source.fields:
        path = (*prefix, field.name)
        inside = fold(path)
        if inside in paths:
            kept.append(field)
        elif isinstance(field.dataType, t.StructType) and (
            star or any(len(p) > len(inside) and p[: len(inside)] == inside for p in paths)
        ):
            fields = filter_schema(field.dataType, paths, star=star, case_sensitive=case_sensitive, prefix=path)
            kept.append(t.StructField(field.name, fields, field.nullable, field.metadata))
        elif star:
            kept.append(field)
    return t.StructType(kept)


def merge_schemas(
    target: t.StructType, source: t.StructType, widening: AutomaticWidening = AutomaticWidening.NEVER
) -> t.StructType:
    """Add to the target what only the source has (R-234, R-235).

    The table's columns keep their names, nullability and metadata, and their types, unless these are widened; nested
    fields may be added.

    Args:
        target: the table's columns.
        source: of the source's schema what ``filter_schema`` leaves.
        widening: which types may be widened (R-237).

    Raises:
        AnalysisError: ``DELTA_DUPLICATE_COLUMNS_FOUND.DATA`` (R-238), ``DELTA_FAILED_TO_MERGE_FIELDS`` (R-236).
    """
    _check_duplicates(source)
    return _merge_structs(target, source, widening)


def implicitly_castable(source: t.DataType, target: t.DataType) -> bool:
    """Return whether Spark casts between these types implicitly, so that the target's type stays (R-236)."""
    if isinstance(source, t.NullType) or same_type(source, target):
        return True
    if isinstance(target, t.StringType):
        return isinstance(source, t.AtomicType)
    if isinstance(source, t.StringType):
        return isinstance(target, (t.NumericType, t.BinaryType, *_DATETIMES))
    if isinstance(source, t.NumericType):
        return isinstance(target, t.NumericType)
    return isinstance(source, _DATETIMES) and isinstance(target, _DATETIMES)


def _merge_structs(target: t.StructType, source: t.StructType, widening: AutomaticWidening) -> t.StructType:
    merged = []
    for field in target.fields:
        given = namesake(source, field.name)
        kind = field.dataType if given is None else _merge_fields(field, given, widening)
        merged.append(t.StructField(field.name, kind, field.nullable, field.metadata))
    new = [field for field in source.fields if namesake(target, field.name) is None]
    return t.StructType([*merged, *(nullable_field(field) for field in new)])


def _merge_fields(target: t.StructField, source: t.StructField, widening: AutomaticWidening) -> t.DataType:
    try:
        return _merge_types(target.dataType, source.dataType, widening)
    except AnalysisError as error:
        raise AnalysisError(
            "DELTA_FAILED_TO_MERGE_FIELDS",
            f"Failed to merge fields '{target.name}' and '{source.name}'. {error.message} "
            "Cast the column in the source, or merge without schema evolution.",
        ) from error


def _merge_types(target: t.DataType, source: t.DataType, widening: AutomaticWidening) -> t.DataType:
    """Merge structs, arrays and maps part by part; an atomic type is widened (R-237), or stays if it can (R-236).

    Delta's next step, to widen BYTE, SHORT and INT among themselves, is never reached: all numbers cast implicitly.
    """
    if isinstance(target, t.StructType) and isinstance(source, t.StructType):
        return _merge_structs(target, source, widening)
    if isinstance(target, t.ArrayType) and isinstance(source, t.ArrayType):
        return t.ArrayType(_merge_types(target.elementType, source.elementType, widening), target.containsNull)
    if isinstance(target, t.MapType) and isinstance(source, t.MapType):
        keys = _merge_types(target.keyType, source.keyType, widening)
        return t.MapType(keys, _merge_types(target.valueType, source.valueType, widening), target.valueContainsNull)
    if widens(widening, target, source):
        return source
    if implicitly_castable(source, target):
        return target
    if isinstance(target, t.NullType):
        return as_nullable(source)
    raise AnalysisError(
        "DELTA_MERGE_INCOMPATIBLE_DATATYPE",
        f"Failed to merge incompatible data types {target.simpleString()} and {source.simpleString()}.",
    )


def _check_duplicates(schema: t.StructType) -> None:
    counts = Counter(".".join(part.path).lower() for part in parts_of(schema) if part.field)
    duplicates = [name for name, count in counts.items() if count > 1]
    if duplicates:
        raise AnalysisError(
            "DELTA_DUPLICATE_COLUMNS_FOUND.DATA",
            f"Found duplicate column(s): {', '.join(duplicates)}. The duplicate was found in the data being saved.",
        )
