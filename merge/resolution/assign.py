"""A value brought to its column's type: casts of leaves, structs matched by field name (R-242, R-243, R-245)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

from merge.errors import AnalysisError
from merge.resolution.casts import cast_leaf, casts_once, casts_plainly, surely_castable
from merge.resolution.fields import find_field
from merge.resolution.type_sql import same_type, type_sql
from merge.sql_dialect import quote_name, quote_string

if TYPE_CHECKING:
    from merge.conf import MergeConf

_NESTED = (StructType, ArrayType, MapType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """A value of its column's type.

    Attributes:
        certain: False where only Spark can tell whether the cast exists.
    """

    sql: str
    certain: bool


def assign(sql: str, source: DataType, target: DataType, conf: MergeConf, *, repeatable: bool) -> Assigned:
    """Cast a value to the type of its column.

    Args:
        sql: Spark SQL over positional columns.
        source: the type of ``sql``.
        target: the type that the column has.
        conf: gives the store assignment policy.
        repeatable: ``sql`` may be written several times: a column, or a subquery, which Spark evaluates once.

    Raises:
        AnalysisError: ``DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION`` (R-243), ``CANNOT_UP_CAST_DATATYPE`` (R-251).
    """
    certain = _is_certain(source, target)
    if same_type(source, target):
        return Assigned(sql=sql, certain=True)
    if repeatable or _mentions_once(source, target, conf):
        return Assigned(sql=_convert(sql if repeatable else f"({sql})", source, target, conf), certain=certain)
    # One evaluation, whatever the expression: a lambda variable is the only name that SQL text can give a value.
    inner = _convert("assigned", source, target, conf)
    return Assigned(sql=f"transform(array({sql}), assigned -> {inner})[0]", certain=certain)


def _convert(sql: str, source: DataType, target: DataType, conf: MergeConf, depth: int = 0) -> str:
    if same_type(source, target):
        return sql
    if isinstance(source, StructType) and isinstance(target, StructType):
        return _struct(sql, source, target, conf, depth)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        if _casts_whole(source, target, conf):
            return f"CAST({sql} AS {type_sql(target)})"
        return f"transform({sql}, {_lambda(source.elementType, target.elementType, conf, depth)})"
    if isinstance(source, MapType) and isinstance(target, MapType):
        return _map(sql, source, target, conf, depth)
    if isinstance(source, _NESTED) or isinstance(target, _NESTED):
        return f"CAST({sql} AS {type_sql(target)})"  # Spark says whether that exists
    return cast_leaf(sql, source, target, conf)


def _struct(sql: str, source: StructType, target: StructType, conf: MergeConf, depth: int) -> str:
    _require_same_fields(source, target)
    if _casts_whole(source, target, conf):
        return f"CAST({sql} AS {type_sql(target)})"
    parts = []
    for field in target.fields:
        given = find_field(source, field.name, case_sensitive=False)
        value = _convert(f"{sql}.{quote_name(given.name)}", given.dataType, field.dataType, conf, depth)
        parts.append(f"{quote_string(field.name)}, {value}")
    rebuilt = f"named_struct({', '.join(parts)})"
    # a NULL struct stays NULL, it does not become a struct of NULLs.
    return f"IF({sql} IS NULL, NULL, {rebuilt})" if conf.preserve_null_source_structs else rebuilt


def _map(sql: str, source: MapType, target: MapType, conf: MergeConf, depth: int) -> str:
    if _casts_whole(source, target, conf):
        return f"CAST({sql} AS {type_sql(target)})"
    key, value = f"key_{depth}", f"value_{depth}"
    if not same_type(source.keyType, target.keyType):
        converted = _convert(key, source.keyType, target.keyType, conf, depth + 1)
        sql = f"transform_keys({sql}, ({key}, {value}) -> {converted})"
    if not same_type(source.valueType, target.valueType):
        converted = _convert(value, source.valueType, target.valueType, conf, depth + 1)
        sql = f"transform_values({sql}, ({key}, {value}) -> {converted})"
    return sql


def _lambda(source: DataType, target: DataType, conf: MergeConf, depth: int) -> str:
    element = f"element_{depth}"
    return f"{element} -> {_convert(element, source, target, conf, depth + 1)}"


def _require_same_fields(source: StructType, target: StructType) -> None:
    """Without evolution both sides have the same fields, whatever their order and case (R-243, R-120)."""
    if sorted(n.lower() for n in source.names) != sorted(n.lower() for n in target.names):
        raise AnalysisError(
            "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
            f"Cannot cast {source.simpleString()} to {target.simpleString()}. All nested columns must match.",
        )


def _casts_whole(source: DataType, target: DataType, conf: MergeConf) -> bool:
    """Tell whether one CAST does all: it goes by position, so the fields have to stand in the same order."""
    return casts_plainly(conf) and _same_order(source, target)


def _same_order(source: DataType, target: DataType) -> bool:
    if isinstance(source, StructType) and isinstance(target, StructType):
        _require_same_fields(source, target)
        return all(
            a.name.lower() == b.name.lower() and _same_order(a.dataType, b.dataType)
            for a, b in zip(source.fields, target.fields, strict=True)
        )
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _same_order(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return _same_order(source.keyType, target.keyType) and _same_order(source.valueType, target.valueType)
    return True


def _mentions_once(source: DataType, target: DataType, conf: MergeConf) -> bool:
    """Tell whether the conversion writes its operand a single time."""
    if isinstance(source, StructType) and isinstance(target, StructType):
        return _casts_whole(source, target, conf)
    if isinstance(source, ArrayType | MapType | NullType) or isinstance(target, _NESTED):
        return True
    return casts_once(source, target, conf)


def _is_certain(source: DataType, target: DataType) -> bool:
    if isinstance(source, StructType) and isinstance(target, StructType):
        _require_same_fields(source, target)
        fields = ((find_field(source, f.name, case_sensitive=False), f) for f in target.fields)
        return all(_is_certain(given.dataType, wanted.dataType) for given, wanted in fields)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _is_certain(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return _is_certain(source.keyType, target.keyType) and _is_certain(source.valueType, target.valueType)
    return same_type(source, target) or isinstance(source, NullType) or surely_castable(source, target)
