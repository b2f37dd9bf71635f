"""The MERGE grammar of Spark SQL (R-101, R-106..R-108)."""

from __future__ import annotations

import pytest

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.syntax.dialect import parse_name
from mergecheck.merge.syntax.expression_reader import parse_expression
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.merge.syntax.statement import ActionType, Assignment, ClauseKind

HEAD = "MERGE INTO target t USING source s ON t.id = s.id "


def error_class(sql: str) -> str:
    with pytest.raises(AnalysisError) as caught:
        parse_merge(sql)
    return caught.value.error_class


def test_reads_every_part_of_a_full_statement() -> None:
    """Tables, aliases, clauses, names and expressions are cut out of the text as they stand there."""
    merge = parse_merge(
        "MERGE WITH SCHEMA EVOLUTION INTO delta.`/a``b` AS t USING (SELECT ')' AS x, 1 AS id) AS s\n"
        "ON t.id <=> s.id -- the key\n"
        "WHEN MATCHED AND s.x = 'WHEN' THEN UPDATE SET t.a.b = CASE WHEN s.x THEN 1 ELSE 2 END, `c d` == 1.5BD\n"
        "WHEN MATCHED THEN DELETE\n"
        "WHEN NOT MATCHED BY TARGET THEN INSERT (a, `b c`) VALUES (f(1, 2), /* now */ current_date)\n"
        "WHEN NOT MATCHED BY SOURCE AND t.id IN (1, 2) THEN UPDATE SET a = -a;"
    )
    assert (merge.target, merge.target_alias) == ("delta.`/a``b`", "t")
    assert (merge.source, merge.source_alias) == ("(SELECT ')' AS x, 1 AS id)", "s")
    assert merge.condition == "t.id <=> s.id"
    assert merge.with_schema_evolution
    update, delete, insert, by_source = merge.clauses
    assert update.condition == "s.x = 'WHEN'"
    assert update.assignments == (
        Assignment(target=("t", "a", "b"), value="CASE WHEN s.x THEN 1 ELSE 2 END"),
        Assignment(target=("c d",), value="1.5BD"),
    )
    assert (delete.action, delete.condition, delete.assignments) == (ActionType.DELETE, None, ())
    assert insert.assignments == (
        Assignment(target=("a",), value="f(1, 2)"),
        Assignment(target=("b c",), value="current_date"),
    )
    assert (by_source.kind, by_source.condition) == (ClauseKind.NOT_MATCHED_BY_SOURCE, "t.id IN (1, 2)")
    assert by_source.assignments == (Assignment(target=("a",), value="-a"),)


def test_reads_stars_and_tables_without_aliases() -> None:
    """UPDATE SET * and INSERT * become stars; a missing alias is None."""
    merge = parse_merge(
        "merge into db.tgt using src on a = b when matched then update set * when not matched then insert *"
    )
    assert (merge.target, merge.target_alias, merge.source, merge.source_alias) == ("db.tgt", None, "src", None)
    assert [(c.kind, c.star) for c in merge.clauses] == [
        (ClauseKind.MATCHED, True),
        (ClauseKind.NOT_MATCHED, True),
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "t.id <=> s.id",
        "t.a == s.a AND t.b % 2 = 1",
        "t.a DIV 2 > -s.b",
        "CAST(t.a AS DECIMAL(10, 2)) = 1.50BD",
        "t.d > DATE '2020-01-01' AND t.ts < TIMESTAMP '2020-01-01 00:00:00.5'",
        "t.b = X'1F' OR t.n IN (3L, 4S, 5Y, 1e3, 2.5D)",
        r"t.s = 'it\'s' OR t.s = 'it''s' OR t.s = 'a\\' OR t.s = \"dq\"".replace(r"\"", '"'),
        "`t`.`a.b` = s.`c``d`",
        "CASE t.a WHEN 1 THEN TRUE WHEN 2 THEN CASE WHEN s.b THEN FALSE END ELSE NULL END",
        "t.a BETWEEN 1 AND 2 AND t.s LIKE '%x!_' ESCAPE '!'",
        "s.st.a.b.c.d = t.arr[0] AND t.m['then'] IS NOT NULL",
        "t.when = s.then",
        "coalesce(t.a, s.a, 0) IS DISTINCT FROM 5",
        "exists(t.arr, x -> x > s.a)",
    ],
)
def test_keeps_expressions_letter_by_letter(expression: str) -> None:
    """What Spark runs is the user's text; reading a statement must not respell it."""
    merge = parse_merge(
        f"MERGE INTO target t USING source s ON {expression} WHEN MATCHED AND {expression} "
        f"THEN UPDATE SET a = {expression} WHEN NOT MATCHED THEN INSERT (a) VALUES ({expression})"
    )
    update, insert = merge.clauses
    assert merge.condition == update.condition == expression
    assert update.assignments[0].value == insert.assignments[0].value == expression


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT 1",
        "MERGE INTO t USING s ON a = (b WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s ON a b WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s ON 'open WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s WHEN MATCHED THEN DELETE",
        HEAD + "WHEN MATCHED THEN INSERT *",
        HEAD + "WHEN NOT MATCHED THEN DELETE",
        HEAD + "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET *",
        HEAD + "WHEN NOT MATCHED BY SOURCE THEN INSERT *",
        HEAD + "WHEN MATCHED THEN UPDATE SET * EXCEPT (a)",
        HEAD + "WHEN MATCHED THEN UPDATE SET a",
        HEAD + "WHEN MATCHED THEN UPDATE SET a = 1 AS b",
        HEAD + "WHEN MATCHED THEN DELETE surplus",
        HEAD + "WHEN NOT MATCHED THEN INSERT () VALUES ()",
        HEAD + "WHEN NOT MATCHED THEN INSERT * WHEN MATCHED THEN DELETE",
        HEAD + "WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN INSERT *",
    ],
)
def test_refuses_what_the_grammar_does_not_have(sql: str) -> None:
    """Anything outside R-101 is a syntax error."""
    assert error_class(sql) == "PARSE_SYNTAX_ERROR"


def test_names_place_and_remedy_in_a_syntax_error() -> None:
    """A message has the text found, its place, and the allowed ones."""
    with pytest.raises(AnalysisError, match=r"UPDATE or DELETE. Found 'INSERT' at line 2, column 19\."):
        parse_merge("MERGE INTO t USING s ON a = b\nWHEN MATCHED THEN INSERT *")


def test_takes_interleaved_kinds_on_demand() -> None:
    """Statements of the builder, written as SQL, may mix the kinds (R-102)."""
    merge = parse_merge(
        HEAD + "WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        interleaved=True,
    )
    assert [clause.kind for clause in merge.clauses] == [
        ClauseKind.NOT_MATCHED_BY_SOURCE,
        ClauseKind.MATCHED,
        ClauseKind.NOT_MATCHED,
    ]


def test_wants_a_clause() -> None:
    """R-106: no WHEN clause is Spark's MERGE_WITHOUT_WHEN."""
    assert error_class(HEAD) == "MERGE_WITHOUT_WHEN"


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *", "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"),
        (
            "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED AND TRUE THEN INSERT *",
            "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
        ),
        (
            "WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE",
            "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
        ),
    ],
)
def test_lets_only_the_last_clause_of_a_kind_omit_its_condition(clauses: str, expected: str) -> None:
    """R-107, under the names of Spark's parser."""
    assert error_class(HEAD + clauses) == expected


@pytest.mark.parametrize("lists", ["(a, b) VALUES (1)", "(a) VALUES (1, 2)"])
def test_wants_one_value_per_inserted_column(lists: str) -> None:
    """R-108."""
    assert error_class(f"{HEAD} WHEN NOT MATCHED THEN INSERT {lists}") == "MERGE_INSERT_VALUE_COUNT_MISMATCH"


def test_refuses_column_aliases() -> None:
    """``s(a, b)`` would rename the source's columns, which Spark does not allow in MERGE."""
    assert error_class("MERGE INTO t USING s x(a, b) ON a = b WHEN MATCHED THEN DELETE") == "COLUMN_ALIASES_NOT_ALLOWED"


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a", ("a",)), ("a.b", ("a", "b")), ("`a.b`.`c``d`.select", ("a.b", "c`d", "select"))],
)
def test_splits_dotted_names(text: str, parts: tuple[str, ...]) -> None:
    """R-104: dots separate, backticks protect."""
    assert parse_name(text) == parts


@pytest.mark.parametrize("text", ["", "a.", ".a", "a b", "'a'", "1", "a.b("])
def test_refuses_what_is_no_name(text: str) -> None:
    """A key of a builder map that is not a name is a syntax error, not a silent other name."""
    with pytest.raises(AnalysisError, match="PARSE_SYNTAX_ERROR"):
        parse_name(text)


@pytest.mark.parametrize("text", ["", "a;", "a, b", "a AS b", "a FROM b", "SELECT a", "a; DROP TABLE b"])
def test_an_expression_is_exactly_one_expression(text: str) -> None:
    """Nothing may be smuggled in behind an expression."""
    with pytest.raises(AnalysisError, match="PARSE_SYNTAX_ERROR"):
        parse_expression(text)


def test_a_leading_with_belongs_to_the_source() -> None:
    """Spark accepts a WITH before MERGE. A source that names such a query keeps its name as the alias."""
    queries, rest = "WITH c AS (SELECT 1 AS id)", "ON t.id = c.id WHEN MATCHED THEN DELETE"
    named = parse_merge(f"{queries} MERGE INTO t USING c {rest}")
    assert (named.source, named.source_alias) == (f"({queries} SELECT * FROM c)", "c")
    query = parse_merge(f"{queries} MERGE INTO t USING (SELECT * FROM c) AS c {rest}")
    assert (query.source, query.source_alias) == (f"({queries} SELECT * FROM c)", "c")
    with pytest.raises(UnsupportedStatementError):
        parse_merge(f"{queries} MERGE INTO t USING (WITH d AS (SELECT 1) TABLE d) AS c {rest}")


def test_identifier_gives_a_name() -> None:
    """``IDENTIFIER('a.b')`` is ``a.b``; a table may also be called so."""
    read = parse_merge("MERGE INTO IDENTIFIER('t') USING identifier('a.b') s ON TRUE WHEN MATCHED THEN DELETE")
    assert (read.target, read.source, read.source_alias) == ("`t`", "`a`.`b`", "s")
    assert parse_merge("MERGE INTO identifier USING s ON TRUE WHEN MATCHED THEN DELETE").target == "identifier"
    with pytest.raises(UnsupportedStatementError):
        parse_merge("MERGE INTO IDENTIFIER('a' || 'b') USING s ON TRUE WHEN MATCHED THEN DELETE")


@pytest.mark.parametrize("alias", ["left", "JOIN", "AS union"])
def test_some_words_are_no_aliases(alias: str) -> None:
    """Spark takes every other word."""
    with pytest.raises(AnalysisError, match="no alias"):
        parse_merge(f"MERGE INTO t {alias} USING s ON TRUE WHEN MATCHED THEN DELETE")
    assert parse_merge("MERGE INTO t when USING s matched ON TRUE WHEN MATCHED THEN DELETE").target_alias == "when"


def test_a_word_beside_a_dot_is_a_name() -> None:
    """Spark reserves no word, so that tables and columns may be called like clauses."""
    read = parse_merge(
        "MERGE INTO t AS merge USING s AS when ON merge.id = when.case "
        "WHEN MATCHED AND when.then = 1 THEN UPDATE SET merge.set = when.end"
    )
    assert (read.condition, read.clauses[0].condition) == ("merge.id = when.case", "when.then = 1")
    assert read.clauses[0].assignments == (Assignment(target=("merge", "set"), value="when.end"),)
