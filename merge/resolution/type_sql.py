"""Spark types as SQL text, and comparing types without regard to nullability."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from merge.sql_dialect import quote_name


def type_sql(data_type: DataType) -> str:
    """Spell a type for CAST; field names are quoted, nullability is left out."""
    if isinstance(data_type, StructType):
        fields = ", ".join(f"{quote_name(f.name)}: {type_sql(f.dataType)}" for f in data_type.fields)
        return f"STRUCT<{fields}>"
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{type_sql(data_type.elementType)}>"
    if isinstance(data_type, MapType):
        return f"MAP<{type_sql(data_type.keyType)}, {type_sql(data_type.valueType)}>"
    return data_type.simpleString().upper()


def same_type(left: DataType, right: DataType) -> bool:
    """Tell whether two types are equal, names in their exact spelling included, nullability and comments left out."""
    if isinstance(left, StructType) and isinstance(right, StructType):
        return len(left.fields) == len(right.fields) and all(
            a.name == b.name and same_type(a.dataType, b.dataType)
            for a, b in zip(left.fields, right.fields, strict=True)
        )
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        return same_type(left.elementType, right.elementType)
    if isinstance(left, MapType) and isinstance(right, MapType):
        return same_type(left.keyType, right.keyType) and same_type(left.valueType, right.valueType)
    return left == right
