"""How the reference reads USING: a table, a query, or something that it does not know (R-101)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reference_cases import REFERENCE, merge_case

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference.syntax.statement import Statement, parse_statement


def parsed(using: str) -> Statement:
    """Parse a merge from a source."""
    return parse_statement(f"MERGE INTO target t USING {using} ON t.k = s.k WHEN MATCHED THEN DELETE")


def test_a_table_is_named() -> None:
    """A plain source is its name and alias."""
    statement = parsed("source AS s")

    assert (statement.source, statement.source_alias, statement.source_query) == ("source", "s", None)


@pytest.mark.parametrize(
    "query",
    ["SELECT k FROM source", "SELECT 1 AS k UNION ALL SELECT 2", "WITH c AS (SELECT 1 AS k) SELECT * FROM c",
     "VALUES (1, 'a') AS v(k, x)", "VALUES (1)", "(SELECT 1 AS k)"],
)  # fmt: skip
def test_a_query_is_kept_as_a_tree(query: str) -> None:
    """A source in parentheses is a query; its alias belongs to the merge."""
    statement = parsed(f"({query}) s")

    assert (statement.source, statement.source_alias) == ("", "s")
    assert statement.source_query is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM x QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1",
        "SELECT a FROM x HAVING max(a) > 1 WINDOW w AS (ORDER BY a) QUALIFY rank() OVER w = 1",
        "SELECT qualify.a FROM x qualify",
        "SELECT * FROM x PIVOT (sum(v) AS s, max(w) FOR (a, b) IN ((1, 2) AS one, (3, 4))) AS p",
        "SELECT * FROM x AS y UNPIVOT INCLUDE NULLS (v FOR n IN (a, b AS c)) AS u",
        "SELECT * FROM x UNPIVOT ((v, w) FOR n IN ((a, b) AS one, (c, d)))",
        "SELECT * FROM x TABLESAMPLE (50 PERCENT) REPEATABLE (1) AS y JOIN (SELECT 1) TABLESAMPLE (1 ROWS)",
        "SELECT * FROM x LATERAL VIEW explode(a) AS b",
        "SELECT stack(2, a, b) AS (c, d) FROM x",
        "SELECT listagg(DISTINCT a, ',') WITHIN GROUP (ORDER BY a DESC) FILTER (WHERE a > 1) FROM x",
        "SELECT sum(a) OVER (ORDER BY b RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM x",
        "SELECT mask(a, lowerChar => 'x') FROM x",
    ],
)
def test_queries_that_people_write_are_read(query: str) -> None:
    """``tests/engines/test_parsers.py`` asks Spark's parser about the same ones."""
    assert parsed(f"({query}) s").source_text == query


@pytest.mark.parametrize(
    "using", ["source VERSION AS OF 1 s", "(source) s", "VALUES (1) s", "(SELECT a, FROM b c) s", "range(5) s"]
)
def test_what_spark_does_not_read_is_a_syntax_error(using: str) -> None:
    with pytest.raises(RejectedError, match="PARSE_SYNTAX_ERROR"):
        parsed(using)


@pytest.mark.parametrize("using", ["(SELECT a:b FROM x) s", "(FROM x SELECT a SELECT b) s"])
def test_what_cannot_be_read_for_certain_is_unsupported(using: str) -> None:
    """Spark's parser may know more than the reference's."""
    with pytest.raises(UnsupportedByReferenceError):
        parsed(using)


def test_a_query_may_begin_with_from() -> None:
    """What follows SELECT in such a query keeps its place."""
    query = "FROM x LATERAL VIEW explode(r) AS e SELECT DISTINCT a, count(*) AS n WHERE a > 1 GROUP BY a HAVING n > 2"
    first = parsed("(SELECT DISTINCT a, count(*) AS n FROM x LATERAL VIEW explode(r) AS e WHERE a > 1 GROUP BY a "
                   "HAVING n > 2) s")  # fmt: skip

    assert parsed(f"({query}) s").source_query == first.source_query


def test_column_aliases_are_refused() -> None:
    """Spark's parser does not allow them in a merge."""
    with pytest.raises(RejectedError, match="COLUMN_ALIASES_NOT_ALLOWED"):
        parsed("(SELECT 1) s(k)")


@pytest.mark.parametrize(
    ("query", "qualifier", "is_visible"),
    [
        ("SELECT k, v FROM source", "source", True),
        ("SELECT k, v FROM source x", "x", True),
        ("SELECT k, max(v) AS v FROM source GROUP BY k", "source", True),
        ("SELECT k, v FROM source UNION ALL SELECT k, v FROM source", "source", True),
        ("VALUES (1, 'z') AS w(k, v)", "w", True),
        ("WITH q AS (SELECT * FROM source) SELECT k, v FROM q", "q", True),
        ("SELECT k + 0 AS k, v FROM source", "source", False),
        ("SELECT k AS k, v FROM source", "source", False),
        ("SELECT k, v FROM source x", "source", False),
    ],
)
def test_columns_of_a_query_without_alias_keep_their_qualifiers(
    query: str, qualifier: str, *, is_visible: bool
) -> None:
    """A computed or renamed column has none."""
    case = merge_case("WHEN MATCHED THEN DELETE", target=[[1, "a"]], source=[[1, "b"]])
    sql = f"MERGE INTO target t USING ({query}) ON t.k = {qualifier}.k WHEN MATCHED THEN DELETE"
    answer = REFERENCE.evaluate(replace(case, sql=sql)).answer
    if is_visible:
        assert isinstance(answer, Prediction)
        assert answer.rows == ()
    else:
        assert isinstance(answer, Rejection)
        assert answer.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
