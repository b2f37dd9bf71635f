"""Spark's arithmetic under ANSI: integers overflow, decimals widen, division by zero fails, floats follow IEEE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import BIGINT, DOUBLE, FLOAT, INTEGER_BITS, VOID, DecimalType, type_word
from mergecheck.model.types.implicit_casts import as_decimal, common_type, is_numeric
from mergecheck.model.types.typed import Typed, combine, duckdb_type
from mergecheck.reference.casts.cast_sql import fail, unsupported
from mergecheck.reference.casts.nested_casts import cast_value

if TYPE_CHECKING:
    from mergecheck.model.types.data_types import DataType

_SYMBOLS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}
_MAX_PRECISION = 38
_LEAST_SCALE = 6  # of a quotient


def arithmetic(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Translate ``+``, ``-``, ``*`` and ``%``; of two untyped NULLs the result is a DOUBLE.

    Raises:
        UnsupportedByReferenceError: for operands whose result type or rounding is not certain.
    """
    symbol = _SYMBOLS[type(node)]
    if left.type == VOID and right.type == VOID:
        left, right = cast_value(left, DOUBLE), cast_value(right, DOUBLE)
    _check_numbers(left, right)
    exact = not {left.type, right.type} & {FLOAT, DOUBLE}
    if exact and (isinstance(left.type, DecimalType) or isinstance(right.type, DecimalType)):
        return _decimal(symbol, _as_decimal(node.this, left), _as_decimal(node.expression, right))
    wanted = common_type(left.type, right.type)
    left, right = cast_value(left, wanted), cast_value(right, wanted)
    sql = f"(({left.sql}) {symbol} ({right.sql}))"
    if symbol == "%":
        sql = _unless_zero(left, right, sql, "REMAINDER_BY_ZERO")
    evaluated = _evaluated(right, left) if symbol == "%" else _evaluated(left, right)
    return combine(sql, wanted, left, right, partial=wanted in INTEGER_BITS or symbol == "%", evaluated=evaluated)


def divide(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """Translate ``/``, which gives a DECIMAL if an operand is one and none is a FLOAT or DOUBLE, else a DOUBLE."""
    _check_numbers(left, right)
    exact = not {left.type, right.type} & {FLOAT, DOUBLE}
    if exact and (isinstance(left.type, DecimalType) or isinstance(right.type, DecimalType)):
        first, second = _as_decimal(node.this, left), _as_decimal(node.expression, right)
        return quotient(first, second, _quotient_type(first[1], second[1]))
    left, right = cast_value(left, DOUBLE), cast_value(right, DOUBLE)
    sql = _unless_zero(left, right, f"(({left.sql}) / ({right.sql}))", "DIVIDE_BY_ZERO")
    return combine(sql, DOUBLE, left, right, partial=True, evaluated=_evaluated(right, left))


def _quotient_type(left: DecimalType, right: DecimalType) -> DecimalType:
    """Give the type of a quotient; of one that is too long Spark cuts the fraction, down to six digits."""
    whole = left.precision - left.scale + right.scale
    scale = max(_LEAST_SCALE, left.scale + right.precision + 1)
    if whole + scale > _MAX_PRECISION:
        scale = max(_MAX_PRECISION - whole, _LEAST_SCALE)
    return DecimalType(min(whole + scale, _MAX_PRECISION), scale)


def quotient(left: tuple[Typed, DecimalType], right: tuple[Typed, DecimalType], wanted: DecimalType) -> Typed:
    """Divide decimals, and round half up to the digits of a type.

    Both are taken as whole numbers of their last digits, so that a division of whole numbers is exact. Spark rounds to
    38 digits behind the point first; that changes nothing unless the divisor is very long.

    Raises:
        UnsupportedByReferenceError: for operands whose digits do not fit 38 together.
    """
    (a, first), (b, second) = left, right
    shift = wanted.scale + second.scale - first.scale
    if shift < 0 or wanted.scale == 0 or first.precision + shift > _MAX_PRECISION:
        raise UnsupportedByReferenceError("division of long decimals")
    n, d = _unscaled(a, first), _unscaled(b, second)
    half = "CASE WHEN abs(p.n % p.d) >= abs(p.d) - abs(p.n % p.d) THEN sign(p.n) * sign(p.d) ELSE 0 END"
    scale, spelled = wanted.scale, "CAST(abs(q) AS VARCHAR)"
    digits = f"lpad({spelled}, CAST(greatest(length({spelled}), {scale + 1}) AS INTEGER), '0')"
    text = f"CASE WHEN q < 0 THEN '-' ELSE '' END || {digits}[:-{scale + 1}] || '.' || {digits}[-{scale}:]"
    rounded = f"list_transform([p.n // p.d + {half}], lambda q: CAST({text} AS {duckdb_type(wanted)}))[1]"
    far = unsupported("division by a long decimal")
    body = (
        f"CASE WHEN p.n IS NULL OR p.d IS NULL THEN NULL WHEN p.d = 0 THEN {fail('DIVIDE_BY_ZERO')} "
        f"WHEN abs(p.d) > CAST('1e{_MAX_PRECISION - wanted.scale}' AS HUGEINT) THEN {far} "
        f"ELSE {rounded} END"
    )
    pair = f"struct_pack(n := {n} * CAST('1e{shift}' AS HUGEINT), d := {d})"
    sql = f"(list_transform([{pair}], lambda p: {body})[1])"
    return combine(sql, wanted, a, b, partial=True, evaluated=_evaluated(b, a))


def _unscaled(value: Typed, data_type: DecimalType) -> str:
    """Give a decimal as a whole number of its last digits."""
    return f"CAST(replace(CAST(CAST({value.sql} AS {duckdb_type(data_type)}) AS VARCHAR), '.', '') AS HUGEINT)"


def divide_whole(left: Typed, right: Typed) -> Typed:
    """Translate ``DIV`` of integers, which truncates to a BIGINT."""
    if left.type not in INTEGER_BITS or right.type not in INTEGER_BITS:
        raise UnsupportedByReferenceError("DIV of anything but integers")
    left, right = cast_value(left, BIGINT), cast_value(right, BIGINT)
    sql = _unless_zero(left, right, f"(({left.sql}) // ({right.sql}))", "DIVIDE_BY_ZERO")
    return combine(sql, BIGINT, left, right, partial=True, evaluated=_evaluated(right, left))


def negative(operand: Typed) -> Typed:
    """Translate a minus sign."""
    if operand.type in INTEGER_BITS:
        return combine(
            _unless_least(operand, f"-({operand.sql})"), operand.type, operand, partial=True, evaluated=[operand]
        )
    if operand.type in (FLOAT, DOUBLE):
        return combine(f"(-({operand.sql}))", operand.type, operand, evaluated=[operand])
    if isinstance(operand.type, DecimalType):
        return combine(
            f"CAST(-({operand.sql}) AS {duckdb_type(operand.type)})", operand.type, operand, evaluated=[operand]
        )
    raise UnsupportedByReferenceError(f"minus of {type_word(operand.type)}")


def absolute(operand: Typed) -> Typed:
    """Translate ``abs``."""
    if operand.type in INTEGER_BITS:
        return combine(
            _unless_least(operand, f"abs({operand.sql})"), operand.type, operand, partial=True, evaluated=[operand]
        )
    if not is_numeric(operand.type):
        raise UnsupportedByReferenceError(f"abs of {type_word(operand.type)}")
    return combine(
        f"CAST(abs({operand.sql}) AS {duckdb_type(operand.type)})", operand.type, operand, evaluated=[operand]
    )


def _check_numbers(left: Typed, right: Typed) -> None:
    for operand in (left, right):
        if not is_numeric(operand.type) and operand.type != VOID:
            raise UnsupportedByReferenceError(f"arithmetic on {type_word(operand.type)}")
    if VOID in (left.type, right.type):
        raise UnsupportedByReferenceError("arithmetic on an untyped NULL")


def _as_decimal(node: exp.Expr, operand: Typed) -> tuple[Typed, DecimalType]:
    """Give an operand the decimal type that Spark gives it: a whole literal counts its own digits only."""
    if isinstance(node, exp.Literal) and operand.type in INTEGER_BITS:
        digits = len(str(node.this).lstrip("0")) or 1
        return operand, DecimalType(digits, 0)
    if operand.type in INTEGER_BITS and node.find(exp.Column, exp.AggFunc) is None:
        raise UnsupportedByReferenceError("a computed whole number beside a decimal")  # Spark may fold it first
    return operand, as_decimal(operand.type)


def _decimal(symbol: str, left: tuple[Typed, DecimalType], right: tuple[Typed, DecimalType]) -> Typed:
    """Add, subtract or multiply; the exact result must fit 38 digits."""
    (a, first), (b, second) = left, right
    if symbol == "%":
        raise UnsupportedByReferenceError("remainder of decimals")
    if symbol == "*":
        precision, scale = first.precision + second.precision + 1, first.scale + second.scale
    else:
        scale = max(first.scale, second.scale)
        precision = max(first.precision - first.scale, second.precision - second.scale) + scale + 1
    if precision > _MAX_PRECISION:
        raise UnsupportedByReferenceError("decimal arithmetic wider than 38 digits")
    wanted: DataType = DecimalType(precision, scale)
    types = (first, second) if symbol == "*" else (wanted, wanted)
    parts = [f"CAST({value.sql} AS {duckdb_type(each)})" for value, each in zip((a, b), types, strict=True)]
    return combine(
        f"CAST(({parts[0]} {symbol} {parts[1]}) AS {duckdb_type(wanted)})", wanted, a, b, evaluated=_evaluated(a, b)
    )


def _evaluated(first: Typed, second: Typed) -> list[Typed]:
    """List the operands that Spark surely evaluates: the second one only if the first one is not NULL.

    If either is NULL in the text of the statement, Spark evaluates neither.
    """
    surely = [not operand.sides and "NULL" not in operand.sql for operand in (first, second)]
    evaluated = [first] if surely[1] or second.sides else []
    return [*evaluated, second] if surely[0] else evaluated


def _unless_zero(left: Typed, right: Typed, sql: str, error_class: str) -> str:
    """Fail for a zero divisor, but only if there is something to divide, as Spark does."""
    null = f"({left.sql}) IS NULL OR ({right.sql}) IS NULL"
    return f"(CASE WHEN {null} THEN NULL WHEN ({right.sql}) = 0 THEN {fail(error_class)} ELSE {sql} END)"


def _unless_least(operand: Typed, sql: str) -> str:
    least = -(1 << (INTEGER_BITS[operand.type] - 1))
    return f"(CASE WHEN ({operand.sql}) = {least} THEN {fail('ARITHMETIC_OVERFLOW')} ELSE {sql} END)"
