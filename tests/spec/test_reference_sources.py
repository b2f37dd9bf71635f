"""How the reference reads USING: a table, a query, or something that it does not know (R-101)."""

from __future__ import annotations

import pytest

from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
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


@pytest.mark.parametrize("using", ["source VERSION AS OF 1 s", "(source) s", "VALUES (1) s", "(SELECT a, FROM b c) s"])
def test_what_spark_does_not_read_is_a_syntax_error(using: str) -> None:
    with pytest.raises(RejectedError, match="PARSE_SYNTAX_ERROR"):
        parsed(using)


@pytest.mark.parametrize("using", ["range(5) s", "(SELECT a FROM x TABLESAMPLE (1 ROWS)) s", "(FROM x SELECT a) s"])
def test_what_cannot_be_read_for_certain_is_unsupported(using: str) -> None:
    """Spark's parser may know more than the reference's."""
    with pytest.raises(UnsupportedByReferenceError):
        parsed(using)


def test_column_aliases_are_refused() -> None:
    """Spark's parser does not allow them in a merge."""
    with pytest.raises(RejectedError, match="COLUMN_ALIASES_NOT_ALLOWED"):
        parsed("(SELECT 1) s(k)")
