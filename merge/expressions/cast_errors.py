"""Overflow of the cast of a value to its column's type, as opposed to the user's own casts (R-252)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.merge.errors import AnalysisError, CastOverflowError, ExecutionError
from mergecheck.merge.expressions.spark_errors import from_spark, spark_condition
from mergecheck.merge.syntax.dialect import MergeDialect, parse_expression, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.errors import PySparkException

    from mergecheck.merge.errors import MergeError
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.syntax.statement import MergeStatement

_FROM_TO = re.compile(r'of (?:the )?type "?(?P<from>[^"]+?)"? cannot be cast to "?(?P<to>[A-Z]+(?:\([0-9, ]+\))?)')
_DECIMAL = re.compile(r"cannot be represented as (?P<to>Decimal\(\d+, ?\d+\))", re.IGNORECASE)
# A text of more digits than any decimal has; Spark does not say which decimal it was to become.
_TOO_MANY_DIGITS = re.compile(r"cannot be interpreted as a numeric since it has more than \d+ digits")
_ANY_DECIMAL = "DECIMAL"


def explain(error: PySparkException, statement: MergeStatement, merge: ResolvedMerge) -> PySparkException | MergeError:
    """Turn an exception of Spark during a run into ours; see ``from_spark``.

    An overflow is Delta's ``DELTA_CAST_OVERFLOW_IN_TABLE_WRITE`` only if the cast to a column's type raised it. Spark
    names the types of the failed cast, not the expression. So it is such a cast if the values that run contain more
    casts to that type than the statement does.
    """
    known = from_spark(error)
    if not isinstance(known, CastOverflowError):
        return known
    text = str(error)
    found = _FROM_TO.search(text) or _DECIMAL.search(text)
    to = found["to"].upper() if found else _ANY_DECIMAL if _TOO_MANY_DIGITS.search(text) else ""
    columns = _columns_cast_to(to, merge) if to else []
    if len(columns) <= _count(to, _written_values(statement)):
        condition = spark_condition(error) or known.error_class
        return ExecutionError(condition, text.removeprefix(f"[{condition}]").strip())
    origin = f' of "{found["from"]}" type' if found and "from" in found.groupdict() else ""
    names = " or ".join(dict.fromkeys(quote_name(name) for name in columns))
    return CastOverflowError(
        known.error_class,
        f'Failed to write a value{origin} into the "{to}" type column {names} due to an overflow. Use `try_cast` on '
        f"the input value to tolerate overflow and return NULL instead. Spark said: {text}",
    )


def _columns_cast_to(to: str, merge: ResolvedMerge) -> list[str]:
    """Name the column of every cast to a type among the values that run."""
    return [
        name
        for clause in merge.clauses
        for name, value in zip(merge.final_schema.names, clause.values, strict=False)
        for _ in range(_count(to, [value]))
    ]


def _written_values(statement: MergeStatement) -> Iterator[str]:
    return (assignment.value for clause in statement.clauses for assignment in clause.assignments)


def _count(to: str, texts: Iterable[str]) -> int:
    """Count casts to a type, or to a type that holds it."""
    wanted = re.compile(rf"(?<!\w){re.escape(to.replace(' ', ''))}(?!\w)")
    count = 0
    for text in texts:
        try:
            tree = parse_expression(text)
        except AnalysisError:
            continue  # beyond our parser
        types = (cast.to.sql(dialect=MergeDialect).upper() for cast in tree.find_all(exp.Cast))
        count += sum(bool(wanted.search(name.replace(" ", ""))) for name in types)
    return count
