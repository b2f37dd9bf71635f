"""Conditions that cannot fail on any row, so that it does not matter on how many rows they are evaluated.

ON and clause conditions are evaluated eagerly (R-312), and may raise an error on any row. An optimisation that reads
fewer rows would hide the error. An expression that is not known here may fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as t
from sqlglot import exp

from mergecheck.merge.expressions.resolved import source_column, target_column
from mergecheck.merge.table.reading.literals import literal_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.merge.expressions.resolved import ResolvedExpression, ResolvedMerge

_NUMBERS = (t.ByteType, t.ShortType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_DATE = t.DateType()
_BOOLEAN = t.BooleanType().simpleString()
_LOGIC = (exp.And, exp.Or, exp.Not, exp.Paren)


def column_types(merge: ResolvedMerge) -> dict[str, t.DataType]:
    """Return the types of both tables' columns by positional name."""
    target = {target_column(i): field.dataType for i, field in enumerate(merge.target_schema.fields)}
    return target | {source_column(i): field.dataType for i, field in enumerate(merge.source_schema.fields)}


def conditions_cannot_fail(merge: ResolvedMerge) -> bool:
    """Return whether neither ON nor the condition of any clause can raise an error on any row."""
    types = column_types(merge)
    conditions = [merge.condition, *(clause.condition for clause in merge.clauses if clause.condition is not None)]
    return all(cannot_fail(condition, types) for condition in conditions)


def cannot_fail(condition: ResolvedExpression, types: Mapping[str, t.DataType]) -> bool:
    """Return whether a condition can raise an error on no row: comparisons of columns and constants of one kind."""
    return _is_safe(condition.tree, types)


def _is_safe(node: exp.Expr, types: Mapping[str, t.DataType]) -> bool:
    if isinstance(node, _LOGIC):
        return all(_is_safe(child, types) for child in node.iter_expressions())
    if isinstance(node, exp.Boolean | exp.Null):
        return True
    if isinstance(node, exp.Is):
        return _kind(node.this, types) is not None and isinstance(node.expression, exp.Null)
    if isinstance(node, exp.Column):
        return _kind(node, types) == _BOOLEAN
    kinds = {_kind(operand, types) for operand in _compared(node)}
    return len(kinds) == 1 and None not in kinds


def _compared(node: exp.Expr) -> tuple[exp.Expr, ...]:
    """List the operands of a comparison; nothing for any other expression."""
    if isinstance(node, _COMPARISONS):
        return node.left, node.right
    if isinstance(node, exp.Between):
        return node.this, node.args["low"], node.args["high"]
    if isinstance(node, exp.In) and node.expressions:
        return node.this, *node.expressions
    return ()


def _kind(node: exp.Expr, types: Mapping[str, t.DataType]) -> str | None:
    """Name the kind of values that an operand is compared as; None if its conversion could fail."""
    if isinstance(node, exp.Paren):
        return _kind(node.this, types)
    if isinstance(node, exp.Neg):
        return "number" if _is_small_integer(node.this) else None
    if isinstance(node, exp.Literal):
        if node.is_string:
            return "string"
        return "number" if _is_small_integer(node) else None
    if isinstance(node, exp.Mod):
        # No overflow, and no division by zero, by a constant that is not zero.
        divisor = node.expression
        is_safe = _is_small_integer(divisor) and int(divisor.this) > 0 and _kind(node.this, types) == "number"
        return "number" if is_safe else None
    if isinstance(node, exp.Cast) and literal_for(node, _DATE) is not None:
        return _DATE.simpleString()
    if isinstance(node, exp.Column) and not node.table and node.name in types:
        data_type = types[node.name]
        if isinstance(data_type, _NUMBERS):
            return "number"
        return data_type.simpleString() if isinstance(data_type, t.AtomicType) else None
    return None


def _is_small_integer(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() and len(node.this) <= 9  # noqa: PLR2004 - digits of an INT
