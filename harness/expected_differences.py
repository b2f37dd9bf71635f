"""Which difference a known deviation expects: its check and kind, and, where an entry says so, what it looks like."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from harness.difference_kinds import DIFFERENCES, is_known
from harness.identity import row_identifier
from harness.verdict import Check
from reference.case_file import change_schema
from reference.outcome import Outcome, Prediction

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from harness.verdict import CaseReport, Mismatch
    from reference.case import Row
    from reference.types import Schema

_WHAT, _EACH, _COLUMNS = "what", "each", "columns"
_WHOLE_ROWS = ("missing_rows", "extra_rows")


class Columns(Enum):
    """Which columns a differing cell may be of."""

    ADDED = "added"
    NOT_NULL = "not null"

    def names(self, report: CaseReport) -> tuple[str, ...]:
        """Name these columns in a case: those that the merge adds, or those of the target that may not be NULL."""
        before = report.case.target.schema
        if self is Columns.NOT_NULL:
            return tuple(column.name for column in before.columns if not column.nullable)
        answer = report.reference.answer
        if not isinstance(answer, Prediction):
            return ()
        known = {name.lower() for name in before.names}
        return tuple(name for name in answer.schema.names if name.lower() not in known)


class BadDifferenceError(ValueError):
    """A difference that no mismatch can be; the message says what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedDifference:
    """One sort of difference.

    Attributes:
        what: ``check kind``; ``*`` and ``?`` match as in file names.
        each: must be found in the differing cell, the missing or extra row, or whatever a part of the mismatch is;
            None for any.
        columns: of which columns the differing cell must be; missing and extra rows must be the same rows without these
            columns. None for any.
    """

    what: str
    each: re.Pattern[str] | None = None
    columns: Columns | None = None

    def names(self, mismatch: Mismatch) -> bool:
        """Tell whether a mismatch is of this check and kind; ``covers`` says it of each of its parts."""
        return fnmatchcase(f"{mismatch.check.value} {mismatch.kind}", self.what)

    def covers(self, mismatch: Mismatch, part: str, report: CaseReport) -> bool:
        """Tell whether one part of a mismatch that this names is of this sort; of whole rows, see ``cover_rows``."""
        if self.columns is not None and mismatch.kind not in _WHOLE_ROWS:
            cells = tuple(f"{name}: " for name in self.columns.names(report))
            if not part.startswith(cells):
                return False
        return self.each is None or self.each.search(part) is not None


def cover_rows(wanted: Sequence[ExpectedDifference], mismatch: Mismatch, report: CaseReport) -> bool:
    """Tell whether missing or extra rows differ in columns of these differences only; True for any other mismatch.

    Args:
        wanted: differences that name the mismatch; one that is kept to no columns covers any rows.
        mismatch: of the report.
        report: the case and its answers.
    """
    kept = [one.columns for one in wanted if one.columns is not None]
    if mismatch.kind not in _WHOLE_ROWS or len(kept) < len(wanted):
        return True
    return _is_same_without({name for columns in kept for name in columns.names(report)}, mismatch.check, report)


def parts_of(mismatch: Mismatch) -> tuple[str, ...]:
    """Return what has to be explained one by one: each part, or, where there are none, the lines taken together."""
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
        each = re.compile(given[_EACH]) if _EACH in given else None
    except (re.error, TypeError) as error:
        raise BadDifferenceError(f"each = {given[_EACH]!r} is no regular expression: {error}") from error
    columns = Columns(given[_COLUMNS]) if _COLUMNS in given else None
    return ExpectedDifference(what=_known(given[_WHAT]), each=each, columns=columns)


def _is_same_without(names: Collection[str], check: Check, report: CaseReport) -> bool:
    """Tell whether the rows, or change rows, of both sides are the same but for some columns.

    Where most of a row's cells differ, the comparison cannot know which rows belong together: it calls one missing and
    one extra.
    """
    wanted, found = report.reference.answer, report.result
    if not isinstance(wanted, Prediction) or not isinstance(found, Outcome):
        return False
    if check is Check.ROWS:
        return _without(names, wanted.rows, wanted.schema) == _without(names, found.rows, found.schema)
    if wanted.cdf is None or found.cdf is None:
        return False
    ours, theirs = change_schema(wanted.schema), change_schema(found.schema)
    return _without(names, wanted.cdf, ours) == _without(names, found.cdf, theirs)


def _without(names: Collection[str], rows: Sequence[Row], schema: Schema) -> tuple[list[str], Counter[object]]:
    """Give the other columns' names, and how often their cells stand together; both in the order of the names."""
    kept = sorted((column.name, index) for index, column in enumerate(schema.columns) if column.name not in names)
    identify = row_identifier(schema)
    identities = (identify(row) for row in rows)
    return [name for name, _ in kept], Counter(tuple(cells[index] for _, index in kept) for cells in identities)


def _known(what: str) -> str:
    if not is_known(what):
        raise BadDifferenceError(f"difference {what!r} is none that there is; known: {', '.join(DIFFERENCES)}")
    return what
