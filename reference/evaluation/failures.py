"""What an error inside DuckDB means for the merge: it must fail, or the reference does not know."""

from __future__ import annotations

import re

import duckdb

from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError

_RAISED = re.compile(r"Invalid Input Error: ([A-Z_][A-Z0-9_.]+)\b(.*)", re.DOTALL)


def rejection_of(error: duckdb.Error) -> RejectedError:
    """Read the rejection out of an error that a translated expression raised.

    Raises:
        UnsupportedByReferenceError: if the expression says that it does not know.
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
    raise error
