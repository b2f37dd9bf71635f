"""The few aggregates that Spark and DuckDB compute alike, for source queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.errors import UnsupportedByReferenceError
from mergecheck.reference.syntax.query_tree import allow
from mergecheck.reference.types.data_types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    VOID,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
)
from mergecheck.reference.types.typed import Typed, combine, duckdb_type

if TYPE_CHECKING:
    from mergecheck.reference.expressions.translation import Translator
    from mergecheck.reference.types.data_types import DataType

_SUM_DIGITS = 10  # by which Spark widens a sum of decimals
_MAX_PRECISION = 38


def aggregate(node: exp.AggFunc, translator: Translator) -> Typed:
    """Translate COUNT, SUM, MAX or MIN of one expression.

    Raises:
        UnsupportedByReferenceError: for other aggregates, and if the result depends on the order of the rows.
    """
    if isinstance(node, exp.Count):
        allow(node, "this", "big_int")
        if isinstance(node.this, exp.Star):
            allow(node.this)
            return Typed(sql="count(*)", type=BIGINT)
        if isinstance(node.this, exp.Distinct):
            return _distinct_count(node.this, translator)
        operand = translator.translate(node.this)
        return Typed(sql=f"count({operand.sql})", type=BIGINT, sides=operand.sides, partial=operand.partial)
    allow(node, "this")
    if isinstance(node, exp.Sum):
        return _sum(translator.translate(node.this))
    if isinstance(node, exp.Max | exp.Min):
        operand = translator.translate(node.this)
        if _has_floating(operand.type) or isinstance(operand.type, ArrayType | MapType | StructType):
            raise UnsupportedByReferenceError(f"{node.key.upper()} of {operand.type.ddl().split('<')[0]}")
        return Typed(sql=f"{node.key}({operand.sql})", type=operand.type, sides=operand.sides, partial=operand.partial)
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


def _distinct_count(node: exp.Distinct, translator: Translator) -> Typed:
    allow(node, "expressions")
    if len(node.expressions) != 1:
        raise UnsupportedByReferenceError("COUNT of several distinct values")
    operand = translator.translate(node.expressions[0])
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


def _sum(operand: Typed) -> Typed:
    wanted: DataType
    if operand.type in INTEGER_BITS:
        wanted = BIGINT
    elif isinstance(operand.type, DecimalType) and operand.type.precision + _SUM_DIGITS <= _MAX_PRECISION:
        wanted = DecimalType(operand.type.precision + _SUM_DIGITS, operand.type.scale)
    else:
        raise UnsupportedByReferenceError("SUM of anything but integers and short decimals")
    sql = f"CAST(sum({operand.sql}) AS {duckdb_type(wanted)})"
    return Typed(sql=sql, type=wanted, sides=operand.sides, partial=True)


def _has_floating(data_type: DataType) -> bool:
    """Tell whether values hold floating-point numbers, or maps, which have no order."""
    if isinstance(data_type, ArrayType):
        return _has_floating(data_type.element)
    if isinstance(data_type, StructType):
        return any(_has_floating(field.type) for field in data_type.fields)
    return data_type in (FLOAT, DOUBLE) or isinstance(data_type, MapType)
