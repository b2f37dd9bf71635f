"""Spark types as SQL text, and comparison of types without nullability."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from mergecheck.merge.syntax.dialect import quote_name
from mergecheck.merge.types.fields import element_pairs


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
    """Tell whether two types are equal apart from nullability and comments; field names by case unless told."""
    if isinstance(left, StructType) and isinstance(right, StructType):
        return len(left.fields) == len(right.fields) and all(
            (a.name == b.name or (ignore_case and a.name.lower() == b.name.lower()))
            and same_type(a.dataType, b.dataType, ignore_case=ignore_case)
            for a, b in zip(left.fields, right.fields, strict=True)
        )
    pairs = element_pairs(left, right)
    return all(same_type(a, b, ignore_case=ignore_case) for a, b in pairs) if pairs else left == right
