"""Exceptions of Spark as errors of this package."""

from __future__ import annotations

import re

from pyspark.errors import AnalysisException, ParseException, PySparkException

from mergecheck.merge.errors import AnalysisError, CastOverflowError, ExecutionError, MergeError

# SQLSTATE classes of faults of the system, not of the statement or the data.
_SYSTEM_FAULTS = ("XX", "08", "53", "57", "58")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_PYTHON_WORKER_CONDITION = "PYTHON_EXCEPTION"
_NUMERIC_OVERFLOWS = ("CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE", "NUMERIC_OUT_OF_SUPPORTED_RANGE")


def from_spark(error: PySparkException | MergeError) -> PySparkException | MergeError:
    """Turn an exception of Spark into ours, under Spark's own error condition.

    The condition of an exception that is wrapped in another one is taken from its text. Overflow of a cast becomes
    ``DELTA_CAST_OVERFLOW_IN_TABLE_WRITE`` (R-252); ``cast_errors`` finds out which cast it was.

    Returns:
        what to raise: ours, or the original if it comes from a lost executor or connection, from a defect of Spark
        or from Python code that ran in it.
    """
    if isinstance(error, MergeError):
        return error
    text = str(error)
    condition = spark_condition(error)
    if condition is None or condition == _PYTHON_WORKER_CONDITION:
        return error
    if (error.getSqlState() or "").startswith(_SYSTEM_FAULTS):
        return error
    message = text.removeprefix(f"[{condition}]").strip()
    if isinstance(error, AnalysisException | ParseException):
        return AnalysisError(condition, message)
    if condition.startswith(_NUMERIC_OVERFLOWS):
        return CastOverflowError(
            "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE",
            "Failed to write a value into its column due to an overflow. Widen the column or reduce the value. "
            f"Spark said: {message}",
        )
    return ExecutionError(condition, message)


def spark_condition(error: PySparkException) -> str | None:
    """Name Spark's own condition of an exception; None if it has none."""
    condition = error.getCondition()
    if condition in {None, "USER_RAISED_EXCEPTION"}:
        return _condition_in(str(error)) or condition
    return condition


def _condition_in(text: str) -> str | None:
    """Find the condition that an exception's text quotes; the innermost cause is the last."""
    found = [name for name in _CONDITION.findall(text) if name != "USER_RAISED_EXCEPTION"]
    return found[-1] if found else None
