"""Files that are left out because no source row has their keys; the influence of the source's number of rows.

Every size counts as large, and the source is materialised, so that it can be read twice.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa
import pytest
from merge_tables import INSERT, ON, UPSERT, arrow, create, resolved
from pyspark import StorageLevel
from pyspark.sql import types as t

from mergecheck.harness.engines.spark.session import settings_of
from mergecheck.merge.conf import BROADCAST_SOURCE, LARGE_TABLE_BYTES
from mergecheck.merge.executors.classic import find_touched_files, write_all_changes
from mergecheck.merge.executors.optimizations.low_shuffle import rewrite_with_low_shuffle
from mergecheck.merge.executors.optimizations.source_keys import files_with_source_keys, key_pairs
from mergecheck.merge.executors.source import MaterializeReason, MergeSource, prepare_source
from mergecheck.merge.table.snapshot.data_files import FileStatistics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from merge_tables import Rows, Table
    from pyspark.sql import SparkSession

    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.metrics import PathResult

pytestmark = pytest.mark.spark

LARGE = {LARGE_TABLE_BYTES: "0", "spark.databricks.delta.merge.materializeSource": "all"}
BIG = 2**53  # the next whole number is no double
DELETE = "WHEN MATCHED THEN DELETE"


def keyed(kind: t.DataType) -> t.StructType:
    return t.StructType([t.StructField("id", kind), t.StructField("v", t.StringType())])


def read_files(spark: SparkSession, table: Table, sql: str, rows: Rows, kind: t.DataType) -> list[int]:
    """Return the files that are read, by their numbers in the order of ``v``."""
    with settings_of(spark, LARGE):
        run = table.prepared(sql, rows, schema=keyed(kind))
        files = files_with_source_keys(run)
    order = sorted(run.snapshot.files, key=lambda file: min(row[1] for row in table.rows_of([file])))
    return sorted(order.index(file) for file in files)


@pytest.mark.parametrize(
    ("kind", "keys", "expected"),
    [
        (t.LongType(), [2], [0]),
        (t.LongType(), [BIG + 1], [1]),
        (t.LongType(), [BIG], []),
        (t.DoubleType(), [2.0, math.nan], [0]),
        (t.DoubleType(), [1.5], [0]),
        (t.DoubleType(), [2.5], []),
        (t.DoubleType(), [float(BIG)], [1]),
        (t.StringType(), ["2"], [0, 1, 2]),
    ],
)
def test_keys_are_looked_up_as_they_are_compared(
    spark: SparkSession, tmp_path: Path, kind: t.DataType, keys: list[Any], expected: list[int]
) -> None:
    """The files hold 1 and 2, 2^53 + 1, and no key but NULL; a double meets the nearest double of a whole number."""
    table = create(spark, tmp_path / "t", arrow([(1, "a"), (2, "b")]), arrow([(BIG + 1, "c")]), arrow([(None, "n")]))
    for on in ("t.id = s.id", "(s.id) = t.id"):
        sql = ON.replace("t.id = s.id", on) + DELETE
        assert read_files(spark, table, sql, [(key, "x") for key in keys], kind) == expected


def test_dates_are_looked_up_as_days(spark: SparkSession, tmp_path: Path) -> None:
    """Days before 1970 are negative numbers."""
    days = [[dt.date(1969, 12, 30), dt.date(1969, 12, 31)], [dt.date(2020, 2, 29)]]
    files = [
        pa.table({"id": pa.array(file, pa.date32()), "v": [v] * len(file)}) for v, file in zip("ab", days, strict=True)
    ]
    table = create(spark, tmp_path / "t", *files)
    for key, expected in ((dt.date(1969, 12, 31), [0]), (dt.date(2020, 2, 29), [1]), (dt.date(1970, 1, 1), [])):
        assert read_files(spark, table, ON + DELETE, [(key, "x")], t.DateType()) == expected
    late = dt.datetime(2020, 2, 29, 0, 0)  # noqa: DTZ001 - Spark takes it in the session's zone
    assert read_files(spark, table, ON + DELETE, [(late, "x")], t.TimestampNTZType()) == [0, 1]


def test_files_without_statistics_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Any whole number may be in them, for doubles too."""
    table = create(spark, tmp_path / "t", arrow([(1, "a")]), arrow([(7, "b")]))
    for kind, key in ((t.LongType(), 9), (t.DoubleType(), 1e300)):
        with settings_of(spark, LARGE):
            run = table.prepared(ON + DELETE, [(key, "x")], schema=keyed(kind))
            known, unknown = run.snapshot.files
            bare = replace(unknown, statistics=FileStatistics())
            assert files_with_source_keys(replace(run, candidates=(known, bare))) == (bare,)


def test_pairs_are_equal_columns_and_no_others() -> None:
    """Both columns of a conjunct of ON; OR, other operators and columns beside a number are none."""

    def pairs(on: str) -> tuple[tuple[int, int], ...]:
        merge: ResolvedMerge = resolved(f"MERGE INTO target t USING source s ON {on} {DELETE}")
        return key_pairs(merge)

    assert pairs("t.id = s.v") == ((0, 1),)
    assert set(pairs("t.id = s.v AND (s.id = t.v) AND t.v = 1")) == {(0, 1), (1, 0)}
    assert pairs("t.id = s.id OR t.v = s.v") == ()
    assert pairs("t.id < s.id AND t.id = t.v AND s.id = s.v") == ()


def test_every_file_counts_with_a_not_matched_by_source_clause(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of files without any key of the source are deleted too."""
    table = create(spark, tmp_path / "t", arrow([(1, "a"), (2, "b")]), arrow([(7, "c")]))
    with settings_of(spark, LARGE):
        table.merge(ON + "WHEN NOT MATCHED BY SOURCE THEN DELETE", [(1, "x")])
    assert table.rows() == Counter([(1, "a")])


def test_one_changed_row_is_enough_for_a_file(spark: SparkSession, tmp_path: Path) -> None:
    """R-410: other rows of the file whose condition does not hold do not keep it from being rewritten."""
    table = create(spark, tmp_path / "t", arrow([(1, "a"), (2, "b")]))
    table.merge(ON + "WHEN MATCHED AND s.v = 'x' THEN DELETE", [(1, "x"), (2, "y")])
    assert table.rows() == Counter([(2, "b")])


def test_conditions_on_the_target_skip_files_but_constants_do_not(spark: SparkSession, tmp_path: Path) -> None:
    """R-421: where there are MATCHED clauses only. A constant must not hide several matches (R-321)."""
    table = create(spark, tmp_path / "t", arrow([(1, "a"), (2, "b")]), arrow([(7, "c")]))
    counts = {
        condition: len(table.prepared(ON + f"WHEN MATCHED AND {condition} THEN DELETE", [(1, "x")]).candidates)
        for condition in ("t.id > 5", "t.id > 5 AND TRUE", "FALSE", "s.id > 5")
    }
    assert counts == {"t.id > 5": 1, "t.id > 5 AND TRUE": 1, "FALSE": 2, "s.id > 5": 2}


@pytest.mark.parametrize("rewrite", [rewrite_with_low_shuffle, write_all_changes])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [(UPSERT, 7), (ON + DELETE, None)],
    ids=["upsert", "delete"],
)
def test_the_second_scan_counts_the_source_where_it_reads_all_of_it(
    spark: SparkSession, tmp_path: Path, rewrite: Callable[..., PathResult], sql: str, expected: int | None
) -> None:
    """R-456: the writer's count is compared with the first scan's; 7 here."""
    settings = {**LARGE, BROADCAST_SOURCE: "false", "spark.databricks.delta.merge.materializeSource": "none"}
    table = create(spark, tmp_path / "t", arrow([(1, "a"), (2, "b")]))
    with settings_of(spark, settings):
        run = table.prepared(sql, [(1, "x"), (9, "y")])
        result = rewrite(_miscounting(run), find_touched_files(run))
    assert result.num_source_rows == 2
    assert result.num_source_rows_in_second_scan == expected


def _miscounting(run: MergeRun) -> MergeRun:
    """Let the writer count seven source rows wherever it is asked to count them."""
    writer = mock.Mock(wraps=run.writer, checks=run.writer.checks)

    def write(*args: Any, source_count: Any = None, **options: Any) -> Any:
        written = run.writer.write(*args, source_count=source_count, **options)
        return written if source_count is None else replace(written, num_source_rows=7)

    writer.write.side_effect = write
    return replace(run, writer=writer)


def test_an_empty_source_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Whether the number was known before or is counted along (R-504)."""
    table = create(spark, tmp_path / "t", arrow([(1, "a")]))
    for mode in ("none", "all"):
        with settings_of(spark, {"spark.databricks.delta.merge.materializeSource": mode}):
            assert table.merge(INSERT, []).metrics["numSourceRows"] == 0


def test_a_retry_keeps_more_copies_of_the_source() -> None:
    """R-452: the storage level by the number of the attempt; counting fills the checkpoint."""
    merge = resolved(UPSERT)
    levels = []
    for attempt in (1, 2, 3, 4):
        frame = mock.MagicMock()
        frame.toDF.return_value = frame.selectExpr.return_value = frame.localCheckpoint.return_value = frame
        prepare_source(MergeSource(frame=frame), merge, MaterializeReason.ALL, attempt=attempt)
        (call,) = frame.localCheckpoint.call_args_list
        assert call.kwargs["eager"] is False
        levels.append(call.kwargs["storageLevel"])
    third = StorageLevel.DISK_ONLY_3
    assert levels == [StorageLevel.DISK_ONLY, StorageLevel.DISK_ONLY_2, third, third]


def test_a_session_of_one_task_counts_a_materialised_source_in_one() -> None:
    """R-451, R-455: no shuffle comes between the rows and their number."""
    merge = resolved(UPSERT)
    for in_one_task in (True, False):
        frame, gathered = mock.MagicMock(), mock.MagicMock()
        frame.toDF.return_value = frame.selectExpr.return_value = frame.localCheckpoint.return_value = frame
        frame.coalesce.return_value = gathered
        frame.count.return_value, gathered.count.return_value = 3, 4
        source = prepare_source(
            MergeSource(frame=frame), merge, MaterializeReason.ALL, attempt=1, in_one_task=in_one_task
        )
        assert (source.frame, source.num_rows) == (frame, 4 if in_one_task else 3)


def test_what_is_read_again_is_stable() -> None:
    """A Delta snapshot and a materialised source give the same rows twice; any other relation may not."""
    merge, frame = resolved(UPSERT), mock.MagicMock()
    given = {is_delta: MergeSource(frame=frame, is_delta=is_delta) for is_delta in (True, False)}
    stable = {
        (reason, is_delta): prepare_source(source, merge, reason, attempt=1).is_stable
        for reason in (MaterializeReason.ALL, MaterializeReason.NOT_MATERIALIZED_NONE)
        for is_delta, source in given.items()
    }
    assert [key for key, value in stable.items() if not value] == [(MaterializeReason.NOT_MATERIALIZED_NONE, False)]
