"""Which words of an expression are the statement's time (R-136), and which only look like it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mergecheck.merge.expressions.clock import StatementClock

CLOCK = StatementClock(instant=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("now()", ["now()"]),
        ("NOW ( )", ["NOW ( )"]),
        ("now", []),
        ("curdate", []),
        ("current_date", []),
        ("current_date()", ["current_date()"]),
        ("current_date(1)", []),
        ("`current_date`", []),
        ("'current_date'", []),
        ("t.current_date", []),
        ("current_date.x", []),
        ("`current_date`, 'now', current_date()", ["current_date()"]),
        ("t.current_date, now()", ["now()"]),
        ("current_date.x, now()", ["now()"]),
        ("'now()' || now()", ["now()"]),
        ("now() > localtimestamp", ["now()"]),
        ("id + 1", []),
        ("1 + 2 + t.current_date", []),
        ("t.a + (2 * 3) + localtimestamp()", ["localtimestamp()"]),
    ],
)
def test_calls_are_replaced_and_names_are_not(text: str, replaced: list[str]) -> None:
    """A name, a field and a text of the same letters stay as they are, and what follows them is still looked at."""
    assert [text[start:end] for start, end, _ in CLOCK.edits(text)] == replaced


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("Current_Timestamp", "TIMESTAMP_LTZ'2026-01-02 03:04:05.000006 UTC'"),
        ("current_date", "CAST(TIMESTAMP_LTZ'2026-01-02 03:04:05.000006 UTC' AS DATE)"),
        ("localtimestamp", None),
        ("now", None),
    ],
)
def test_a_name_may_be_the_time(name: str, literal: str | None) -> None:
    """R-123: two functions of the time need no brackets, if no column has the name."""
    assert CLOCK.of_name(name) == literal


def test_all_calls_of_a_statement_give_one_instant() -> None:
    """Dates and local timestamps depend on the session's time zone; the instant does not."""
    literals = [literal for _, _, literal in CLOCK.edits("now(), current_timestamp(), NOW()")]
    assert literals == ["TIMESTAMP_LTZ'2026-01-02 03:04:05.000006 UTC'"] * 3
