"""Errors of the reference room."""

from __future__ import annotations


class SemanticsError(Exception):
    """Root of this room's errors."""


class CaseFormatError(SemanticsError, ValueError):
    """A case, a schema or a value in it is not in the format; the message says where, what and what is allowed."""


class UnsupportedByReferenceError(SemanticsError):
    """The reference does not say what this case means; ``reason`` is short and countable."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RejectedError(SemanticsError):
    """The merge must fail with this error class, or one of ``other_classes``, leaving the table as it was."""

    def __init__(self, error_class: str, message: str, other_classes: frozenset[str] = frozenset()) -> None:
        super().__init__(f"[{error_class}] {message}")
        self.error_class = error_class
        self.message = message
        self.other_classes = other_classes
