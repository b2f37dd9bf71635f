"""What a MERGE raises, each under the error class that Delta Lake or Spark gives it.

``error_class`` is what a program should look at; the message is for people. Everything derives from ``MergeError``
and from the builtin that a caller would catch for that kind of failure.
"""

from __future__ import annotations

import functools
import re
from enum import Enum
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException, PySparkException

if TYPE_CHECKING:
    from collections.abc import Iterable


class MergeError(Exception):
    """Root of all errors of this package.

    Attributes:
        error_class: Delta's or Spark's error condition, such as ``DELTA_MERGE_UNRESOLVED_EXPRESSION``.
        message: one text for people, without the class.
    """

    def __init__(self, error_class: str, message: str) -> None:
        super().__init__(error_class, message)
        self.error_class = error_class
        self.message = message

    def __str__(self) -> str:
        return f"[{self.error_class}] {self.message}"


class AnalysisError(MergeError, ValueError):
    """The statement is wrong for these tables; nothing was read and nothing was written."""


class InvalidConfigurationError(MergeError, ValueError):
    """A session setting has a value that its flag does not allow."""


class ExecutionError(MergeError, RuntimeError):
    """The data make the merge fail; nothing was committed."""


class CastOverflowError(ExecutionError, ArithmeticError):
    """A value does not fit into the type of the column it is assigned to (R-252)."""


class ConflictKind(Enum):
    """The ways in which another commit can stand in the way of this one (R-750)."""

    CONCURRENT_APPEND = "DELTA_CONCURRENT_APPEND"
    CONCURRENT_DELETE_READ = "DELTA_CONCURRENT_DELETE_READ"
    CONCURRENT_DELETE_DELETE = "DELTA_CONCURRENT_DELETE_DELETE"
    METADATA_CHANGED = "DELTA_METADATA_CHANGED"
    PROTOCOL_CHANGED = "DELTA_PROTOCOL_CHANGED"
    CONCURRENT_TRANSACTION = "DELTA_CONCURRENT_TRANSACTION"
    CONCURRENT_WRITE = "DELTA_CONCURRENT_WRITE"


class ConcurrentModificationError(MergeError, RuntimeError):
    """Another commit won; nothing of this merge is visible and the statement can be run again."""

    def __init__(self, kind: ConflictKind, message: str) -> None:
        MergeError.__init__(self, kind.value, message)
        self.kind = kind

    def __reduce__(self) -> tuple[type[ConcurrentModificationError], tuple[ConflictKind, str]]:
        return (type(self), (self.kind, self.message))


class StoreError(MergeError, OSError):
    """The object store in which a table lies refuses or does not answer; nothing was committed that is known of.

    Attributes:
        where: the table.
        reason: what the store or its client says.
    """

    def __init__(self, reason: str, *, where: str) -> None:
        self.where = where
        self.reason = reason
        MergeError.__init__(
            self,
            "STORE_NOT_ACCESSIBLE",
            f"The store of the table {where} cannot be used: {reason}. Check that the bucket exists, and endpoint and "
            "credentials: Spark's settings spark.hadoop.fs.s3a.*, else the environment variables AWS_*.",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (functools.partial(type(self), where=self.where), (self.reason,))


class UncertainCommitError(StoreError):
    """The store failed while the commit was written, so that it may be there; the merge's files stay, too."""

    def __init__(self, reason: str, *, where: str) -> None:
        StoreError.__init__(self, f"{reason} (perhaps the commit was made: look at the table's history)", where=where)
        self.reason = reason


class UnsupportedTableError(MergeError, NotImplementedError):
    """The table uses features that this package cannot read or write, so it is left alone.

    Attributes:
        features: the table features by their names in Delta's protocol.
    """

    def __init__(self, features: Iterable[str], *, where: str) -> None:
        self.features = tuple(sorted(features))
        self.where = where
        MergeError.__init__(
            self,
            "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
            f"The table {where} uses the feature(s) {', '.join(self.features)}, which this MERGE does not support. "
            "Merge into a table without them, or run the statement on an engine that supports them.",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (functools.partial(type(self), where=self.where), (self.features,))


class UnsupportedStatementError(MergeError, NotImplementedError):
    """The statement or a setting asks for something that Delta Lake has and this package has not.

    Attributes:
        feature: its name, as short as it can be told.
    """

    def __init__(self, feature: str, *, hint: str = "") -> None:
        self.feature = feature
        self.hint = hint
        text = f"This MERGE does not support {feature}."
        MergeError.__init__(self, "UNSUPPORTED_FEATURE.MERGE", f"{text} {hint}" if hint else text)

    def __reduce__(self) -> tuple[object, ...]:
        return (functools.partial(type(self), hint=self.hint), (self.feature,))


_MULTIPLE_MATCHES_TEXT = """\
Cannot perform Merge as multiple source rows matched and attempted to modify the same
target row in the Delta table in possibly conflicting ways. By SQL semantics of Merge,
when multiple source rows match on the same target row, the result may be ambiguous
as it is unclear which source row should be used to update or delete the matching
target row. You can preprocess the source table to eliminate the possibility of
multiple matches."""


def multiple_source_rows_matched() -> ExecutionError:
    """Build the error of R-323; the rule for raising it is R-320."""
    return ExecutionError("DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE", _MULTIPLE_MATCHES_TEXT)


# SQLSTATE classes that blame the system and not the statement or the data.
_SYSTEM_FAULTS = ("XX", "08", "53", "57", "58")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_PYTHON_WORKER_CONDITION = "PYTHON_EXCEPTION"
_NUMERIC_OVERFLOWS = ("CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE", "NUMERIC_OUT_OF_SUPPORTED_RANGE")


def from_spark(error: PySparkException | MergeError) -> PySparkException | MergeError:
    """Turn an exception of Spark into ours, under Spark's own error condition.

    A condition raised inside a job may arrive wrapped; then it is taken from the text of the exception. Overflow of a
    cast becomes ``DELTA_CAST_OVERFLOW_IN_TABLE_WRITE`` (R-252); ``cast_errors`` tells whose cast it was.

    Returns:
        what to raise: ours, or the original where it does not come from the statement or the data but from a lost
        executor or connection, a defect of Spark or of Python code that ran in it.
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
    """Name Spark's own condition of an exception; None where it has none."""
    condition = error.getCondition()
    if condition in {None, "USER_RAISED_EXCEPTION"}:
        return _condition_in(str(error)) or condition
    return condition


def _condition_in(text: str) -> str | None:
    """Find the condition that an exception's text quotes; the innermost cause stands last."""
    found = [name for name in _CONDITION.findall(text) if name != "USER_RAISED_EXCEPTION"]
    return found[-1] if found else None
