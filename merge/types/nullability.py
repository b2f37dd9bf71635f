"""Nullability inside values and columns (R-235, R-741)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.types.fields import element_pairs, same_type, type_sql
from mergecheck.merge.types.struct_fields import match_fields

if TYPE_CHECKING:
    from mergecheck.merge.types.struct_fields import FieldRule


def refuse_narrowing(source: DataType, target: DataType, rule: FieldRule, *, strict: bool) -> None:
    """Refuse a value whose parts may be NULL if the column's type only differs in that they must not be.

    Delta Lake lets Spark cast such a value as a whole, and Spark refuses that cast. If anything else differs, the
    value is rebuilt by name and may be NULL anywhere; then its rows are checked when they are written.

    Args:
        source: the value's type.
        target: the column's.
        rule: which fields structs must have.
        strict: the store assignment policy is STRICT (R-251).

    Raises:
        AnalysisError: ``DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION``, under STRICT ``CANNOT_UP_CAST_DATATYPE``; what
            ``match_fields`` raises.
    """
    if same_type(source, target, ignore_case=True):
        if _narrows(source, target):
            raise AnalysisError(
                "CANNOT_UP_CAST_DATATYPE" if strict else "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
                f"Cannot cast a value of {type_sql(source)} whose fields or elements may be NULL to a column where "
                "they are NOT NULL. Assign the fields one by one, or declare them NOT NULL in the source.",
            )
    elif isinstance(source, StructType) and isinstance(target, StructType):
        for wanted, given in match_fields(source, target, rule):
            if given is not None:
                refuse_narrowing(given.dataType, wanted.dataType, rule, strict=strict)
    else:
        for pair in element_pairs(source, target):
            refuse_narrowing(*pair, rule, strict=strict)


def demands_values_inside(schema: StructType) -> bool:
    """Return whether something inside a column must not be NULL; Spark's file reader does not report that."""
    return any(_narrows(as_nullable(field.dataType), field.dataType) for field in schema.fields)


def nullable_field(field: StructField) -> StructField:
    """Make a new field: nullable at every depth; of the source's metadata only the comment is kept (R-235)."""
    metadata = {key: value for key, value in (field.metadata or {}).items() if key == "comment"}
    return StructField(field.name, as_nullable(field.dataType), nullable=True, metadata=metadata)


def as_nullable(data_type: DataType) -> DataType:
    """Return the same type with everything inside it nullable."""
    if isinstance(data_type, StructType):
        return StructType([nullable_field(field) for field in data_type.fields])
    if isinstance(data_type, ArrayType):
        return ArrayType(as_nullable(data_type.elementType), containsNull=True)
    if isinstance(data_type, MapType):
        return MapType(as_nullable(data_type.keyType), as_nullable(data_type.valueType), valueContainsNull=True)
    return data_type


def _narrows(source: DataType, target: DataType) -> bool:
    """Return whether a part may be NULL in the first of two otherwise equal types, but not in the second."""
    if isinstance(source, StructType) and isinstance(target, StructType):
        return any(
            (given.nullable and not wanted.nullable) or _narrows(given.dataType, wanted.dataType)
            for given, wanted in zip(source.fields, target.fields, strict=True)
        )
    return (_has_null_elements(source) and not _has_null_elements(target)) or any(
        _narrows(*pair) for pair in element_pairs(source, target)
    )


def _has_null_elements(data_type: DataType) -> bool:
    if isinstance(data_type, ArrayType):
        return data_type.containsNull
    return isinstance(data_type, MapType) and data_type.valueContainsNull
