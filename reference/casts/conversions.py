"""Spark's casts between atomic types, spelled out in DuckDB (R-251 to R-253).

DuckDB's own CAST rounds where Spark truncates and reads text that Spark refuses, so every lossy cast is written out.
A cast that must fail raises inside DuckDB with the error class as its message. The session time zone is UTC.
"""

from __future__ import annotations

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
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
    type_word,
)
from mergecheck.model.types.implicit_casts import INTEGER_DIGITS, common_type, is_numeric
from mergecheck.model.types.typed import duckdb_type, typed_null
from mergecheck.reference.casts.cast_sql import (
    Failure,
    failed,
    guarded,
    is_short,
    is_used_once,
    let,
    malformed,
    unsupported,
)
from mergecheck.reference.casts.casts_to_text import to_text
from mergecheck.reference.casts.integer_casts import MICROS, to_integer
from mergecheck.reference.casts.text_casts import (
    text_to_boolean,
    text_to_date,
    text_to_decimal,
    text_to_floating,
    text_to_integer,
    text_to_timestamp,
)

__all__ = ["CAST_OVERFLOW", "Failure", "can_cast", "cast", "common_type", "is_up_cast"]

CAST_OVERFLOW = "CAST_OVERFLOW"
"""The overflow class of an ordinary CAST; a decimal that does not fit has a class of its own there."""

_FLOATING = (FLOAT, DOUBLE)
_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_SHORT_DIGITS = 15  # up to which Java's text of a double is the shortest one
_MAX_PRECISION = 38
_LAST_SECOND = 253_402_300_799  # of the year 9999
_FIRST_SECOND = -62_135_596_800  # of the year 1


def cast(sql: str, source: DataType, target: DataType, failure: Failure, overflow: str) -> str:
    """Cast an atomic value as Spark does.

    Args:
        sql: the operand in DuckDB SQL.
        source: its type; VOID is an untyped NULL.
        target: the type wanted.
        failure: what happens to values that do not fit.
        overflow: the error class of an overflow, which depends on the place of the cast (R-252).

    Raises:
        UnsupportedByReferenceError: for a pair of types that was not compared between the engines.
    """
    if source == target:
        return sql
    if source == VOID:
        return typed_null(target)
    if not can_cast(source, target, failure):
        raise UnsupportedByReferenceError(f"cast from {type_word(source)} to {type_word(target)}")
    if source == STRING:
        return _from_text(sql, target, failure, overflow)
    if target == STRING:
        return to_text(sql, source, failure)
    if source == DATE and target not in _TIMES:  # only LEGACY has these casts
        return typed_null(target)
    body = _cast("x", source, target, failure, overflow)
    if is_short(sql) or is_used_once(body):  # binding a lambda takes DuckDB longer than anything else in a cast
        return _cast(sql, source, target, failure, overflow)
    return let(sql, body)


def _cast(sql: str, source: DataType, target: DataType, failure: Failure, overflow: str) -> str:
    if source in _TIMES and target in _TIMES:
        return f"CAST({sql} AS {duckdb_type(target)})"
    if target in INTEGER_BITS:
        return to_integer(sql, source, target, failure, overflow)
    if isinstance(target, DecimalType):
        return _to_decimal(sql, source, target, failure, overflow)
    if target in _FLOATING:
        return _to_floating(sql, source, target)
    if target == BOOLEAN:
        return f"epoch_us({sql}) <> 0" if source == TIMESTAMP else f"({sql}) <> 0"
    if target == TIMESTAMP:
        return _to_timestamp(sql, source, failure)
    raise UnsupportedByReferenceError(f"cast from {type_word(source)} to {type_word(target)}")


def can_cast(source: DataType, target: DataType, failure: Failure) -> bool:
    """Return whether Spark's CAST between two atomic types exists: ANSI's, or LEGACY's, which knows a few more."""
    if source in (target, VOID) or STRING in (source, target):
        return True
    if source in _TIMES and target in _TIMES:
        return True
    if BINARY in (source, target):
        return failure is Failure.LEGACY and source in INTEGER_BITS
    if is_numeric(source):
        return is_numeric(target) or target in (BOOLEAN, TIMESTAMP)
    if source == BOOLEAN:
        return is_numeric(target) or (failure is Failure.LEGACY and target == TIMESTAMP)
    if source == TIMESTAMP:
        return is_numeric(target) or failure is Failure.LEGACY
    return source == DATE and failure is Failure.LEGACY


def is_up_cast(source: DataType, target: DataType) -> bool:
    """Return whether Spark calls a cast between atomic types an up-cast, as STRICT wants it (R-251).

    Spark counts 20 digits for a BIGINT: DECIMAL(19,0) does not hold every BIGINT for it, although it does, and
    DECIMAL(19,0) to BIGINT is an up-cast, although it may overflow.
    """
    if source in (target, VOID) or target == STRING:
        return True
    if source in INTEGER_BITS and target in INTEGER_BITS:
        return INTEGER_BITS[source] <= INTEGER_BITS[target]
    if source in INTEGER_BITS and isinstance(target, DecimalType):
        return target.precision - target.scale >= INTEGER_DIGITS[source]
    if isinstance(source, DecimalType) and target in INTEGER_BITS:
        return source.scale == 0 and source.precision < INTEGER_DIGITS[target]
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        return target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
    if target in _FLOATING:
        return source in INTEGER_BITS or (source, target) == (FLOAT, DOUBLE)
    return (source, target) in _TIME_UP_CASTS


_TIME_UP_CASTS = frozenset(
    {
        (DATE, TIMESTAMP),
        (DATE, TIMESTAMP_NTZ),
        (TIMESTAMP, TIMESTAMP_NTZ),
        (TIMESTAMP_NTZ, TIMESTAMP),
        (BIGINT, TIMESTAMP),
        (TIMESTAMP, BIGINT),
    }
)


def _from_text(sql: str, target: DataType, failure: Failure, overflow: str) -> str:
    if target in INTEGER_BITS:
        return text_to_integer(sql, target, failure)
    if isinstance(target, DecimalType):
        too_long = "NUMERIC_OUT_OF_SUPPORTED_RANGE" if overflow == CAST_OVERFLOW else overflow
        return text_to_decimal(sql, target, failure, _decimal_overflow(overflow), too_long)
    if target in _FLOATING:
        return text_to_floating(sql, target, failure)
    if target == BOOLEAN:
        return text_to_boolean(sql, failure)
    if target == DATE:
        return text_to_date(sql, failure)
    if target in _TIMES:
        return text_to_timestamp(sql, target, failure)
    return f"encode({sql})"


def _decimal_overflow(overflow: str) -> str:
    return "NUMERIC_VALUE_OUT_OF_RANGE" if overflow == CAST_OVERFLOW else overflow


def _to_decimal(sql: str, source: DataType, target: DecimalType, failure: Failure, overflow: str) -> str:
    word = duckdb_type(target)
    otherwise = failed(failure, _decimal_overflow(overflow))
    if source in _FLOATING:
        return let(f"CAST({sql} AS DOUBLE)", _double_to_decimal("x", word, otherwise))
    if source == BOOLEAN:
        sql = f"CAST({sql} AS INTEGER)"
    if source == TIMESTAMP:  # seconds, with all six digits behind the point
        sql = f"(CAST(epoch_us({sql}) AS DECIMAL(20,0)) * CAST('0.000001' AS DECIMAL(7,6)))"
    if is_up_cast(source, target):
        return f"CAST({sql} AS {word})"
    converted = f"TRY_CAST({sql} AS {word})"  # rounds half up, as R-253 wants; NULL if it does not fit
    return guarded(sql, (f"{converted} IS NOT NULL", converted), otherwise=otherwise)


def _double_to_decimal(sql: str, word: str, otherwise: str) -> str:
    """Round Java's text of a double half up (R-253); NaN and infinities give NULL, even under ANSI.

    Java 17 may write a long number one digit too long; if both neighbours of the number give one decimal, so does
    the number, whatever its text.
    """
    text = f"CAST({sql} AS VARCHAR)"
    digits = f"length(ltrim(regexp_replace({text}, '[-.]', '', 'g'), '0')) <= {_SHORT_DIGITS}"
    near = [f"TRY_CAST(CAST(nextafter({sql}, CAST('{end}' AS DOUBLE)) AS VARCHAR) AS {word})" for end in
            ("Infinity", "-Infinity")]  # fmt: skip
    converted = f"TRY_CAST({text} AS {word})"
    certain = f"(({digits} AND abs({sql}) >= 0.001) OR {near[0]} IS NOT DISTINCT FROM {near[1]})"
    return guarded(
        sql,
        (f"isnan({sql}) OR isinf({sql})", "NULL"),
        (f"{sql} = 0", f"CAST(0 AS {word})"),
        (f"abs({sql}) >= 1e37", unsupported("a very large floating-point number cast to DECIMAL")),
        (f"contains({text}, 'e') OR NOT {certain}", unsupported("a long floating-point number cast to DECIMAL")),
        (f"{converted} IS NOT NULL", converted),
        otherwise=otherwise,
    )


def _to_floating(sql: str, source: DataType, target: DataType) -> str:
    word = duckdb_type(target)
    if isinstance(source, DecimalType):  # by its text: DuckDB's own cast is off by a bit for long decimals
        return f"CAST(CAST({sql} AS VARCHAR) AS {word})"
    if source == BOOLEAN:
        return f"CAST(CAST({sql} AS INTEGER) AS {word})"
    if source == TIMESTAMP:
        return f"CAST(CAST(epoch_us({sql}) AS DOUBLE) / CAST({MICROS} AS DOUBLE) AS {word})"
    if (source, target) == (DOUBLE, FLOAT):
        infinite = f"CASE WHEN ({sql}) > 0 THEN CAST('Infinity' AS FLOAT) ELSE CAST('-Infinity' AS FLOAT) END"
        return guarded(sql, (f"TRY_CAST({sql} AS FLOAT) IS NOT NULL", f"TRY_CAST({sql} AS FLOAT)"), otherwise=infinite)
    return f"CAST({sql} AS {word})"


def _to_timestamp(sql: str, source: DataType, failure: Failure) -> str:
    """Take a number for seconds since 1970; BOOLEAN, which only LEGACY casts, for microseconds."""
    if source == BOOLEAN:
        return f"CAST(make_timestamp(CAST({sql} AS BIGINT)) AS TIMESTAMPTZ)"
    inside = f"({sql}) BETWEEN {_FIRST_SECOND} AND {_LAST_SECOND}"
    if source in INTEGER_BITS:
        micros = f"CAST({sql} AS BIGINT) * {MICROS}"
    elif source in _FLOATING:
        micros = f"CAST(trunc(CAST({sql} AS DOUBLE) * CAST({MICROS} AS DOUBLE)) AS BIGINT)"
    elif isinstance(source, DecimalType) and source.precision + len(str(MICROS)) <= _MAX_PRECISION:
        micros = f"CAST(trunc(CAST({sql} AS DECIMAL(38,{source.scale})) * {MICROS}) AS BIGINT)"
    else:
        raise UnsupportedByReferenceError(f"cast from a long {type_word(source)} to TIMESTAMP")
    branches = [(inside, f"CAST(make_timestamp({micros}) AS TIMESTAMPTZ)")]
    if source in _FLOATING:
        branches.insert(0, (f"isnan({sql}) OR isinf({sql})", malformed(failure)))
    return guarded(sql, *branches, otherwise=unsupported("a timestamp outside the years 1 to 9999"))
