"""The reference's source queries, held against Spark itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
import sqlglot
from pyspark.errors import AnalysisException

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.spark.session import start_session
from mergecheck.reference.case.arrow import rows_to_table, table_to_rows
from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.queries.source_query import source_relation
from mergecheck.reference.syntax.dialect import SparkDialect
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mergecheck.reference.case.model import Row
    from mergecheck.reference.types.data_types import Schema

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

QUERIES = [
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
]

UNSUPPORTED = [
    "SELECT key FROM source LIMIT 1",
    "SELECT key FROM source ORDER BY key LIMIT 1",
    "SELECT key AS a, a + 1 AS b FROM source",
    "SELECT explode(arr) AS e FROM source",
    "SELECT row_number() OVER (ORDER BY key) AS r FROM source",
    "SELECT DISTINCT CAST(key AS DOUBLE) AS d FROM source",
    "SELECT * FROM source JOIN target USING (key)",
    "SELECT 1 / 0 AS x",
    "SELECT key FROM source WHERE key = 1 AND 1 / (key - 2) > 0",
    "SELECT key, max(n) AS m FROM source GROUP BY key HAVING 1 / (key - 2) > 0 AND key <> 2",
    "SELECT * EXCEPT (nope) FROM source",
    "SELECT key, (SELECT v FROM target) AS m FROM source",
    "SELECT key, (SELECT v FROM target t WHERE t.key = s.key) AS m FROM source s",
    "SELECT sum(n) OVER (ORDER BY key) AS t FROM source",
    "SELECT lag(n) OVER (ORDER BY arr) AS t FROM source",
    "SELECT 1",
    "SELECT _metadata FROM source",
    "SELECT key FROM source TABLESAMPLE (1 ROWS)",
    "SELECT key FROM source WHERE key IN (SELECT key FROM target)",
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
    tree = sqlglot.parse_one(text, dialect=SparkDialect)
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
    """The reference says nothing rather than guess."""
    with pytest.raises(UnsupportedByReferenceError):
        evaluated(text)
