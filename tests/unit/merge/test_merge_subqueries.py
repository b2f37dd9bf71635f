"""Subqueries of conditions and values name views of the Delta tables that they read (R-133, R-134)."""

from __future__ import annotations

from mergecheck.merge.sql import bind_subqueries
from mergecheck.merge.syntax.parser import parse_merge

PATHS = {("source",): "/data/source", ("target",): "/data/target"}


def test_tables_in_values_and_conditions_become_views() -> None:
    """Every mention gets a view of its own; names stay on as aliases, and all else of the text stays."""
    statement = parse_merge(
        "MERGE INTO target t USING source s ON t.k = s.k AND EXISTS (SELECT 1 FROM other) "
        "WHEN MATCHED AND s.k IN (SELECT k FROM source) THEN UPDATE SET v = (SELECT max(v) FROM source x) || s.v"
    )
    bound, views, _ = bind_subqueries(statement, PATHS.get)

    first, second = views
    assert list(views.values()) == ["/data/source", "/data/source"]
    assert bound.condition == "t.k = s.k AND EXISTS (SELECT 1 FROM other)"
    clause = bound.clauses[0]
    assert clause.condition == f"s.k IN (SELECT k FROM {first} AS `source`)"
    assert clause.assignments[0].value == f"(SELECT max(v) FROM {second} x) || s.v"


def test_statement_without_subqueries_is_unchanged() -> None:
    """No subquery, no view."""
    statement = parse_merge("MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN DELETE")
    bound, views, _ = bind_subqueries(statement, PATHS.get)

    assert bound == statement
    assert not views
