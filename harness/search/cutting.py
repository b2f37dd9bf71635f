"""A batch that shows something is cut to the smallest part that does; one that is refused, to a part that is taken."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.search.batching import joined
from mergecheck.harness.search.paired_query import PAIR
from mergecheck.model.case_file import change_schema
from mergecheck.model.case_id import with_content_id
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.model.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case, Row

MAX_PARTS = 40
"""Parts of a batch that are checked, by halves."""
_SHARES = (2, 4)
"""A refused batch is cut to one of its halves, or to one of its quarters."""


def part_taken(
    singles: Sequence[Case], check: Callable[[Case], CaseReport]
) -> tuple[Case, CaseReport, tuple[Case, ...]]:
    """Check parts of a batch that an engine refuses until it takes one: halves, then quarters.

    The reason may be a value that some pairs have, or the column that keeps the pairs apart. If the engine refuses the
    first case alone, too, the reason is likely the statement.

    Returns:
        A case, its check, and the cases in it; none of these if it is the first case alone.
    """
    first = with_content_id(singles[0])
    alone = check(first)
    if isinstance(alone.result, Unsupported):
        return first, alone, ()
    ends = [[len(singles) * place // share for place in range(share + 1)] for share in _SHARES]
    parts = [tuple(singles[start:end]) for each in ends for start, end in itertools.pairwise(each)]
    for part in (one for one in parts if len(one) > 1):
        case = joined(part)
        if case is not None:
            report = check(case := with_content_id(case))
            if not isinstance(report.result, Unsupported):
                return case, report, part
    return first, alone, ()


def smallest_part(
    singles: Sequence[Case],
    report: CaseReport,
    check: Callable[[Case], CaseReport],
    shows: Callable[[CaseReport], bool],
) -> CaseReport | None:
    """Cut a batch to the smallest part that shows something, by halves.

    Args:
        singles: the cases of the batch.
        report: the check of the batch, which shows it.
        check: checks a case.
        shows: returns whether a check shows it.

    Returns:
        The check of a case alone, or of a smaller batch if no case alone shows it. None if the batch is no more than
        its parts: they differ in known ways, each in one of its own, and just as they do in the batch.
    """
    left = itertools.count(MAX_PARTS, -1)

    def part(singles: Sequence[Case], report: CaseReport) -> CaseReport | None:
        middle, first, is_known = len(singles) // 2, 0, False
        checked: list[tuple[range, CaseReport]] = []
        for half in (singles[:middle], singles[middle:]):
            numbers = range(first, first + len(half))
            first = numbers.stop
            case = joined(half) if half else None
            if case is None or next(left) <= 0:
                continue
            one = check(case)
            if shows(one):
                if (found := part(half, one)) is not None:
                    return found
                is_known = True
            is_known |= bool(one.mismatches and one.deviations)
            checked.append((numbers, one))
        return None if is_known and _is_sum(report, checked, is_whole=len(checked) == len(singles[:2])) else report

    return part(singles, report)


def _is_sum(report: CaseReport, parts: Sequence[tuple[range, CaseReport]], *, is_whole: bool) -> bool:
    """Return whether an engine answers in a batch as it answers in the batch's parts.

    Args:
        report: the check of the batch.
        parts: the checks of its parts, with the numbers of their pairs in the batch.
        is_whole: whether these are all of its pairs.
    """
    if is_whole:
        found = {(m.check, m.kind) for _, one in parts for m in one.mismatches}
        if any((m.check, m.kind) not in found for m in report.mismatches):
            return False
    whole = report.result
    if isinstance(whole, Rejection):
        classes = {one.result.error_class for _, one in parts if isinstance(one.result, Rejection)}
        return not is_whole or whole.error_class in classes
    return isinstance(whole, Outcome) and all(
        isinstance(one.result, Outcome) and _has_rows(whole, numbers, one.result, report.case) for numbers, one in parts
    )


def _has_rows(whole: Outcome, numbers: range, part: Outcome, case: Case) -> bool:
    """Return whether the pairs of a part have the same rows and change rows in the batch as apart from it.

    Values that the table generates are left out: an identity column counts on through the batch.
    """
    generated = {c.name for c in case.target.schema.columns if c.identity is not None or c.generated is not None}
    for in_batch, apart, schemas in (
        (whole.rows, part.rows, (whole.schema, part.schema)),
        (whole.cdf, part.cdf, (change_schema(whole.schema), change_schema(part.schema))),
    ):
        if in_batch is None or apart is None:
            continue
        columns = [column for column in schemas[0].columns if column.name not in {PAIR, *generated}]
        names = [column.name for column in columns]
        if not set(names) <= set(schemas[1].names):
            return False
        given = _rows(in_batch, schemas[0], names, numbers)
        alone = _rows(apart, schemas[1], names, range(len(numbers)))
        if not same_rows(list(given), list(alone), Schema(tuple(columns))):
            return False
    return True


def _rows(rows: Sequence[Row], schema: Schema, names: Collection[str], numbers: range) -> Iterator[Row]:
    """Yield some columns of the rows of some pairs; a case alone has no numbers of pairs."""
    places = [schema.names.index(name) for name in names]
    pair = schema.names.index(PAIR) if PAIR in schema.names else None
    for row in rows:
        if pair is None or row[pair] in numbers:
            yield tuple(row[place] for place in places)
