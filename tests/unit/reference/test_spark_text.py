"""The text of a statement as Spark 4 reads it; each expectation was compared with Spark's own parser."""

from __future__ import annotations

import pytest

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.merge_text import plain_expression, plain_merge
from mergecheck.reference.syntax.statement import parse_statement

_HEAD = "MERGE INTO t USING s ON TRUE"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a = b < c", "(a = b) < c"),
        ("a < b = c <=> d", "((a < b) = c) <=> d"),
        ("a || b + c", "(a || b) + c"),
        ("a + b || c", "(a + b) || c"),
        ("a + b * c = d AND e OR f", "a + b * c = d AND e OR f"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a ^ b | c & d", "(a ^ b) | (c & d)"),
        ("NOT a = b AND c", "NOT a = b AND c"),
        ("when = 1 AND like LIKE like", "`when` = 1 AND `like` LIKE `like`"),
        ("a !> b AND c != d AND e == f", "a <= b AND c <> d AND e = f"),
        ("a + INTERVAL 1 DAY", "a + INTERVAL 1 DAY"),
        ("a + INTERVAL '1 2:03' DAY TO MINUTE", "a + INTERVAL '1 2:03' DAY TO MINUTE"),
        ("a + INTERVAL 1 DAY -2 HOURS", "a + (INTERVAL 1 DAY + INTERVAL - 2 HOURS)"),
        ("a + INTERVAL 1.5 SECONDS", "a + interval_literal('1.5 SECONDS')"),
        ("a + INTERVAL '1 day -2 Hours'", "a + (INTERVAL '1' DAY + INTERVAL '-2' HOUR)"),
        ("a - INTERVAL ' 3 weeks '", "a - (INTERVAL '3' WEEK)"),
        ("a + INTERVAL '1 day 2.5 hours'", "a + interval_literal('1 day 2.5 hours')"),
        ("a + INTERVAL '1-2'", "a + interval_literal('1-2')"),
        ("interval = t.interval", "`interval` = t . `interval`"),
        ("exists(a, x -> x > 2)", "`exists` ( a , x -> x > 2 )"),
    ],
)
def test_an_expression_has_the_brackets_of_spark(text: str, plain: str) -> None:
    assert plain_expression(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "a IS NULL IS NULL",
        "a = NOT b",
        "coalesce(a,)",
        "a > > b",
        "a IN ()",
        "(a AS b) = c",
        "a ! IN (1)",
        "CAST(a AS foo)",
        "X'1g' = a",
        "300Y = a",
        "1e400 = a",
        "a = b c",
        "a | left = b",
    ],
)
def test_what_spark_refuses_is_refused(text: str) -> None:
    with pytest.raises(RejectedError):
        plain_expression(text)


@pytest.mark.parametrize(
    "statement",
    [
        f"{_HEAD} WHEN MATCHED THEN UPDATE *",
        f"{_HEAD} WHEN MATCHED THEN UPDATE SET * EXCEPT (a)",
        f"{_HEAD} WHEN MATCHED THEN DELETE RETURNING *",
        f"{_HEAD} WHEN MATCHED THEN UPDATE SET a = 1 WHERE b",
        f"{_HEAD} WHEN MATCHED THEN UPDATE SET a = 1,",
        f"{_HEAD} WHEN NOT MATCHED THEN INSERT VALUES (1)",
        "MERGE t USING s ON TRUE WHEN MATCHED THEN DELETE",
        "MERGE INTO t join USING s ON TRUE WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING (WITH c AS (SELECT 1), c AS (SELECT 2) TABLE c) ON TRUE WHEN MATCHED THEN DELETE",
    ],
)
def test_a_clause_that_spark_does_not_know_is_refused(statement: str) -> None:
    with pytest.raises(RejectedError):
        parse_statement(statement)


def test_a_leading_with_belongs_to_the_source() -> None:
    text = "WITH c AS (SELECT 1 AS id) MERGE INTO t USING c ON t.id = c.id WHEN MATCHED THEN DELETE"
    source = "( WITH c AS (SELECT 1 AS id )".replace("( W", "(W")
    assert plain_merge(text).startswith(f"MERGE INTO t USING {source} SELECT * FROM c) AS c ON")
    assert parse_statement(text).source_alias == "c"
    with pytest.raises(UnsupportedByReferenceError, match="target"):
        plain_merge(text.replace("INTO t", "INTO c"))


def test_names_may_be_words_of_the_language() -> None:
    statement = parse_statement(
        "MERGE INTO merge AS into USING using AS matched ON into.when = matched.then "
        "WHEN MATCHED THEN UPDATE SET set = matched.end WHEN NOT MATCHED THEN INSERT (values) VALUES (delete)"
    )
    assert (statement.target, statement.target_alias) == ("merge", "into")
    assert (statement.source, statement.source_alias) == ("using", "matched")
    assert [clause.assignments[0].path for clause in statement.clauses] == [("set",), ("values",)]
