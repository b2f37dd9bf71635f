"""Types of simple expressions, derived from the schemas, so that most statements need no analysis by Spark.

Only types that hold under every setting, of expressions that Spark cannot refuse.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from pyspark.sql import types as t
from sqlglot import exp

from mergecheck.merge.types.fields import same_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.merge.expressions.resolved import ResolvedExpression

_INTEGER_BITS: dict[type[t.DataType], int] = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}
_COMPARISONS = (exp.EQ, exp.NullSafeEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NEQ)
_NESTED = (t.ArrayType, t.MapType, t.StructType)
_UNORDERED = (*_NESTED, t.NullType, t.VariantType)
_MOST_DIGITS = 38
_NUMBER = re.compile(r"\d{1,38}|\d{1,19}[.]\d{1,19}")
# The types to which a number may be cast, and further ones for NULL. STRING is missing because sqlglot reads VARCHAR
# as STRING.
_NUMERIC_CASTS: dict[str, t.DataType] = {
    "TINYINT": t.ByteType(),
    "SMALLINT": t.ShortType(),
    "INT": t.IntegerType(),
    "BIGINT": t.LongType(),
    "FLOAT": t.FloatType(),
    "DOUBLE": t.DoubleType(),
}
_NULL_CASTS: dict[str, t.DataType] = {
    "BOOLEAN": t.BooleanType(),
    "BINARY": t.BinaryType(),
    "DATE": t.DateType(),
}


def known_type(expression: ResolvedExpression, target: t.StructType, source: t.StructType) -> t.DataType | None:
    """Return the type of an expression over positional columns; None if only Spark knows."""
    return expression.reference or type_of_tree(expression.tree, target, source)


def type_of_tree(tree: exp.Expr, target: t.StructType, source: t.StructType) -> t.DataType | None:
    """Return the type of a tree over positional columns; None if only Spark knows."""
    return _Known(target, source).of(tree)


class _Known:
    """The rules, for the columns of one statement."""

    def __init__(self, target: t.StructType, source: t.StructType) -> None:
        self._target = target
        self._source = source

    def of(self, tree: exp.Expr) -> t.DataType | None:
        tree = tree.unnest()
        if isinstance(tree, exp.Column):
            return self._column(tree.name)
        if isinstance(tree, exp.Literal | exp.Neg | exp.Null | exp.Boolean):
            return _literal(tree)
        if isinstance(tree, exp.Add | exp.Sub | exp.Mul):
            return _widest_integer([self.of(tree.left), self.of(tree.right)])
        if isinstance(tree, exp.Coalesce):
            return _common([self.of(part) for part in (tree.this, *tree.expressions)])
        if isinstance(tree, exp.Case):
            return self._case(tree)
        if isinstance(tree, exp.TryCast):  # so sqlglot reads Spark's CAST
            return self._cast(tree)
        if isinstance(tree, exp.Cast):  # and so a literal behind the name of its type
            return t.DateType() if tree.to.this.value == "DATE" and _is_date(tree.this.name) else None
        return t.BooleanType() if self._is_condition(tree) else None

    def _column(self, name: str) -> t.DataType | None:
        side, _, index = name.rpartition("_")
        schema = {"target": self._target, "source": self._source}.get(side)
        return schema.fields[int(index)].dataType if schema is not None and index.isdigit() else None

    def _is_condition(self, tree: exp.Expr) -> bool:
        if isinstance(tree, exp.And | exp.Or):
            return self._is_boolean(tree.left) and self._is_boolean(tree.right)
        if isinstance(tree, exp.Not):
            return self._is_boolean(tree.this)
        if isinstance(tree, exp.Is):
            return isinstance(tree.expression, exp.Null) and self.of(tree.this) is not None
        if isinstance(tree, _COMPARISONS):
            return self._are_comparable([tree.left, tree.right])
        if isinstance(tree, exp.Between):
            return self._are_comparable([tree.this, tree.args["low"], tree.args["high"]])
        if isinstance(tree, exp.In):
            return bool(tree.expressions) and self._are_comparable([tree.this, *tree.expressions])
        return False

    def _is_boolean(self, tree: exp.Expr) -> bool:
        return isinstance(self.of(tree), t.BooleanType)

    def _are_comparable(self, trees: Sequence[exp.Expr]) -> bool:
        kinds = [self.of(tree) for tree in trees]
        if _widest_integer(kinds) is not None:
            return True
        return not isinstance(kinds[0], _UNORDERED) and _shared(kinds) is not None

    def _case(self, tree: exp.Case) -> t.DataType | None:
        branches = tree.args["ifs"]
        default = tree.args.get("default")
        if tree.this is not None or not all(self._is_boolean(branch.this) for branch in branches):
            return None
        values = [branch.args["true"] for branch in branches] + ([] if default is None else [default])
        return _common([self.of(value) for value in values])

    def _cast(self, tree: exp.TryCast) -> t.DataType | None:
        """Return the type of a cast that certainly exists: of a number or a text to a number, or of NULL."""
        wanted = _cast_type(tree.to)
        operand = tree.this.unnest()
        if isinstance(operand, exp.Null):
            return wanted or _NULL_CASTS.get(tree.to.this.value)
        number = operand.this if isinstance(operand, exp.Neg) else operand
        if isinstance(number, exp.Literal) and not number.is_string:
            # A number with a suffix looks like this too, and must not be beyond its type.
            return wanted if _NUMBER.fullmatch(number.this) and _fits(number.this, wanted) else None
        return wanted if type(self.of(operand)) in {*_INTEGER_BITS, t.StringType} else None


def _literal(tree: exp.Expr) -> t.DataType | None:
    if isinstance(tree, exp.Null):
        return t.NullType()
    if isinstance(tree, exp.Boolean):
        return t.BooleanType()
    number = tree.this if isinstance(tree, exp.Neg) else tree
    if not isinstance(number, exp.Literal):
        return None
    if number.is_string:
        return None if number is not tree else t.StringType()
    return t.IntegerType() if number.this.isdigit() and _fits(number.this, t.IntegerType()) else None


def _fits(number: str, wanted: t.DataType | None) -> bool:
    bits = None if wanted is None else _INTEGER_BITS.get(type(wanted))
    return bits is None or (number.isdigit() and int(number) < 2 ** (bits - 1))


def _is_date(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _cast_type(wanted: exp.DataType) -> t.DataType | None:
    name = wanted.this.value
    if name != "DECIMAL":
        return _NUMERIC_CASTS.get(name)
    sizes = [int(size.name) for size in wanted.expressions if size.name.isdigit()]
    if len(sizes) != 2 or not max(sizes[1], 1) <= sizes[0] <= _MOST_DIGITS:  # noqa: PLR2004 - precision, scale
        return None
    return t.DecimalType(*sizes)


def _widest_integer(kinds: Sequence[t.DataType | None]) -> t.DataType | None:
    """Return the widest of integer types; None if a type is no integer or not known."""
    if not all(type(kind) in _INTEGER_BITS for kind in kinds):
        return None
    return max((kind for kind in kinds if kind is not None), key=lambda kind: _INTEGER_BITS[type(kind)])


def _common(kinds: Sequence[t.DataType | None]) -> t.DataType | None:
    """Return the common type of several values; an untyped NULL has any type."""
    typed = [kind for kind in kinds if not isinstance(kind, t.NullType)]
    if not typed or isinstance(typed[0], _NESTED):  # whose fields may differ in NOT NULL
        return None
    return _widest_integer(typed) or _shared(typed)


def _shared(kinds: Sequence[t.DataType | None]) -> t.DataType | None:
    """Return the type that all have in common."""
    first = kinds[0]
    same = first is not None and all(kind is not None and same_type(first, kind) for kind in kinds)
    return first if same else None
