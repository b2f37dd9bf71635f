"""Non-ANSI casts in the SQL of a session in ANSI mode, whose own CAST would fail (R-251)."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as t

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.types.fields import type_sql

_BITS: Final[dict[type[t.DataType], int]] = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}
_INT_MAX, _LONG_DIGITS = 2**31 - 1, 18
_MAX_DIGITS = 38


def legacy_cast(sql: str, source: t.DataType, target: t.DataType) -> str:
    """Write a non-ANSI cast for a session in ANSI mode: integers wrap, all else that fails is NULL.

    Casts that exist in neither mode are written plainly, so that Spark raises the error. The result may contain
    ``sql`` several times; bind it to a name first.

    Raises:
        AnalysisError: ``DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION`` if Spark would suggest what ANSI mode offers.
    """
    if isinstance(source, t.NumericType) and isinstance(target, t.DateType):
        raise AnalysisError(
            "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
            f'Cannot cast "{type_sql(source)}" to "{type_sql(target)}". Convert the value in the statement.',
        )
    if isinstance(source, t.StringType) and type(target) in _BITS:
        return _text_to_integer(sql, target)
    if isinstance(source, t.DateType) and isinstance(target, t.NumericType | t.BooleanType):
        return f"IF({sql} IS NULL, NULL, CAST(NULL AS {type_sql(target)}))"  # a date is no number: always NULL
    if isinstance(source, t.TimestampType) and isinstance(target, t.BooleanType):
        return f"(unix_micros({sql}) <> 0)"
    if isinstance(source, t.BooleanType) and isinstance(target, t.TimestampType):
        return f"timestamp_micros(CAST({sql} AS BIGINT))"
    if isinstance(source, t.FloatType | t.DoubleType) and isinstance(target, t.TimestampType):
        micros = _float_to_integer(f"({sql} * 1000000D)", t.LongType(), _BITS[t.LongType])
        return f"CASE WHEN ABS({sql}) < DOUBLE('Infinity') THEN timestamp_micros({micros}) END"
    if isinstance(source, t.DecimalType) and isinstance(target, t.StringType):
        return _decimal_to_text(sql, source)
    if isinstance(source, t.IntegralType) and isinstance(target, t.BinaryType):
        digits = _BITS[type(source)] // 4  # of a hexadecimal number of that width, big-endian
        return f"unhex(right(lpad(hex(CAST({sql} AS BIGINT)), 16, '0'), {digits}))"
    if type(target) in _BITS:
        return _to_integer(sql, source, target)
    return _try_cast(sql, source, target)


def _try_cast(sql: str, source: t.DataType, target: t.DataType) -> str:
    numeric = isinstance(source, t.NumericType | t.BooleanType | t.StringType | t.TimestampType)
    return f"{'TRY_CAST' if numeric or isinstance(target, t.StringType) else 'CAST'}({sql} AS {type_sql(target)})"


def _to_integer(sql: str, source: t.DataType, target: t.DataType) -> str:
    bits = _BITS[type(target)]
    if isinstance(source, t.IntegralType):
        return _wrap(sql, bits, target)
    if isinstance(source, t.FloatType | t.DoubleType):
        return _float_to_integer(sql, target, bits)
    if isinstance(source, t.DecimalType):
        if source.precision - source.scale <= _LONG_DIGITS:
            return _wrap(f"CAST({sql} AS BIGINT)", bits, target)
        return _wrap(_low_64_bits(sql, source), bits, target)
    if isinstance(source, t.TimestampType):
        return f"TRY_CAST({sql} AS {type_sql(target)})"  # the one source that gives NULL instead of wrapping
    return f"CAST({sql} AS {type_sql(target)})"


def _wrap(sql: str, bits: int, target: t.DataType) -> str:
    """Keep the low bits of an integer and read them as a signed number, as Java's narrowing does."""
    if bits == _BITS[t.LongType]:
        return f"CAST({sql} AS BIGINT)"
    mask, sign = 2**bits - 1, 2 ** (bits - 1)
    return f"CAST(((CAST({sql} AS BIGINT) & {mask}L) ^ {sign}L) - {sign}L AS {type_sql(target)})"


def _low_64_bits(sql: str, source: t.DecimalType) -> str:
    """Cut the fraction of a decimal off and keep what Java's ``longValue`` keeps of the rest."""
    whole = sql if source.scale == 0 else f"(CASE WHEN {sql} < 0 THEN ceil({sql}) ELSE floor({sql}) END)"
    rest = f"({whole} % {2**64}BD)"
    shifted = (
        f"CASE WHEN {rest} >= {2**63}BD THEN {rest} - {2**64}BD WHEN {rest} < -{2**63}BD THEN {rest} + {2**64}BD "
        f"ELSE {rest} END"
    )
    return f"CAST(CAST({shifted} AS DECIMAL({_MAX_DIGITS}, 0)) AS BIGINT)"


def _decimal_to_text(sql: str, source: t.DecimalType) -> str:
    """Write small decimals as Java's ``toString`` does: 0.0000000120 is 1.20E-8, and a zero of that scale 0E-10."""
    digits = f"IF({sql} = 0, '0', ltrim('0', substring_index(CAST(ABS({sql}) AS STRING), '.', -1)))"
    mantissa = f"concat_ws('.', left({digits}, 1), nullif(substring({digits}, 2), ''))"
    exponent = f"CAST(length({digits}) - {1 + source.scale} AS STRING)"
    small = f"concat(IF({sql} < 0, '-', ''), {mantissa}, 'E', {exponent})"
    return f"IF(ABS({sql}) < 0.000001BD, {small}, CAST({sql} AS STRING))"


def _float_to_integer(sql: str, target: t.DataType, bits: int) -> str:
    """Follow Java: NaN is 0, INT and BIGINT stop at their limits, the smaller types take the low bits of that INT."""
    limit = 2 ** (_BITS[t.LongType] - 1) if bits == _BITS[t.LongType] else _INT_MAX + 1
    whole = "BIGINT" if bits == _BITS[t.LongType] else "INT"
    clamped = (
        f"CASE WHEN isnan({sql}) THEN CAST(0 AS {whole}) "
        f"WHEN {sql} >= {limit}D THEN CAST({limit - 1} AS {whole}) "
        f"WHEN {sql} <= -{limit}D THEN CAST(-{limit} AS {whole}) ELSE CAST({sql} AS {whole}) END"
    )
    return clamped if bits >= _BITS[t.IntegerType] else _wrap(f"({clamped})", bits, target)


def _text_to_integer(sql: str, target: t.DataType) -> str:
    """Read digits with an optional fraction, which is cut off; anything else is NULL."""
    # Control characters and blanks around the number do not count; ``.`` alone is 0, a sign alone is nothing.
    digits = (
        f"regexp_extract({sql}, '^[\\\\s\\\\p{{Cntrl}}]*([+-]?[0-9]*)(?<=[0-9])([.][0-9]*)?[\\\\s\\\\p{{Cntrl}}]*$', 1)"
    )
    fraction_only = f"{sql} RLIKE '^[\\\\s\\\\p{{Cntrl}}]*[+-]?[.][0-9]*[\\\\s\\\\p{{Cntrl}}]*$'"
    kind = type_sql(target)
    return f"CASE WHEN {fraction_only} THEN CAST(0 AS {kind}) ELSE TRY_CAST({digits} AS {kind}) END"
