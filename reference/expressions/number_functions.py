"""Functions of numbers, found by their names: rounding, remainders, bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import BIGINT, DOUBLE, INT, INTEGER_BITS, DecimalType, type_word
from mergecheck.model.types.implicit_casts import common_type
from mergecheck.model.types.typed import Typed, combine, duckdb_type
from mergecheck.reference.casts.cast_sql import fail, let, unsupported
from mergecheck.reference.casts.conversions import Failure, cast
from mergecheck.reference.casts.integer_casts import wrapped
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.comparisons import compare
from mergecheck.reference.expressions.operands import bound, count, literal_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.reference.expressions.operands import Call, Translate

_MAX_PRECISION = 38
_MOST_DIGITS = 15  # of a fraction of a double
_EXACT = 4503599627370496  # up to which a double holds halves


def _rounded(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``round``, which rounds half away from zero; a decimal gets one digit more before the point."""
    count(operands, 1, 2)
    value = translate(operands[0])
    places = literal_number(operands[1], 0) if len(operands) > 1 else 0
    if value.type in INTEGER_BITS:
        return value
    if isinstance(value.type, DecimalType):
        scale = min(places, value.type.scale)
        wanted = DecimalType(value.type.precision - value.type.scale + 1 + scale, scale)
        if wanted.precision > _MAX_PRECISION:
            raise UnsupportedByReferenceError("round of a long decimal")
        return combine(f"CAST({value.sql} AS {duckdb_type(wanted)})", wanted, value)
    if value.type != DOUBLE or places > _MOST_DIGITS:
        raise UnsupportedByReferenceError(f"round of {type_word(value.type)}")
    decimal = DecimalType(_MAX_PRECISION, places)
    text = cast("x", DOUBLE, decimal, Failure.ERROR, "UNSUPPORTED a large number that is rounded")
    body = f"CASE WHEN isnan(x) OR isinf(x) THEN x ELSE CAST(CAST({text} AS VARCHAR) AS DOUBLE) END"
    return combine(let(value.sql, body), DOUBLE, value, partial=True)


def _whole(word: str) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        value = translate(operands[0])
        if value.type in INTEGER_BITS:
            return cast_value(value, BIGINT)
        if isinstance(value.type, DecimalType):
            wanted = DecimalType(min(value.type.precision - value.type.scale + 1, _MAX_PRECISION), 0)
            return combine(f"CAST({word}({value.sql}) AS {duckdb_type(wanted)})", wanted, value)
        if value.type != DOUBLE:
            raise UnsupportedByReferenceError(f"{word} of {type_word(value.type)}")
        far = unsupported("a large number without its fraction")
        body = f"CASE WHEN x IS NULL OR abs(x) < {_EXACT} THEN CAST({word}(x) AS BIGINT) ELSE {far} END"
        return combine(let(value.sql, body), BIGINT, value, partial=True)

    return call


def _positive_remainder(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    left, right = (translate(one) for one in operands)
    if left.type not in INTEGER_BITS or right.type not in INTEGER_BITS:
        raise UnsupportedByReferenceError("pmod of anything but integers")
    wanted = common_type(left.type, right.type)
    values = {"a": f"CAST({left.sql} AS HUGEINT)", "n": f"CAST({right.sql} AS HUGEINT)"}
    remainder = "CASE WHEN p.a % p.n < 0 THEN (p.a % p.n + p.n) % p.n ELSE p.a % p.n END"
    body = (
        f"CASE WHEN p.a IS NULL OR p.n IS NULL THEN NULL WHEN p.n = 0 THEN {fail('REMAINDER_BY_ZERO')} "
        f"ELSE CAST({remainder} AS {duckdb_type(wanted)}) END"
    )
    return combine(bound(values, body), wanted, left, right, partial=True)


def bits(symbol: str, left: Typed, right: Typed) -> Typed:
    """Translate ``&``, ``|`` and ``^`` of integers.

    Raises:
        UnsupportedByReferenceError: for other types.
    """
    if left.type not in INTEGER_BITS or right.type not in INTEGER_BITS:
        raise UnsupportedByReferenceError("an operator of bits on anything but integers")
    wanted = common_type(left.type, right.type)
    left, right = cast_value(left, wanted), cast_value(right, wanted)
    form = f"xor({left.sql}, {right.sql})" if symbol == "^" else f"(({left.sql}) {symbol} ({right.sql}))"
    return combine(form, wanted, left, right)


def no_bits(value: Typed) -> Typed:
    """Translate ``~``.

    Raises:
        UnsupportedByReferenceError: for anything but integers.
    """
    if value.type not in INTEGER_BITS:
        raise UnsupportedByReferenceError("an operator of bits on anything but integers")
    return combine(f"(~({value.sql}))", value.type, value)


def _shifted(*, is_left: bool) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 2)
        value, places = translate(operands[0]), literal_number(operands[1], 0)
        value = value if value.type == BIGINT or value.type not in INTEGER_BITS else cast_value(value, INT)
        if value.type not in INTEGER_BITS or places >= INTEGER_BITS[value.type]:
            raise UnsupportedByReferenceError("a shift of this kind")
        factor = 1 << places
        if is_left:  # at most 127 bits together, so that HUGEINT holds them before they are cut
            if places + INTEGER_BITS[value.type] > 126:  # noqa: PLR2004
                raise UnsupportedByReferenceError("a shift of this kind")
            moved = wrapped(f"(x * CAST('{factor}' AS HUGEINT))", value.type)
        else:
            moved = f"((x - ((x % {factor} + {factor}) % {factor})) // {factor})"
        sql = let(f"CAST({value.sql} AS HUGEINT)", f"CAST({moved} AS {duckdb_type(value.type)})")
        return combine(sql, value.type, value)

    return call


def _sign(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    value = translate(operands[0])
    if value.type not in INTEGER_BITS:
        raise UnsupportedByReferenceError(f"sign of {type_word(value.type)}")
    return combine(f"CAST(sign({value.sql}) AS DOUBLE)", DOUBLE, value)


def _equal_null(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    return compare(exp.NullSafeEQ, translate(operands[0]), translate(operands[1]))


NUMBER_CALLS: Final[dict[str, Call]] = {
    "ceil": _whole("ceil"),
    "ceiling": _whole("ceil"),
    "equal_null": _equal_null,
    "floor": _whole("floor"),
    "pmod": _positive_remainder,
    "round": _rounded,
    "shiftleft": _shifted(is_left=True),
    "shiftright": _shifted(is_left=False),
    "sign": _sign,
    "signum": _sign,
}
