"""Merges into tables with identity columns that Delta Lake wrote; Delta Lake goes on with the sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.spark.session import start_session
from mergecheck.merge import merge_sql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


def test_several_tasks_generate_different_values_and_delta_lake_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """R-226: values of several tasks differ, and Delta Lake's next value is beyond them."""
    table = tmp_path / "t"
    spark.sql(
        "CREATE TABLE with_ids (k BIGINT, id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY -2)) "
        f"USING delta LOCATION '{table}'"
    )
    spark.sql("INSERT INTO with_ids (k) VALUES (1), (2)")
    before = {row["id"] for row in spark.table("with_ids").collect()}
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("mergecheck.merge.oneTask.enabled", "false")
    spark.conf.set("mergecheck.merge.singleScan.enabled", "false")
    spark.range(0, 40, 1, 3).createOrReplaceTempView("source")
    merge_sql(
        spark,
        f"MERGE INTO delta.`{table}` t USING source s ON t.k = s.id WHEN MATCHED THEN UPDATE SET k = t.k "
        "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.id)",
    )
    merged = [row["id"] for row in spark.read.format("delta").load(str(table)).collect()]
    spark.sql("INSERT INTO with_ids (k) VALUES (100)")
    after = [row["id"] for row in spark.read.format("delta").load(str(table)).collect()]
    assert len(merged) == len(set(merged)) == 40
    assert before < set(merged)
    assert all((value - 5) % 2 == 0 for value in merged)
    (new,) = set(after) - set(merged)
    assert new < min(merged)
