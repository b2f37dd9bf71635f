"""Errors of the reference room."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MESSAGE_BYTES = 1_000
_GAP = " ... "


def shortened(text: str, max_bytes: int) -> str:
    """Leave out the middle of a text that has more bytes in UTF-8 than allowed; its last third stays."""
    content = text.encode("utf-8", "backslashreplace")
    if len(content) <= max_bytes:
        return text
    last = max_bytes // 3
    first = max_bytes - last - len(_GAP)
    return content[:first].decode("utf-8", "ignore") + _GAP + content[-last:].decode("utf-8", "ignore")


class SemanticsError(Exception):
    """Root of this room's errors."""


class CaseFormatError(SemanticsError, ValueError):
    """A case, a schema or a value in it is not in the format; the message has place and value, and what is allowed.

    The middle of a long message, which quotes the value, is left out.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message, MAX_MESSAGE_BYTES))


class UnsupportedByReferenceError(SemanticsError):
    """The reference does not define the meaning of this case; ``reason`` is short and countable."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RejectedError(SemanticsError):
    """The merge must fail with this error class, or a class of ``other_classes``, leaving the table unchanged.

    Attributes:
        place: the part of the statement that is at fault, for people; empty if it is not one part.
    """

    def __init__(self, error_class: str, message: str, other_classes: frozenset[str] = frozenset()) -> None:
        super().__init__(f"[{error_class}] {message}")
        self.error_class = error_class
        self.message = message
        self.other_classes = other_classes
        self.place = ""


@contextmanager
def fault_in(place: str) -> Iterator[None]:
    """Add a place, such as a clause or a column, to a rejection that leaves the block; the outer one comes first."""
    try:
        yield
    except RejectedError as fault:
        fault.place = f"{place}, {fault.place}" if fault.place else place
        raise
