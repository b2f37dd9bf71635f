"""A bare word in a query is a column of its own SELECT before it is a function (R-123)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp

from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference, evaluate
from mergecheck.reference.queries.source_query import SourceRelation
from mergecheck.reference.queries.visible_columns import is_column
from mergecheck.reference.syntax.dialect import read_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case

TABLES = {"target": parse_schema("id INT, d DATE"), "source": parse_schema("id INT, CURRENT_DATE DATE")}
WORD = "`current_date`"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT {WORD} FROM source", True),
        (f"SELECT f(1 + {WORD}) FROM source AS s WHERE TRUE", True),
        (f"SELECT {WORD} FROM target", False),
        (f"SELECT {WORD}", False),
        (f"SELECT id FROM target t JOIN source s ON t.id = s.id AND {WORD} > t.d", True),
        (f"SELECT {WORD} FROM (SELECT * FROM source) q", True),
        (f"SELECT {WORD} FROM (SELECT id FROM source) q", False),
        (f"SELECT {WORD} FROM (SELECT d AS current_date FROM target) q", True),
        (f"SELECT {WORD} FROM (SELECT id FROM target UNION ALL SELECT id FROM source) q", False),
        (f"SELECT {WORD} FROM source AS q(a, b)", False),
        (f"SELECT {WORD} FROM VALUES (DATE '2024-01-01') AS q({WORD})", True),
        (f"WITH q AS (SELECT d AS current_date FROM target) SELECT {WORD} FROM q", True),
        (f"WITH source AS (SELECT d FROM target) SELECT {WORD} FROM source", False),
        (f"WITH source AS (SELECT * FROM source) SELECT {WORD} FROM source", True),
        (f"WITH q({WORD}) AS (SELECT d FROM target) SELECT {WORD} FROM q", True),
        (f"SELECT id FROM source WHERE id IN (SELECT id FROM target WHERE d = {WORD})", False),
        (f"SELECT d AS current_date FROM target ORDER BY {WORD}", True),
        (f"SELECT max(d) AS current_date FROM target GROUP BY id HAVING {WORD} > DATE '2024-01-01'", True),
        (f"SELECT d AS current_date, f({WORD}) FROM target", False),
        (f"SELECT id FROM target LATERAL VIEW explode(array(d)) v AS current_date WHERE {WORD} = d", True),
    ],
)
def test_a_bare_word_is_a_column_of_the_select_that_it_stands_in(query: str, *, expected: bool) -> None:
    """Outer queries, and aliases beside it, come after the functions."""
    names = [
        name
        for name in read_sql(query).find_all(exp.Column)
        if name.name == "current_date" and not (isinstance(name.parent, exp.Select) and name.arg_key != "expressions")
    ]
    found = {is_column(name, TABLES, case_sensitive=False) for name in names}
    assert found == {expected}


def test_a_session_that_compares_names_as_written_has_no_such_column() -> None:
    """The table's column is in upper case."""
    (name,) = read_sql(f"SELECT {WORD} FROM source").find_all(exp.Column)
    assert not is_column(name, TABLES, case_sensitive=True)
    (name,) = read_sql("SELECT `CURRENT_DATE` FROM source").find_all(exp.Column)
    assert is_column(name, TABLES, case_sensitive=True)


class _Knows:
    """An evaluator that has an answer to every query."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @contextmanager
    def opened(self, *_: Any) -> Iterator[_Knows]:
        yield self

    def query(self, text: str) -> SourceRelation:
        self.asked.append(text)
        return SourceRelation(schema=parse_schema("id INT, d DATE"), rows=((1, None),))


def _case(query: str) -> Case:
    sql = f"MERGE INTO target t USING ({query}) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    document = {
        "format_version": 1,
        "id": "a",
        "target": {"schema": "id INT, d DATE", "rows": [[1, "2024-01-01"]]},
        "source": {"schema": "id INT, current_date DATE", "rows": [[1, "2023-05-05"]]},
        "sql": sql,
    }
    return case_from_json(document, where="a")


def test_a_query_that_reads_such_a_column_is_asked_for() -> None:
    """The other evaluator resolves the name as Spark does."""
    for query in (
        "SELECT id, to_date(soundex(string(current_date))) AS d FROM source",
        "SELECT id, current_date AS d FROM source WHERE soundex('a') = 'b' AND CURRENT_DATE > DATE '2000-01-01'",
        "WITH q AS (SELECT id, current_date FROM source) SELECT id, current_date AS d FROM q WHERE soundex('a') > ''",
    ):
        evaluator = _Knows()
        answer = MergeReference(evaluator).evaluate(_case(query)).answer  # type: ignore[arg-type] # it knows queries only
        assert isinstance(answer, Prediction), query
        assert answer.rows == ()
        assert evaluator.asked == [query]


@pytest.mark.parametrize("query", ["SELECT id, current_date AS d, soundex('a') AS z FROM target"])
def test_the_function_is_still_a_value_that_no_oracle_can_know(query: str) -> None:
    """No table in FROM has a column of that name."""
    answer = MergeReference(_Knows()).evaluate(_case(query)).answer  # type: ignore[arg-type] # it knows queries only
    assert answer == Unsupported("a value that no oracle can know")


@pytest.mark.parametrize("word", ["curdate", "if", "transform", "any", "now", "user", "localtimestamp", "current_time"])
def test_a_column_whose_name_is_a_function_has_its_value(word: str) -> None:
    """In the clauses and in a query, without any other evaluator."""
    for using, value in (("source", word), (f"(SELECT id, {word} AS d FROM source)", "d")):
        document = {
            "format_version": 1,
            "id": "a",
            "target": {"schema": "id INT, v STRING", "rows": [[1, "old"]]},
            "source": {"schema": f"id INT, {word} STRING", "rows": [[1, "new"], [2, "more"]]},
            "sql": f"MERGE INTO target t USING {using} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = {value} "
            f"WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, {value})",
        }
        answer = evaluate(case_from_json(document, where="a")).answer
        assert isinstance(answer, Prediction), answer
        assert sorted(answer.rows) == [(1, "new"), (2, "more")]


def test_order_by_sees_the_aliases_of_the_select_before_the_functions() -> None:
    """The session's date does not decide which row is first."""
    query = "SELECT id, DATE '2020-01-01' AS current_date FROM source ORDER BY current_date LIMIT 5"
    assert isinstance(evaluate(_case(query)).answer, Prediction)
