"""Errors of the reference room."""

from __future__ import annotations


class ReferenceError_(Exception):  # noqa: N801,N818 - Python owns the name ReferenceError
    """Root of this room's errors."""


class CaseFormatError(ReferenceError_, ValueError):
    """A case, a schema or a value in it is not in the format; the message says where, what and what is allowed."""


class UnsupportedByReferenceError(ReferenceError_):
    """The reference does not say what this case means; ``reason`` is short and countable."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RejectedError(ReferenceError_):
    """The merge must fail with this error class, leaving the table as it was."""

    def __init__(self, error_class: str, message: str) -> None:
        super().__init__(f"[{error_class}] {message}")
        self.error_class = error_class
        self.message = message
