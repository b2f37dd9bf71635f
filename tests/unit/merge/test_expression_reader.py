"""Expressions are read as Spark reads them: operations in brackets, columns in backticks."""

from __future__ import annotations

import pytest
from sqlglot import exp

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.syntax.expression_reader import parse_expression
from mergecheck.merge.syntax.parser import parse_merge
from tools.benchmarks.parsers.differential import bracketed


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a = b < c <=> d", "(((`a` = `b`) < `c`) <=> `d`)"),
        ("a = b IS NULL", "((`a` = `b`) IS NULL)"),
        ("a <> b IN (c, d)", "((`a` <> `b`) IN (`c`, `d`))"),
        ("a = b BETWEEN c < d AND e", "((`a` = `b`) BETWEEN (`c` < `d`) AND `e`)"),
        ("a || b + c || d", "(((`a` || `b`) + `c`) || `d`)"),
        ("a | b ^ c & d << e + f * g", "(`a` | (`b` ^ (`c` & (`d` << (`e` + (`f` * `g`))))))"),
        ("NOT a = b AND c OR d", "(((NOT (`a` = `b`)) AND `c`) OR `d`)"),
        ("! a IS NULL", "(! (`a` IS NULL))"),
        ("-a * -1 - -b", "(((-`a`) * -1) - (-`b`))"),
        ("NOT = 1", "(`NOT` = 1)"),
        ("case = when AND interval > 1", "((`case` = `when`) AND (`interval` > 1))"),
        ("CASE WHEN WHEN = 1 THEN THEN ELSE END END", "CASE WHEN (`WHEN` = 1) THEN `THEN` ELSE `END` END"),
        ("exists(a, x -> x.b > c)", "exists(`a`, x -> (x.b > `c`))"),
        ("a IN (SELECT b FROM c) AND (SELECT 1) = d", "((`a` IN (SELECT b FROM c)) AND ((SELECT 1) = `d`))"),
        ("(select = 1) AND a IN (values, table)", "(((`select` = 1)) AND (`a` IN (`values`, `table`)))"),
        ("extract(YEAR FROM a) + datediff(DAY, b, c)", "(extract(YEAR FROM `a`) + datediff(DAY, `b`, `c`))"),
        ("a.b[c].d::INT = DATE '2024-01-31'", "(`a`.`b`[`c`].d::INT = DATE '2024-01-31')"),
        (
            "CAST(a AS MAP<INT, ARRAY<STRUCT<b: INT>>>) = 'it''s'",
            "(CAST(`a` AS MAP<INT, ARRAY<STRUCT<b: INT>>>) = 'it''s')",
        ),
    ],
)
def test_operators_have_the_levels_of_spark(text: str, read: str) -> None:
    """Spark has one level for all comparisons, and predicates above them; sqlglot has not."""
    assert bracketed(text).strip() == read


def test_a_comparison_of_comparisons_tells_nothing_of_its_columns() -> None:
    """Data skipping would take ``a = (b < 5)`` for a condition on ``b`` alone if it were read so."""
    tree = parse_expression("a = b < 5")
    assert isinstance(tree, exp.LT)
    assert isinstance(tree.left, exp.EQ)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a b",
            "a,",
            "a = ",
            "(a",
            "a)",
            "= a",
            "a IS b",
            "a BETWEEN b",
            "CASE WHEN a THEN b",
            "f(a",
            "f(a,)",
            "a AND",
        ),
        *(
            "a IS NULL = b",
            "a NOT b",
            "CAST(a AS nothing)",
            "a -> -> b",
            "(a AS b)",
            "CASE + CASE WHEN a THEN b END = c OR d",
            "a[",
            "a.",
            "INT '1'",
        ),
    ],
)
def test_what_is_not_consumed_is_refused(text: str) -> None:
    """Nothing is left out and nothing made up."""
    with pytest.raises(AnalysisError, match="PARSE_SYNTAX_ERROR"):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{'(' * 5000}a{')' * 5000}",
        "a" + " + a" * 10_000,
        "a" + "[0]" * 10_000,
        "NOT " * 5000 + "a",
        "-" * 2 + " - " * 5000 + "a",
        "CASE WHEN " * 5000 + "a",
        "f(" * 5000 + "a" + ")" * 5000,
        f"a IN ({'(' * 5000}SELECT 1{')' * 5000})",
    ],
)
def test_what_is_too_deep_is_unsupported(text: str) -> None:
    """No statement may exhaust Python's stack."""
    with pytest.raises((UnsupportedStatementError, AnalysisError)) as caught:
        parse_merge(f"MERGE INTO t USING s ON {text} WHEN MATCHED THEN DELETE")
    assert len(str(caught.value)) < 5000, "one clear message"


def test_long_conditions_are_read() -> None:
    """Only depth has a limit; a condition of many terms is not deep."""
    tree = parse_expression(" OR ".join(f"(a = {number} AND b = 1)" for number in range(1000)))
    assert sum(1 for _ in tree.find_all(exp.EQ)) == 2000
    assert len(parse_expression(f"a IN ({', '.join(map(str, range(10_000)))})").expressions) == 10_000
