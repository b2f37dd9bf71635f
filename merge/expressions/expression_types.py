"""Types that Spark's analyser finds for the expressions that ``known_types`` does not cover.

One round trip for all expressions of a statement together; it runs no job.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from pyspark.errors import PySparkException

from mergecheck.merge.errors import AnalysisError, SparkFailedError
from mergecheck.merge.expressions.resolved import source_column, target_column
from mergecheck.merge.expressions.spark_errors import from_spark
from mergecheck.merge.syntax.dialect import quote_name
from mergecheck.merge.types.fields import type_sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

_POSITIONAL = re.compile(r"`?\b(target|source)_(\d+)\b`?")


class ExpressionTypes(Protocol):
    """Finds the types of expressions over positional columns."""

    def of(self, expressions: Sequence[str]) -> tuple[DataType, ...]:
        """Return the type of each expression.

        Raises:
            AnalysisError: an expression is wrong; the class is Spark's.
        """


class SparkExpressionTypes:
    """``ExpressionTypes`` by Spark's analyser, on classic Spark and on Connect."""

    def __init__(self, spark: SparkSession, *, target_schema: StructType, source_schema: StructType) -> None:
        self._spark = spark
        self._fields = {target_column(i): field for i, field in enumerate(target_schema.fields)}
        self._fields |= {source_column(i): field for i, field in enumerate(source_schema.fields)}

    def of(self, expressions: Sequence[str]) -> tuple[DataType, ...]:
        """Return the type of each expression, by one analysis."""
        if not expressions:
            return ()
        projection = ", ".join(f"({text}) AS value_{index}" for index, text in enumerate(expressions))
        used = {f"{side}_{index}" for side, index in _POSITIONAL.findall(projection)}
        types = {name: type_sql(field.dataType, not_null=True) for name, field in self._fields.items() if name in used}
        columns = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in types.items()) or "1 AS one"
        try:
            schema = self._spark.sql(f"SELECT {projection} FROM (SELECT {columns})").schema
        except PySparkException as error:
            raise self._with_user_names(error) from error
        return tuple(field.dataType for field in schema.fields)

    def _with_user_names(self, error: PySparkException) -> Exception:
        """Replace positional names in the message by the user's names."""
        known = from_spark(error)
        if isinstance(known, SparkFailedError):
            return known
        text = _POSITIONAL.sub(self._user_name, known.message)
        return AnalysisError(known.error_class, text.split("\n", maxsplit=1)[0])

    def _user_name(self, found: re.Match[str]) -> str:
        field = self._fields.get(found[0].strip("`"))
        return quote_name(found[0] if field is None else field.name)
