"""Merges into tables with row tracking that Delta Lake wrote; Delta Lake reads the ids that they leave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as LogReader
from deltalake import QueryBuilder

from mergecheck.harness.engines.spark.session import start_session
from mergecheck.merge import merge_sql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MERGE = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND s.v IS NULL THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
CHANGES = "SELECT * FROM VALUES (1L, 'one'), (2L, NULL), (9L, 'nine') AS s(id, v)"
VECTORS = {"delta.enableDeletionVectors": "true"}
MAPPED = {"delta.columnMapping.mode": "id"}
LARGE = {"mergecheck.merge.largeTableBytes": "0", "mergecheck.merge.singleScan.enabled": "false"}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


def create(spark: SparkSession, name: str, path: Path, properties: dict[str, str]) -> None:
    """Write a table by Delta Lake: rows with the ids 0 to 3, in two files of the versions 1 and 2."""
    given = {"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true", **properties}
    said = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    spark.sql(f"CREATE TABLE {name} (id BIGINT, v STRING) USING delta LOCATION '{path}' TBLPROPERTIES ({said})")
    for rows in ("(0L, 'a'), (1L, 'b')", "(2L, 'c'), (3L, 'd')"):
        spark.sql(f"INSERT INTO {name} SELECT * FROM VALUES {rows} AS s")


def ids(spark: SparkSession, path: Path) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Read id and commit version of each row by Delta Lake, and fail if delta-rs reads other rows."""
    frame = spark.read.format("delta").load(str(path))
    rows = frame.selectExpr("id", "v", "_metadata.row_id", "_metadata.row_commit_version").collect()
    read = pa.table(QueryBuilder().register("t", LogReader(path)).execute("SELECT id, v FROM t")).to_pylist()
    assert sorted(map(repr, (tuple(row.values()) for row in read))) == sorted(map(repr, (tuple(r[:2]) for r in rows)))
    return {tuple(row[:2]): tuple(row[2:]) for row in rows}


def merge(spark: SparkSession, path: Path, changes: str = CHANGES) -> None:
    spark.sql(changes).createOrReplaceTempView("source")
    merge_sql(spark, MERGE, tables={"target": str(path)})


def merge_by_delta(spark: SparkSession, name: str, changes: str) -> None:
    spark.sql(changes).createOrReplaceTempView("source")
    spark.sql(MERGE.replace("target", name, 1))


@pytest.mark.parametrize(
    ("properties", "conf"),
    [(VECTORS | MAPPED, {}), ({}, LARGE)],
    ids=["vectors and mapped", "large"],
)
def test_rows_keep_their_ids(
    spark: SparkSession, tmp_path: Path, properties: dict[str, str], conf: dict[str, str]
) -> None:
    """R-705: also if Delta Lake and the merge take turns, so that files hold ids already; the feed has no ids."""
    path, name = tmp_path / "t", f"tracked_{tmp_path.name.replace('-', '_')}"
    create(spark, name, path, properties)
    for setting, value in conf.items():
        spark.conf.set(setting, value)
    try:
        merge(spark, path)
        new_id = ids(spark, path)[9, "nine"][0]
        assert new_id > 3
        wanted = {(0, "a"): (0, 1), (1, "one"): (1, 3), (3, "d"): (3, 2), (9, "nine"): (new_id, 3)}
        assert ids(spark, path) == wanted
        feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 3).load(str(path))
        assert sorted(feed.columns) == ["_change_type", "_commit_timestamp", "_commit_version", "id", "v"]
        assert feed.count() == 4

        merge_by_delta(spark, name, "SELECT * FROM VALUES (3L, 'D'), (10L, 'ten') AS s(id, v)")
        by_delta = ids(spark, path)
        assert by_delta.pop((3, "D")) == (3, 4)
        ten = by_delta.pop((10, "ten"))
        assert (ten[0] > new_id, by_delta) == (True, {row: said for row, said in wanted.items() if row != (3, "d")})

        merge(spark, path, "SELECT * FROM VALUES (10L, 'TEN'), (0L, NULL) AS s(id, v)")
        del by_delta[0, "a"]
        assert ids(spark, path) == {**by_delta, (3, "D"): (3, 4), (10, "TEN"): (ten[0], 5)}
    finally:
        for setting in conf:
            spark.conf.unset(setting)
    names = LogReader(path).metadata().configuration
    stored = {names[f"delta.rowTracking.materialized{what}ColumnName"] for what in ("RowId", "RowCommitVersion")}
    lines = (path / "_delta_log" / f"{5:020}.json").read_text(encoding="utf-8").splitlines()
    adds = [json.loads(line)["add"] for line in lines if "add" in json.loads(line)]
    assert any(stored <= set(pq.read_schema(path / add["path"]).names) for add in adds)
