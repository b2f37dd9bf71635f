"""Rows that differ in expected cells only, paired one to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.deviations.row_pairing import expecting_all_cells
from mergecheck.harness.search.session import WARM_UP
from mergecheck.harness.verdict import CaseReport, Check, Verdict
from mergecheck.model.outcome import Outcome, Prediction, Rejection
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

SCHEMA = parse_schema("a INT, b INT")


def report(
    wanted: tuple[Row, ...],
    found: tuple[Row, ...],
    *,
    schema: Schema = SCHEMA,
    changes: tuple[tuple[Row, ...], tuple[Row, ...]] | None = None,
) -> CaseReport:
    ours, theirs = (None, None) if changes is None else changes
    prediction = Prediction(schema=SCHEMA, rows=wanted, metrics={}, cdf=ours, committed=True, path=None)
    return CaseReport(
        case=WARM_UP,
        engine="fake",
        engine_version="1",
        verdict=Verdict.MISMATCH,
        reference=Reference(answer=prediction),
        result=Outcome(schema=schema, rows=found, cdf=theirs),
    )


def expected(given: CaseReport, *cells: str, check: Check = Check.ROWS) -> list[str]:
    return expecting_all_cells(check, given, lambda cell: [cell] if cell in cells else [], against="reference")


A, B = "a: reference 1, engine 2", "b: reference 5, engine 6"


def test_every_cell_of_a_pair_is_expected_by_somebody() -> None:
    given = report(((1, 5), (3, 3)), ((3, 3), (2, 6)))
    assert expected(given, A, B) == [A, B]
    assert expected(given, A) == expected(given, B) == []


def test_a_row_leaves_its_partner_to_one_that_has_no_other() -> None:
    """The first missing row could have either, the second one only this."""
    given = report(((1, 5), (1, 7)), ((2, 5), (2, 7)))
    either = ("a: reference 1, engine 2", "b: reference 5, engine 7")
    assert expected(given, *either) == [A, A]
    assert expected(report(((1, 5), (1, 8)), ((2, 5), (2, 7))), A, "b: reference 5, engine 7") == []
    crossed = report(((1, 5), (1, 6)), ((1, 7), (1, 8)))
    cells = ("b: reference 5, engine 7", "b: reference 5, engine 8", "b: reference 6, engine 7")
    assert sorted(expected(crossed, *cells)) == ["b: reference 5, engine 8", "b: reference 6, engine 7"]


@pytest.mark.parametrize("found", [((2, 6), (2, 6)), ()], ids=["one-more", "one-less"])
def test_each_row_has_one_partner(found: tuple[Row, ...]) -> None:
    assert expected(report(((1, 5),), found), A, B) == []


def test_rows_that_do_not_differ_are_expected_by_nobody() -> None:
    assert expected(report(((1, 5),), ((1, 5),)), A, B) == []


def test_columns_in_another_order_are_told_by_their_names() -> None:
    given = report(((1, 5),), ((6, 2),), schema=parse_schema("b INT, a INT"))
    assert expected(given, A, B) == [A, B]


def test_other_columns_have_no_pairs() -> None:
    assert expected(report(((1, 5),), ((2, 6, 0),), schema=parse_schema("a INT, b INT, c INT")), A, B) == []


def test_change_rows_pair_within_a_change_type() -> None:
    """Also where the other type is expected: they are not one row."""
    same = (((1, 5, "insert"),), ((2, 6, "insert"),))
    assert expected(report((), (), changes=same), A, B, check=Check.CDF) == [A, B]
    other = (((1, 5, "insert"),), ((2, 6, "delete"),))
    of_type = "_change_type: reference 'insert', engine 'delete'"
    assert expected(report((), (), changes=other), A, B, of_type, check=Check.CDF) == []
    assert expected(report((), ()), A, B, check=Check.CDF) == []


def test_what_is_not_of_rows_has_no_pairs() -> None:
    given = report(((1, 5),), ((2, 6),))
    assert expected(given, A, B, check=Check.METRICS) == []
    failed = CaseReport(
        case=given.case,
        engine="fake",
        engine_version="1",
        verdict=Verdict.MISMATCH,
        reference=given.reference,
        result=Rejection(error_class="X", message="", unchanged=True),
    )
    assert expected(failed, A, B) == []
