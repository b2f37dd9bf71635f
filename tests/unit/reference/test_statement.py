"""Statements as the reference reads them: every part with its place, expressions read one by one."""

from __future__ import annotations

import pytest
from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.statement import Action, Kind, parse_statement, read_merge, read_statement

SQL = (
    "WITH c AS (SELECT 1 AS k) MERGE WITH SCHEMA EVOLUTION INTO `tar``get` AS t USING c "
    "ON t.k = c.k WHEN NOT MATCHED BY TARGET AND c.k > 0 THEN INSERT (k, `v.w`) VALUES (c.k, a + 1) "
    "WHEN MATCHED THEN UPDATE SET t.v = CASE WHEN c.k = 1 THEN 2 END, w = DEFAULT;"
)


def test_every_part_has_its_place() -> None:
    """Whoever edits a text needs the offsets of its parts."""
    read = read_merge(SQL)
    insert, update = read.clauses
    parts = [read.ctes, read.evolution, read.target_alias, insert.condition, *insert.columns, *update.values]
    assert [part.text for part in parts if part is not None] == [
        *("WITH c AS (SELECT 1 AS k)", "WITH SCHEMA EVOLUTION", "AS t", "c.k > 0", "k", "`v.w`"),
        *("CASE WHEN c.k = 1 THEN 2 END", "DEFAULT"),
    ]
    assert all(SQL[part.start : part.end] == part.text for part in parts if part is not None)
    assert SQL[read.on_start :].startswith("ON t.k")
    assert (insert.kind, insert.action, insert.by_target) == (Kind.NOT_MATCHED, Action.INSERT, True)


def test_names_lose_their_quotes() -> None:
    """A table of WITH that is the source without an alias is called by its name."""
    read = parse_statement(SQL)
    assert (read.target, read.target_alias, read.source, read.source_alias) == ("tar`get", "t", "", "c")
    assert [assignment.path for clause in read.clauses for assignment in clause.assignments] == [
        *(("k",), ("v.w",), ("t", "v"), ("w",)),
    ]


@pytest.mark.parametrize("expression", ["set(a)", "describe(a)", "values(a)", "comment(a)", "load(a)", "kill(a)"])
def test_an_expression_is_no_statement(expression: str) -> None:
    """Some functions are named like the first word of a statement."""
    with pytest.raises(UnsupportedByReferenceError):
        parse_statement(f"MERGE INTO t USING s ON {expression} WHEN MATCHED THEN DELETE")


def test_lists_of_unequal_length_are_read_and_refused() -> None:
    """DuckDB finds the fault itself (R-108)."""
    sql = "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k, 1)"
    (clause,) = read_statement(sql).clauses
    assert (clause.columns, [value.sql() for value in clause.values]) == ((("k",),), ["s.k", "1"])
    assert isinstance(clause.spare_values[0], exp.Literal)
    with pytest.raises(RejectedError, match="1 columns but 2 values"):
        parse_statement(sql)


def test_what_has_no_clause_is_refused_before_its_expressions_are_read() -> None:
    """Spark's parser does it in this order (R-106)."""
    with pytest.raises(RejectedError, match="MERGE_WITHOUT_WHEN"):
        parse_statement("MERGE INTO target t USING source s ON t.k = s.k (VALUES (1))")
