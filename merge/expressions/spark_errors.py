"""Exceptions of Spark as errors of this package, and overflow of the cast of a value to its column's type (R-252)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from sqlglot import exp

from mergecheck.merge.errors import (
    AnalysisError,
    CastOverflowError,
    ExecutionError,
    MergeError,
    SparkFailedError,
    cut,
    without_traces,
)
from mergecheck.merge.syntax.dialect import MergeDialect, quote_name
from mergecheck.merge.syntax.expression_reader import parse_expression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.syntax.statement import MergeStatement

SPARK_ERRORS = (PySparkException, Py4JError)
"""What calls of Spark raise."""

# SQLSTATE classes of faults of the system, not of the statement or the data.
_SYSTEM_FAULTS = ("XX", "08", "53", "57", "58")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_PYTHON_WORKER_CONDITION = "PYTHON_EXCEPTION"
_NO_CONDITION = "SPARK_FAILED"
_SQL_STATE = re.compile(r"SQLSTATE: (\w{5})")
_JAVA_CLASS = re.compile(r"(?:[\w.$]+:)?")
_NUMERIC_OVERFLOWS = ("CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE", "NUMERIC_OUT_OF_SUPPORTED_RANGE")
_FROM_TO = re.compile(r'of (?:the )?type "?(?P<from>[^"]+?)"? cannot be cast to "?(?P<to>[A-Z]+(?:\([0-9, ]+\))?)')
_DECIMAL = re.compile(r"cannot be represented as (?P<to>Decimal\(\d+, ?\d+\))", re.IGNORECASE)
# A text of more digits than any decimal has; Spark's message lacks the type that it was cast to.
_TOO_MANY_DIGITS = re.compile(r"cannot be interpreted as a numeric since it has more than \d+ digits")
_ANY_DECIMAL = "DECIMAL"
_MARKED = re.compile(r"== SQL[^\n]*==\n(?P<sql>[^\n]*)\n(?P<marks>[ ^]*)")
"""Where Spark shows the expression that failed, with marks below it."""
_QUERY_OF_SPARK = re.compile(r"\s*== SQL[^\n]*==.*", re.DOTALL)
_POSITIONAL = re.compile(r"`?\b(?P<side>target|source)_(?P<place>\d+)\b`?")
_OVERFLOWING_UP_CAST = ("DECIMAL(19,0)", "BIGINT")  # no other cast that Spark calls an up-cast can overflow


def from_spark(error: PySparkException | Py4JError | MergeError) -> MergeError:
    """Turn an exception of Spark into ours, under Spark's own error condition.

    The condition of an exception that is wrapped in another one is taken from its text. Overflow of a cast becomes
    ``DELTA_CAST_OVERFLOW_IN_TABLE_WRITE`` (R-252); ``explain`` finds the cast. An error of a lost
    executor or connection, from a defect of Spark or from Python code that ran in it is a ``SparkFailedError``.
    """
    if isinstance(error, MergeError):
        return error
    condition = spark_condition(error)
    message = spark_message(error, condition)
    if condition is None or condition == _PYTHON_WORKER_CONDITION or _is_fault_of_system(error):
        return SparkFailedError(condition or _NO_CONDITION, message)
    if isinstance(error, AnalysisException | ParseException):
        return AnalysisError(condition, message)
    if condition.startswith(_NUMERIC_OVERFLOWS):
        return CastOverflowError(
            "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE",
            "Failed to write a value into its column due to an overflow. Widen the column or reduce the value. "
            f"Spark said: {message}",
        )
    return ExecutionError(condition, message)


def spark_message(error: PySparkException | Py4JError, condition: str | None) -> str:
    """Return Spark's message, shortened, without its condition and stack traces."""
    text = without_traces(spark_text(error))
    before, found, message = text.partition(f"[{condition}]")
    return cut(message.strip() if found and _JAVA_CLASS.fullmatch(before.strip()) else text) or type(error).__name__


def spark_text(error: PySparkException | Py4JError) -> str:
    """Return the whole message of an exception of Spark.

    PySpark has no exception of its own for a ``SparkException``, such as a job's. It leaves Py4J's, which asks the JVM.
    """
    if not isinstance(error, Py4JJavaError):
        return str(error)
    try:
        return str(error.java_exception)
    except Py4JError:  # the JVM is gone since
        return str(error.errmsg)


def spark_condition(error: PySparkException | Py4JError) -> str | None:
    """Name Spark's own condition of an exception; None if it has none."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if condition in {None, "USER_RAISED_EXCEPTION"}:
        quoted = [name for name in _CONDITION.findall(spark_text(error)) if name != "USER_RAISED_EXCEPTION"]
        return quoted[-1] if quoted else condition  # the innermost cause is the last
    return condition


def _is_fault_of_system(error: PySparkException | Py4JError) -> bool:
    state = error.getSqlState() if isinstance(error, PySparkException) else None
    found = _SQL_STATE.search(spark_text(error))
    return (state or (found[1] if found else "")).startswith(_SYSTEM_FAULTS)


def explain(error: PySparkException | Py4JError, statement: MergeStatement, merge: ResolvedMerge) -> MergeError:
    """Turn an exception of Spark during a run into ours; see ``from_spark``.

    An overflow is Delta's ``DELTA_CAST_OVERFLOW_IN_TABLE_WRITE`` only if the cast to a column's type raised it, and the
    cast is no up-cast. Spark names the types of the failed cast, not the expression. So it is such a cast if the values
    that run contain more casts to that type than the statement does.
    """
    known = _explained(error, statement, merge)
    if isinstance(known, ExecutionError):
        known.message = _placed(known.message, _marked_expression(spark_text(error)), merge)
    known.message = _with_names(known.message, merge)
    return known


def _marked_expression(text: str) -> str:
    """Cut out the expression that Spark marks in a message; empty if it marks none."""
    found = _MARKED.search(text)
    if found is None or "^" not in found["marks"]:
        return ""
    return found["sql"][found["marks"].index("^") : found["marks"].rindex("^") + 1]


def _placed(message: str, marked: str, merge: ResolvedMerge) -> str:
    """Begin a message with the parts of the statement that have the marked expression, and end it with the expression.

    What Spark shows of its own query is left out.
    """
    message = _QUERY_OF_SPARK.sub("", message).strip()
    if not marked:
        return message
    conditions = [("ON", merge.condition), *((clause.place, clause.condition) for clause in merge.clauses)]
    places = [place for place, condition in conditions if condition is not None and marked in condition.sql]
    places += [
        f"{clause.place}, column {name}"
        for clause in merge.clauses
        for name, value in zip(merge.final_schema.names, clause.values, strict=False)
        if marked in value
    ]
    where = f"{' or '.join(places)}: " if places else ""
    return f"{where}{message} The expression is {marked}."


def _with_names(text: str, merge: ResolvedMerge) -> str:
    """Write the names of columns for the positional names of a run."""

    def name_of(found: re.Match[str]) -> str:
        names = (merge.final_schema if found["side"] == "target" else merge.source_schema).names
        place = int(found["place"])
        return f"{found['side']}.{names[place]}" if place < len(names) else found[0]

    return _POSITIONAL.sub(name_of, text)


def _explained(error: PySparkException | Py4JError, statement: MergeStatement, merge: ResolvedMerge) -> MergeError:
    known = from_spark(error)
    if not isinstance(known, CastOverflowError):
        return known
    text = spark_text(error)
    found = _FROM_TO.search(text) or _DECIMAL.search(text)
    to = found["to"].upper() if found else _ANY_DECIMAL if _TOO_MANY_DIGITS.search(text) else ""
    is_up_cast = found is not None and (found.groupdict().get("from"), to) == _OVERFLOWING_UP_CAST
    columns = _columns_cast_to(to, merge) if to and not is_up_cast else []
    written = (assignment.value for clause in statement.clauses for assignment in clause.assignments)
    if len(columns) <= _count(to, written):
        condition = spark_condition(error) or known.error_class
        return ExecutionError(condition, spark_message(error, condition))
    origin = f' of "{found["from"]}" type' if found and "from" in found.groupdict() else ""
    names = " or ".join(dict.fromkeys(quote_name(name) for _, name in columns))
    places = " or ".join(dict.fromkeys(f"{place}, column {name}" for place, name in columns))
    return CastOverflowError(
        known.error_class,
        f'{places}: Failed to write a value{origin} into the "{to}" type column {names} due to an overflow. '
        "Use `try_cast` on the input value to tolerate overflow and return NULL instead. "
        f"Spark said: {spark_message(error, None)}",
    )


def _columns_cast_to(to: str, merge: ResolvedMerge) -> list[tuple[str, str]]:
    """Name the clause and the column of every cast to a type among the values that run."""
    return [
        (clause.place, name)
        for clause in merge.clauses
        for name, value in zip(merge.final_schema.names, clause.values, strict=False)
        for _ in range(_count(to, [value]))
    ]


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
