"""Which difference a known deviation expects: its check and kind, and optionally its columns or values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.kinds import DIFFERENCES, is_known
from mergecheck.harness.deviations.patterns import BadPatternError, pattern_of
from mergecheck.model.outcome import Prediction

if TYPE_CHECKING:
    import re

    from mergecheck.harness.verdict import CaseReport, Mismatch

_WHAT, _EACH, _COLUMNS = "what", "each", "columns"
WHOLE_ROWS = ("missing_rows", "extra_rows")
"""Kinds of mismatches whose parts are rows."""
CELLS = "changed_rows"
"""The kind whose parts are cells."""


class Columns(Enum):
    """Which columns a differing cell may be of."""

    ADDED = "added"
    NOT_NULL = "not null"

    def names(self, report: CaseReport) -> tuple[str, ...]:
        """Name these columns in a case: the columns that the merge adds, or the target columns that may not be NULL."""
        before = report.case.target.schema
        if self is Columns.NOT_NULL:
            return tuple(column.name for column in before.columns if not column.nullable)
        answer = report.reference.answer
        if not isinstance(answer, Prediction):
            return ()
        known = {name.lower() for name in before.names}
        return tuple(name for name in answer.schema.names if name.lower() not in known)


class BadDifferenceError(ValueError):
    """A difference that no mismatch can be; the message gives the allowed ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedDifference:
    """One sort of difference.

    Attributes:
        what: ``check kind``; ``*`` and ``?`` match as in file names.
        each: must be found in the differing cell, the missing or extra row, or whatever a part of the mismatch is;
            None for any.
        columns: of which columns the differing cell must be; such a difference is about no whole row. None for any.
    """

    what: str
    each: re.Pattern[str] | None = None
    columns: Columns | None = None

    def names(self, mismatch: Mismatch) -> bool:
        """Return whether a mismatch is of this check and kind; ``covers`` decides for each of its parts."""
        return fnmatchcase(f"{mismatch.check.value} {mismatch.kind}", self.what)

    def covers(self, mismatch: Mismatch, part: str, report: CaseReport) -> bool:
        """Return whether one part of a mismatch is of this sort."""
        if not self.names(mismatch):
            return False
        if self.columns is not None:
            cells = tuple(f"{name}: " for name in self.columns.names(report))
            if mismatch.kind in WHOLE_ROWS or not part.startswith(cells):
                return False
        return self.each is None or self.each.search(part) is not None


def parts_of(mismatch: Mismatch) -> tuple[str, ...]:
    """Return what has to be explained one by one: each part, or, if there are none, the lines taken together."""
    return mismatch.parts or ("\n".join(mismatch.lines),)


def parse_difference(given: Any) -> ExpectedDifference:  # noqa: ANN401 - any TOML value
    """Read ``"check kind"``, or a table of ``what`` and, as wanted, ``each`` and ``columns``.

    Raises:
        BadDifferenceError: for anything else, or a check or kind that there is not.
    """
    if isinstance(given, str):
        return ExpectedDifference(what=_known(given))
    keys = {_WHAT, _EACH, _COLUMNS}
    if not isinstance(given, dict) or set(given) - keys or not isinstance(given.get(_WHAT), str):
        raise BadDifferenceError(
            f'difference {given!r} must be a text, such as "rows missing_rows", or a table of what, each and columns, '
            'such as { what = "rows changed_rows", each = "reference -0.0, engine 0.0" }'
        )
    allowed = [columns.value for columns in Columns]
    if _COLUMNS in given and given[_COLUMNS] not in allowed:
        words = " or ".join(f'"{word}"' for word in allowed)
        raise BadDifferenceError(f"columns = {given[_COLUMNS]!r} must be {words}, or be left out")
    try:
        each = pattern_of(given[_EACH]) if _EACH in given else None
    except (BadPatternError, TypeError) as error:
        raise BadDifferenceError(f"each = {given[_EACH]!r} is no regular expression: {error}") from error
    columns = Columns(given[_COLUMNS]) if _COLUMNS in given else None
    return ExpectedDifference(what=_known(given[_WHAT]), each=each, columns=columns)


def _known(what: str) -> str:
    if not is_known(what):
        raise BadDifferenceError(f"difference {what!r} is none that there is; known: {', '.join(DIFFERENCES)}")
    return what
