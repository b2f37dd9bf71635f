"""Spark 4's SQL as sqlglot should read it."""

from __future__ import annotations

from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks


class SparkDialect(Databricks):
    """Databricks' dialect with Spark 4's reading of a doubled quote: ``'it''s'`` is one literal, ``it's``."""

    class Tokenizer(Databricks.Tokenizer):
        """Knows the doubled quote beside the backslash."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']


_AS_WRITTEN = "as_written__"


def as_written(function: str) -> str:
    """Name a function so that sqlglot leaves its operands alone; ``read_sql`` gives it its own name again."""
    return f"{_AS_WRITTEN}{function.lower()}"


def read_sql(sql: str) -> exp.Expr:
    """Read a statement, a query or an expression.

    Raises:
        sqlglot.errors.SqlglotError: if it is none of them.
    """
    return _renamed(sqlglot.parse_one(sql, dialect=SparkDialect))


def read_expression(sql: str) -> exp.Expr:
    """Read an expression, also one that begins like a statement.

    Raises:
        sqlglot.errors.SqlglotError: if it is none.
    """
    return _renamed(sqlglot.parse_one(sql, dialect=SparkDialect, into=exp.Condition))


def _renamed(tree: exp.Expr) -> exp.Expr:
    for call in tree.find_all(exp.Anonymous):
        call.set("this", call.name.removeprefix(_AS_WRITTEN))
    return tree
