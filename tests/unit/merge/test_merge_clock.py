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
        ("current_date", ["current_date"]),
        ("current_date()", ["current_date()"]),
        ("current_date(1)", []),
        ("`current_date`", []),
        ("'current_date'", []),
        ("t.current_date", []),
        ("current_date.x", []),
        ("`current_date`, 'now', current_date", ["current_date"]),
        ("t.current_date, now()", ["now()"]),
        ("current_date.x, now()", ["now()"]),
        ("'now()' || now()", ["now()"]),
        ("now() > localtimestamp", ["now()", "localtimestamp"]),
        ("id + 1", []),
        ("1 + 2 + t.current_date", []),
        ("t.a + (2 * 3) + current_date", ["current_date"]),
    ],
)
def test_calls_are_replaced_and_names_are_not(text: str, replaced: list[str]) -> None:
    """A column, a field and a text of the same letters stay as they are, and what follows them is still looked at."""
    assert [text[start:end] for start, end, _ in CLOCK.edits(text)] == replaced


def test_all_calls_of_a_statement_give_one_instant() -> None:
    """Dates and local timestamps depend on the session's time zone; the instant does not."""
    literals = [literal for _, _, literal in CLOCK.edits("now(), current_timestamp, current_timestamp()")]
    assert literals == ["TIMESTAMP_LTZ'2026-01-02 03:04:05.000006 UTC'"] * 3
