"""Which difference a known deviation expects: its check and kind, and, where an entry says so, what it looks like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from harness.difference_kinds import DIFFERENCES, is_known
from reference.outcome import Prediction

if TYPE_CHECKING:
    from harness.verdict import CaseReport, Mismatch

_WHAT, _EACH, _COLUMNS = "what", "each", "columns"
_ADDED = "added"


class BadDifferenceError(ValueError):
    """A difference that no mismatch can be; the message says what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedDifference:
    """One sort of difference.

    Attributes:
        what: ``check kind``; ``*`` and ``?`` match as in file names.
        each: must be found in the differing cell, the missing or extra row, or whatever a part of the mismatch is;
            None for any.
        only_added: whether the differing cell must be of a column that the merge adds.
    """

    what: str
    each: re.Pattern[str] | None = None
    only_added: bool = False

    def covers(self, mismatch: Mismatch, part: str, report: CaseReport) -> bool:
        """Tell whether one part of a mismatch of a report is of this sort."""
        if not fnmatchcase(f"{mismatch.check.value} {mismatch.kind}", self.what):
            return False
        if self.only_added and not part.startswith(tuple(f"{name}: " for name in _added_columns(report))):
            return False
        return self.each is None or self.each.search(part) is not None


def parts_of(mismatch: Mismatch) -> tuple[str, ...]:
    """Return what has to be explained one by one: each part, or, where there are none, the lines taken together."""
    return mismatch.parts or ("\n".join(mismatch.lines),)


def _added_columns(report: CaseReport) -> tuple[str, ...]:
    answer = report.reference.answer
    if not isinstance(answer, Prediction):
        return ()
    before = {name.lower() for name in report.case.target.schema.names}
    return tuple(name for name in answer.schema.names if name.lower() not in before)


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
    if given.get(_COLUMNS, _ADDED) != _ADDED:
        raise BadDifferenceError(f'columns = {given[_COLUMNS]!r} must be "{_ADDED}", or be left out')
    try:
        each = re.compile(given[_EACH]) if _EACH in given else None
    except (re.error, TypeError) as error:
        raise BadDifferenceError(f"each = {given[_EACH]!r} is no regular expression: {error}") from error
    return ExpectedDifference(what=_known(given[_WHAT]), each=each, only_added=_COLUMNS in given)


def _known(what: str) -> str:
    if not is_known(what):
        raise BadDifferenceError(f"difference {what!r} is none that there is; known: {', '.join(DIFFERENCES)}")
    return what
