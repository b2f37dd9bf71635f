"""Values that nobody can know are held against their form, everything beside them exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engine import Capabilities
from mergecheck.harness.oracles.prepared_case import PhaseTimer, PreparedCase
from mergecheck.harness.oracles.reference_oracle import check_prepared, prepare
from mergecheck.harness.oracles.unknown_values import with_stand_ins
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.explain import explain_lines
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import case_from_json
from mergecheck.model.formatting import row_text
from mergecheck.model.outcome import Outcome, Prediction, Unsupported
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Case, Row

HEAD = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET "
UUIDS = ("11111111-2222-4333-8444-555555555555", "aaaaaaaa-bbbb-4ccc-9ddd-eeeeeeeeeeee")


class Recorded:
    """An engine whose answer is there already."""

    name, version, capabilities = "recorded", "1", Capabilities(metrics=False)

    def __init__(self, answer: Outcome) -> None:
        self.answer = answer

    def run(self, _: Case) -> Outcome:
        return self.answer

    def close(self) -> None:
        """Hold nothing."""


def case_of(action: str) -> Case:
    return case_with(HEAD + action)


def case_with(sql: str) -> Case:
    return case_from_json(
        {
            "format_version": 1,
            "id": "unknown",
            "target": {
                "schema": "id INT, k STRING, r DOUBLE, n INT",
                "rows": [[1, "a", 0.5, 1], [2, None, None, 2], [3, "c", 0.25, 3]],
                "properties": {"delta.enableChangeDataFeed": "true"},
            },
            "source": {"schema": "id INT, v STRING", "rows": [[1, "x"], [2, "y"]]},
            "sql": sql,
        },
        where="test",
    )


def prepared(action: str) -> PreparedCase:
    return prepare(case_of(action), reference=evaluate, timer=PhaseTimer())


def answer_to(given: PreparedCase, row: Callable[[Row], Row]) -> Outcome:
    """Give the prediction, with every row of table and feed changed."""
    found = given.reference.answer
    assert isinstance(found, Prediction)
    feed = tuple(map(row, found.cdf or ()))
    return Outcome(schema=found.schema, rows=tuple(map(row, found.rows)), cdf=feed, committed=True)


def with_uuids(*values: str) -> Callable[[Row], Row]:
    """Put texts where the stand-ins of rows 1 and 2 are."""

    def row(cells: Row) -> Row:
        if cells[1] is None or "-" not in cells[1]:
            return cells
        return (cells[0], values[cells[0] - 1], *cells[2:])

    return row


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (UUIDS, Verdict.AGREE),
        ((UUIDS[0], UUIDS[0]), Verdict.MISMATCH),
        ((UUIDS[0], "no uuid"), Verdict.MISMATCH),
        ((UUIDS[0], UUIDS[1].replace("-4", "-1")), Verdict.MISMATCH),
        ((UUIDS[0], f"x-{UUIDS[1]}"), Verdict.MISMATCH),
    ],
    ids=["two", "one twice", "none", "another version", "more than one"],
)
def test_uuids_have_their_form_and_differ(values: tuple[str, str], verdict: Verdict) -> None:
    given = prepared("k = uuid()")
    report = check_prepared(given, Recorded(answer_to(given, with_uuids(*values))))
    assert report.verdict is verdict
    assert report.unknown_columns == ("k",)
    assert "  in k: of the right form, and no two of them alike" in explain_lines(case_document(report))


def test_the_feed_shows_the_values_of_the_table() -> None:
    given = prepared("k = uuid()")
    answer = answer_to(given, with_uuids(*UUIDS))
    other = answer_to(given, with_uuids(UUIDS[1], UUIDS[0]))
    report = check_prepared(given, Recorded(replace(answer, cdf=other.cdf)))
    assert {mismatch.check for mismatch in report.mismatches} == {Check.CDF}


def test_all_other_cells_are_compared_exactly() -> None:
    given = prepared("k = concat(s.v, '-', uuid()), n = 7")
    right = answer_to(given, with_uuids(f"x-{UUIDS[0]}", f"y-{UUIDS[1]}"))
    assert check_prepared(given, Recorded(right)).verdict is Verdict.AGREE
    for place, row in enumerate(right.rows):
        for spoiled in ((row[0], "x", *row[2:]), (*row[:3], 8), (row[0], row[1], 0.75, row[3])):
            rows = (*right.rows[:place], spoiled, *right.rows[place + 1 :])
            report = check_prepared(given, Recorded(replace(right, rows=rows)))
            assert report.verdict is Verdict.MISMATCH, row_text(spoiled, right.schema)


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.0, Verdict.AGREE), (1.0, Verdict.MISMATCH), (-0.1, Verdict.MISMATCH)]
)
def test_a_random_number_lies_between_its_bounds(value: float, verdict: Verdict) -> None:
    """A known value of the column stays known: row 3 has one between the bounds."""
    given = prepared("r = coalesce(t.r, rand())")
    answer = answer_to(given, lambda row: row if row[0] != 2 or row[2] is None else (*row[:2], value, *row[3:]))
    assert check_prepared(given, Recorded(answer)).verdict is verdict


@pytest.mark.parametrize(
    "action",
    [
        "n = rand() * 3",
        "k = md5(uuid())",
        "k = CASE WHEN uuid() > 'a' THEN 'b' END",
        "n = CASE WHEN rand() < 0.5 THEN 1 ELSE 2 END",
        "k = uuid(), n = unix_timestamp()",
    ],
)
def test_what_depends_on_the_value_is_not_judged(action: str) -> None:
    assert isinstance(prepared(action).reference.answer, Unsupported)


MERGE_OF_QUERY = "MERGE INTO target t USING ({query}) s ON t.id = s.id {clauses}"
INSERTED = "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, s.u)"


@pytest.mark.parametrize(
    ("values", "verdict"), [(UUIDS, Verdict.AGREE), ((UUIDS[0],) * 2, Verdict.MISMATCH), (("x", "y"), Verdict.MISMATCH)]
)
def test_a_column_of_the_source_that_is_inserted(values: tuple[str, str], verdict: Verdict) -> None:
    """A key that the source query makes is inserted once for each of its rows."""
    case = case_with(MERGE_OF_QUERY.format(query="SELECT id + 10 AS id, uuid() AS u FROM source", clauses=INSERTED))
    given = prepare(case, reference=evaluate, timer=PhaseTimer())
    answer = answer_to(given, lambda row: (row[0], values[row[0] - 11], *row[2:]) if row[0] > 10 else row)
    report = check_prepared(given, Recorded(answer))
    assert (report.verdict, report.unknown_columns) == (verdict, ("k",))


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("SELECT id, uuid() AS u FROM source", "WHEN MATCHED THEN UPDATE SET k = s.u"),
        ("SELECT id, uuid() AS k FROM source", "WHEN MATCHED THEN UPDATE SET *"),
        ("SELECT id, uuid() AS u FROM source", "WHEN NOT MATCHED AND s.u > 'a' THEN INSERT (id) VALUES (s.id)"),
        ("SELECT id, uuid() AS u FROM source", "WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, md5(s.u))"),
        ("SELECT id, uuid() AS u, u > 'a' AS w FROM source", "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"),
        ("SELECT DISTINCT id, uuid() AS u FROM source", INSERTED),
        ("SELECT id, uuid() AS u FROM source ORDER BY 2 LIMIT 1", INSERTED),
        ("SELECT id, uuid() AS u FROM source WHERE uuid() > 'a'", INSERTED),
        ("SELECT id, max(uuid()) AS u FROM source GROUP BY id", INSERTED),
        ("SELECT id, uuid() AS u FROM source UNION ALL SELECT id, v FROM source", INSERTED),
    ],
)
def test_what_depends_on_a_value_of_the_source_is_not_judged(query: str, clauses: str) -> None:
    assert with_stand_ins(case_with(MERGE_OF_QUERY.format(query=query, clauses=clauses))) is None


def test_a_value_that_the_column_cannot_have_fails_whatever_it_is() -> None:
    given = prepared("n = uuid()")
    assert getattr(given.reference.answer, "error_class", None) == "CAST_INVALID_INPUT"


def test_calls_are_replaced_and_names_are_not() -> None:
    assert with_stand_ins(case_of("k = 'uuid()', n = s.uuid")) is None
    found = with_stand_ins(case_of("k = UUID( ), r = rand(42)"))
    assert found is not None
    assert found[0].sql != found[1].sql
    assert all("(" not in case.sql.removeprefix(HEAD) for case in found)
