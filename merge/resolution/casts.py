"""Casts of atomic values under the store assignment policies (R-250..R-253)."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    AtomicType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    NullType,
    NumericType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from merge.conf import MergeConf, StoreAssignmentPolicy
from merge.errors import AnalysisError, UnsupportedStatementError
from merge.resolution.type_sql import same_type, type_sql

_PRECEDENCE: Final = (ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)
_BITS: Final[dict[type[DataType], int]] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
_DIGITS: Final[dict[type[DataType], int]] = {
    ByteType: 3,
    ShortType: 5,
    IntegerType: 10,
    LongType: 20,
}  # Spark's decimals for the integer types
_INT_MAX, _LONG_DIGITS = 2**31 - 1, 18


def cast_leaf(sql: str, source: DataType, target: DataType, conf: MergeConf) -> str:
    """Cast a value that is no struct, array or map on either side to its column's type.

    ``sql`` is evaluated several times where the session's CAST is not that of the policy; bind it to a name first.

    Raises:
        AnalysisError: ``CANNOT_UP_CAST_DATATYPE`` under STRICT.
        UnsupportedStatementError: a LEGACY cast that has no spelling in a session with ANSI mode on.
    """
    if same_type(source, target):
        return sql
    plain = f"CAST({sql} AS {type_sql(target)})"
    if isinstance(source, NullType) or conf.casting_follows_ansi_flag:
        return plain
    match conf.store_assignment_policy:
        case StoreAssignmentPolicy.STRICT:
            _require_up_cast(source, target)
            return plain
        case StoreAssignmentPolicy.ANSI:
            return plain if conf.ansi_enabled or can_up_cast(source, target) else _ansi(sql, source, target)
        case StoreAssignmentPolicy.LEGACY:
            return plain if not conf.ansi_enabled or can_up_cast(source, target) else _legacy(sql, source, target)


def casts_plainly(conf: MergeConf) -> bool:
    """Tell whether the session's own CAST is that of the policy, so that it may cast whole structs, arrays and maps."""
    if conf.casting_follows_ansi_flag:
        return True
    match conf.store_assignment_policy:
        case StoreAssignmentPolicy.ANSI:
            return conf.ansi_enabled
        case StoreAssignmentPolicy.LEGACY:
            return not conf.ansi_enabled
        case StoreAssignmentPolicy.STRICT:
            return False  # each leaf has to be checked


def casts_once(source: DataType, target: DataType, conf: MergeConf) -> bool:
    """Tell whether ``cast_leaf`` writes its operand a single time."""
    strict = conf.store_assignment_policy is StoreAssignmentPolicy.STRICT
    return strict or casts_plainly(conf) or can_up_cast(source, target)


def surely_castable(source: DataType, target: DataType) -> bool:
    """Tell whether CAST between two atomic types exists in every mode; for others Spark is asked."""
    if isinstance(source, NullType | StringType) and isinstance(target, AtomicType):
        return True
    if isinstance(target, StringType) and isinstance(source, AtomicType):
        return True
    return isinstance(source, NumericType) and isinstance(target, NumericType)


def can_up_cast(source: DataType, target: DataType) -> bool:
    """Tell whether Spark calls a cast between atomic types an up-cast: it loses nothing and cannot fail."""
    if same_type(source, target) or isinstance(source, NullType):
        return True
    if isinstance(source, _PRECEDENCE) and isinstance(target, _PRECEDENCE):
        return _PRECEDENCE.index(type(source)) <= _PRECEDENCE.index(type(target))
    if isinstance(target, DecimalType):
        return _fits_decimal(source, target)
    if isinstance(source, DecimalType) and isinstance(target, NumericType):
        return _decimal_fits(source, target)
    if isinstance(target, StringType):
        return isinstance(source, AtomicType)
    dates = (DateType, TimestampType, TimestampNTZType)
    return isinstance(source, dates) and isinstance(target, dates) and not isinstance(target, DateType)


def _require_up_cast(source: DataType, target: DataType) -> None:
    if not can_up_cast(source, target):
        raise AnalysisError(
            "CANNOT_UP_CAST_DATATYPE",
            f'Cannot up cast a value from "{type_sql(source)}" to "{type_sql(target)}" as it may truncate. '
            "Cast the value in the statement, or choose another spark.sql.storeAssignmentPolicy.",
        )


def _fits_decimal(source: DataType, target: DecimalType) -> bool:
    if isinstance(source, DecimalType):
        return source.scale <= target.scale and source.precision - source.scale <= target.precision - target.scale
    digits = _DIGITS.get(type(source))
    return digits is not None and digits <= target.precision - target.scale


def _decimal_fits(source: DecimalType, target: NumericType) -> bool:
    digits = _DIGITS.get(type(target))
    if digits is not None:
        return source.scale == 0 and source.precision < digits
    # Spark counts 7 and 15 digits for FLOAT and DOUBLE.
    return isinstance(target, FloatType | DoubleType) and source.precision <= (
        7 if isinstance(target, FloatType) else 15
    )


def _ansi(sql: str, source: DataType, target: DataType) -> str:
    """Write an ANSI cast for a session whose own CAST is not: TRY_CAST is, and its NULL is turned into the error.

    The text in square brackets is what ``errors.from_spark`` makes the error class of.
    """
    attempt = f"TRY_CAST({sql} AS {type_sql(target)})"
    what = f"' of type {type_sql(source)} cannot be cast to {type_sql(target)}'"
    error = f"RAISE_ERROR(CONCAT({_ansi_condition(sql, source, target)}, ' the value ', CAST({sql} AS STRING), {what}))"
    failed = f"{sql} IS NOT NULL AND {attempt} IS NULL"
    if isinstance(source, FloatType | DoubleType) and isinstance(target, DecimalType):
        failed += f" AND {_is_finite(sql)}"  # Spark makes NULL of NaN and infinities, in ANSI mode too
    return f"CASE WHEN {failed} THEN {error} ELSE {attempt} END"


def _ansi_condition(sql: str, source: DataType, target: DataType) -> str:
    """Say what is wrong with a value that cannot be cast: text that is a number is too large for a decimal."""
    if not isinstance(source, StringType):
        return "'[CAST_OVERFLOW]'"
    if not isinstance(target, DecimalType):
        return "'[CAST_INVALID_INPUT]'"
    is_number = _is_finite(f"TRY_CAST({sql} AS DOUBLE)")
    return f"CASE WHEN {is_number} THEN '[NUMERIC_VALUE_OUT_OF_RANGE]' ELSE '[CAST_INVALID_INPUT]' END"


def _is_finite(sql: str) -> str:
    return f"ABS({sql}) < DOUBLE('Infinity')"  # NaN is greater than all


def _legacy(sql: str, source: DataType, target: DataType) -> str:
    """Write a non-ANSI cast for a session in ANSI mode: integers wrap, all else that fails is NULL (R-251)."""
    bits = _BITS.get(type(target))
    if bits is None:
        if surely_castable(source, target):
            return f"TRY_CAST({sql} AS {type_sql(target)})"
        raise _no_legacy(source, target)
    if isinstance(source, StringType):
        return _legacy_text_to_integer(sql, target)
    if isinstance(source, IntegralType):
        return _wrap(sql, bits, target)
    if isinstance(source, BooleanType):
        return f"CAST({sql} AS {type_sql(target)})"
    if isinstance(source, FloatType | DoubleType):
        return _legacy_float_to_integer(sql, target, bits)
    if isinstance(source, DecimalType) and source.precision - source.scale <= _LONG_DIGITS:
        return _wrap(f"CAST({sql} AS BIGINT)", bits, target)
    if isinstance(source, TimestampType):
        return f"TRY_CAST({sql} AS {type_sql(target)})"  # the one source that gives NULL instead of wrapping
    raise _no_legacy(source, target)


def _wrap(sql: str, bits: int, target: DataType) -> str:
    """Keep the low bits of an integer and read them as a signed number, as Java's narrowing does."""
    if bits == _BITS[LongType]:
        return f"CAST({sql} AS BIGINT)"
    mask, sign = 2**bits - 1, 2 ** (bits - 1)
    return f"CAST(((CAST({sql} AS BIGINT) & {mask}L) ^ {sign}L) - {sign}L AS {type_sql(target)})"


def _legacy_float_to_integer(sql: str, target: DataType, bits: int) -> str:
    """Follow Java: NaN is 0, INT and BIGINT stop at their limits, the smaller types take the low bits of that INT."""
    limit = 2 ** (_BITS[LongType] - 1) if bits == _BITS[LongType] else _INT_MAX + 1
    whole = "BIGINT" if bits == _BITS[LongType] else "INT"
    clamped = (
        f"CASE WHEN isnan({sql}) THEN CAST(0 AS {whole}) "
        f"WHEN {sql} >= {limit}D THEN CAST({limit - 1} AS {whole}) "
        f"WHEN {sql} <= -{limit}D THEN CAST(-{limit} AS {whole}) ELSE CAST({sql} AS {whole}) END"
    )
    return clamped if bits >= _BITS[IntegerType] else _wrap(f"({clamped})", bits, target)


def _legacy_text_to_integer(sql: str, target: DataType) -> str:
    """Read digits with an optional fraction, which is cut off; anything else is NULL."""
    # Control characters and blanks around the number do not count; ``.`` alone is 0, a sign alone is nothing.
    digits = (
        f"regexp_extract({sql}, '^[\\\\s\\\\p{{Cntrl}}]*([+-]?[0-9]*)(?<=[0-9])([.][0-9]*)?[\\\\s\\\\p{{Cntrl}}]*$', 1)"
    )
    fraction_only = f"{sql} RLIKE '^[\\\\s\\\\p{{Cntrl}}]*[+-]?[.][0-9]*[\\\\s\\\\p{{Cntrl}}]*$'"
    kind = type_sql(target)
    return f"CASE WHEN {fraction_only} THEN CAST(0 AS {kind}) ELSE TRY_CAST({digits} AS {kind}) END"


def _no_legacy(source: DataType, target: DataType) -> UnsupportedStatementError:
    return UnsupportedStatementError(
        f"the LEGACY store assignment of {type_sql(source)} to {type_sql(target)} while spark.sql.ansi.enabled is true",
        hint="Set spark.sql.ansi.enabled to false, or cast the value in the statement.",
    )
