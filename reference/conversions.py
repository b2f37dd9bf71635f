"""Spark's casts between atomic types, spelled out in DuckDB (R-251 to R-253, semantics.md 9.3).

DuckDB's own CAST rounds where Spark truncates and reads text that Spark refuses, so every lossy cast is written out.
A cast that must fail raises inside DuckDB with the error class as its message.
"""

from __future__ import annotations

from enum import Enum

from reference.errors import UnsupportedByReferenceError
from reference.typed import duckdb_type, string_literal, typed_null
from reference.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    DecimalType,
)

_FLOATING = (FLOAT, DOUBLE)
_MAX_PRECISION = 38


class Failure(Enum):
    """What a cast does with a value that does not fit."""

    ERROR = "error"
    """fails, as under ANSI"""
    LEGACY = "legacy"
    """wraps integers, gives NULL for malformed text (R-251)"""


def cast(sql: str, source: DataType, target: DataType, failure: Failure, overflow: str) -> str:
    """Cast an atomic value as Spark does.

    Args:
        sql: the operand in DuckDB SQL.
        source: its type; VOID is an untyped NULL.
        target: the type wanted.
        failure: what happens to values that do not fit.
        overflow: the error class of an overflow, which depends on where the cast stands (R-252).

    Raises:
        UnsupportedByReferenceError: for a pair of types that was not compared between the engines.
    """
    if source == target:
        return sql
    if source == VOID:
        return typed_null(target)
    if target in INTEGER_BITS:
        return _to_integer(sql, source, target, failure, overflow)
    if isinstance(target, DecimalType):
        return _to_decimal(sql, source, target, failure, overflow)
    if target == BOOLEAN:
        return _to_boolean(sql, source, failure)
    if target == STRING and (source in INTEGER_BITS or source == BOOLEAN or isinstance(source, DecimalType)):
        return f"CAST({sql} AS VARCHAR)"
    if target == DOUBLE and (source in INTEGER_BITS or source == FLOAT or isinstance(source, DecimalType)):
        return f"CAST({sql} AS DOUBLE)"
    if target == FLOAT and source in INTEGER_BITS:
        return f"CAST({sql} AS FLOAT)"
    if (source, target) in _TIME_CASTS:
        return f"CAST({sql} AS {duckdb_type(target)})"
    if (source, target) == (STRING, BINARY):
        return f"encode({sql})"
    raise UnsupportedByReferenceError(f"cast from {_word(source)} to {_word(target)}")


# With the session time zone UTC these keep the wall clock.
_TIME_CASTS = frozenset(
    {
        (DATE, TIMESTAMP),
        (DATE, TIMESTAMP_NTZ),
        (TIMESTAMP, DATE),
        (TIMESTAMP_NTZ, DATE),
        (TIMESTAMP, TIMESTAMP_NTZ),
        (TIMESTAMP_NTZ, TIMESTAMP),
    }
)


def is_up_cast(source: DataType, target: DataType) -> bool:
    """Tell whether a cast between atomic types loses nothing, as STRICT wants it (R-251)."""
    if source in (target, VOID):
        return True
    if source in INTEGER_BITS and target in INTEGER_BITS:
        return INTEGER_BITS[source] <= INTEGER_BITS[target]
    if source in INTEGER_BITS and isinstance(target, DecimalType):
        return target.precision - target.scale >= _INTEGER_DIGITS[source]
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        return target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
    if target in _FLOATING:
        return source in INTEGER_BITS or (source, target) == (FLOAT, DOUBLE)
    if target == STRING:
        return source != BINARY
    return (source, target) in {(DATE, TIMESTAMP), (DATE, TIMESTAMP_NTZ), (TIMESTAMP, TIMESTAMP_NTZ)} | {
        (TIMESTAMP_NTZ, TIMESTAMP)
    }


_INTEGER_DIGITS = dict(zip(INTEGER_BITS, (3, 5, 10, 19), strict=True))


def common_type(left: DataType, right: DataType) -> DataType:
    """Give the type to which Spark brings two operands of a comparison, CASE or COALESCE.

    Raises:
        UnsupportedByReferenceError: for pairs that the reference does not compare.
    """
    if right in (left, VOID):
        return left
    if left == VOID:
        return right
    if left in INTEGER_BITS and right in INTEGER_BITS:
        return left if INTEGER_BITS[left] >= INTEGER_BITS[right] else right
    if _is_numeric(left) and _is_numeric(right):
        if left in _FLOATING or right in _FLOATING:
            return DOUBLE
        return _wider_decimal(_as_decimal(left), _as_decimal(right))
    if (left, right) in _TIME_ORDER:
        return right
    if (right, left) in _TIME_ORDER:
        return left
    raise UnsupportedByReferenceError(f"{_word(left)} beside {_word(right)}")


_TIME_ORDER = frozenset({(DATE, TIMESTAMP), (DATE, TIMESTAMP_NTZ)})


def _is_numeric(data_type: DataType) -> bool:
    return data_type in INTEGER_BITS or data_type in _FLOATING or isinstance(data_type, DecimalType)


def _as_decimal(data_type: DataType) -> DecimalType:
    if isinstance(data_type, DecimalType):
        return data_type
    return DecimalType(_INTEGER_DIGITS[data_type] if data_type != BIGINT else 20, 0)


def _wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale)
    if digits + scale > _MAX_PRECISION:
        raise UnsupportedByReferenceError("decimals wider than 38 digits together")
    return DecimalType(digits + scale, scale)


def _word(data_type: DataType) -> str:
    """Name a type without its parameters, so that reasons can be counted."""
    return data_type.ddl().split("(")[0].split("<")[0]


def _fail(error_class: str) -> str:
    return f"error({string_literal(error_class)})"


def _guarded(sql: str, fits: str, converted: str, otherwise: str) -> str:
    return f"CASE WHEN ({sql}) IS NULL THEN NULL WHEN {fits} THEN {converted} ELSE {otherwise} END"


def _to_integer(sql: str, source: DataType, target: DataType, failure: Failure, overflow: str) -> str:
    word = duckdb_type(target)
    bits = INTEGER_BITS[target]
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if source in INTEGER_BITS and INTEGER_BITS[source] <= bits:
        return f"CAST({sql} AS {word})"
    if source == BOOLEAN:
        return f"CAST({sql} AS {word})"
    if source == STRING:
        return _text_to_integer(sql, word, low, high, failure)
    if source in INTEGER_BITS:
        fits = f"({sql}) BETWEEN {low} AND {high}"
        wrapped = (
            f"CAST(((CAST({sql} AS HUGEINT) - {low}) % {1 << bits} + {1 << bits}) % {1 << bits} + {low} AS {word})"
        )
        return _guarded(sql, fits, f"CAST({sql} AS {word})", wrapped if failure is Failure.LEGACY else _fail(overflow))
    if failure is Failure.LEGACY:
        raise UnsupportedByReferenceError(f"legacy cast from {_word(source)} to {_word(target)}")
    if isinstance(source, DecimalType):
        whole = f"trunc(CAST({sql} AS DECIMAL(38,{source.scale})))"
        return _guarded(sql, f"{whole} BETWEEN {low} AND {high}", f"CAST({whole} AS {word})", _fail(overflow))
    if source in _FLOATING:  # the upper end is a power of two, which a double holds exactly; NaN is above it
        whole = f"trunc(CAST({sql} AS DOUBLE))"
        fits = f"{whole} >= CAST({low} AS DOUBLE) AND {whole} < CAST({high + 1} AS DOUBLE)"
        return _guarded(sql, fits, f"CAST({whole} AS {word})", _fail(overflow))
    raise UnsupportedByReferenceError(f"cast from {_word(source)} to {_word(target)}")


def _text_to_integer(sql: str, word: str, low: int, high: int, failure: Failure) -> str:
    digits = f"trim({sql}, ' \t\n\r')"
    fits = f"regexp_full_match({digits}, '[+-]?[0-9]{{1,30}}') AND CAST({digits} AS HUGEINT) BETWEEN {low} AND {high}"
    if failure is Failure.LEGACY:
        # Spark's legacy cast also reads "2.7"; text with a point is left to the reader of the reason.
        pointed = f"WHEN contains({digits}, '.') THEN error('UNSUPPORTED legacy cast of text with a point')"
        return f"CASE WHEN ({sql}) IS NULL THEN NULL {pointed} WHEN {fits} THEN CAST({digits} AS {word}) END"
    return _guarded(sql, fits, f"CAST({digits} AS {word})", _fail("CAST_INVALID_INPUT"))


def _to_decimal(sql: str, source: DataType, target: DecimalType, failure: Failure, overflow: str) -> str:
    word = duckdb_type(target)
    if not (source in INTEGER_BITS or isinstance(source, DecimalType)):
        raise UnsupportedByReferenceError(f"cast from {_word(source)} to DECIMAL")
    if is_up_cast(source, target):
        return f"CAST({sql} AS {word})"
    otherwise = "NULL" if failure is Failure.LEGACY else _fail(overflow)
    converted = f"TRY_CAST({sql} AS {word})"  # rounds half up, as R-253 wants; NULL where it does not fit
    return _guarded(sql, f"{converted} IS NOT NULL", converted, otherwise)


def _to_boolean(sql: str, source: DataType, failure: Failure) -> str:
    if source in INTEGER_BITS:
        return f"({sql}) <> 0"
    if source != STRING:
        raise UnsupportedByReferenceError(f"cast from {_word(source)} to BOOLEAN")
    word = f"lower(trim({sql}, ' \t\n\r'))"
    otherwise = "NULL" if failure is Failure.LEGACY else _fail("CAST_INVALID_INPUT")
    return (
        f"CASE WHEN ({sql}) IS NULL THEN NULL WHEN {word} IN ('t', 'true', 'y', 'yes', '1') THEN TRUE "
        f"WHEN {word} IN ('f', 'false', 'n', 'no', '0') THEN FALSE ELSE {otherwise} END"
    )
