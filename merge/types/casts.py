"""Casts of atomic values under the store assignment policies (R-250..R-253)."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as t

from mergecheck.merge.conf import MergeConf, StoreAssignmentPolicy
from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.types.fields import same_type, type_sql
from mergecheck.merge.types.legacy_casts import legacy_cast

_PRECEDENCE: Final = (t.ByteType, t.ShortType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType)
_DIGITS: Final[dict[type[t.DataType], int]] = {
    t.ByteType: 3,
    t.ShortType: 5,
    t.IntegerType: 10,
    t.LongType: 20,
}  # Spark's decimals for the integer types
_PLAIN_SCALE: Final = 6  # Java writes smaller numbers with an exponent


def cast_leaf(sql: str, source: t.DataType, target: t.DataType, conf: MergeConf) -> str:
    """Cast an atomic value to the atomic type of its column.

    The result contains ``sql`` several times if the session's CAST differs from the policy's; bind it to a name first.

    Raises:
        AnalysisError: ``CANNOT_UP_CAST_DATATYPE`` under STRICT; ``DATATYPE_MISMATCH`` for casts that a policy lacks.
    """
    if same_type(source, target):
        return sql
    plain = f"CAST({sql} AS {type_sql(target)})"
    if isinstance(source, t.NullType) or conf.casting_follows_ansi_flag:
        return plain
    match conf.store_assignment_policy:
        case StoreAssignmentPolicy.STRICT:
            _require_up_cast(source, target)
            return plain
        case StoreAssignmentPolicy.ANSI:
            return plain if conf.ansi_enabled or _is_the_same_cast(source, target) else _ansi(sql, source, target)
        case StoreAssignmentPolicy.LEGACY:
            same = not conf.ansi_enabled or _is_the_same_cast(source, target)
            return plain if same else legacy_cast(sql, source, target)


def cast_unlike(sql: str, source: t.DataType, target: t.DataType, conf: MergeConf) -> str:
    """Cast between a struct, array or map and a type of another kind; Spark decides whether it exists.

    Raises:
        AnalysisError: ``CANNOT_UP_CAST_DATATYPE`` under STRICT, which has no such cast except for NULL.
    """
    if conf.store_assignment_policy is StoreAssignmentPolicy.STRICT and not conf.casting_follows_ansi_flag:
        _require_up_cast(source, target)
    return f"CAST({sql} AS {type_sql(target)})"


def casts_plainly(conf: MergeConf) -> bool:
    """Return whether the session's own CAST is the policy's, so that it may cast whole structs, arrays and maps."""
    if conf.casting_follows_ansi_flag:
        return True
    match conf.store_assignment_policy:
        case StoreAssignmentPolicy.ANSI:
            return conf.ansi_enabled
        case StoreAssignmentPolicy.LEGACY:
            return not conf.ansi_enabled
        case StoreAssignmentPolicy.STRICT:
            return False  # each leaf has to be checked


def casts_once(source: t.DataType, target: t.DataType, conf: MergeConf) -> bool:
    """Return whether ``cast_leaf`` writes its operand a single time."""
    strict = conf.store_assignment_policy is StoreAssignmentPolicy.STRICT
    return strict or casts_plainly(conf) or _is_the_same_cast(source, target)


def _is_the_same_cast(source: t.DataType, target: t.DataType) -> bool:
    """Return whether CAST has one result in both modes: up-casts do, except for decimals of a high scale as text."""
    return can_up_cast(source, target) and not (
        isinstance(source, t.DecimalType) and isinstance(target, t.StringType) and source.scale > _PLAIN_SCALE
    )


def surely_castable(source: t.DataType, target: t.DataType) -> bool:
    """Return whether CAST between two types certainly exists in every mode; Spark knows about the others."""
    if isinstance(source, t.NullType | t.StringType) and isinstance(target, t.AtomicType):
        return True
    if isinstance(target, t.StringType) and isinstance(source, t.AtomicType):
        return True
    return isinstance(source, t.NumericType) and isinstance(target, t.NumericType)


def can_up_cast(source: t.DataType, target: t.DataType) -> bool:
    """Return whether Spark calls a cast between atomic types an up-cast: it loses nothing and cannot fail."""
    if same_type(source, target) or isinstance(source, t.NullType):
        return True
    if isinstance(source, _PRECEDENCE) and isinstance(target, _PRECEDENCE):
        return _PRECEDENCE.index(type(source)) <= _PRECEDENCE.index(type(target))
    if isinstance(target, t.DecimalType):
        return _fits_decimal(source, target)
    if isinstance(source, t.DecimalType) and isinstance(target, t.NumericType):
        digits = _DIGITS.get(type(target))  # none for FLOAT and DOUBLE: they do not hold every decimal exactly
        return digits is not None and source.scale == 0 and source.precision < digits
    if isinstance(target, t.StringType):
        return isinstance(source, t.AtomicType)
    if {type(source), type(target)} == {t.LongType, t.TimestampType}:
        return True  # seconds since the epoch
    dates = (t.DateType, t.TimestampType, t.TimestampNTZType)
    return isinstance(source, dates) and isinstance(target, dates) and not isinstance(target, t.DateType)


def _require_up_cast(source: t.DataType, target: t.DataType) -> None:
    if not can_up_cast(source, target):
        raise AnalysisError(
            "CANNOT_UP_CAST_DATATYPE",
            f'Cannot up cast a value from "{type_sql(source)}" to "{type_sql(target)}" as it may truncate. '
            "Cast the value in the statement, or choose another spark.sql.storeAssignmentPolicy.",
        )


def _fits_decimal(source: t.DataType, target: t.DecimalType) -> bool:
    if isinstance(source, t.DecimalType):
        return source.scale <= target.scale and source.precision - source.scale <= target.precision - target.scale
    digits = _DIGITS.get(type(source))
    return digits is not None and digits <= target.precision - target.scale


def _ansi(sql: str, source: t.DataType, target: t.DataType) -> str:
    """Write an ANSI cast for a session whose own CAST is not: TRY_CAST is, and its NULL is turned into the error.

    The text in square brackets is what ``errors.from_spark`` makes the error class of.
    """
    if _is_for_non_ansi_only(source, target):
        raise AnalysisError(
            "DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION",
            f'Cannot cast "{type_sql(source)}" to "{type_sql(target)}" with ANSI mode on. Convert the value in the '
            "statement, or set spark.sql.storeAssignmentPolicy to LEGACY.",
        )
    if isinstance(source, t.DecimalType) and isinstance(target, t.StringType):
        return _plain_decimal(sql)
    attempt = f"TRY_CAST({sql} AS {type_sql(target)})"
    what = f"' of type {type_sql(source)} cannot be cast to {type_sql(target)}'"
    error = f"RAISE_ERROR(CONCAT({_ansi_condition(sql, source, target)}, ' the value ', CAST({sql} AS STRING), {what}))"
    failed = f"{sql} IS NOT NULL AND {attempt} IS NULL"
    if isinstance(source, t.FloatType | t.DoubleType) and isinstance(target, t.DecimalType):
        failed += f" AND {_is_finite(sql)}"  # Spark makes NULL of NaN and infinities, in ANSI mode too
    return f"CASE WHEN {failed} THEN {error} ELSE {attempt} END"


def _is_for_non_ansi_only(source: t.DataType, target: t.DataType) -> bool:
    """Return whether ANSI mode lacks a cast that TRY_CAST would refuse without Spark's hint at the setting."""
    if isinstance(target, t.BooleanType):
        return isinstance(source, t.DateType | t.TimestampType)
    if isinstance(target, t.BinaryType):
        return isinstance(source, t.IntegralType)
    return isinstance(source, t.BooleanType) and isinstance(target, t.TimestampType)


def _plain_decimal(sql: str) -> str:
    """Format a decimal without the exponent of 1.20E-8 that the session would write."""
    text = f"CAST({sql} AS STRING)"
    digits = f"translate(substring_index({text}, 'E', 1), '-.', '')"
    zeros = f"repeat('0', CAST(substring_index({text}, 'E-', -1) AS INT) - 1)"
    plain = f"concat(IF({sql} < 0, '-', ''), '0.', {zeros}, {digits})"
    return f"IF(contains({text}, 'E'), {plain}, {text})"


def _ansi_condition(sql: str, source: t.DataType, target: t.DataType) -> str:
    """Describe the fault of a value that cannot be cast: text that is a number is too large for a decimal."""
    if isinstance(target, t.TimestampType) and isinstance(source, t.FloatType | t.DoubleType):
        return f"CASE WHEN {_is_finite(sql)} THEN '[CAST_OVERFLOW]' ELSE '[CAST_INVALID_INPUT]' END"
    if not isinstance(source, t.StringType):
        return "'[CAST_OVERFLOW]'"
    if not isinstance(target, t.DecimalType):
        return "'[CAST_INVALID_INPUT]'"
    is_number = _is_finite(f"TRY_CAST({sql} AS DOUBLE)")
    return f"CASE WHEN {is_number} THEN '[NUMERIC_VALUE_OUT_OF_RANGE]' ELSE '[CAST_INVALID_INPUT]' END"


def _is_finite(sql: str) -> str:
    return f"ABS({sql}) < DOUBLE('Infinity')"  # NaN is greater than all
