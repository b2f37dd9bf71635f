"""Which Delta tables a source query reads, and whether it may be scanned twice (R-101, R-450)."""

from __future__ import annotations

import pytest

from mergecheck.merge.errors import UnsupportedStatementError
from mergecheck.merge.syntax.source_query import plan_query

PATHS = {"target": "/T", "source": "/S", "db.t": "/D"}


def path_of(parts: tuple[str, ...]) -> str | None:
    return parts[1] if parts[0] == "delta" else PATHS.get(".".join(parts).lower())


def planned(query: str) -> tuple[str, bool]:
    """The query with the path in angle brackets wherever a view stands, and whether it is repeatable."""
    found = plan_query(query, path_of)
    text = found.text
    for view, path in found.views.items():
        text = text.replace(view, f"<{path}>")
    return text, found.is_repeatable


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("(SELECT target.id FROM TARGET)", "(SELECT target.id FROM </T> AS `TARGET`)"),
        ("(SELECT x.id FROM db.t x)", "(SELECT x.id FROM </D> x)"),
        ("(SELECT * FROM target AS q(a, b))", "(SELECT * FROM </T> AS q(a, b))"),
        ("(SELECT * FROM delta.`/a/b` d)", "(SELECT * FROM </a/b> d)"),
        ("(TABLE target)", "(SELECT * FROM </T> AS `target`)"),
        ("(FROM target |> WHERE id > 1)", "(FROM </T> AS `target` |> WHERE id > 1)"),
        ("(SELECT 'target' AS target)", "(SELECT 'target' AS target)"),
        (
            "(SELECT /*+ BROADCAST(target) */ 1 FROM target)",
            "(SELECT /*+ BROADCAST(target) */ 1 FROM </T> AS `target`)",
        ),
        ("(SELECT * FROM other JOIN source)", "(SELECT * FROM other JOIN </S> AS `source`)"),
        (
            "(SELECT * FROM source TABLESAMPLE ((1) ROWS) REPEATABLE (7) WHERE k = 1)",
            "(SELECT * FROM </S> TABLESAMPLE ((1) ROWS) REPEATABLE (7) AS `source` WHERE k = 1)",
        ),
        ("(SELECT * FROM source TABLESAMPLE (1 ROWS) x)", "(SELECT * FROM </S> TABLESAMPLE (1 ROWS) x)"),
        ("(SELECT (SELECT max(id) FROM target))", "(SELECT (SELECT max(id) FROM </T> AS `target`))"),
    ],
)
def test_tables_become_views(query: str, text: str) -> None:
    """Names of Delta tables are replaced in place and stay on as aliases; all else is the user's own text."""
    assert planned(query)[0] == text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "(WITH target AS (SELECT * FROM target) SELECT * FROM target)",
            "(WITH target AS (SELECT * FROM </T> AS `target`) SELECT * FROM target)",
        ),
        (
            "(WITH a AS (SELECT * FROM source), source AS (SELECT * FROM a) SELECT * FROM (SELECT * FROM source))",
            (
                "(WITH a AS (SELECT * FROM </S> AS `source`), source AS (SELECT * FROM a) "
                "SELECT * FROM (SELECT * FROM source))"
            ),
        ),
        (
            "(WITH RECURSIVE target AS (SELECT 1 UNION ALL SELECT * FROM target) SELECT * FROM target)",
            "(WITH RECURSIVE target AS (SELECT 1 UNION ALL SELECT * FROM target) SELECT * FROM target)",
        ),
    ],
)
def test_common_table_expressions_hide_tables(query: str, text: str) -> None:
    """From the point where they are defined; a definition itself still sees the table."""
    assert planned(query) == (text, False)


@pytest.mark.parametrize(
    "query",
    [
        "(SELECT id, CASE WHEN n > 1 THEN n END AS m FROM target WHERE id IN (1, 2) AND n IS NOT NULL)",
        "(SELECT DISTINCT id FROM target)",
        "(SELECT id FROM target UNION ALL SELECT id FROM source UNION SELECT 7)",
        "(SELECT * FROM (SELECT * FROM target) x)",
        "(SELECT CAST(1 AS BIGINT) AS id)",
    ],
)
def test_simple_queries_over_delta_are_repeatable(query: str) -> None:
    """R-450: projection, filter, distinct, union and alias over Delta tables and single rows."""
    assert planned(query)[1]


@pytest.mark.parametrize(
    "query",
    [
        "(SELECT * FROM other)",
        "(VALUES (1, 2) AS v(a, b))",
        "(SELECT * FROM target LIMIT 1)",
        "(SELECT * FROM target ORDER BY id)",
        "(SELECT max(id) FROM target)",
        "(SELECT id FROM target GROUP BY id)",
        "(SELECT a.id FROM target a JOIN source b ON a.id = b.id)",
        "(SELECT a.id FROM target a, source b)",
        "(SELECT id FROM target EXCEPT SELECT id FROM source)",
        "(SELECT id, rand() AS r FROM target)",
        "(SELECT my_function(id) FROM target)",
        "(SELECT current_timestamp() AS at FROM target)",
        "(SELECT * FROM target WHERE id IN (SELECT id FROM source))",
        "(SELECT * FROM target TABLESAMPLE (10 PERCENT))",
        "(SELECT no SQL at all",
    ],
)
def test_all_other_queries_are_for_materialising(query: str) -> None:
    """R-450: other relations, other operators, and functions that are not known to repeat themselves."""
    assert not planned(query)[1]


def test_time_travel_is_refused_by_name() -> None:
    """A view shows the latest version, not the requested one."""
    with pytest.raises(UnsupportedStatementError, match="time travel in the source"):
        plan_query("(SELECT * FROM target VERSION AS OF 1)", path_of)
