"""A merge's entries in the log, and sources that might differ from scan to scan (parts 4 and 7)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from deltalake import DeltaTable as Reader
from deltalake import write_deltalake
from merge_tables import DELETE_AND_INSERT, INSERT, ON, SOURCE_SCHEMA, UPSERT, Table, arrow
from pyspark.errors import PySparkException
from pyspark.sql import types as t

from mergecheck.harness.engines.spark.session import settings_of
from mergecheck.merge import command
from mergecheck.merge.builder import DeltaTable
from mergecheck.merge.command import MAX_ATTEMPTS, run_merge
from mergecheck.merge.errors import ExecutionError
from mergecheck.merge.executors.source import MergeSource
from mergecheck.merge.metrics import ExecutionPath
from mergecheck.merge.syntax.parser import parse_merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.merge.command import MergeResult

pytestmark = pytest.mark.spark

UNCHANGED = Counter([(1, "a"), (2, None), (3, "c"), (None, "n")])


def merged(table: Table, sql: str, source: DataFrame) -> MergeResult:
    return run_merge(table.spark, path=table.path, statement=parse_merge(sql), source=MergeSource(frame=source))


def last_commit(table: Table) -> list[dict[str, Any]]:
    file = Path(table.path) / "_delta_log" / f"{table.version():020}.json"
    return [json.loads(line) for line in file.read_text().splitlines()]


def actions(table: Table, kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in last_commit(table) if kind in action]


@pytest.mark.parametrize(
    "sql", [UPSERT, ON + "WHEN MATCHED AND FALSE THEN DELETE WHEN NOT MATCHED AND FALSE THEN INSERT *"]
)
def test_files_of_a_merge_change_data(table: Table, sql: str) -> None:
    """R-702: dataChange is true on every add and remove, of copies too, and false on change data files."""
    table.merge(sql, [(1, "x")])
    assert {action["dataChange"] for action in actions(table, "add") + actions(table, "remove")} == {True}
    assert {action["dataChange"] for action in actions(table, "cdc")} <= {False}
    assert [info["dataChange"] for info in actions(table, "commitInfo")] == [True]


def test_change_data_files_lie_apart(table: Table) -> None:
    """R-703: below _change_data, with the same partition values as the table."""
    table.merge(UPSERT, [(1, "x")])
    (change,) = actions(table, "cdc")
    assert change["path"].startswith("_change_data/")
    assert change["partitionValues"] == {}


def test_the_history_does_not_tell_a_star_from_a_list(table: Table) -> None:
    """R-713: assignments are not recorded, nor are the older entries. R-712: only form and conditions can be."""
    parameters = []
    for action in ("UPDATE SET *", "UPDATE SET v = s.v"):
        table.merge(f"{ON} WHEN MATCHED AND t.v = 'a' THEN {action}", [(1, "a")])
        parameters.append(table.history()["operationParameters"])
    assert parameters[0] == parameters[1]
    assert parameters[0].keys() == {
        "predicate",
        "matchedPredicates",
        "notMatchedPredicates",
        "notMatchedBySourcePredicates",
    }


def test_the_history_has_no_clause_that_was_dropped(table: Table) -> None:
    """R-712: an update of the builder with an empty map and without a condition is as if never written (R-105)."""
    source = table.spark.createDataFrame([(9, "x")], SOURCE_SCHEMA).alias("s")
    builder = DeltaTable.forPath(table.spark, table.path).alias("t").merge(source, "t.id = s.id")
    builder.whenMatchedUpdate(set={}).whenNotMatchedInsertAll().execute()
    parameters = table.history()["operationParameters"]
    assert json.loads(parameters["matchedPredicates"]) == []
    assert json.loads(parameters["notMatchedPredicates"]) == [{"actionType": "insert"}]


@pytest.mark.parametrize(
    ("sql", "rows", "path", "scans", "rewrites"),
    [
        (INSERT, [(9, "x")], ExecutionPath.A, False, True),
        (UPSERT, [(9, "x")], ExecutionPath.B, True, True),
        (ON + "WHEN MATCHED THEN DELETE", [(9, "x")], ExecutionPath.C, True, False),
        (UPSERT, [(1, "x")], ExecutionPath.D, True, True),
    ],
)
def test_time_goes_to_the_parts_that_ran(
    table: Table, sql: str, rows: Sequence[tuple[Any, ...]], path: ExecutionPath, *, scans: bool, rewrites: bool
) -> None:
    """R-405, R-512: a part that ran reports 1 ms at least, the first scan of path A and the writing of C report 0."""
    result = table.merge(sql, list(rows))
    assert result.path is path
    assert result.metrics["materializeSourceTimeMs"] >= 1
    assert (result.metrics["scanTimeMs"] > 0, result.metrics["rewriteTimeMs"] > 0) == (scans, rewrites)


def test_the_description_of_jobs_is_left_alone(table: Table) -> None:
    """R-406: whatever a merge calls its jobs, afterwards the caller's description is there again."""
    context = table.spark.sparkContext
    context.setLocalProperty("spark.job.description", "mine")
    try:
        table.merge(UPSERT, [(1, "x")])
        assert context.getLocalProperty("spark.job.description") == "mine"
    finally:
        context.setLocalProperty("spark.job.description", None)


def test_a_hint_of_the_source_changes_no_row(table: Table) -> None:
    """R-426: a source with a broadcast hint is merged as any other."""
    source = table.spark.createDataFrame([(1, "x"), (9, "y")], SOURCE_SCHEMA).hint("broadcast")
    assert merged(table, UPSERT, source).row == (2, 1, 0, 1)


@pytest.mark.parametrize("sql", [UPSERT, DELETE_AND_INSERT, ON + "WHEN NOT MATCHED BY SOURCE THEN DELETE"])
def test_an_optimizer_that_sees_an_empty_side_changes_no_row(table: Table, sql: str) -> None:
    """R-427: with or without a rule that folds joins with an empty relation."""
    outcomes = []
    for excluded in ("", "org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation"):
        with settings_of(table.spark, {"spark.sql.optimizer.excludedRules": excluded}):
            outcomes.append((table.merge(sql, []).row, table.rows()))
        if table.version() > 1:
            Reader(table.path).restore(1)
    assert outcomes[0] == outcomes[1]


def test_a_source_that_stays_lost_ends_the_merge(table: Table) -> None:
    """R-453: a lost block of the source starts the merge anew, as often as the setting allows, then it fails."""
    lost = PySparkException("[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] a block is gone")
    with (
        mock.patch.object(command, "execute", side_effect=lost) as execute,
        pytest.raises(ExecutionError, match="DELTA_MERGE_MATERIALIZE_SOURCE_FAILED_REPEATEDLY"),
    ):
        table.merge(UPSERT, [(1, "x")])
    assert execute.call_count == MAX_ATTEMPTS == 4
    assert (table.version(), table.rows()) == (1, UNCHANGED)


def test_a_source_that_is_lost_once_is_read_again(table: Table) -> None:
    """R-453: the second attempt is a whole merge with metrics of its own."""
    lost = PySparkException("[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] a block is gone")
    with mock.patch.object(command, "execute", side_effect=[lost, mock.DEFAULT], wraps=command.execute):
        result = table.merge(UPSERT, [(1, "x"), (9, "y")])
    assert (result.row, result.metrics["numSourceRows"], table.version()) == ((2, 1, 0, 1), 2, 2)


def test_caching_the_source_makes_no_difference(table: Table) -> None:
    """R-454: a source is materialised before the first scan, so a cache that appears or goes later is not read."""
    source = table.spark.range(1, 3).selectExpr("id", "CAST(rand(7) AS STRING) AS v").cache()
    result = merged(table, UPSERT, source)
    assert result.materialize_reason is not None
    assert result.materialize_reason.materializes
    source.unpersist()
    assert result.row == (2, 2, 0, 0)


def test_a_random_source_is_read_once(table: Table) -> None:
    """R-818, R-331: the table and its feed show the rows of one and the same reading of the source."""
    source = table.spark.range(100).selectExpr("id", "CAST(rand() AS STRING) AS v").orderBy("v").limit(20)
    result = merged(table, UPSERT, source)
    assert result.metrics["numSourceRows"] == 20
    new = {row[:2] for row in table.changes() if row[2] in {"insert", "update_postimage"}}
    assert len(new) == 20
    assert new <= set(table.rows())


def test_a_streaming_source_is_refused(table: Table) -> None:
    """R-143: nothing is committed."""
    source = table.spark.readStream.format("rate").load().selectExpr("value AS id", "'x' AS v")
    with pytest.raises(Exception, match="writeStream"):
        merged(table, UPSERT, source)
    assert table.version() == 1


def test_a_cached_target_is_read_anew(table: Table) -> None:
    """R-817: a frame of the target that is cached before a merge does not make the merge read old rows."""
    frame = DeltaTable.forPath(table.spark, table.path).toDF().cache()
    assert frame.count() == 4
    table.merge(UPSERT, [(1, "x"), (9, "y")])
    result = table.merge(ON + "WHEN MATCHED AND t.v = 'x' THEN DELETE", [(1, "z"), (9, "z")])
    frame.unpersist()
    assert result.row == (1, 0, 1, 0)


@pytest.mark.parametrize("name", ["_source_row_present_", "_row_id_", "_file_name_", "_action_", "_clause_"])
def test_helper_columns_collide_with_no_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """R-809: what Delta's or our own helper columns are called may be a column of both tables."""
    path = str(tmp_path)
    write_deltalake(path, arrow([(1, "a"), (2, "b")], ("id", name)))
    schema = t.StructType([t.StructField("id", t.LongType()), t.StructField(name, t.StringType())])
    Table(spark, path).merge(UPSERT, [(1, "x"), (9, "y")], schema)
    assert Table(spark, path).rows() == Counter([(1, "x"), (2, "b"), (9, "y")])


def test_changes_of_one_version_need_no_earlier_feed(spark: SparkSession, tmp_path: Path) -> None:
    """R-631: a range that begins before the feed was switched on cannot be read, the merge's own version can."""
    table = Table(spark, str(tmp_path))
    write_deltalake(tmp_path, arrow([(1, "a")]))
    Reader(tmp_path).alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
    table.merge(UPSERT, [(1, "x")])
    assert table.changes() == Counter([(1, "a", "update_preimage"), (1, "x", "update_postimage")])
    with pytest.raises(Exception, match=r"(?i)change data|cdf"):
        Reader(tmp_path).load_cdf(starting_version=0).read_all()


def test_counts_come_from_tasks_that_succeeded(table: Table) -> None:
    """R-544: no counter runs beside the rows; the metrics are the rows of the table and of its feed."""
    result = table.merge(UPSERT, [(1, "x"), (2, "y"), (9, "z")])
    changes = Counter(row[2] for row in table.changes().elements())
    assert changes == {"update_preimage": 2, "update_postimage": 2, "insert": 1}
    assert (result.metrics["numTargetRowsUpdated"], result.metrics["numTargetRowsInserted"]) == (2, 1)
