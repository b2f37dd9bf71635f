"""Errors of a MERGE, by the error classes of Delta Lake and Spark.

Programs should use ``error_class``; the message is for people. Each error derives from ``MergeError`` and from the
builtin that a caller would catch for that kind of failure.
"""

from __future__ import annotations

import re
import textwrap
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class MergeError(Exception):
    """Root of all errors of this package.

    Attributes:
        error_class: Delta's or Spark's error condition, such as ``DELTA_MERGE_UNRESOLVED_EXPRESSION``.
        message: one text for people, without the class.
        is_placed: whether the message begins with a part of the statement.
    """

    is_placed = False

    def __init__(self, error_class: str, message: str) -> None:
        super().__init__(error_class, message)
        self.error_class = error_class
        self.message = message

    def __str__(self) -> str:
        return f"[{self.error_class}] {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[MergeError], args: tuple[str, str], state: dict[str, object]) -> MergeError:
    """Make an error as it was pickled, whatever its constructor takes."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class AnalysisError(MergeError, ValueError):
    """The statement is wrong for these tables; nothing was read and nothing was written."""


@contextmanager
def fault_in(place: str) -> Iterator[None]:
    """Begin the message of an ``AnalysisError`` with a part of the statement, an outer block's first."""
    try:
        yield
    except AnalysisError as error:
        error.message = f"{place}{', ' if error.is_placed else ': '}{error.message}"
        error.is_placed = True
        raise


class InvalidConfigurationError(MergeError, ValueError):
    """A session setting has a value that its flag does not allow."""


class ExecutionError(MergeError, RuntimeError):
    """The data make the merge fail; nothing was committed."""


class CastOverflowError(ExecutionError, ArithmeticError):
    """A value does not fit into the type of the column it is assigned to (R-252)."""


class ConflictKind(Enum):
    """Conflicts with another commit (R-750)."""

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


class SparkFailedError(MergeError, RuntimeError):
    """Spark failed, and neither the statement nor the data are known to be the reason; nothing was committed.

    An executor, a Python worker or the connection was lost, or Spark has a defect.
    """

    def __init__(self, error_class: str, reason: str) -> None:
        self.reason = reason
        MergeError.__init__(
            self,
            error_class,
            f"Spark failed while the MERGE ran: {reason}. Nothing was committed. Look at Spark's log, then run the "
            "statement again.",
        )


class InternalMergeError(MergeError, RuntimeError):
    """A defect of this package; nothing was committed, unless the message reports a commit."""

    def __init__(self, error: Exception) -> None:
        MergeError.__init__(
            self,
            "INTERNAL_ERROR",
            f"The MERGE failed by a defect of this package: {type(error).__name__}: {brief(error)}. Please report it "
            "with the statement and the exception that caused this one.",
        )


class DamagedLogError(MergeError, ValueError):
    """The log of a table is damaged or incomplete; nothing was done.

    Attributes:
        where: the table.
        reason: the cause.
    """

    def __init__(self, reason: str, *, where: str, is_gap: bool = False) -> None:
        self.where = where
        self.reason = reason
        MergeError.__init__(
            self,
            "DELTA_VERSIONS_NOT_CONTIGUOUS" if is_gap else "DELTA_STATE_RECOVER_ERROR",
            f"The log of the table {where} {'has a gap' if is_gap else 'is damaged'}: {reason}. Nothing was changed. "
            "Restore the files in _delta_log.",
        )


class StoreError(MergeError, OSError):
    """The disk or the object store of a table refuses or does not answer; nothing was committed that is known of.

    Attributes:
        where: the table.
        reason: the message of the operating system, the store or its client.
    """

    def __init__(self, reason: str, *, where: str) -> None:
        self.where = where
        self.reason = reason
        if _is_in_store(where):
            error_class, place = "STORE_NOT_ACCESSIBLE", "store"
            advice = (
                "Check that the bucket exists, and endpoint and credentials: Spark's settings spark.hadoop.fs.s3a.*, "
                "else the environment variables AWS_*."
            )
        else:
            error_class, place, advice = "DISK_NOT_ACCESSIBLE", "disk", "Check its free space, and the permissions."
        MergeError.__init__(self, error_class, f"The {place} of the table {where} cannot be used: {reason}. {advice}")


def _is_in_store(location: str) -> bool:
    return "://" in location


class UncertainCommitError(StoreError):
    """The disk or store failed while the commit was written, so that it may be there; the merge's files stay, too."""

    def __init__(self, reason: str, *, where: str) -> None:
        StoreError.__init__(self, f"{reason} (perhaps the commit was made: look at the table's history)", where=where)
        self.reason = reason


class UnsupportedTableError(MergeError, NotImplementedError):
    """The table uses features, named as in Delta's protocol, that this package cannot read or write."""

    def __init__(self, features: Iterable[str], *, where: str) -> None:
        self.features = tuple(sorted(features))
        self.where = where
        MergeError.__init__(
            self,
            "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
            f"The table {where} uses the feature(s) {', '.join(self.features)}, which this MERGE does not support. "
            "Merge into a table without them, or run the statement on an engine that supports them.",
        )


class UnsupportedStatementError(MergeError, NotImplementedError):
    """The statement or a setting asks for a feature that Delta Lake has and this package has not."""

    def __init__(self, feature: str, *, hint: str = "") -> None:
        self.feature = feature
        self.hint = hint
        text = f"This MERGE does not support {feature}."
        MergeError.__init__(self, "UNSUPPORTED_FEATURE.MERGE", f"{text} {hint}" if hint else text)


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


MAX_MESSAGE = 400
"""Characters of another library's message that ours repeats."""

_MAX_REASON = 320
# Where the reason ends: stack traces of Java, Rust and Python, and values that Rust prints for its debugging.
_DETAILS = re.compile(
    r"\n\s*at \S|\n\s*\d+: <?\w|JVM stacktrace:|Driver stacktrace:|\nCaused by:|Debug source|ParsedLogPath \{"
    r"|Traceback \(most recent call last\)"
)
# delta-rs draws a tree in colours.
_NOT_TEXT = re.compile(r"\x1b\[\d*m|↳")
# The part of a store's message that names the error; the rest is of no use to a reader.
_STORE_ERROR = re.compile(
    r"(<\?xml[^>]*>\s*)?<Error>.*?<Code>(.*?)</Code>.*?<Message>(.*?)</Message>.*?</Error>", re.DOTALL
)
_LAST_LINE = re.compile(r"^(?P<kind>[\w.]+(?:Error|Exception|Invalid)\b.*)$", re.MULTILINE)
_OF_PYTHON = "Traceback (most recent call last)"


def brief(error: BaseException) -> str:
    """Shorten an error of another library to one line."""
    text = _STORE_ERROR.sub(r"\2: \3", _NOT_TEXT.sub(" ", without_traces(str(error))))
    return textwrap.shorten(text, _MAX_REASON, placeholder=" ...") or type(error).__name__


def without_traces(text: str) -> str:
    """Cut a text before the first stack trace. Of Python code that ran elsewhere, keep the line with the exception."""
    if _OF_PYTHON in text:
        raised = _LAST_LINE.findall(text.partition(_OF_PYTHON)[2])
        if raised:
            return str(raised[-1])
    found = _DETAILS.search(text)
    return (text[: found.start()] if found else text).strip()


def cut(text: str) -> str:
    """Cut a text that is too long to be repeated in a message."""
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 4].rstrip() + " ..."
