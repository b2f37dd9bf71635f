"""Conversion of a value to its column's type: casts, and structs matched by field name (R-242 to R-245)."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

from mergecheck.merge.conf import MergeConf, StoreAssignmentPolicy
from mergecheck.merge.syntax.dialect import quote_name, quote_string
from mergecheck.merge.types.casts import cast_leaf, cast_unlike, casts_once, casts_plainly, surely_castable
from mergecheck.merge.types.fields import element_pairs, namesake, same_type, type_sql
from mergecheck.merge.types.map_keys import has_checked_keys
from mergecheck.merge.types.nullability import refuse_narrowing
from mergecheck.merge.types.struct_fields import FieldRule, has_target_only_fields, match_fields, same_layout

_NESTED = (StructType, ArrayType, MapType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """A value of its column's type; not certain if only Spark can decide whether the cast exists."""

    sql: str
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedSql:
    """A Spark SQL text over positional columns that may be written several times, and its type."""

    sql: str
    type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Casting:
    """How a value is converted to another type.

    Attributes:
        conf: gives the store assignment policy (R-251).
        fields: which fields structs must have (R-242, R-243).
        keep_null_structs: a NULL struct stays NULL; otherwise it becomes a struct of NULLs (R-244).
    """

    conf: MergeConf
    fields: FieldRule
    keep_null_structs: bool = True


def widen(old: TypedSql, final: DataType, *, keep_null_structs: bool) -> str:
    """Convert a value of the table to the final schema: new fields are NULL, NULL structs follow R-244 (R-241)."""
    casting = Casting(conf=MergeConf(), fields=FieldRule.BY_NAME_WITH_NULLS, keep_null_structs=keep_null_structs)
    return _convert(old.sql, old.type, final, casting)


def null_of(data_type: DataType) -> str:
    """Write a typed NULL."""
    return f"CAST(NULL AS {type_sql(data_type)})"


def assign(
    sql: str,
    source: DataType,
    target: DataType,
    casting: Casting,
    *,
    repeatable: bool,
    preserved: TypedSql | None = None,
) -> Assigned:
    """Cast a value, Spark SQL over positional columns, to the type of its column.

    Args:
        sql: the value.
        source: its type.
        target: the column's.
        casting: policy, matching of fields and treatment of NULL structs.
        repeatable: ``sql`` may be written several times: a column, or a subquery, which Spark evaluates once.
        preserved: the column's old value, from which fields that only the target has are kept: ``UPDATE *`` (R-244).

    Raises:
        AnalysisError: ``DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION`` (R-243), ``CANNOT_UP_CAST_DATATYPE`` (R-251),
            ``DATATYPE_MISMATCH``, under STRICT the latter, if a part may be NULL that must not be NULL in the column
            (R-741).
    """
    strict = casting.conf.store_assignment_policy is StoreAssignmentPolicy.STRICT
    refuse_narrowing(source, target, casting.fields, strict=strict)
    if same_type(source, target):
        return Assigned(sql=sql)
    certain = _is_certain(source, target, casting)
    if repeatable or _mentions_once(source, target, casting):
        text = sql if repeatable else f"({sql})"
        return Assigned(sql=_convert(text, source, target, casting, preserved=preserved), certain=certain)
    # A lambda variable is the only name that SQL text can give a value, so that it is evaluated once.
    inner = _convert("assigned", source, target, casting, preserved=preserved)
    return Assigned(sql=f"transform(array({sql}), assigned -> {inner})[0]", certain=certain)


def _convert(
    sql: str,
    source: DataType,
    target: DataType,
    casting: Casting,
    *,
    depth: int = 0,
    preserved: TypedSql | None = None,
) -> str:
    if same_type(source, target):
        return sql
    if same_type(source, target, ignore_case=True) or _casts_whole(source, target, casting):
        return f"CAST({sql} AS {type_sql(target)})"  # nothing is rebuilt, so NULL stays NULL
    if isinstance(source, StructType) and isinstance(target, StructType):
        return _struct(sql, source, target, casting, depth=depth, preserved=preserved)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        element = f"element_{depth}"
        converted = _convert(element, source.elementType, target.elementType, casting, depth=depth + 1)
        return f"transform({sql}, {element} -> {converted})"
    if isinstance(source, MapType) and isinstance(target, MapType):
        return _map(sql, source, target, casting, depth)
    if isinstance(source, _NESTED) or isinstance(target, _NESTED):
        return cast_unlike(sql, source, target, casting.conf)
    return cast_leaf(sql, source, target, casting.conf)


def _struct(
    sql: str, source: StructType, target: StructType, casting: Casting, *, depth: int, preserved: TypedSql | None
) -> str:
    old = preserved if has_target_only_fields(source, target, casting.fields) else None
    parts = []
    for wanted, given in match_fields(source, target, casting.fields):
        kept = field_of(old, wanted.name)
        if given is not None:
            path = f"{sql}.{quote_name(given.name)}"
            value = _convert(path, given.dataType, wanted.dataType, casting, depth=depth, preserved=kept)
        else:
            value = null_of(wanted.dataType) if kept is None else widen(kept, wanted.dataType, keep_null_structs=True)
        parts.append(f"{quote_string(wanted.name)}, {value}")
    rebuilt = f"named_struct({', '.join(parts)})"
    if not casting.keep_null_structs:
        return rebuilt
    # with fields to preserve, a NULL source gives NULL only where the struct was NULL before.
    is_null = f"{sql} IS NULL" if old is None else f"{sql} IS NULL AND {old.sql} IS NULL"
    return f"IF({is_null}, NULL, {rebuilt})"


def field_of(value: TypedSql | None, name: str) -> TypedSql | None:
    """Take a field out of a struct value; None if there is no value or no such field."""
    if value is None or not isinstance(value.type, StructType):
        return None
    field = namesake(value.type, name)
    return None if field is None else TypedSql(sql=f"{value.sql}.{quote_name(field.name)}", type=field.dataType)


def _map(sql: str, source: MapType, target: MapType, casting: Casting, depth: int) -> str:
    key, value = f"key_{depth}", f"value_{depth}"
    if not same_type(source.keyType, target.keyType):
        converted = _convert(key, source.keyType, target.keyType, casting, depth=depth + 1)
        sql = f"transform_keys({sql}, ({key}, {value}) -> {converted})"
    if not same_type(source.valueType, target.valueType):
        converted = _convert(value, source.valueType, target.valueType, casting, depth=depth + 1)
        sql = f"transform_values({sql}, ({key}, {value}) -> {converted})"
    return sql


def _casts_whole(source: DataType, target: DataType, casting: Casting) -> bool:
    """Return whether one CAST converts everything: it goes by position and leaves NULL structs NULL."""
    if not (isinstance(source, _NESTED) and type(source) is type(target) and casts_plainly(casting.conf)):
        return False
    if has_checked_keys(source, target):
        return False  # CAST would leave a key twice
    return casting.keep_null_structs and same_layout(source, target, casting.fields)


def _mentions_once(source: DataType, target: DataType, casting: Casting) -> bool:
    """Return whether the conversion writes its operand a single time."""
    if isinstance(source, StructType) and isinstance(target, StructType):
        return same_type(source, target, ignore_case=True) or _casts_whole(source, target, casting)
    if isinstance(source, ArrayType | MapType | NullType) or isinstance(target, _NESTED):
        return True
    return casts_once(source, target, casting.conf)


def _is_certain(source: DataType, target: DataType, casting: Casting) -> bool:
    if isinstance(source, StructType) and isinstance(target, StructType):
        pairs = match_fields(source, target, casting.fields)
        return all(given is None or _is_certain(given.dataType, wanted.dataType, casting) for wanted, given in pairs)
    pairs_inside = element_pairs(source, target)
    if pairs_inside:
        return all(_is_certain(*pair, casting) for pair in pairs_inside)
    return same_type(source, target) or isinstance(source, NullType) or surely_castable(source, target)
