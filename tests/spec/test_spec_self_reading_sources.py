"""Sources that read the target's table: one version for all reads, and conflicts with whatever came since (R-750)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Reader
from deltalake import write_deltalake
from merge_tables import Table, arrow, create

from mergecheck.merge import command
from mergecheck.merge.builder import DeltaTable
from mergecheck.merge.errors import ConcurrentModificationError, ConflictKind
from mergecheck.merge.sql import merge_sql

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MATCHED = "WHEN MATCHED THEN UPDATE SET v = concat(t.v, s.v)"
TABLE_SOURCE = f"MERGE INTO target t USING target s ON t.id = s.id {MATCHED}"
QUERY_SOURCE = f"MERGE INTO target t USING (SELECT id, v FROM target WHERE id = 1) s ON t.id = s.id {MATCHED}"
SUBQUERY = (
    "MERGE INTO target t USING (SELECT 1L AS id) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = (SELECT max(v) FROM target)"
)


@pytest.mark.usefixtures("race")
@pytest.mark.parametrize("sql", [TABLE_SOURCE, QUERY_SOURCE, SUBQUERY])
def test_what_sql_reads_of_the_target_is_read_by_the_merge(spark: SparkSession, table: Table, sql: str) -> None:
    """An append that the source, or a subquery, would have seen is a conflict."""
    with pytest.raises(ConcurrentModificationError) as caught:
        merge_sql(spark, sql, tables={"target": table.path})
    assert caught.value.kind is ConflictKind.CONCURRENT_APPEND


def test_every_read_of_the_target_is_of_one_version(
    spark: SparkSession, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit between the reads of source and target is a conflict, also if the path goes through a link."""
    (tmp_path / "link").symlink_to(table.path)
    run_merge = command.run_merge

    def late(*arguments: Any, **options: Any) -> Any:
        write_deltalake(table.path, arrow([(100, "rival")]), mode="append")
        return run_merge(*arguments, **options)

    monkeypatch.setattr("mergecheck.merge.sql.run_merge", late)
    paths = {"target": table.path, "same": str(tmp_path / "link")}
    with pytest.raises(ConcurrentModificationError):
        merge_sql(spark, QUERY_SOURCE.replace("FROM target", "FROM same"), tables=paths)


@pytest.mark.parametrize(
    "sql",
    [
        "MERGE INTO target t USING (SELECT 1L AS id, (SELECT max(v) FROM shown) AS v) s ON t.id = s.id " + MATCHED,
        SUBQUERY.replace("FROM target)", "FROM shown)"),
    ],
)
@pytest.mark.parametrize("is_late", [True, False])
def test_a_view_in_a_subquery_is_read_by_the_merge(
    spark: SparkSession, table: Table, sql: str, *, is_late: bool
) -> None:
    """Spark does not list the tables that a subquery inside an expression reads; the merge looks its names up."""
    DeltaTable.forPath(spark, table.path).toDF().createOrReplaceTempView("shown")
    try:
        if is_late:
            write_deltalake(table.path, arrow([(100, "rival")]), mode="append")
            with pytest.raises(ConcurrentModificationError):
                merge_sql(spark, sql, tables={"target": table.path})
        else:
            assert merge_sql(spark, sql, tables={"target": table.path}).version is not None
    finally:
        spark.catalog.dropTempView("shown")


@pytest.mark.parametrize("is_late", [True, False])
def test_a_frame_of_an_empty_table_is_read_by_the_merge(spark: SparkSession, tmp_path: Path, *, is_late: bool) -> None:
    """A result computed while the table had no rows may not meet rows that came since."""
    target = create(spark, tmp_path / "target", arrow([]))
    table = DeltaTable.forPath(spark, target.path)
    source = table.toDF().groupBy().count().selectExpr("count AS id", "'first' AS v").alias("s")
    builder = table.alias("t").merge(source, "t.id = s.id").whenNotMatchedInsertAll()
    if is_late:
        write_deltalake(target.path, arrow([(1, "rival")]), mode="append")
        with pytest.raises(ConcurrentModificationError):
            builder.execute()
    else:
        builder.execute()
        assert dict(target.rows()) == {(0, "first"): 1}


def taken(table: DeltaTable) -> DataFrame:
    return table.toDF().alias("s")


def derived(table: DeltaTable) -> DataFrame:
    return table.toDF().selectExpr("id", "upper(v) AS v").where("id < 3").alias("s")


@pytest.mark.parametrize("source", [taken, derived])
@pytest.mark.parametrize("how", ["append", "overwrite"])
def test_a_frame_of_an_older_version_is_a_conflict(spark: SparkSession, table: Table, source: Any, how: Any) -> None:
    """A builder's source is fixed when the frame is made; the merge may not overwrite later rows."""
    target = DeltaTable.forPath(spark, table.path)
    builder = target.alias("t").merge(source(target), "t.id = s.id").whenMatchedUpdate(set={"v": "concat(t.v, s.v)"})
    write_deltalake(table.path, arrow([(1, "rival")]), mode=how)
    with pytest.raises(ConcurrentModificationError):
        builder.execute()
    assert (1, "rival") in table.rows()


@pytest.mark.parametrize(("source", "value"), [(taken, "aa"), (derived, "aA")])
def test_a_frame_of_the_latest_version_is_merged(spark: SparkSession, table: Table, source: Any, value: str) -> None:
    target = DeltaTable.forPath(spark, table.path)
    target.alias("t").merge(source(target), "t.id = s.id").whenMatchedUpdate(set={"v": "concat(t.v, s.v)"}).execute()
    assert {row for row in table.rows() if row[0] == 1} == {(1, value)}


def test_a_source_of_one_partition_reads_all_of_the_target(spark: SparkSession, tmp_path: Path) -> None:
    """A merge that touches one partition conflicts with an append to another if its source reads the table."""
    rows = pa.table({"id": [1, 2], "v": ["a", "b"]})
    target = create(spark, tmp_path / "target", rows, partition_by=["v"])
    table = DeltaTable.forPath(spark, target.path)
    source = table.toDF().groupBy().max("id").toDF("top").alias("s")
    builder = table.alias("t").merge(source, "t.v = 'a'").whenMatchedUpdate(set={"id": "s.top + 1"})
    write_deltalake(target.path, pa.table({"id": [9], "v": ["b"]}), mode="append")
    with pytest.raises(ConcurrentModificationError):
        builder.execute()


def test_four_threads_lose_no_update(spark: SparkSession, tmp_path: Path) -> None:
    """Every committed merge of a counter counts, however the merges interleave."""
    target = create(spark, tmp_path / "target", pa.table({"k": [1], "n": [0]}))
    sql = "MERGE INTO c t USING (SELECT k, n + 1 AS n FROM c) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET t.n = s.n"
    committed: list[int | None] = []

    def count() -> None:
        for _ in range(4):
            try:
                committed.append(merge_sql(spark, sql, tables={"c": target.path}).version)
            except ConcurrentModificationError:
                continue

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (row,) = Reader(target.path).to_pyarrow_table().to_pylist()
    assert row["n"] == len(committed) > 0
