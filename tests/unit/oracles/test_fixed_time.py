"""The time of a statement is written out, and nothing else of its text."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.oracles.fixed_time import with_fixed_time
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.oracles.reference_oracle import prepare
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from mergecheck.model.case import Case

NOW = dt.datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=dt.UTC)
TIME, DAY = "TIMESTAMP '2026-03-04 05:06:07.000089Z'", "DATE '2026-03-04'"
HEAD = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET "


def case_of(sql: str) -> Case:
    """Give a case whose target has a column ``at``."""
    return case_from_json(
        {
            "format_version": 1,
            "id": "time",
            "target": {"schema": "id INT, at TIMESTAMP, now INT", "rows": [[1, None, 1], [2, None, 2]]},
            "source": {"schema": "id INT, curdate INT", "rows": [[1, 5], [3, 6]]},
            "sql": sql,
        },
        where="test",
    )


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ("at = current_timestamp()", f"at = {TIME}"),
        ("at = Current_Timestamp", f"at = {TIME}"),
        ("at = now( )", f"at = {TIME}"),
        ("at = date_sub(current_date(), 1)", f"at = date_sub({DAY}, 1)"),
        ("at = CURRENT_DATE", f"at = {DAY}"),
        ("at = `current_date`", f"at = {DAY}"),
        ("at = localtimestamp()", "at = TIMESTAMP_NTZ '2026-03-04 05:06:07.000089'"),
        ("at = now(), now = curdate", f"at = {TIME}, now = curdate"),
    ],
)
def test_a_time_is_written_out(written: str, fixed: str) -> None:
    """Calls, and the names that stand without parentheses, become literals."""
    found = with_fixed_time(case_of(HEAD + written), NOW)

    assert found is not None
    assert found.sql == HEAD + fixed


@pytest.mark.parametrize(
    "written",
    [
        "now = 1",
        "now = s.curdate",
        "at = 'current_timestamp()'",
        "at = localtimestamp",
        "at = current_date(1)",
        "at = 1 -- now()",
    ],
)
def test_other_texts_stay(written: str) -> None:
    """Columns, texts, comments and calls with operands are left alone."""
    assert with_fixed_time(case_of(HEAD + written), NOW) is None


def test_settings_that_decide_the_type_or_the_zone() -> None:
    """Under another time zone, or if TIMESTAMP means another type, the text stays."""
    case = case_of(HEAD + "at = now()")

    assert with_fixed_time(replace(case, conf={"spark.sql.session.timeZone": "Europe/Rome"}), NOW) is None
    assert with_fixed_time(replace(case, conf={"spark.sql.timestampType": "TIMESTAMP_NTZ"}), NOW) is None
    assert with_fixed_time(replace(case, conf={"spark.sql.session.timeZone": "UTC"}), NOW) is not None


def test_a_stored_time_is_predicted() -> None:
    """The prepared case holds the time that the reference predicts."""
    prepared = prepare(case_of(HEAD + "at = now()"), reference=evaluate, timer=PhaseTimer())

    assert "TIMESTAMP '" in prepared.case.sql
    answer = prepared.reference.answer
    assert isinstance(answer, Prediction)
    assert sorted((row[0], row[1] is None) for row in answer.rows) == [(1, False), (2, True)]


def test_a_time_in_a_condition_stays() -> None:
    """A statement that the reference supports as it is written runs as it is written."""
    case = case_of("MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND t.at < now() THEN DELETE")

    assert prepare(case, reference=evaluate, timer=PhaseTimer()).case is case


def test_the_time_of_a_default_is_written_out() -> None:
    """A column that gets no value has the statement's time; other defaults stay as they are."""
    case = case_from_json(
        {
            "format_version": 1,
            "id": "default",
            "target": {
                "schema": "id INT, at TIMESTAMP DEFAULT current_timestamp(), day DATE DEFAULT CURRENT_DATE, "
                "n INT DEFAULT 1",
                "rows": [[1, None, None, 2]],
            },
            "source": {"schema": "id INT", "rows": [[3]]},
            "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
        },
        where="test",
    )
    found = with_fixed_time(case, NOW)

    assert found is not None
    assert [column.default for column in found.target.schema.columns] == [None, TIME, DAY, "1"]
    answer = evaluate(found).answer
    assert isinstance(answer, Prediction)
    assert (3, NOW, dt.date(2026, 3, 4), 1) in answer.rows
