"""The types of bound expressions: known from the schemas where that is easy, else asked from Spark.

Asking costs one round trip for all expressions of a statement together; it runs no job.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from pyspark.errors import PySparkException
from pyspark.sql.types import BooleanType, ByteType, IntegerType, LongType, NullType, ShortType, StringType
from sqlglot import exp

from merge.errors import AnalysisError, MergeError, from_spark
from merge.resolution.resolved import source_column, target_column
from merge.resolution.type_sql import same_type, type_sql
from merge.sql_dialect import quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

    from merge.resolution.binding import BoundExpression

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_MAX_INT = 2**31 - 1
_POSITIONAL = re.compile(r"`?\b(target|source)_(\d+)\b`?")


class ExpressionTypes(Protocol):
    """Says which types expressions over positional columns have."""

    def of(self, expressions: Sequence[str]) -> tuple[DataType, ...]:
        """Give the type of each expression.

        Raises:
            AnalysisError: an expression is wrong; the class is that of the engine.
        """
        ...


class SparkExpressionTypes:
    """``ExpressionTypes`` by Spark's analyser, on classic Spark and on Connect."""

    def __init__(self, spark: SparkSession, *, target_schema: StructType, source_schema: StructType) -> None:
        self._spark = spark
        self._fields = {target_column(i): field for i, field in enumerate(target_schema.fields)}
        self._fields |= {source_column(i): field for i, field in enumerate(source_schema.fields)}

    def of(self, expressions: Sequence[str]) -> tuple[DataType, ...]:
        """Give the type of each expression in one analysis."""
        if not expressions:
            return ()
        projection = ", ".join(f"({text}) AS value_{index}" for index, text in enumerate(expressions))
        used = {f"{side}_{index}" for side, index in _POSITIONAL.findall(projection)}
        columns = (
            ", ".join(_column(field.dataType, name) for name, field in self._fields.items() if name in used)
            or "1 AS one"
        )
        try:
            schema = self._spark.sql(f"SELECT {projection} FROM (SELECT {columns})").schema
        except PySparkException as error:
            raise self._with_user_names(error) from error
        return tuple(field.dataType for field in schema.fields)

    def _with_user_names(self, error: PySparkException) -> Exception:
        """Say in the message what the user said; positional names mean nothing to her."""
        known = from_spark(error)
        if not isinstance(known, MergeError):
            return error
        text = _POSITIONAL.sub(self._user_name, known.message)
        return AnalysisError(known.error_class, text.split("\n", maxsplit=1)[0])

    def _user_name(self, found: re.Match[str]) -> str:
        field = self._fields.get(found[0].strip("`"))
        return quote_name(found[0] if field is None else field.name)


def _column(kind: DataType, name: str) -> str:
    return f"CAST(NULL AS {type_sql(kind, not_null=True)}) AS {name}"


def known_type(expression: BoundExpression) -> DataType | None:
    """Give the type of a plain column, a field or a simple literal; None means: ask Spark."""
    if expression.reference is not None:
        return expression.reference
    return _literal_type(expression.tree)


def is_known_boolean(tree: exp.Expr, target: StructType, source: StructType) -> bool:
    """Tell whether a condition is so simple that Spark need not be asked whether it is well-typed and boolean."""
    tree = tree.unnest()
    if isinstance(tree, exp.And | exp.Or):
        return all(is_known_boolean(side, target, source) for side in (tree.left, tree.right))
    if isinstance(tree, exp.Not):
        return is_known_boolean(tree.this, target, source)
    if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Null):
        return _operand_type(tree.this, target, source) is not None
    if isinstance(tree, exp.EQ | exp.NullSafeEQ | exp.LT | exp.LTE | exp.GT | exp.GTE | exp.NEQ):
        left, right = (_operand_type(side, target, source) for side in (tree.left, tree.right))
        return left is not None and right is not None and _comparable(left, right)
    return isinstance(_operand_type(tree, target, source), BooleanType)


def _comparable(left: DataType, right: DataType) -> bool:
    if isinstance(left, _INTEGERS) and isinstance(right, _INTEGERS):
        return True
    return same_type(left, right) and left.typeName() not in {"array", "map", "struct", "void", "variant"}


def _operand_type(tree: exp.Expr, target: StructType, source: StructType) -> DataType | None:
    tree = tree.unnest()
    if isinstance(tree, exp.Column):
        side, _, index = tree.name.rpartition("_")
        return (target if side == "target" else source).fields[int(index)].dataType if index.isdigit() else None
    return _literal_type(tree)


def _literal_type(tree: exp.Expr) -> DataType | None:
    tree = tree.unnest()
    if isinstance(tree, exp.Null):
        return NullType()
    if isinstance(tree, exp.Boolean):
        return BooleanType()
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal):
        tree = tree.this
    if isinstance(tree, exp.Literal):
        if tree.is_string:
            return StringType()
        if tree.this.isdigit() and int(tree.this) <= _MAX_INT:
            return IntegerType()
    return None
