"""The class of an error that Spark raised."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

# Spark's error for a task whose own error is the cause.
_WRAPPERS = frozenset({"TASK_WRITE_FAILED", "FAILED_EXECUTE_UDF", "_LEGACY_ERROR_TEMP_2054"})
_AT_START = re.compile(r"\[([A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ")
_NOT_SPARKS = re.compile(r"Cannot find main error class '([A-Z0-9_.]+)'")


def class_of(error: Exception) -> str:
    """Name an error that is no ``MergeError``: by Spark's condition if it has one, else by its Python class."""
    condition = getattr(error, "getCondition", None)
    return (condition() if callable(condition) else None) or type(error).__name__


def error_class_of(error: Exception) -> str:
    """Give the class of an error: of its cause, if Spark only reports that a task failed.

    PySpark 4.2 cannot make the exception for an analysis error of Delta Lake: it looks for the text of its class among
    Spark's own, does not find it, and raises that instead (docs/findings/pyspark-delta-error-class.md). Once ``delta``
    is imported, Python's exceptions for conflicts have no condition; their texts begin with it.
    """
    if isinstance(error, Py4JJavaError):
        hidden = _NOT_SPARKS.search(str(error.java_exception.getMessage()))
        if hidden:
            return hidden[1]
        return _condition(error.java_exception) or str(error.java_exception.getClass().getSimpleName())
    found = class_of(error)
    if found in _WRAPPERS or found == type(error).__name__:
        named = _AT_START.match(str(error))
        return _condition(getattr(error, "_origin", None)) or (found if named is None else named[1])
    return found


def _condition(throwable: Any) -> str | None:  # noqa: ANN401 - a Java object
    """Give the condition of the first error in a chain of causes that is more than a wrapper."""
    while throwable is not None:
        with suppress(Py4JError, TypeError):  # not every Java error has one
            condition = throwable.getCondition()
            if condition and condition not in _WRAPPERS:
                return str(condition)
        throwable = throwable.getCause()
    return None


def error_message(error: Exception) -> str:
    """Give the text of an error without the stack trace of the JVM."""
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    return text.split("\n\tat ")[0]
