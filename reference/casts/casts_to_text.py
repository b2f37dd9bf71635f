"""Spark's casts to text, spelled out in DuckDB: Java's spelling of numbers, plain decimals (R-253)."""

from __future__ import annotations

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    type_word,
)
from mergecheck.reference.casts.cast_sql import Failure, guarded, let, unsupported

_PLAIN_SCALE = 6  # up to which Java writes a decimal without an exponent
# Up to so many digits Java 17 gives the shortest text that reads back as the same number, as DuckDB does.
_SHORT: dict[DataType, int] = {FLOAT: 6, DOUBLE: 15}


def to_text(sql: str, source: DataType, failure: Failure) -> str:
    """Format a value as Spark does with the session time zone UTC.

    Raises:
        UnsupportedByReferenceError: for nested values, and if LEGACY writes a decimal with an exponent.
    """
    if source in INTEGER_BITS or source in (BOOLEAN, DATE):
        return f"CAST({sql} AS VARCHAR)"
    if isinstance(source, DecimalType):
        if failure is Failure.LEGACY and source.scale > _PLAIN_SCALE:
            raise UnsupportedByReferenceError("the legacy text of a decimal with many digits")
        return f"CAST({sql} AS VARCHAR)"
    if source in (TIMESTAMP, TIMESTAMP_NTZ):
        return f"CAST(CAST({sql} AS TIMESTAMP) AS VARCHAR)"
    if source == BINARY:
        decoded = "TRY(decode(x))"
        return let(
            sql, guarded("x", (f"{decoded} IS NOT NULL", decoded), otherwise=unsupported("bytes that are no text"))
        )
    if source in _SHORT:
        return _floating(sql, source)
    raise UnsupportedByReferenceError(f"cast from {type_word(source)} to STRING")


def _floating(sql: str, source: DataType) -> str:
    """Format a number: plain from 0.001 on, with an exponent from ten million on; very long ones are unsupported."""
    text = "CAST(x AS VARCHAR)"
    digits = rf"length(ltrim(regexp_replace({text}, '[-.]', '', 'g'), '0')) <= {_SHORT[source]}"
    branches = [
        ("isnan(x)", "'NaN'"),
        ("isinf(x)", "CASE WHEN x > 0 THEN 'Infinity' ELSE '-Infinity' END"),
        ("x = 0", text),
        (f"abs(x) >= 0.001 AND abs(x) < 10000000 AND {digits}", text),
    ]
    if source == DOUBLE:
        whole = "CAST(CAST(abs(x) AS BIGINT) AS VARCHAR)"
        fraction = f"CASE WHEN rtrim(substr({whole}, 2), '0') = '' THEN '0' ELSE rtrim(substr({whole}, 2), '0') END"
        sign = "CASE WHEN x < 0 THEN '-' ELSE '' END"
        spelled = f"{sign} || left({whole}, 1) || '.' || {fraction} || 'E' || CAST(length({whole}) - 1 AS VARCHAR)"
        branches.append(("abs(x) >= 10000000 AND abs(x) < 1000000000000000 AND x = trunc(x)", spelled))
    return let(sql, guarded("x", *branches, otherwise=unsupported("the text of a long floating-point number")))
