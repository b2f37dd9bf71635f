"""The alias of a source DataFrame, which no public interface of Spark returns.

Spark resolves ``name.*`` to all columns of a DataFrame, so the qualifiers that the statement uses are tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from sqlglot import exp

from mergecheck.merge.errors import UnsupportedStatementError
from mergecheck.merge.syntax.dialect import quote_name
from mergecheck.merge.syntax.expression_reader import parse_expression

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from mergecheck.merge.syntax.statement import MergeStatement


def find_source_alias(statement: MergeStatement, source: DataFrame) -> str | None:
    """Find the qualifier of a statement that names the whole source.

    Returns:
        None if no qualifier does: then source columns can only be used unqualified.

    Raises:
        UnsupportedStatementError: a qualifier names a part of the source, which is a join of several relations.
    """
    for name in dict.fromkeys(_qualifiers(statement)):
        columns = _columns_of(source, name)
        if columns == source.columns:
            return name
        if columns and name not in source.columns:  # name.* of a struct column gives its fields
            raise UnsupportedStatementError(
                f"a source of several relations, of which {name} is one",
                hint='Name the source as a whole: source.alias("s").',
            )
    return None


def _columns_of(source: DataFrame, qualifier: str) -> list[str]:
    try:
        return source.select(f"{quote_name(qualifier)}.*").columns
    except AnalysisException as error:
        if error.getCondition() == "CANNOT_RESOLVE_STAR_EXPAND":
            return []
        raise


def _qualifiers(statement: MergeStatement) -> Iterator[str]:
    for text in statement.expressions():
        for column in parse_expression(text).find_all(exp.Column):
            if len(column.parts) > 1:
                yield column.parts[0].name
