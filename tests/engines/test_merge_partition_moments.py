"""Moments in partition columns that name no zone: they are in the session's, as older writers left them (R-804)."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.delta.write import write_target
from mergecheck.harness.engines.spark.session import settings_of, start_session
from mergecheck.merge import merge_sql
from mergecheck.merge.table.storage.log_store import log_file
from mergecheck.model.case import Target
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOON = dt.datetime(2024, 1, 1, 12, 0, tzinfo=dt.UTC)
KOLKATA = {"spark.sql.session.timeZone": "Asia/Kolkata"}
DELETE = "MERGE INTO delta.`{path}` t USING (SELECT TIMESTAMP'{moment}' AS p) s ON t.p = s.p WHEN MATCHED THEN DELETE"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


def table(path: Path, text: str) -> Path:
    """Write a table of one row whose partition value is this text."""
    target = Target(schema=parse_schema("id INT, p TIMESTAMP"), files=(((1, NOON),),), partition_by=("p",))
    write_target(target, path)
    log = path / log_file(0)
    log.write_text(log.read_text().replace("2024-01-01T12:00:00.000000Z", text))
    assert text in log.read_text()
    return path


@pytest.mark.parametrize(
    ("text", "moment", "deleted"),
    [
        ("2024-01-01 12:00:00", "2024-01-01 12:00:00", 1),  # in Kolkata, both
        ("2024-01-01 12:00:00", "2024-01-01 12:00:00 UTC", 0),
        ("2024-01-01T12:00:00.000000Z", "2024-01-01 12:00:00", 0),
        ("2024-01-01T12:00:00.000000Z", "2024-01-01 12:00:00 UTC", 1),
    ],
)
def test_a_moment_without_a_zone(spark: SparkSession, tmp_path: Path, text: str, moment: str, deleted: int) -> None:
    path = table(tmp_path / "t", text)
    with settings_of(spark, KOLKATA):
        metrics = merge_sql(spark, DELETE.format(path=path, moment=moment)).metrics
    assert metrics["numTargetRowsDeleted"] == deleted
