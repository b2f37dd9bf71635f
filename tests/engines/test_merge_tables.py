"""Merges into tables with constraints, defaults and new columns, and from queries; read back with deltalake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as LogReader

from mergecheck.harness.engines.spark.session import start_session
from mergecheck.merge import DeltaTable, ExecutionError, MergeError, merge_sql
from mergecheck.merge.errors import CastOverflowError
from mergecheck.merge.executors.source import MaterializeReason
from mergecheck.merge.metrics import ExecutionPath
from mergecheck.merge.table.storage.log_store import LogStore, log_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FEATURES = ["allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants"]
FEED = {"delta.enableChangeDataFeed": "true"}
POSITIVE = {"delta.constraints.pos": "(`n.o` > 0)"}
ID = {"name": "id", "type": "integer", "nullable": False, "metadata": {}}
NUMBER = {"name": "n.o", "type": "integer", "nullable": True, "metadata": {}}
ON = "MERGE INTO target t USING {source} s ON t.id = s.id "
UPSERT = ON + "WHEN MATCHED THEN UPDATE SET `n.o` = s.n WHEN NOT MATCHED THEN INSERT (id, `n.o`) VALUES (s.id, s.n)"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


def table(
    path: Path,
    *rows: dict[str, Any],
    fields: tuple[Any, ...] = (ID, NUMBER),
    properties: dict[str, str] | None = None,
) -> str:
    """Write a table of two files, one per row, and return its place."""
    schema = pa.schema([(field["name"], pa.int32()) for field in fields])
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": FEATURES}},
        {
            "metaData": {
                "id": "t",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": properties or {},
            }
        },
    ]
    (path / log_file(0)).parent.mkdir(parents=True)
    for number, row in enumerate(rows):
        file = path / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist([row], schema=schema), file)
        size = file.stat().st_size
        add = {"path": file.name, "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
        actions.append({"add": add})
    (path / log_file(0)).write_text("\n".join(json.dumps(action) for action in actions))
    return str(path)


def rows_of(path: str) -> list[tuple[Any, ...]]:
    found = [tuple(row.values()) for row in LogReader(path).to_pyarrow_table().to_pylist()]
    return sorted(found, key=repr)


def kinds_of(path: str, version: int) -> list[str]:
    return [next(iter(action)) for action in LogStore(path).read(version)]


def files_of(path: Path) -> list[str]:
    return sorted(file.name for file in path.rglob("*.parquet"))


@pytest.mark.parametrize("feed", [{}, FEED], ids=["plain", "feed"])
@pytest.mark.parametrize(
    ("source", "error_class", "message"),
    [
        (
            "(SELECT 1 AS id, -5 AS n UNION ALL SELECT 7, 7)",
            "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
            "clause 1 WHEN MATCHED: CHECK constraint pos (`n.o` > 0) violated by row with values:\n - n.o : -5",
        ),
        (
            "(SELECT 7 AS id, CAST(NULL AS INT) AS n)",
            "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
            "clause 2 WHEN NOT MATCHED: CHECK constraint pos (`n.o` > 0) violated by row with values:\n - n.o : null",
        ),
        (
            "(SELECT CAST(NULL AS INT) AS id, 4 AS n)",
            "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
            "clause 2 WHEN NOT MATCHED: NOT NULL constraint violated for column: id.",
        ),
    ],
)
def test_a_violation_leaves_the_table_alone(
    spark: SparkSession, tmp_path: Path, feed: dict[str, str], source: str, *, error_class: str, message: str
) -> None:
    """R-740 to R-742: NULL violates too, and neither a commit nor a file is left behind."""
    target = table(tmp_path, {"id": 1, "n.o": 1}, {"id": 2, "n.o": 2}, properties={**POSITIVE, **feed})
    before = files_of(tmp_path)
    with pytest.raises(ExecutionError) as caught:
        merge_sql(spark, UPSERT.format(source=source), tables={"target": target})
    assert (caught.value.error_class, caught.value.message) == (error_class, message)
    assert (LogReader(target).version(), files_of(tmp_path)) == (0, before)


@pytest.mark.parametrize(
    "text", ["`n.o`", "`n.o` + 1", "string(`n.o`)", "array(`n.o`)[0]", "date_add(DATE'2024-01-01', `n.o`)"]
)
@pytest.mark.parametrize("number", ["0", "CAST(NULL AS INT)"])
def test_only_null_violates_a_constraint_that_is_no_boolean(
    spark: SparkSession, tmp_path: Path, text: str, number: str
) -> None:
    """R-742: 0 is a value like others."""
    target = table(tmp_path, {"id": 1, "n.o": 1}, properties={"delta.constraints.pos": text})
    insert = UPSERT.format(source=f"(SELECT 7 AS id, {number} AS n)")
    if number == "0":
        merge_sql(spark, insert, tables={"target": target})
        assert rows_of(target) == [(1, 1), (7, 0)]
    else:
        with pytest.raises(ExecutionError, match="DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"):
            merge_sql(spark, insert, tables={"target": target})


def test_a_constraint_without_a_start_fails_where_a_row_is_checked(spark: SparkSession, tmp_path: Path) -> None:
    """R-747: a merge that writes no row does not evaluate it."""
    target = table(tmp_path, {"id": 1, "n.o": 1}, properties={"delta.constraints.pos": "rand() < 2"})
    with pytest.raises(ExecutionError, match=r"Spark cannot evaluate the constraint pos \(rand\(\) < 2\) on a row"):
        merge_sql(spark, UPSERT.format(source="(SELECT 7 AS id, 7 AS n)"), tables={"target": target})
    merge_sql(spark, (ON + "WHEN MATCHED THEN DELETE").format(source="(SELECT 1 AS id)"), tables={"target": target})
    assert rows_of(target) == []


@pytest.mark.parametrize(("feed", "fails"), [({}, False), (FEED, True)])
def test_a_bad_row_may_be_deleted_unless_the_feed_shows_it(
    spark: SparkSession, tmp_path: Path, feed: dict[str, str], *, fails: bool
) -> None:
    """R-740: rows that vanish are checked only as images."""
    target = table(tmp_path, {"id": 1, "n.o": -1}, {"id": 2, "n.o": 2}, properties={**POSITIVE, **feed})
    delete = (ON + "WHEN MATCHED THEN DELETE").format(source="(SELECT 1 AS id)")
    if fails:
        with pytest.raises(ExecutionError, match="DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"):
            merge_sql(spark, delete, tables={"target": target})
    else:
        merge_sql(spark, delete, tables={"target": target})
        assert rows_of(target) == [(2, 2)]


def test_rows_that_comply_are_written(spark: SparkSession, tmp_path: Path) -> None:
    """A constraint changes nothing about a merge that keeps it."""
    target = table(tmp_path, {"id": 1, "n.o": 1}, {"id": 2, "n.o": 2}, properties={**POSITIVE, **FEED})
    sql = UPSERT.format(source="(SELECT 1 AS id, 5 AS n UNION ALL SELECT 7, 7)")
    assert merge_sql(spark, sql, tables={"target": target}).row == (2, 1, 0, 1)
    assert rows_of(target) == [(1, 5), (2, 2), (7, 7)]
    assert kinds_of(target, 1) == ["commitInfo", "remove", "add", "cdc"]


def test_generated_columns_and_defaults(spark: SparkSession, tmp_path: Path) -> None:
    """R-220, R-222, R-223: computed where they are not given, checked where they are."""
    number = {**NUMBER, "metadata": {"CURRENT_DEFAULT": "4"}}
    generated = {
        "name": "g",
        "type": "integer",
        "nullable": True,
        "metadata": {"delta.generationExpression": "`n.o` * 10"},
    }
    target = table(tmp_path, {"id": 1, "n.o": 1, "g": 10}, fields=(ID, number, generated))
    tables = {"target": target}
    merge_sql(
        spark,
        (
            ON + "WHEN MATCHED THEN UPDATE SET `n.o` = 3 WHEN NOT MATCHED AND s.id > 2 THEN INSERT (id) VALUES (s.id) "
            "WHEN NOT MATCHED THEN INSERT (id, `n.o`, g) VALUES (s.id, 8, 80)"
        ).format(source="(SELECT explode(array(1, 2, 3)) AS id)"),
        tables=tables,
    )
    assert rows_of(target) == [(1, 3, 30), (2, 8, 80), (3, 4, 40)]
    wrong = (ON + "WHEN NOT MATCHED THEN INSERT (id, `n.o`, g) VALUES (s.id, 8, 81)").format(source="(SELECT 9 AS id)")
    with pytest.raises(ExecutionError) as caught:
        merge_sql(spark, wrong, tables=tables)
    assert caught.value.message == (
        "clause 1 WHEN NOT MATCHED: CHECK constraint Generated Column (g <=> (`n.o` * 10)) "
        "violated by row with values:\n - g : 81\n - n.o : 8"
    )
    assert LogReader(target).version() == 1


@pytest.mark.parametrize(
    ("source", "kinds", "rows"),
    [
        (
            "(SELECT 1 AS id, 5 AS `n.o`, DATE'2020-01-01' AS at)",
            ["commitInfo", "metaData", "remove", "add", "cdc"],
            {(1, 5), (2, 2)},
        ),
        (
            "(SELECT 9 AS id, 5 AS `n.o`, DATE'2020-01-01' AS at)",
            ["commitInfo", "metaData", "add"],
            {(1, 1), (2, 2), (9, 5)},
        ),
        ("(SELECT 9 AS id, 5 AS `n.o`, 1 AS x WHERE FALSE)", ["commitInfo", "metaData"], {(1, 1), (2, 2)}),
        (
            "(SELECT 2 AS id, 5 AS `n.o`, NULL AS x)",
            ["commitInfo", "metaData", "remove", "add", "cdc"],
            {(1, 1), (2, 5)},
        ),
    ],
    ids=["updated", "inserted", "nothing", "void"],
)
def test_new_columns_are_committed_with_the_data(
    spark: SparkSession, tmp_path: Path, source: str, kinds: list[str], rows: set[tuple[int, int]]
) -> None:
    """R-239, R-704, R-732: metadata on every path and no protocol, VOID in the schema only."""
    target = table(tmp_path, {"id": 1, "n.o": 1}, {"id": 2, "n.o": 2}, properties=FEED)
    star = (ON + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *").format(source=source)
    merge_sql(spark, star.replace("MERGE", "MERGE WITH SCHEMA EVOLUTION", 1), tables={"target": target})
    assert kinds_of(target, 1) == kinds
    assert {row[:2] for row in rows_of(target)} == rows
    assert len(LogReader(target).schema().fields) == 3


@pytest.mark.parametrize(
    ("clause", "path"),
    [("WHEN NOT MATCHED THEN INSERT *", "A"), ("WHEN MATCHED AND s.x > 1 THEN UPDATE SET *", "C")],
)
def test_new_columns_are_committed_once_whatever_happens_to_rows(
    spark: SparkSession, tmp_path: Path, clause: str, path: str
) -> None:
    """R-239, R-715, R-732: metadata only, and a replay of the same transaction does nothing."""
    target = table(tmp_path, {"id": 1, "n.o": 1})
    sql = (ON + clause).format(source="(SELECT 1 AS id, 5 AS `n.o`, 1 AS x)")
    settings = {"schema.autoMerge.enabled": "true", "write.txnAppId": "app", "write.txnVersion": "1"}
    for name, value in settings.items():
        spark.conf.set(f"spark.databricks.delta.{name}", value)
    try:
        first = merge_sql(spark, sql, tables={"target": target})
        again = merge_sql(spark, sql, tables={"target": target})
    finally:
        for name in settings:
            spark.conf.unset(f"spark.databricks.delta.{name}")
    assert (first.version, first.path, first.row) == (1, ExecutionPath(path), (0, 0, 0, 0))
    assert (again.version, again.row) == (None, None)
    assert kinds_of(target, 1) == ["commitInfo", "metaData", "txn"]
    assert rows_of(target) == [(1, 1, None)]


@pytest.mark.parametrize(
    ("source", "rows", "reason"),
    [
        ("(SELECT id, `n.o` + 1 AS n FROM target WHERE id < 2)", [(1, 2), (2, 2)], "NOT_MATERIALIZED_AUTO"),
        ("(SELECT id + 1 AS id, 7 AS n FROM target UNION ALL SELECT 9, 9)", [(1, 1), (2, 7), (3, 7), (9, 9)],
         "NOT_MATERIALIZED_AUTO"),
        ("(SELECT id, `n.o` * 5 AS n FROM target ORDER BY id DESC LIMIT 1)", [(1, 1), (2, 10)], "NON_DELTA"),
        ("(WITH target AS (SELECT id + 8 AS id, 3 AS n FROM target) SELECT * FROM target)",
         [(1, 1), (10, 3), (2, 2), (9, 3)], "NON_DELTA"),
        ("(VALUES (2, 6) AS v(id, n))", [(1, 1), (2, 6)], "NON_DELTA"),
        ("numbers", [(0, 7), (1, 7), (2, 2)], "NON_DELTA"),
    ],
)  # fmt: skip
def test_sources_are_queries_views_and_the_target_itself(
    spark: SparkSession, tmp_path: Path, source: str, rows: list[tuple[int, int]], reason: str
) -> None:
    """R-101, R-450, R-810: a query sees the target as it was; no view is left in the session."""
    spark.sql("SELECT CAST(id AS INT) AS id, 7 AS n FROM range(2)").createOrReplaceTempView("numbers")
    target = table(tmp_path, {"id": 1, "n.o": 1}, {"id": 2, "n.o": 2})
    result = merge_sql(spark, UPSERT.format(source=source), tables={"target": target})
    assert rows_of(target) == rows
    assert result.materialize_reason is MaterializeReason[reason]
    assert spark.sql("SHOW VIEWS LIKE 'merge_source*'").count() == 0


@pytest.mark.parametrize(
    ("target", "error_class"),
    [
        ("numbers", "UNSUPPORTED_FEATURE.MERGE"),
        ("nowhere", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ns.t", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_other_targets_are_refused(spark: SparkSession, target: str, error_class: str) -> None:
    """R-140: a view, and a name that nobody knows."""
    spark.sql("SELECT 1 AS id").createOrReplaceTempView("numbers")
    with pytest.raises(MergeError) as caught:
        merge_sql(spark, f"MERGE INTO {target} t USING numbers s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert caught.value.error_class == error_class


def test_the_builder_knows_its_own_frames(spark: SparkSession, tmp_path: Path) -> None:
    """R-450: a frame that ``toDF`` returned is a Delta table, and its log counts the rows; any other frame is not."""
    target = table(tmp_path / "target", {"id": 1, "n.o": 1})
    other = DeltaTable.forPath(spark, table(tmp_path / "source", {"id": 1, "n.o": 5}, {"id": 2, "n.o": 6}))
    merge = DeltaTable.forPath(spark, target).alias("t").merge
    update = {"`n.o`": "s.`n.o`"}
    known = merge(other.alias("s").toDF(), "t.id = s.id").whenMatchedUpdate(set=update).execute()
    unknown = merge(other.toDF().alias("s"), "t.id = s.id").whenMatchedUpdate(set=update).execute()
    assert (known.materialize_reason, unknown.materialize_reason) == (
        MaterializeReason.NOT_MATERIALIZED_AUTO,
        MaterializeReason.NON_DELTA,
    )
    assert (known.metrics["numSourceRows"], unknown.metrics["numSourceRows"]) == (2, 2)
    assert rows_of(target) == [(1, 5)]


@pytest.mark.parametrize(
    ("value", "error_class"),
    [
        ("s.big", "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"),
        ("DOUBLE('NaN')", "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"),
        ("CAST(s.big AS INT)", "CAST_OVERFLOW"),
        ("t.`n.o` + 2147483647", "ARITHMETIC_OVERFLOW"),
        ("'many'", "CAST_INVALID_INPUT"),
        ("CAST('1234' AS DECIMAL(3, 1))", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
    ],
)
def test_failing_values_have_their_own_class(spark: SparkSession, tmp_path: Path, value: str, error_class: str) -> None:
    """R-251, R-252: an overflow is the column's only where the cast to its type raised it; the table is untouched."""
    target = table(tmp_path, {"id": 1, "n.o": 1}, {"id": 2, "n.o": 2})
    before = files_of(tmp_path)
    sql = (ON + f"WHEN MATCHED THEN UPDATE SET `n.o` = {value}").format(source="(SELECT 1 AS id, 1099511627776 AS big)")
    with pytest.raises(ExecutionError) as caught:
        merge_sql(spark, sql, tables={"target": target})
    assert caught.value.error_class == error_class
    assert isinstance(caught.value, CastOverflowError) is error_class.startswith("DELTA")
    assert (LogReader(target).version(), files_of(tmp_path)) == (0, before)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CASE + 2.5 = 1 + CASE WHEN t.id = 1 THEN 1 ELSE 2 END", "UNSUPPORTED_FEATURE.MERGE"),  # CASE is a column
        ("a b", "PARSE_SYNTAX_ERROR"),
        ("DOUBLE '1'", "UNSUPPORTED_TYPED_LITERAL"),
        ("CAST(a AS nothing) = 1", "UNSUPPORTED_DATATYPE"),
    ],
)
def test_spark_says_what_is_wrong_with_a_text(spark: SparkSession, tmp_path: Path, text: str, expected: str) -> None:
    """Spark's parser is asked about a text that is not read."""
    target = table(tmp_path, {"id": 1})
    with pytest.raises(MergeError) as caught:
        merge_sql(spark, f"MERGE INTO t USING t AS s ON {text} WHEN MATCHED THEN DELETE", tables={"t": target})
    assert caught.value.error_class == expected
    assert LogReader(target).version() == 0
