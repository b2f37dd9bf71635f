"""What DuckDB's own MERGE is given: the statement with Spark's precedences."""

from __future__ import annotations

import pytest
from sqlglot import exp

from mergecheck.harness.engines.translated_statement import statement_to_translate
from mergecheck.model.errors import UnsupportedByReferenceError


@pytest.mark.parametrize("text", ["t.a = s.a IS NULL", "t.a = s.a IN (TRUE, FALSE)", "t.a < s.a BETWEEN b AND c"])
def test_predicates_hold_whole_comparisons(text: str) -> None:
    """Spark reads ``a < b BETWEEN c AND d`` as ``(a < b) BETWEEN c AND d``; sqlglot alone does not."""
    read = statement_to_translate(f"MERGE INTO t USING s ON {text} WHEN MATCHED AND {text} THEN DELETE")
    for tree in (read.on, read.clauses[0].condition):
        assert isinstance(tree, exp.Is | exp.In | exp.Between)
        assert isinstance(tree.this.unnest(), exp.EQ | exp.LT)


def test_a_statement_without_a_clause_is_read() -> None:
    """DuckDB has its own opinion on it."""
    assert statement_to_translate("MERGE INTO t USING s ON CASE WHEN a THEN b END;").clauses == ()


@pytest.mark.parametrize(
    "text", ["WHEN MATCHED THEN DELETE RETURNING a", "WHEN MATCHED THEN UPDATE SET a = 1,", "WHEN"]
)
def test_what_spark_refuses_is_not_sent(text: str) -> None:
    """Another statement in its place would look like a fault of the merge."""
    with pytest.raises(UnsupportedByReferenceError):
        statement_to_translate(f"MERGE INTO t USING s ON a = b {text}")
