"""Spark's ordinary CAST of whole values: atomic ones, and structs by position, arrays and maps (R-255)."""

from __future__ import annotations

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    VOID,
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    StructType,
    type_word,
)
from mergecheck.model.types.implicit_casts import is_numeric
from mergecheck.model.types.typed import Typed, combine, duckdb_type, identifier
from mergecheck.reference.casts.conversions import CAST_OVERFLOW, Failure, cast, is_up_cast

_BIGINT_DIGITS = 19  # of the longest BIGINT; not every number of so many digits is one


def cast_value(operand: Typed, wanted: DataType) -> Typed:
    """Cast a value as ``CAST(value AS type)`` does under ANSI.

    Raises:
        UnsupportedByReferenceError: for casts that the reference does not know.
    """
    if operand.type == wanted:
        return operand
    partial = not _is_total(operand.type, wanted)
    return combine(_cast(operand.sql, operand.type, wanted, 0), wanted, operand, partial=partial, evaluated=[operand])


def try_cast_value(operand: Typed, wanted: DataType) -> Typed:
    """Cast an atomic value as ``TRY_CAST(value AS type)`` does: NULL where the cast fails.

    Raises:
        UnsupportedByReferenceError: for casts that the reference does not know.
    """
    if not isinstance(operand.type, AtomicType | DecimalType) or not isinstance(wanted, AtomicType | DecimalType):
        raise UnsupportedByReferenceError("TRY_CAST of a nested value")
    sql = cast(operand.sql, operand.type, wanted, Failure.NULL, CAST_OVERFLOW)
    # a value that the reference does not know may still end the evaluation
    partial = not _is_total(operand.type, wanted)
    return combine(f"({sql})", wanted, operand, partial=partial, evaluated=[operand])


def _is_total(given: DataType, wanted: DataType) -> bool:
    """Return whether a cast succeeds for every value."""
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        return all(_is_total(old.type, new.type) for old, new in zip(given.fields, wanted.fields, strict=False))
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return _is_total(given.element, wanted.element)
    if wanted == BIGINT and isinstance(given, DecimalType):
        return given.scale == 0 and given.precision < _BIGINT_DIGITS
    return is_up_cast(given, wanted) or (is_numeric(given) and wanted in (FLOAT, DOUBLE))


def _cast(sql: str, given: DataType, wanted: DataType, depth: int) -> str:
    if given == wanted:
        return sql
    if isinstance(given, AtomicType | DecimalType) and isinstance(wanted, AtomicType | DecimalType):
        return cast(sql, given, wanted, Failure.ERROR, CAST_OVERFLOW)
    null = f"CAST(NULL AS {duckdb_type(wanted)})"
    if given == VOID:
        return null
    if isinstance(given, StructType) and isinstance(wanted, StructType) and len(given.fields) == len(wanted.fields):
        parts = (
            f"{identifier(new.name)} := {_cast(f'({sql}).{identifier(old.name)}', old.type, new.type, depth)}"
            for old, new in zip(given.fields, wanted.fields, strict=True)
        )
        return f"CASE WHEN ({sql}) IS NULL THEN {null} ELSE struct_pack({', '.join(parts)}) END"
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        name = f"i{depth}"
        return f"list_transform({sql}, lambda {name}: {_cast(name, given.element, wanted.element, depth + 1)})"
    raise UnsupportedByReferenceError(f"cast from {type_word(given)} to {type_word(wanted)}")
