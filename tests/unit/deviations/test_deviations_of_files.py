"""Readings that depend on the files of a table: on their statistics, and on the types that they were written with."""

from __future__ import annotations

from typing import Any

import pytest

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.readings.catalogue import READINGS
from mergecheck.harness.deviations.readings.judged import Judged
from mergecheck.reference import evaluate
from mergecheck.reference.case.case_file import case_from_json
from mergecheck.reference.outcome import Prediction, Rejection
from mergecheck.reference.types.ddl import parse_schema

_DOUBLED = "a match whose conditions give NULL does not count"
_TOO_LARGE = "a constant that does not fit the numbers of an older DECIMAL cannot be read"


def _judged(target: dict[str, Any], source: dict[str, Any], sql: str, result: TableOutcome | Rejection) -> Judged:
    document = {"format_version": 1, "id": "c", "target": target, "source": source, "sql": f"MERGE INTO target t {sql}"}
    case = case_from_json(document, where="test")
    return Judged(given=case, case=case, reference=evaluate(case), result=result)


@pytest.mark.parametrize(
    ("statistics", "rows", "explained"),
    [
        ("none", ((1, 4), (2, 5), (2, 1)), True),
        ("alternate", ((1, 4), (2, 5), (2, 1)), True),
        ("counts", ((1, 4), (2, 5), (2, 1)), False),
        ("none", ((1, 4), (2, 5), (2, 5)), False),
        ("none", ((1, 4), (2, 5)), False),
    ],
    ids=["no-statistics", "none-for-the-first-file", "counted", "another-row", "one-row"],
)
def test_a_row_is_doubled_where_the_log_counts_no_rows(
    statistics: str, rows: tuple[tuple[int, int], ...], *, explained: bool
) -> None:
    """The match that is not counted copies the row beside the one that updates it."""
    metrics = {"numTargetRowsCopied": len(rows) - 1, "numOutputRows": len(rows), "numTargetRowsUpdated": 1}
    target = {"schema": "id INT, v INT", "files": [[[1, 4], [2, 1]]], "layout": {"statistics": statistics}}
    source = {"schema": "id INT, v INT", "rows": [[2, None], [2, 5]]}
    now = _judged(
        target,
        source,
        "USING source s ON t.id = s.id WHEN MATCHED AND s.v > 1 THEN UPDATE SET v = s.v",
        TableOutcome(
            schema=parse_schema("id INT, v INT"),
            rows=rows,
            metrics=metrics,
            cdf=None,
            committed=True,
            num_records_added=len(rows),
            num_records_removed=2,
        ),
    )
    after = READINGS[_DOUBLED].apply(now)
    repaired = after is not None and isinstance(after.reference.answer, Prediction)
    assert repaired is explained
    if after is not None and explained:
        assert isinstance(after.result, TableOutcome)
        assert after.result.rows == ((1, 4), (2, 5))
        assert after.result.metrics["numTargetRowsCopied"] == 1


@pytest.mark.parametrize(
    ("constant", "error", "earlier", "known"),
    [
        ("27730954.46", "FAILED_READ_FILE.NO_HINT", {"x": "DECIMAL(9,2)"}, True),
        ("9999999.99", "FAILED_READ_FILE.NO_HINT", {"x": "DECIMAL(9,2)"}, False),
        ("27730954.46", "FAILED_READ_FILE.NO_HINT", {}, False),
        ("27730954.46", "FAILED_READ_FILE.NO_HINT", {"v": "TINYINT"}, False),
        ("27730954.46", "INTERNAL_ERROR", {"x": "DECIMAL(9,2)"}, False),
    ],
    ids=["too-large", "fits", "never-widened", "another-column", "another-error"],
)
def test_a_file_cannot_be_read_if_a_constant_does_not_fit_it(
    constant: str, error: str, earlier: dict[str, str], *, known: bool
) -> None:
    now = _judged(
        {"schema": "v INT, x DECIMAL(10,2)", "files": [[[1, "5.00"]]], "layout": {"widened_columns": earlier}},
        {"schema": "v INT", "rows": [[1]]},
        f"USING source s ON t.v = s.v AND t.x <= {constant} WHEN MATCHED THEN DELETE",
        Rejection(error_class=error, message="", unchanged=True),
    )
    after = READINGS[_TOO_LARGE].apply(now)
    assert (after is not None) is known
