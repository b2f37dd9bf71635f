"""The aggregates of source queries that the order of rows does not decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    VOID,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    NestedType,
    Schema,
    StructType,
)
from mergecheck.model.types.implicit_casts import as_decimal
from mergecheck.model.types.typed import Typed, combine, duckdb_type, identifier
from mergecheck.reference.casts.cast_sql import let, unsupported
from mergecheck.reference.expressions.arithmetic import quotient
from mergecheck.reference.syntax.query_tree import allow

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.expressions.translation import Translator

_ANY = (exp.First, exp.Last, exp.AnyValue, exp.FirstValue, exp.LastValue)
_SUM_DIGITS = 10  # by which Spark widens a sum of decimals
_MAX_PRECISION = 38


ORDERLESS = (exp.Count, exp.Sum, exp.Max, exp.Min)
"""Aggregates that may stand over a window."""


def aggregate(node: exp.Expr, translator: Translator) -> Typed:
    """Translate an aggregate.

    Where the order of the rows decides, the value is unsupported: in FIRST, LAST, ANY_VALUE and MAX_BY of several
    values, and in COLLECT_LIST unless it is sorted.

    Raises:
        UnsupportedByReferenceError: for other aggregates.
    """
    if isinstance(node, exp.Count):
        return _count(node, translator.translate)
    if isinstance(node, exp.CountIf):
        allow(node, "this")
        condition = translator.condition(node.this)
        return combine(f"count(*) FILTER (WHERE {condition.sql})", BIGINT, condition)
    if isinstance(node, exp.ArgMax | exp.ArgMin):
        allow(node, "this", "expression")
        return _by_extreme(node, translator.translate(node.this), translator.translate(node.expression))
    if isinstance(node, exp.IgnoreNulls):
        if not isinstance(node.this, _ANY):
            raise UnsupportedByReferenceError(f"aggregate {node.this.key.upper()}")
        allow(node.this, "this")
        return _any(translator.translate(node.this.this), ignores_nulls=True)
    allow(node, "this", "nulls_excluded")
    if isinstance(node, exp.Sum):
        return _sum(translator.translate(node.this))
    if isinstance(node, exp.Avg):
        return _average(translator.translate(node.this))
    if isinstance(node, exp.LogicalOr | exp.LogicalAnd):
        operand = translator.condition(node.this)
        word = "bool_or" if isinstance(node, exp.LogicalOr) else "bool_and"
        return combine(f"{word}({operand.sql})", BOOLEAN, operand)
    if isinstance(node, exp.ArrayAgg | exp.ArrayUniqueAgg):
        found = collected(node, translator)
        chance = unsupported("a list whose order is left to chance")
        sql = let(found.sql, f"CASE WHEN len(x) > 1 AND len(list_distinct(x)) > 1 THEN {chance} ELSE x END")
        return combine(sql, found.type, found, partial=True)
    if isinstance(node, _ANY):
        return _any(translator.translate(node.this), ignores_nulls=False)
    if isinstance(node, exp.Max | exp.Min):
        operand = translator.translate(node.this)
        if isinstance(operand.type, StructType):
            listed = f"list({operand.sql} ORDER BY {_order(operand.sql, operand.type, isinstance(node, exp.Max))})"
            return combine(f"({listed} FILTER (WHERE ({operand.sql}) IS NOT NULL))[1]", operand.type, operand)
        return _extreme(node, operand, "")
    raise UnsupportedByReferenceError(f"aggregate {node.key.upper()}")


def filtered(node: exp.Filter, translator: Translator) -> Typed:
    """Translate COUNT, MAX or MIN over the rows that fulfil a condition.

    Raises:
        UnsupportedByReferenceError: for other aggregates, and for operands that fail on some row.
    """
    value, condition = aggregate(node.this, translator), translator.condition(node.expression.this)
    if value.partial or condition.partial or not isinstance(node.this, exp.Count | exp.Max | exp.Min):
        raise UnsupportedByReferenceError(f"{node.this.key.upper()} with a FILTER")
    return combine(f"{value.sql} FILTER (WHERE {condition.sql})", value.type, value, condition)


def windowed(node: exp.Expr, translate: Callable[[exp.Expr], Typed], over: str) -> Typed:
    """Translate an aggregate of ``ORDERLESS`` over a window.

    Raises:
        UnsupportedByReferenceError: for operands that were not compared between the engines, and DISTINCT.
    """
    if isinstance(node.this, exp.Distinct):
        raise UnsupportedByReferenceError("a distinct aggregate over a window")
    if isinstance(node, exp.Count):
        return _count(node, translate, f" OVER {over}")
    allow(node, "this")
    operand = translate(node.this)
    return _sum(operand, f" OVER {over}") if isinstance(node, exp.Sum) else _extreme(node, operand, f" OVER {over}")


def collected(node: exp.Expr, translator: Translator) -> Typed:
    """Translate COLLECT_LIST or COLLECT_SET, in any order; neither has NULLs, and neither is NULL.

    Raises:
        UnsupportedByReferenceError: for operands that were not compared between the engines.
    """
    allow(node, "this", "nulls_excluded")
    operand = translator.translate(node.this)
    check_groupable(Schema((Field("", operand.type),)))
    sql = f"list({operand.sql}) FILTER (WHERE ({operand.sql}) IS NOT NULL)"
    if isinstance(node, exp.ArrayUniqueAgg):
        sql = f"list_distinct({sql})"
    data_type = ArrayType(operand.type)
    return combine(f"COALESCE({sql}, CAST([] AS {duckdb_type(data_type)}))", data_type, operand)


def _count(node: exp.Expr, translate: Callable[[exp.Expr], Typed], over: str = "") -> Typed:
    allow(node, "this", "big_int")
    if isinstance(node.this, exp.Star):
        allow(node.this)
        return Typed(sql=f"count(*){over}", type=BIGINT)
    if isinstance(node.this, exp.Distinct):
        return _distinct_count(node.this, translate)
    operand = translate(node.this)
    return Typed(sql=f"count({operand.sql}){over}", type=BIGINT, sides=operand.sides, partial=operand.partial)


def _extreme(node: exp.Expr, operand: Typed, over: str) -> Typed:
    if _has_floating(operand.type) or isinstance(operand.type, NestedType):
        raise UnsupportedByReferenceError(f"{node.key.upper()} of {operand.type.ddl().split('<')[0]}")
    sql = f"{node.key}({operand.sql}){over}"
    return Typed(sql=sql, type=operand.type, sides=operand.sides, partial=operand.partial)


def _by_extreme(node: exp.Expr, value: Typed, key: Typed) -> Typed:
    """Give the value beside the greatest or least key; rows without a key do not count."""
    check_groupable(Schema((Field("", key.type), Field("", value.type))))
    order = _order(key.sql, key.type, isinstance(node, exp.ArgMax))
    pairs = f"list(struct_pack(v := {value.sql}, k := {key.sql}) ORDER BY {order})"
    ties = "len(list_filter(x, lambda y: y.k IS NOT DISTINCT FROM x[1].k AND y.v IS DISTINCT FROM x[1].v)) > 0"
    chance = unsupported("several values beside one greatest or least key")
    sql = let(f"{pairs} FILTER (WHERE ({key.sql}) IS NOT NULL)", f"CASE WHEN {ties} THEN {chance} ELSE x[1].v END")
    return combine(sql, value.type, value, key, partial=True)


def _order(sql: str, data_type: DataType, is_descending: bool) -> str:  # noqa: FBT001 - ASC or DESC
    """Write an order as Spark's: NULL is less than anything, also in a struct."""
    word, nulls = ("DESC", "LAST") if is_descending else ("ASC", "FIRST")
    if not isinstance(data_type, StructType):
        if _has_floating(data_type) or isinstance(data_type, ArrayType | MapType):
            raise UnsupportedByReferenceError("the order of floating-point values, arrays or maps")
        return f"{sql} {word} NULLS {nulls}"
    fields = (_order(f"({sql}).{identifier(f.name)}", f.type, is_descending) for f in data_type.fields)
    return ", ".join((f"(({sql}) IS NOT NULL) {word}", *fields))


def _any(operand: Typed, *, ignores_nulls: bool) -> Typed:
    """Give any of the values, which must all be the same."""
    check_groupable(Schema((Field("", operand.type),)))
    counted = operand.sql if ignores_nulls else f"struct_pack(v := {operand.sql})"
    word = "any_value" if ignores_nulls else "first"  # DuckDB's any_value passes over NULLs
    chance = unsupported("one of several values")
    sql = f"CASE WHEN count(DISTINCT {counted}) > 1 THEN {chance} ELSE {word}({operand.sql}) END"
    return combine(sql, operand.type, operand, partial=True)


def _average(operand: Typed) -> Typed:
    """Divide the sum by the count: of whole numbers as DOUBLE, of decimals as DECIMAL with four digits more."""
    if operand.type in INTEGER_BITS:
        # up to 2^53 the order of the additions does not matter
        total = f"sum(CAST({operand.sql} AS HUGEINT))"
        large = f"sum(abs(CAST({operand.sql} AS HUGEINT))) > 9007199254740992"
        chance = unsupported("the average of large numbers")
        sql = f"CASE WHEN {large} THEN {chance} ELSE CAST({total} AS DOUBLE) / NULLIF(count({operand.sql}), 0) END"
        return combine(sql, DOUBLE, operand, partial=True)
    if not isinstance(operand.type, DecimalType) or operand.type.precision + _SUM_DIGITS > _MAX_PRECISION:
        raise UnsupportedByReferenceError("AVG of anything but integers and short decimals")
    total_type = DecimalType(operand.type.precision + _SUM_DIGITS, operand.type.scale)
    wanted = DecimalType(min(operand.type.precision + 4, _MAX_PRECISION), min(operand.type.scale + 4, _MAX_PRECISION))
    summed = combine(f"CAST(sum({operand.sql}) AS {duckdb_type(total_type)})", total_type, operand, partial=True)
    number = Typed(sql=f"NULLIF(count({operand.sql}), 0)", type=BIGINT, sides=operand.sides)
    return quotient((summed, total_type), (number, as_decimal(BIGINT)), wanted)


def _distinct_count(node: exp.Distinct, translate: Callable[[exp.Expr], Typed]) -> Typed:
    allow(node, "expressions")
    if len(node.expressions) != 1:
        raise UnsupportedByReferenceError("COUNT of several distinct values")
    operand = translate(node.expressions[0])
    check_groupable(Schema((Field("", operand.type),)))
    return Typed(sql=f"count(DISTINCT {operand.sql})", type=BIGINT, sides=operand.sides, partial=operand.partial)


def check_groupable(schema: Schema) -> None:
    """Refuse to group or to make distinct what Spark normalises first, or cannot group.

    Raises:
        UnsupportedByReferenceError: for floating-point values, maps and untyped NULLs anywhere inside.
    """
    for column in schema.columns:
        if column.type == VOID or _has_floating(column.type):
            raise UnsupportedByReferenceError("grouping of floating-point values, maps or untyped NULLs")


def _sum(operand: Typed, over: str = "") -> Typed:
    wanted: DataType
    if operand.type in INTEGER_BITS:
        wanted = BIGINT
    elif isinstance(operand.type, DecimalType) and operand.type.precision + _SUM_DIGITS <= _MAX_PRECISION:
        wanted = DecimalType(operand.type.precision + _SUM_DIGITS, operand.type.scale)
    else:
        raise UnsupportedByReferenceError("SUM of anything but integers and short decimals")
    sql = f"CAST(sum({operand.sql}){over} AS {duckdb_type(wanted)})"
    return Typed(sql=sql, type=wanted, sides=operand.sides, partial=True)


def _has_floating(data_type: DataType) -> bool:
    """Return whether values hold floating-point numbers, or maps, which have no order."""
    if isinstance(data_type, ArrayType):
        return _has_floating(data_type.element)
    if isinstance(data_type, StructType):
        return any(_has_floating(field.type) for field in data_type.fields)
    return data_type in (FLOAT, DOUBLE) or isinstance(data_type, MapType)
