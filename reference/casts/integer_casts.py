"""Spark's casts from numbers, times and booleans to integers (R-252, R-253)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    TIMESTAMP,
    DecimalType,
)
from mergecheck.model.types.typed import duckdb_type
from mergecheck.reference.casts.cast_sql import Failure, failed, guarded

if TYPE_CHECKING:
    from mergecheck.model.types.data_types import DataType

MICROS = 1_000_000
"""Microseconds in a second."""


def to_integer(sql: str, source: DataType, target: DataType, failure: Failure, overflow: str) -> str:
    """Cast to an integer type; for the arguments see ``conversions.cast``."""
    word = duckdb_type(target)
    low, high = _limits(target)
    if source == BOOLEAN or (source in INTEGER_BITS and INTEGER_BITS[source] <= INTEGER_BITS[target]):
        return f"CAST({sql} AS {word})"
    legacy = failure is Failure.LEGACY
    if source in (FLOAT, DOUBLE):
        return _floating_to_integer(sql, target, failure, overflow)
    if source == TIMESTAMP:
        whole = f"((epoch_us({sql}) - ((epoch_us({sql}) % {MICROS} + {MICROS}) % {MICROS})) // {MICROS})"
        otherwise = failed(failure, overflow)
    else:
        scale = source.scale if isinstance(source, DecimalType) else 0
        whole = f"CAST(trunc(CAST({sql} AS DECIMAL(38,{scale}))) AS HUGEINT)" if scale else f"CAST({sql} AS HUGEINT)"
        otherwise = f"CAST({wrapped(whole, target)} AS {word})" if legacy else failed(failure, overflow)
    return guarded(sql, (f"{whole} BETWEEN {low} AND {high}", f"CAST({whole} AS {word})"), otherwise=otherwise)


def _floating_to_integer(sql: str, target: DataType, failure: Failure, overflow: str) -> str:
    """Truncate; LEGACY goes to the nearest INT or BIGINT as Java does, NaN to 0, and wraps that into a smaller type."""
    word = duckdb_type(target)
    whole = f"trunc(CAST({sql} AS DOUBLE))"
    low, high = _limits(target)
    # The upper end is a power of two, which a double holds exactly; NaN is above it.
    fits = f"{whole} >= CAST({low} AS DOUBLE) AND {whole} < CAST({high + 1} AS DOUBLE)"
    converted = f"CAST({whole} AS {word})"
    if failure is not Failure.LEGACY:
        branches = [(fits, converted)]
        if target == BIGINT:  # Spark takes the greatest BIGINT for a double, which is 2^63
            branches.append((f"{whole} = CAST({high + 1} AS DOUBLE)", f"CAST({high} AS {word})"))
        return guarded(sql, *branches, otherwise=failed(failure, overflow))
    wide = BIGINT if target == BIGINT else INT
    low, high = _limits(wide)
    held = (
        f"CASE WHEN {whole} < CAST({low} AS DOUBLE) THEN CAST({low} AS HUGEINT) "
        f"WHEN {whole} >= CAST({high + 1} AS DOUBLE) THEN CAST({high} AS HUGEINT) ELSE CAST({whole} AS HUGEINT) END"
    )
    return guarded(
        sql, (f"isnan({sql})", f"CAST(0 AS {word})"), (fits, converted),
        otherwise=f"CAST({wrapped(f'({held})', target)} AS {word})",
    )  # fmt: skip


def _limits(target: DataType) -> tuple[int, int]:
    bits = INTEGER_BITS[target]
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def wrapped(whole: str, target: DataType) -> str:
    """Keep the low bits of a HUGEINT, as Java's narrowing does."""
    low, _ = _limits(target)
    size = 1 << INTEGER_BITS[target]
    return f"(((({whole} % {size}) - {low}) % {size} + {size}) % {size} + {low})"
