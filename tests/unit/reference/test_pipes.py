"""Source queries that begin with FROM, and queries with steps behind ``|>``."""

from __future__ import annotations

from typing import Any

import pytest

from mergecheck.harness.configuration.trust.texts import harm_in
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction, Rejection, Unsupported
from mergecheck.reference import evaluate

TABLES = {
    "target": frozenset({"id", "v"}),
    "source": frozenset({"id", "v", "user"}),
}


def answer(query: str) -> Any:
    document = {
        "format_version": 1,
        "id": "a",
        "target": {"schema": "id INT, v INT", "rows": [[1, 1], [2, 2]]},
        "source": {"schema": "id INT, v INT", "rows": [[1, 10], [3, 30], [3, 31], [4, None]]},
        "tables": {"dim": {"schema": "k INT, w INT", "rows": [[1, 100], [4, 400]]}},
        "sql": f"MERGE INTO target t USING ({query}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    }
    return evaluate(case_from_json(document, where="a")).answer


@pytest.mark.parametrize(
    ("piped", "plain"),
    [
        ("FROM source", "SELECT * FROM source"),
        ("FROM source |> WHERE v < 31", "SELECT * FROM source WHERE v < 31"),
        ("TABLE source |> WHERE v < 31", "SELECT * FROM source WHERE v < 31"),
        ("FROM source a |> WHERE a.v < 31", "SELECT * FROM source WHERE v < 31"),
        ("FROM source a |> WHERE a.v < 31 |> ORDER BY a.v |> WHERE a.v > 10", "SELECT * FROM source WHERE v = 30"),
        ("FROM source |> WHERE source.v < 31 |> SELECT source.id, source.v", "SELECT * FROM source WHERE v < 31"),
        ("FROM source |> AS q |> WHERE q.v < 31 |> SELECT q.id, q.v", "SELECT * FROM source WHERE v < 31"),
        ("FROM source |> ", "SELECT * FROM source"),
        ("FROM source ORDER BY v DESC NULLS LAST LIMIT 1", "SELECT * FROM source WHERE v = 31"),
        (
            "SELECT * FROM source |> WHERE v < 31 |> SELECT id, v + 1 AS v",
            "SELECT id, v + 1 AS v FROM source WHERE v < 31",
        ),
        ("FROM source |> SELECT v AS id, id AS v |> WHERE id = 30", "SELECT v AS id, id AS v FROM source WHERE v = 30"),
        ("FROM source |> SELECT DISTINCT id, 5 AS v", "SELECT DISTINCT id, 5 AS v FROM source"),
        (
            "FROM source |> EXTEND v * 2 AS w |> WHERE w < 62 |> SELECT id, w AS v",
            "SELECT id, v * 2 AS v FROM source WHERE v < 31",
        ),
        ("FROM source |> WHERE v < 31 |> EXTEND 1 AS z |> DROP z", "SELECT * FROM source WHERE v < 31"),
        ("FROM source |> WHERE v < 31 |> SET v = v + 1", "SELECT id, v + 1 AS v FROM source WHERE v < 31"),
        (
            "FROM source |> WHERE v < 31 |> SET v = v + 1, v = v * 2, id = v",
            "SELECT (v + 1) * 2 AS id, (v + 1) * 2 AS v FROM source WHERE v < 31",
        ),
        ("FROM source |> AGGREGATE max(v) AS v GROUP BY id", "SELECT id, max(v) AS v FROM source GROUP BY id"),
        (
            "FROM source |> AGGREGATE max(v) AS v GROUP BY id + 5 AS id",
            "SELECT id + 5 AS id, max(v) AS v FROM source GROUP BY id + 5",
        ),
        ("FROM source |> AGGREGATE max(id) AS id, sum(v) AS v", "SELECT max(id) AS id, sum(v) AS v FROM source"),
        ("FROM source |> AGGREGATE GROUP BY id |> EXTEND 0 AS v", "SELECT DISTINCT id, 0 AS v FROM source"),
        ("FROM source |> ORDER BY v DESC NULLS LAST |> LIMIT 1", "SELECT * FROM source WHERE v = 31"),
        ("FROM source |> ORDER BY v DESC NULLS LAST |> LIMIT 1 OFFSET 1", "SELECT * FROM source WHERE v = 30"),
        ("FROM source |> ORDER BY v LIMIT ALL", "SELECT * FROM source"),
        ("FROM source |> LIMIT ALL", "SELECT * FROM source"),
        ("FROM source |> WHERE v = 10 |> UNION ALL SELECT 9, 9", "VALUES (1, 10), (9, 9) AS x(id, v)"),
        ("FROM source |> EXCEPT SELECT * FROM source WHERE v > 10", "VALUES (1, 10), (4, NULL) AS x(id, v)"),
        ("FROM source |> AS q |> WHERE q.v = 31", "SELECT * FROM source WHERE v = 31"),
        (
            "FROM source s |> JOIN dim ON s.id = dim.k |> SELECT s.id, dim.w AS v",
            "VALUES (1, 100), (4, 400) AS x(id, v)",
        ),
        (
            "FROM source |> EXTEND row_number() OVER (PARTITION BY id ORDER BY v DESC) AS n |> WHERE n = 1 |> DROP n",
            "SELECT id, max(v) AS v FROM source GROUP BY id",
        ),
        ("VALUES (1, 100), (7, 70) AS x(id, v) |> WHERE id > 1", "SELECT 7 AS id, 70 AS v"),
        ("WITH q AS (FROM source |> WHERE v < 31) FROM q |> WHERE v > 10", "SELECT * FROM source WHERE v = 30"),
        ("SELECT * FROM (FROM source |> WHERE v < 31) |> WHERE v > 10", "SELECT * FROM source WHERE v = 30"),
        ("SELECT 1 AS id, 2 AS v UNION ALL SELECT 3, 4 |> WHERE id > 1", "SELECT 3 AS id, 4 AS v"),
    ],
)
def test_a_query_with_pipes_has_the_rows_of_the_plain_query(piped: str, plain: str) -> None:
    """Each step reads the rows of the step before."""
    wanted, found = answer(plain), answer(piped)
    assert isinstance(wanted, Prediction), wanted
    assert isinstance(found, Prediction), found
    assert sorted(map(repr, found.rows)) == sorted(map(repr, wanted.rows))


@pytest.mark.parametrize(
    "query",
    [
        "FROM source |> SET V = v + 1",
        "FROM source |> SET w = 1",
        "FROM source |> SET v = max(v)",
        "FROM source |> SELECT max(v) AS v",
        "FROM source |> EXTEND sum(v) AS w",
        "FROM source |> AGGREGATE id AS x",
        "FROM source |> AGGREGATE max(v) AS v GROUP BY 1",
        "FROM source |> AGGREGATE max(v) AS v GROUP BY ROLLUP (id)",
        "FROM source |> PIVOT (max(v) FOR id IN (1 AS a, 3 AS b)) |> SELECT 1 AS id, a AS v",
        "FROM source |> TABLESAMPLE (100 PERCENT)",
        "FROM source a |> SELECT id, v |> WHERE a.v > 10",
    ],
)
def test_a_step_without_a_plain_form_is_left_to_another_evaluator(query: str) -> None:
    """It is no syntax error, and no step is passed over."""
    found = answer(query)
    assert isinstance(found, Unsupported)
    assert "step_of_a_pipe" not in found.reason


@pytest.mark.parametrize(
    ("query", "error_class"),
    [
        ("FROM source |> WHERE nope < 31", "UNRESOLVED_COLUMN"),
        ("FROM nowhere |> WHERE v < 31", "TABLE_OR_VIEW_NOT_FOUND"),
        ("FROM source |> SELECT id |> WHERE v < 31", "UNRESOLVED_COLUMN"),
        ("FROM source |> WHERE v < 31 x", "PARSE_SYNTAX_ERROR"),
        ("FROM source |> HAVING v < 31", "PARSE_SYNTAX_ERROR"),
        ("FROM source |> DISTINCT", "PARSE_SYNTAX_ERROR"),
        ("FROM source |> ORDER BY v LIMIT 1", "MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS"),
        ("FROM source |> SORT BY v LIMIT 1", "MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS"),
        ("FROM source |> CLUSTER BY v OFFSET 0", "MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS"),
        ("FROM source |> DISTRIBUTE BY v SORT BY v LIMIT 1", "MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS"),
        ("FROM source |> WINDOW w AS (ORDER BY v)", "UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS"),
        ("FROM source |> LATERAL VIEW explode(array(1)) e AS z", "PARSE_SYNTAX_ERROR"),
        ("FROM source WHERE v = 10", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_a_wrong_step_is_refused(query: str, error_class: str) -> None:
    """As it is in a plain query."""
    found = answer(query)
    assert isinstance(found, Rejection), found
    assert found.error_class == error_class


@pytest.mark.parametrize(
    ("query", "is_harmless"),
    [
        ("FROM source |> WHERE v < 31 |> SELECT id, v", True),
        ("FROM source |> JOIN target t ON TRUE", True),
        ("FROM elsewhere |> WHERE v < 31", False),
        ("FROM source |> JOIN elsewhere ON TRUE", False),
        ("FROM source |> UNION ALL FROM elsewhere", False),
        ("FROM source |> WHERE EXISTS (FROM elsewhere)", False),
        ("FROM source |> EXTEND java_method('a', 'b') AS x", False),
        ("FROM source |> DROP user |> SELECT user AS v, id", False),
        ("SELECT user FROM (FROM source |> DROP user) q", False),
        ("FROM source |> AGGREGATE max(reflect('a', 'b')) AS v GROUP BY id", False),
    ],
)
def test_a_stranger_reads_no_more_by_a_pipe_than_by_a_plain_query(query: str, *, is_harmless: bool) -> None:
    """Tables and functions are looked at in every step."""
    sql = f"MERGE INTO target t USING ({query}) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    assert (harm_in(sql, "statement", tables=TABLES) is None) == is_harmless


@pytest.mark.parametrize(
    ("condition", "plain"),
    [
        ("n > 1", "count(*) > 1"),
        ("top >= 31 AND id IS NOT NULL", "max(v) >= 31"),
        ("n = 1 OR max(v) > 30", "count(*) = 1 OR max(v) > 30"),
    ],
)
def test_having_sees_the_aliases_of_the_select(condition: str, plain: str) -> None:
    """Spark's own documentation has a query with such a condition."""
    query = "SELECT id, max(v) AS top, count(*) AS n FROM source GROUP BY id HAVING"
    found, wanted = (answer(f"SELECT id, top AS v FROM ({query} {text})") for text in (condition, plain))
    assert isinstance(wanted, Prediction), wanted
    assert found == wanted


def test_a_name_that_is_a_column_and_another_columns_alias_is_not_certain_in_having() -> None:
    """Which of both the engines take is no matter of the text."""
    assert isinstance(answer("SELECT id, max(v) AS v FROM source GROUP BY id HAVING v > 10"), Unsupported)
    assert isinstance(answer("SELECT id AS id, max(v) AS v FROM source GROUP BY id HAVING id > 1"), Prediction)
    refused = answer("SELECT id, max(v) AS v FROM source GROUP BY id HAVING nope > 10")
    assert isinstance(refused, Rejection)
