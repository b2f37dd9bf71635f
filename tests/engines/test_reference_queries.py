"""The reference's source queries, held against Spark itself."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest
from pyspark.errors import AnalysisException

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.model.arrow import rows_to_table, table_to_rows
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.queries.source_query import source_relation
from mergecheck.reference.syntax.dialect import read_sql
from mergecheck.reference.syntax.merge_text import plain_expression

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

pytestmark = pytest.mark.spark

TABLES: dict[str, tuple[Schema, tuple[Row, ...]]] = {
    "target": (parse_schema("key INT, v STRING"), ((1, "a"), (2, "b"), (2, None))),
    "source": (
        parse_schema("Key INT, n BIGINT, de DECIMAL(6,2), st STRUCT<x: INT, y: STRING>, arr ARRAY<STRUCT<x: INT>>"),
        (
            (1, 10, None, (1, "p"), ((1,), None)),
            (2, None, None, None, None),
            (None, 7, None, (None, None), ()),
            (2, 8, None, (2, "q"), ((None,),)),
        ),
    ),
}

TABLES["events"] = (
    parse_schema(
        "id INT, seq INT, kind STRING, amount DECIMAL(10,2), small TINYINT, tags ARRAY<STRING>, "
        "attrs MAP<STRING, INT>, st STRUCT<a: INT, b: STRUCT<c: STRING>>"
    ),
    (
        (1, 1, "view", Decimal("1.10"), 1, ("a", "b"), (("k", 1), ("l", None)), (1, ("x",))),
        (1, 2, None, Decimal("-2.25"), 2, (), (), (None, ("z",))),
        (1, 3, "buy", None, None, None, None, (1, (None,))),
        (2, 4, "ü", Decimal("99999999.99"), 127, (None, "a"), (("é", 7),), (1, None)),
        (2, 5, "", Decimal("0.00"), -128, ("c",), (), None),
        (None, 6, "view", Decimal("0.01"), 5, ("",), (("k", 3),), (-5, ("y",))),
        (None, None, "view", Decimal("3.33"), None, ("a", "a"), None, (None, None)),
    ),
)

QUERIES = [
    # steps behind a pipe, and aliases in HAVING
    "FROM events",
    "FROM events |> ",
    "FROM events e |> WHERE e.seq > 1 |> WHERE e.id = 1 |> SELECT e.seq, e.kind",
    "TABLE events |> WHERE seq > 1 |> EXTEND seq * 2 AS twice |> DROP tags, attrs, st",
    "FROM events |> SELECT id, seq |> SET seq = seq + 1, id = seq",
    "FROM events |> AS q |> WHERE q.seq < 4 |> SELECT q.id, q.seq",
    "FROM events |> AGGREGATE max(seq) AS newest, count(*) AS n GROUP BY id AS k |> WHERE n > 1",
    "FROM events |> AGGREGATE max(seq) AS newest",
    "FROM events |> AGGREGATE GROUP BY id",
    "FROM events |> ORDER BY seq DESC NULLS LAST |> LIMIT 2 |> SELECT seq",
    "FROM events e |> JOIN target t ON t.key = e.id |> SELECT e.seq, t.v",
    "FROM events |> SELECT id |> UNION ALL SELECT key FROM target",
    "FROM events |> SELECT DISTINCT id |> EXCEPT SELECT key FROM target",
    "FROM events |> EXTEND row_number() OVER (PARTITION BY id ORDER BY seq DESC) AS n |> WHERE n = 1 |> SELECT id, seq",
    "WITH q AS (FROM events |> WHERE seq > 2) FROM q |> SELECT seq + 1 AS seq",
    "SELECT id, max(seq) AS newest FROM events GROUP BY id HAVING newest > 4",
    "SELECT id AS k, count(*) AS n FROM events GROUP BY id HAVING n > 1 AND k IS NOT NULL",
    # EXISTS and IN with a query
    "SELECT * FROM events e WHERE EXISTS (SELECT 1 FROM target t WHERE t.key = e.id)",
    "SELECT * FROM events e WHERE NOT EXISTS (SELECT * FROM target t WHERE t.key = e.id AND t.v IS NULL)",
    "SELECT * FROM events e WHERE NOT EXISTS (SELECT 1 FROM events b WHERE b.id <=> e.id AND b.seq > e.seq)",
    "SELECT seq FROM events WHERE EXISTS (SELECT key FROM target WHERE key = 2) AND id = 1",
    "SELECT seq FROM events WHERE EXISTS (SELECT key FROM target WHERE key = 99)",
    "SELECT seq FROM events WHERE NOT EXISTS (SELECT max(key) FROM target WHERE key = 99)",
    "SELECT seq FROM events WHERE id IN (SELECT key FROM source)",
    "SELECT seq FROM events WHERE id NOT IN (SELECT key FROM source)",
    "SELECT seq FROM events WHERE id NOT IN (SELECT key FROM source WHERE key IS NOT NULL)",
    "SELECT seq FROM events WHERE id NOT IN (SELECT key FROM source WHERE FALSE)",
    "SELECT seq FROM events WHERE seq > 1 AND NOT (id IN (SELECT key FROM target)) AND kind IS NOT NULL",
    "SELECT seq FROM events WHERE (id, seq) IN (SELECT id, max(seq) FROM events GROUP BY id)",
    "SELECT seq FROM events WHERE (id, kind) NOT IN (SELECT key, v FROM target)",
    "SELECT seq FROM events WHERE (id, kind) NOT IN (SELECT key, v FROM target WHERE v IS NOT NULL)",
    "SELECT seq FROM events WHERE small IN (SELECT n FROM source)",
    "SELECT seq FROM events e WHERE seq IN (SELECT b.small FROM events b WHERE b.id = e.id)",
    "SELECT seq FROM events e WHERE seq NOT IN (SELECT seq FROM events b WHERE b.id = e.id AND b.kind = e.kind)",
    "SELECT seq FROM events e WHERE EXISTS (SELECT 1 FROM target t JOIN source s ON t.key = s.key WHERE s.key = id)",
    (
        "SELECT seq FROM events e WHERE EXISTS (SELECT 1 FROM target t WHERE t.key = e.id AND EXISTS (SELECT "
        "1 FROM source s WHERE s.key = t.key AND s.n > 8))"
    ),
    "SELECT seq FROM events WHERE seq IN (SELECT seq FROM events WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 2)",
    # QUALIFY, named windows, frames
    "SELECT * FROM events QUALIFY row_number() OVER (PARTITION BY id ORDER BY seq DESC) = 1",
    "SELECT seq, row_number() OVER (PARTITION BY id ORDER BY seq) AS rn FROM events WHERE seq > 1 QUALIFY rn = 1",
    "SELECT seq, row_number() OVER (PARTITION BY id ORDER BY seq) AS rn FROM events QUALIFY rn = 1 AND kind IS NULL",
    "SELECT seq FROM events QUALIFY count(*) OVER (PARTITION BY id) > 2",
    "SELECT seq AS id, id AS n FROM events QUALIFY max(seq) OVER (PARTITION BY kind) = seq",
    "SELECT DISTINCT kind FROM events QUALIFY dense_rank() OVER (ORDER BY kind) < 3",
    "SELECT seq, row_number() OVER w AS rn, lead(kind) OVER w AS k FROM events WINDOW w AS (ORDER BY seq)",
    (
        "SELECT seq, rank() OVER a AS r, sum(small) OVER b AS t FROM events WINDOW a AS (ORDER BY id), b AS "
        "(PARTITION BY id)"
    ),
    "SELECT seq FROM events WINDOW w AS (PARTITION BY id ORDER BY seq DESC) QUALIFY row_number() OVER w = 1",
    "SELECT seq, sum(small) OVER (ORDER BY seq) AS t, count(kind) OVER (ORDER BY id) AS c FROM events",
    "SELECT seq, sum(amount) OVER (PARTITION BY id) AS t, max(kind) OVER (PARTITION BY id) AS k FROM events",
    "SELECT seq, sum(seq) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS t FROM events",
    "SELECT seq, sum(seq) OVER (ORDER BY seq DESC ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS t FROM events",
    "SELECT seq, min(kind) OVER (ORDER BY seq ROWS 2 PRECEDING) AS k, count(*) OVER () AS n FROM events",
    (
        "SELECT seq, first_value(kind) OVER (PARTITION BY id ORDER BY seq) AS f, last_value(kind) OVER "
        "(PARTITION BY id ORDER BY seq) AS l FROM events"
    ),
    (
        "SELECT seq, last_value(kind) OVER (PARTITION BY id ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND "
        "UNBOUNDED FOLLOWING) AS l FROM events"
    ),
    "SELECT seq, first_value(kind, true) OVER (PARTITION BY id ORDER BY seq DESC) AS f FROM events",
    "SELECT seq, last(kind) IGNORE NULLS OVER (ORDER BY seq) AS f, first(small) OVER (ORDER BY seq) AS g FROM events",
    (
        "SELECT seq, ntile(3) OVER (ORDER BY seq) AS n, percent_rank() OVER (ORDER BY id) AS p, cume_dist() "
        "OVER (ORDER BY id) AS c FROM events"
    ),
    (
        "SELECT seq, min(amount) OVER (PARTITION BY id ORDER BY seq RANGE BETWEEN UNBOUNDED PRECEDING AND "
        "CURRENT ROW) AS m FROM events"
    ),
    # GROUP BY ALL and an alias
    "SELECT id, max(seq) AS m FROM events GROUP BY ALL",
    "SELECT id, kind FROM events GROUP BY ALL",
    "SELECT max(seq) AS m FROM events WHERE FALSE GROUP BY ALL",
    "SELECT coalesce(id, 0) AS k, id, count(*) + 1 AS n FROM events GROUP BY ALL",
    "SELECT coalesce(id, -1) AS k, count(*) AS n FROM events GROUP BY k",
    "SELECT seq % 2 AS kind, kind AS k, count(*) AS n FROM events GROUP BY kind, k, seq % 2",
    "SELECT upper(kind) AS u, count(DISTINCT id) AS n FROM events WHERE kind <> 'ü' GROUP BY u HAVING count(*) > 1",
    # ORDER BY and LIMIT
    "SELECT seq, kind FROM events ORDER BY seq LIMIT 3",
    "SELECT seq, kind FROM events ORDER BY seq DESC LIMIT 2 OFFSET 1",
    "SELECT seq FROM events ORDER BY seq NULLS LAST LIMIT 2",
    "SELECT seq FROM events ORDER BY 1 DESC NULLS FIRST LIMIT 2",
    "SELECT seq AS s FROM events ORDER BY s DESC, id LIMIT 4",
    "SELECT kind FROM events WHERE seq IS NOT NULL ORDER BY id DESC, seq LIMIT 4",
    "SELECT -seq AS seq FROM events ORDER BY seq LIMIT 2",
    "SELECT seq FROM events ORDER BY id LIMIT 2",
    "SELECT seq FROM events ORDER BY id",
    "SELECT seq FROM events LIMIT 100",
    "SELECT seq FROM events LIMIT 0",
    "SELECT seq FROM events ORDER BY seq OFFSET 5",
    "SELECT id, max(seq) AS m FROM events GROUP BY id ORDER BY max(seq) DESC LIMIT 1",
    "SELECT id, max(seq) AS m FROM events GROUP BY id ORDER BY m LIMIT 1",
    "SELECT DISTINCT kind FROM events ORDER BY kind LIMIT 2",
    "SELECT q.seq FROM (SELECT * FROM events ORDER BY seq DESC LIMIT 1) q JOIN target t ON q.id = t.key",
    # aggregates
    "SELECT id, max_by(kind, seq) AS k, min_by(kind, seq) AS m FROM events GROUP BY id",
    "SELECT id, max_by(st, seq) AS k, min_by(tags, seq) AS m FROM events GROUP BY id",
    "SELECT max_by(seq, st) AS k, min_by(seq, struct(id, seq)) AS m FROM events WHERE st IS NOT NULL AND seq <> 3",
    "SELECT max_by(kind, seq) AS k FROM events WHERE seq IS NULL",
    "SELECT max_by(kind, seq) AS k FROM events WHERE FALSE",
    "SELECT id, max(st) AS hi, min(st) AS lo FROM events GROUP BY id",
    "SELECT max(struct(seq, kind)) AS hi, min(struct(kind, seq)) AS lo FROM events",
    "SELECT max(struct(st, seq)) AS hi, min(struct(st, seq)) AS lo FROM events",
    "SELECT id, max(struct(seq, st)).st.b.c AS c FROM events GROUP BY id",
    "SELECT id, avg(seq) AS s, avg(amount) AS a, avg(small) AS t FROM events GROUP BY id",
    "SELECT avg(seq) AS s, avg(amount) AS a FROM events WHERE FALSE",
    "SELECT id, count_if(seq > 1) AS n, bool_or(kind = 'view') AS o, bool_and(seq > 0) AS e FROM events GROUP BY id",
    (
        "SELECT id, sort_array(collect_set(kind)) AS k, sort_array(collect_list(small), false) AS s FROM "
        "events GROUP BY id"
    ),
    "SELECT sort_array(collect_list(kind)) AS k, size(collect_set(id)) AS n FROM events",
    "SELECT collect_set(kind) AS k FROM events WHERE kind IS NULL",
    "SELECT id, any_value(id) AS a, first(id) AS f, last(id) AS l FROM events GROUP BY id",
    "SELECT first(kind, true) AS f, last(kind) IGNORE NULLS AS l FROM events WHERE coalesce(kind, 'view') = 'view'",
    # generators
    "SELECT seq, tag FROM events LATERAL VIEW explode(tags) x AS tag",
    "SELECT seq, x.tag, pos FROM events LATERAL VIEW OUTER posexplode(tags) x AS pos, tag",
    "SELECT * FROM events LATERAL VIEW explode(tags) x",
    "SELECT seq, name, val FROM events LATERAL VIEW explode(attrs) a AS name, val WHERE val > 1 OR name = 'l'",
    "SELECT seq, key, value FROM events LATERAL VIEW OUTER explode(attrs) a",
    "SELECT seq, tag, n FROM events LATERAL VIEW explode(tags) x AS tag LATERAL VIEW explode(attrs) y AS n, v",
    "SELECT tag, count(*) AS n FROM events LATERAL VIEW explode(tags) x AS tag GROUP BY tag",
    "SELECT seq, explode(tags) AS tag FROM events",
    "SELECT explode_outer(tags) AS tag, seq FROM events WHERE seq < 4",
    "SELECT seq, explode(tags) FROM events",
    "SELECT seq, explode(attrs) AS (k, v) FROM events",
    "SELECT seq, posexplode(tags) FROM events",
    "SELECT seq, posexplode_outer(tags) AS (p, t) FROM events",
    "SELECT Key, inline(arr) FROM source",
    "SELECT Key, e.x FROM source LATERAL VIEW explode(arr) z AS e",
    "SELECT DISTINCT explode(tags) AS tag FROM events",
    # division of decimals
    (
        "SELECT amount / 3 AS a, amount / amount AS b, amount / seq AS c, 1 / (amount + 0.001) AS d FROM "
        "events WHERE amount <> 0"
    ),
    "SELECT id, sum(amount) / count(*) AS a, sum(amount) / 7 AS b FROM events GROUP BY id",
    "SELECT key, rank() OVER (PARTITION BY v ORDER BY key) AS r, dense_rank() OVER (ORDER BY key DESC) d FROM target",
    "SELECT *, row_number() OVER (PARTITION BY key ORDER BY n DESC) AS rn FROM source",
    "SELECT n FROM (SELECT *, row_number() OVER (PARTITION BY key ORDER BY n) AS rn FROM source) q WHERE rn = 1",
    "SELECT n, row_number() OVER (ORDER BY n NULLS LAST) + 1 AS rn FROM source",
    "SELECT n, lag(key) OVER (ORDER BY n) AS p, lead(n, 2, 0L) OVER (ORDER BY n DESC) AS f FROM source",
    "SELECT n, lag(st.y, 1, 'none') OVER (ORDER BY n DESC NULLS FIRST) AS p FROM source",
    "SELECT key % 2 AS odd, count(*) AS c FROM source GROUP BY key % 2",
    "SELECT key % 2 AS odd, count(DISTINCT n) AS c FROM source GROUP BY 1",
    "SELECT v, sum(key) + 1 AS t, max(key) - min(key) AS w FROM target GROUP BY v",
    "SELECT key, count(*) AS c FROM source GROUP BY key HAVING count(*) > 1",
    "SELECT key FROM target GROUP BY key HAVING max(v) = 'a' OR key IS NULL",
    "SELECT key, count(*) FILTER (WHERE n > 7) AS c, max(n) FILTER (WHERE n < 9) AS m FROM source GROUP BY key",
    "SELECT key FROM source EXCEPT SELECT key FROM target WHERE key = 1",
    "SELECT key, n FROM source INTERSECT SELECT 2, CAST(NULL AS BIGINT)",
    "SELECT s.* FROM source s LEFT ANTI JOIN target t ON s.key = t.key",
    "SELECT s.n FROM source s LEFT SEMI JOIN target t ON s.key = t.key",
    "SELECT * EXCEPT (st, arr) FROM source",
    "SELECT s.* EXCEPT (KEY) FROM source s",
    "SELECT key, n FROM source WHERE n > (SELECT min(n) FROM source)",
    "SELECT key, (SELECT max(key) FROM target) + 1 AS m FROM source",
    "SELECT key, (SELECT v FROM target WHERE FALSE) AS m FROM source",
    "SELECT * FROM source",
    "SELECT KEY, st.X, arr.x FROM source",
    "SELECT s.*, 1 AS one, NULL AS nothing FROM source AS s",
    "SELECT key + 1 AS k, st FROM source WHERE n > 7 OR key = 2",
    "SELECT DISTINCT key FROM source",
    "SELECT key FROM source UNION ALL SELECT key FROM target",
    "SELECT key AS a FROM source UNION SELECT 9223372036854775807",
    "(SELECT 1 AS a, 'x' AS b) UNION ALL (SELECT NULL, v FROM target)",
    "SELECT * FROM VALUES (1, 'a'), (2.5, NULL) AS v(id, x)",
    "SELECT * FROM VALUES (1), (2)",
    "WITH c AS (SELECT key AS k FROM source), d AS (SELECT k FROM c WHERE k = 2) SELECT d.k, c.K AS k2 FROM d, c",
    "SELECT q.a FROM (SELECT key a, n FROM source WHERE n IS NOT NULL) q WHERE q.n < 10",
    "SELECT s.key, t.v FROM source s LEFT JOIN target t ON s.key = t.key AND t.v = 'b'",
    "SELECT s.n, t.key FROM source s FULL OUTER JOIN target t ON s.key = t.key",
    "SELECT s.n FROM source s CROSS JOIN target",
    "SELECT s.n, target.v FROM source s INNER JOIN target ON s.key <=> target.key",
    "SELECT key, count(*) AS c, count(n) AS m, sum(n) AS t, max(n) AS hi, min(st.y) AS lo FROM source GROUP BY key",
    "SELECT count(*) AS c, sum(n) AS t FROM source WHERE FALSE",
    "SELECT sum(CAST(n AS DECIMAL(6,2))) AS t FROM source",
    "SELECT *, 5 AS x FROM (SELECT 1 AS a)",
    "SELECT IF(key = 2, 'two', 'other') AS w, CASE WHEN n > 8 THEN n END AS big FROM source",
]

REJECTED = [
    "SELECT nope FROM source",
    "SELECT source.nope FROM source",
    "SELECT t.key FROM source",
    "SELECT * FROM nowhere",
    "SELECT nope FROM source UNION ALL SELECT a FROM nowhere",
    "SELECT key FROM source s JOIN target t ON s.key = t.key",
    "SELECT key AS a FROM source WHERE a = 1",
    "SELECT st.z FROM source",
    "SELECT n.z FROM source",
    (
        "SELECT seq FROM events e WHERE EXISTS (SELECT 1 FROM target t WHERE EXISTS (SELECT 1 FROM source s "
        "WHERE s.n > e.seq))"
    ),
]

UNSUPPORTED = [
    "SELECT key FROM source LIMIT 1",
    "SELECT seq FROM events ORDER BY id LIMIT 1",
    "SELECT id, max_by(kind, id) AS k FROM events GROUP BY id",
    "SELECT id, first(kind) AS k FROM events GROUP BY id",
    "SELECT collect_list(kind) AS k FROM events",
    "SELECT last_value(kind) OVER (ORDER BY id) AS k FROM events",
    "SELECT sum(seq) OVER (ORDER BY id ROWS 1 PRECEDING) AS k FROM events",
    "SELECT seq FROM events WHERE id IN (SELECT key FROM target) OR id IS NULL",
    "SELECT seq FROM events QUALIFY seq = 1",
    "SELECT seq, kind AS seq FROM events ORDER BY seq LIMIT 1",
    "SELECT 1 AS one, max(seq) AS m FROM events GROUP BY ALL",
    "SELECT id + max(seq) AS m FROM events GROUP BY ALL",
    "SELECT explode(tags) AS a, explode(tags) AS b FROM events",
    "SELECT row_number() OVER nowhere AS r FROM events",
    "SELECT key AS a, a + 1 AS b FROM source",
    "SELECT row_number() OVER (ORDER BY key) AS r FROM source",
    "SELECT DISTINCT CAST(key AS DOUBLE) AS d FROM source",
    "SELECT * FROM source JOIN target USING (key)",
    "SELECT 1 / 0 AS x",
    "SELECT key FROM source WHERE key = 1 AND 1 / (key - 2) > 0",
    "SELECT key, max(n) AS m FROM source GROUP BY key HAVING 1 / (key - 2) > 0 AND key <> 2",
    "SELECT * EXCEPT (nope) FROM source",
    "SELECT key, (SELECT v FROM target) AS m FROM source",
    "SELECT key, (SELECT v FROM target t WHERE t.key = s.key) AS m FROM source s",
    "SELECT lag(n) OVER (ORDER BY arr) AS t FROM source",
    "SELECT 1",
    "SELECT _metadata FROM source",
    "SELECT key FROM source TABLESAMPLE (1 ROWS)",
    "SELECT id FROM range(5)",
]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """Start Spark once and show it the tables."""
    session = start_session()
    for name, (schema, rows) in TABLES.items():
        session.createDataFrame(rows_to_table(rows, schema)).createOrReplaceTempView(name)
    return session


def evaluated(text: str) -> tuple[Schema, tuple[Row, ...]]:
    """Evaluate a query with the reference."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    tree = read_sql(plain_expression(f"({text})")).this
    found = source_relation(tree, TABLES, connection, case_sensitive=False)
    return found.schema, found.rows


@pytest.mark.parametrize("text", QUERIES)
def test_a_source_query_gives_what_spark_gives(text: str, spark: SparkSession) -> None:
    """Names, types and rows, as a bag."""
    schema, rows = evaluated(text)
    frame = spark.sql(text)
    spelled = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in frame.schema)

    assert parse_schema(spelled) == schema
    wanted = table_to_rows(frame.toArrow(), schema)
    assert sorted(repr(row_identity(row, schema)) for row in rows) == sorted(
        repr(row_identity(row, schema)) for row in wanted
    )


@pytest.mark.parametrize("text", REJECTED)
def test_a_wrong_source_query_is_refused_with_sparks_class(text: str, spark: SparkSession) -> None:
    """The class is Spark's, or Spark's without its sub-class."""
    with pytest.raises(AnalysisException) as raised:
        spark.sql(text)
    with pytest.raises(RejectedError) as rejected:
        evaluated(text)

    condition = raised.value.getCondition()
    assert condition is not None
    assert f"{condition}.".startswith(f"{rejected.value.error_class}.")


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_what_is_not_certain_is_unsupported(text: str) -> None:
    """The reference abstains rather than guess."""
    with pytest.raises(UnsupportedByReferenceError):
        evaluated(text)
