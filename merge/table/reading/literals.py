"""Constants of a predicate as Python values, if their comparison with a column needs no doubtful coercion."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from pyspark.sql import types as t
from sqlglot import exp

from mergecheck.merge.table.reading.bounds import FRACTIONAL_TYPES, INTEGRAL_TYPES

if TYPE_CHECKING:
    from mergecheck.merge.table.reading.bounds import Comparable

# More digits could meet a column in a decimal type that is too narrow for both, where Spark rounds.
_PLAIN_NUMBER = re.compile(r"\d{1,19}(\.\d{1,15})?|\.\d{1,15}")
_INTEGER_CASTS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
# Whole numbers up to here are exact in the type that the column is compared in.
_EXACT_IN_FLOAT = 2**24
_EXACT_IN_DOUBLE = 2**53


@dataclass(frozen=True, slots=True)
class NullLiteral:
    """The constant NULL of any type."""


def literal_for(node: exp.Expr, data_type: t.DataType) -> Comparable | NullLiteral | None:
    """Evaluate a constant to compare with a column of the type; None if Spark's coercion is not known here."""
    node = node.unnest()
    if isinstance(node.this if isinstance(node, exp.Cast) else node, exp.Null):
        return NullLiteral()
    if isinstance(data_type, (*INTEGRAL_TYPES, t.DecimalType)):
        return _exact_number(node)
    if isinstance(data_type, FRACTIONAL_TYPES):
        return _binary_number(node, data_type)
    if isinstance(data_type, t.StringType):
        return _string(node)
    if isinstance(data_type, t.BooleanType):
        return node.this if isinstance(node, exp.Boolean) else None
    if isinstance(data_type, t.DateType):
        return _date(node)
    return None


def _string(node: exp.Expr) -> str | None:
    if not (isinstance(node, exp.Literal) and node.is_string):
        return None
    return None if "\\" in node.this else str(node.this)  # two parsers may read an escape differently


def _exact_number(node: exp.Expr) -> Decimal | None:
    """Read an integer or decimal constant; doubles are left out, they would be compared inexactly."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = _exact_number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Cast):
        if node.to.sql().upper() not in _INTEGER_CASTS or node.args.get("format"):
            return None
        inner = _exact_number(node.this)
        return inner if inner is not None and inner == inner.to_integral_value() else None
    if isinstance(node, exp.Literal) and not node.is_string and _PLAIN_NUMBER.fullmatch(node.this):
        try:
            return Decimal(node.this)
        except InvalidOperation:
            return None
    return None


def _binary_number(node: exp.Expr, data_type: t.DataType) -> float | None:
    exact = _exact_number(node)
    if exact is None:
        return None
    limit = _EXACT_IN_FLOAT if isinstance(data_type, t.FloatType) else _EXACT_IN_DOUBLE
    if exact == exact.to_integral_value():
        return float(exact) if abs(exact) <= limit else None
    value = float(exact)
    # A decimal constant meets a FLOAT or DOUBLE column as the nearest double.
    return value if math.isfinite(value) else None


def _date(node: exp.Expr) -> dt.date | None:
    if not (isinstance(node, exp.Cast) and node.to.sql().upper() == "DATE"):
        return None
    text = node.this.unnest()
    if not (isinstance(text, exp.Literal) and text.is_string and re.fullmatch(r"\d{4}-\d{2}-\d{2}", text.this)):
        return None
    try:
        return dt.date.fromisoformat(text.this)
    except ValueError:
        return None
