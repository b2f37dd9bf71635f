"""The meaning of an error inside DuckDB for the merge: it must fail, or it is unsupported."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import duckdb

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

MAX_SECONDS: Final = 60.0
"""After this time a case is given up. Cases of people and strategies take parts of a second."""
TOO_LONG: Final = f"more than {MAX_SECONDS:g} s in DuckDB"
_REPEAT_SECONDS: Final = 1.0

_RAISED = re.compile(r"Invalid Input Error: ([A-Z_][A-Z0-9_.]+)\b(.*)", re.DOTALL)


@contextmanager
def interrupted_late(connection: DuckDBPyConnection, seconds: float = MAX_SECONDS) -> Iterator[threading.Event]:
    """Interrupt the queries of a connection, in another thread, as soon as the block has taken too long.

    Yields:
        An event that is set as soon as a query may have been interrupted.
    """
    ended, late = threading.Event(), threading.Event()

    def interrupt() -> None:
        wait = seconds
        while not ended.wait(wait):
            late.set()
            connection.interrupt()
            wait = _REPEAT_SECONDS  # between two queries there is nothing to interrupt

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        yield late
    finally:
        ended.set()


def rejection_of(error: duckdb.Error) -> RejectedError:
    """Read the rejection out of an error that a translated expression raised.

    Raises:
        UnsupportedByReferenceError: if the expression raised it itself, or DuckDB gave up for time, memory or
            depth.
        duckdb.Error: the error itself, if no expression of the reference raises it: a defect.
    """
    text = str(error)
    raised = _RAISED.match(text)
    if raised and raised.group(1) == "UNSUPPORTED":
        raise UnsupportedByReferenceError(raised.group(2).strip()) from error
    if raised:
        return RejectedError(raised.group(1), "a value does not fit its column")
    if isinstance(error, duckdb.OutOfRangeException) and "Overflow in" in text:
        small = "INT8 " in text or "INT16 " in text
        return RejectedError("BINARY_ARITHMETIC_OVERFLOW" if small else "ARITHMETIC_OVERFLOW", text)
    if isinstance(error, duckdb.InterruptException):
        raise UnsupportedByReferenceError(TOO_LONG) from error
    if isinstance(error, duckdb.OutOfMemoryException):
        raise UnsupportedByReferenceError("more memory than DuckDB has") from error
    if isinstance(error, duckdb.ParserException) and "Max expression depth" in text:
        raise UnsupportedByReferenceError("an expression that is too deep for DuckDB") from error
    raise error
