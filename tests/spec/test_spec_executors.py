"""The executors on Spark and real Delta tables, read back by deltalake (parts 3 to 7)."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from merge_tables import DELETE_AND_INSERT, DELTA, INSERT, ON, UPSERT, Table, arrow, create
from pyspark.sql import types as t

from mergecheck.harness.engines.spark.session import settings_of
from mergecheck.merge import command
from mergecheck.merge.conf import SINGLE_SCAN
from mergecheck.merge.errors import ConcurrentModificationError, ConflictKind, ExecutionError
from mergecheck.merge.executors.source import MaterializeReason
from mergecheck.merge.metrics import ExecutionPath
from mergecheck.merge.table.commit.commit import commit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from merge_tables import Rows
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True, params=["false", "true"], ids=["two-scans", "single-scan"])
def scans(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Let every merge here find and rewrite files in two scans, and then in a single one."""
    with settings_of(spark, {SINGLE_SCAN: request.param}):
        yield


def test_upsert_rewrites_touched_files(table: Table) -> None:
    """Path D: matched rows change, the rest of their file is copied, unmatched and NULL keys are inserted.

    The command's own row counts the affected rows (R-110).
    """
    result = table.merge(UPSERT, [(1, "x"), (9, "y"), (None, "z")])
    assert (result.path, result.version, result.row) == (ExecutionPath.D, 2, (3, 1, 0, 2))
    assert table.rows() == Counter([(1, "x"), (2, None), (3, "c"), (None, "n"), (9, "y"), (None, "z")])
    assert table.changes() == Counter(
        [
            (1, "a", "update_preimage"),
            (1, "x", "update_postimage"),
            (9, "y", "insert"),
            (None, "z", "insert"),
        ]
    )
    metrics = result.metrics
    assert len(metrics) == 22
    assert (metrics["numTargetRowsCopied"], metrics["numTargetFilesRemoved"], metrics["numSourceRows"]) == (1, 1, 3)
    assert metrics["numOutputRows"] == 4
    assert [count for name, count in result.internal_metrics.items() if "Partitions" in name] == [0, 0, 0]
    assert len(result.touched_files) == 1


def test_history_tells_what_was_done(table: Table) -> None:
    """The commit has operation, parameters and all metrics as text, and is no blind append (R-501, R-710, R-711)."""
    result = table.merge(UPSERT.replace("MATCHED THEN UPDATE", "MATCHED AND s.v = 'x' THEN UPDATE"), [(1, "x")])
    history = table.history()
    assert history["operation"] == "MERGE"
    assert history["isBlindAppend"] is False
    assert history["operationMetrics"] == {name: str(value) for name, value in result.metrics.items()}
    assert history["operationParameters"] == {
        "predicate": '["t.id = s.id"]',
        "matchedPredicates": '[{"predicate": "s.v = \'x\'", "actionType": "update"}]',
        "notMatchedPredicates": '[{"actionType": "insert"}]',
        "notMatchedBySourcePredicates": "[]",
    }


def test_insert_only_path(table: Table) -> None:
    """Path A: one anti join; multi-matches are harmless, NULL keys never match, and the scan takes no time."""
    result = table.merge(INSERT, [(1, "x"), (1, "y"), (9, "y"), (9, "y"), (None, "z")])
    assert (result.path, result.row) == (ExecutionPath.A, (3, 0, 0, 3))
    assert result.metrics["numSourceRows"] == 5
    assert result.metrics["scanTimeMs"] == 0
    assert result.metrics["rewriteTimeMs"] >= 1
    assert table.rows()[9, "y"] == 2
    assert table.changes() == Counter({(9, "y", "insert"): 2, (None, "z", "insert"): 1})


def test_several_insert_clauses(table: Table) -> None:
    """Each unmatched row takes the first insert clause that holds; NULL conditions do not, and others are ignored."""
    sql = (
        ON + "WHEN NOT MATCHED AND s.v = 'p' THEN INSERT (id, v) VALUES (s.id, 'first') "
        "WHEN NOT MATCHED AND s.id > 5 THEN INSERT (id) VALUES (s.id + 100)"
    )
    result = table.merge(sql, [(7, "p"), (8, None), (4, None), (1, "p")])
    assert result.path is ExecutionPath.A
    assert table.rows() - Counter([(1, "a"), (2, None), (3, "c"), (None, "n")]) == Counter([(7, "first"), (108, None)])


def test_inserts_when_nothing_matches(table: Table) -> None:
    """Path B: no file is touched, so the inserts come from the source alone, although there is a matched clause.

    The second scan counts the source then (R-A21).
    """
    result = table.merge(UPSERT.replace("MATCHED THEN UPDATE", "MATCHED AND t.v = 'a' THEN UPDATE"), [(8, "x")])
    assert (result.path, result.row) == (ExecutionPath.B, (1, 0, 0, 1))
    assert result.metrics["numTargetFilesRemoved"] == 0
    assert result.internal_metrics["numSourceRowsInSecondScan"] == 1


def test_nothing_to_do(table: Table) -> None:
    """Path C: matches on which no clause fires touch nothing in a matched-only merge, and no version is made."""
    result = table.merge(ON + "WHEN MATCHED AND t.v = 'q' THEN DELETE", [(1, "x"), (9, "y")])
    assert (result.path, result.version, result.row) == (ExecutionPath.C, None, (0, 0, 0, 0))
    assert (result.metrics["numSourceRows"], result.metrics["rewriteTimeMs"]) == (2, 0)
    assert table.version() == 1


def test_copies_only_are_committed(table: Table) -> None:
    """With an insert clause matches touch their file even if nothing fires: a commit of copies (R-411, R-732)."""
    sql = ON + "WHEN MATCHED AND FALSE THEN DELETE WHEN NOT MATCHED AND NULL THEN INSERT *"
    result = table.merge(sql, [(1, "x"), (9, "y")])
    assert (result.version, result.row, result.metrics["numTargetRowsCopied"]) == (2, (0, 0, 0, 0), 2)
    assert table.rows() == Counter([(1, "a"), (2, None), (3, "c"), (None, "n")])


def test_ambiguous_matches_fail(table: Table) -> None:
    """Two source rows for one target row are an error, under any conditions, and nothing is left (R-321)."""
    with pytest.raises(ExecutionError, match="DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"):
        table.merge(ON + "WHEN MATCHED AND s.v = 'x' THEN UPDATE SET *", [(1, "x"), (1, "y")])
    assert table.version() == 1


@pytest.mark.parametrize("change_data", ["true", "false"])
def test_multiple_matches_of_a_sole_delete(spark: SparkSession, tmp_path: Path, change_data: str) -> None:
    """A sole unconditional delete may match twice: rows are deleted once and counted once, equal rows stay apart.

    Row indexes of source and target coincide here, so a de-duplication that mixed the sides would lose rows.
    """
    target = create(
        spark,
        tmp_path / "target",
        arrow([(1, "a"), (2, "b"), (2, "b"), (5, "c")]),
        delta_enableChangeDataFeed=change_data,
    )
    sql = DELETE_AND_INSERT + " WHEN NOT MATCHED BY SOURCE AND t.v = 'c' THEN UPDATE SET v = 'n'"
    result = target.merge(sql, [(8, "i"), (9, "j"), (9, "j"), (2, "x"), (2, "y"), (2, "z")])
    assert target.rows() == Counter({(1, "a"): 1, (5, "n"): 1, (8, "i"): 1, (9, "j"): 2})
    assert result.row == (6, 1, 2, 3)
    assert (result.metrics["numTargetRowsMatchedDeleted"], result.metrics["numSourceRows"]) == (2, 6)
    assert (result.metrics["numTargetRowsCopied"], result.metrics["numOutputRows"]) == (1, 5)
    if change_data == "true":
        assert target.changes() == Counter(
            {
                (2, "b", "delete"): 2,
                (8, "i", "insert"): 1,
                (9, "j", "insert"): 2,
                (5, "c", "update_preimage"): 1,
                (5, "n", "update_postimage"): 1,
            }
        )


def test_first_clause_fires_and_others_do_not(table: Table) -> None:
    """Clauses are tried in order, NULL is not TRUE, and a pair on which none fires goes to no other kind (R-301)."""
    sql = (
        ON + "WHEN MATCHED AND t.v = 'a' THEN UPDATE SET v = 'first' "
        "WHEN MATCHED AND t.id = 1 THEN DELETE WHEN MATCHED AND t.v <> 'q' THEN UPDATE SET v = 'third' "
        "WHEN NOT MATCHED BY SOURCE AND t.id IS NULL THEN DELETE"
    )
    result = table.merge(sql, [(1, "x"), (2, "x"), (3, "x")])
    assert table.rows() == Counter([(1, "first"), (2, None), (3, "third")])
    assert result.metrics["numTargetRowsNotMatchedBySourceDeleted"] == 1
    assert result.metrics["numTargetRowsMatchedUpdated"] == 2


def test_nan_keys_match(spark: SparkSession, tmp_path: Path) -> None:
    """NaN equals NaN and -0.0 equals 0.0 in ON (R-801, R-802)."""
    target = create(spark, tmp_path / "target", pa.table({"id": [float("nan"), -0.0, 1.0], "v": ["n", "z", "o"]}))
    schema = t.StructType([t.StructField("id", t.DoubleType()), t.StructField("v", t.StringType())])
    target.merge(
        ON + "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        [(float("nan"), "x"), (0.0, "y")],
        schema,
    )
    assert sorted(row[1] for row in target.rows()) == ["o", "x", "y"]


def test_empty_target_and_empty_source(spark: SparkSession, tmp_path: Path, table: Table) -> None:
    """Without target files everything is unmatched; without source rows only NOT MATCHED BY SOURCE fires."""
    DeltaTable.create(tmp_path / "empty", schema=DeltaTable(table.path).schema())
    empty = Table(spark, str(tmp_path / "empty"))
    assert empty.merge(UPSERT, []).version is None
    result = empty.merge(UPSERT, [(1, "x"), (None, "y")])
    assert (result.path, result.metrics["numSourceRows"]) == (ExecutionPath.B, 2)
    assert empty.rows() == Counter([(1, "x"), (None, "y")])
    assert table.merge(UPSERT, []).version is None
    result = table.merge(ON + "WHEN NOT MATCHED BY SOURCE THEN DELETE", [])
    assert result.row == (4, 0, 4, 0)
    assert (result.metrics["numTargetFilesAdded"], result.metrics["numTargetFilesRemoved"]) == (0, 2)
    assert table.rows() == Counter()


def test_partitions_with_difficult_names(spark: SparkSession, tmp_path: Path) -> None:
    """Partition values come from the log, rows move between partitions, and each tuple gets one file.

    Paths are encoded in the log and not on disk; files are the same ones all the same (R-543, R-613, R-A03).
    """
    names = ("a.b c", "p q")
    rows: Rows = [(1, "a/b +%2B"), (2, None), (3, "c=é'"), (4, "$x ${env:HOME}")]
    target = create(spark, tmp_path / "a table", *(arrow([row], names) for row in rows), partition_by=["p q"])
    schema = t.StructType([t.StructField("a.b c", t.LongType()), t.StructField("p q", t.StringType())])
    sql = (
        "MERGE INTO target t USING source s ON t.`a.b c` = s.`a.b c` WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.`p q` IS NULL THEN DELETE"
    )
    result = target.merge(sql, [(1, "x?{"), (3, ""), (9, "c=é'"), (10, None)], schema)
    assert target.rows() == Counter([(1, "x?{"), (3, None), (9, "c=é'"), (10, None), (4, "$x ${env:HOME}")])
    assert target.changes() == Counter(
        [
            (1, "a/b +%2B", "update_preimage"),
            (1, "x?{", "update_postimage"),
            (3, "c=é'", "update_preimage"),
            (3, None, "update_postimage"),
            (2, None, "delete"),
            (9, "c=é'", "insert"),
            (10, None, "insert"),
        ]
    )
    assert result.metrics["numTargetFilesAdded"] == 3  # no clause applies to the file of row 4
    assert result.metrics["numTargetChangeFilesAdded"] == 4
    assert result.internal_metrics["numTargetPartitionsRemovedFrom"] == 3
    assert result.internal_metrics["numTargetPartitionsAddedTo"] == 3


def test_files_of_an_older_schema(spark: SparkSession, tmp_path: Path) -> None:
    """A column that a file was written without is NULL in its rows."""
    target = create(spark, tmp_path / "target", pa.table({"id": [1, 2]}))
    write_deltalake(target.path, arrow([(3, "c")]), mode="append", schema_mode="merge")
    target.merge(UPSERT, [(1, "x"), (3, "y")])
    assert target.rows() == Counter([(1, "x"), (2, None), (3, "y")])


def test_skipped_files_are_not_scanned(table: Table) -> None:
    """Target-only conjuncts of ON skip files; with a NOT MATCHED BY SOURCE clause nothing is skipped (R-420)."""
    on = "MERGE INTO target t USING source s ON t.id = s.id AND t.id = 3 "
    result = table.merge(on + "WHEN MATCHED THEN UPDATE SET *", [(1, "x"), (3, "y")])
    assert result.internal_metrics["numTargetFilesAfterSkipping"] == 1
    assert result.row == (1, 1, 0, 0)
    result = table.merge(on + "WHEN NOT MATCHED BY SOURCE THEN DELETE", [(3, "y")])
    assert result.internal_metrics["numTargetFilesAfterSkipping"] == 2
    assert table.rows() == Counter([(3, "y")])


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("merge.optimizeInsertOnlyMerge.enabled", "false"),
        ("merge.optimizeMatchedOnlyMerge.enabled", "false"),
        ("merge.repartitionBeforeWrite.enabled", "false"),
        ("merge.materializeSource", "none"),
        ("merge.materializeSource", "all"),
        ("stats.collect", "false"),
    ],
)
@pytest.mark.parametrize("sql", [UPSERT, INSERT, ON + "WHEN MATCHED THEN UPDATE SET *"], ids=["upsert", "A", "D1"])
def test_optimisations_change_no_result(table: Table, tmp_path: Path, sql: str, flag: str, value: str) -> None:
    """Each switch gives the same rows, change feed and layout-free metrics on as off (P-17)."""
    source: Rows = [(1, "x"), (9, "y"), (None, "z")]
    other = create(table.spark, tmp_path / "other", arrow([(1, "a"), (2, None)]), arrow([(3, "c"), (None, "n")]))
    usual = table.merge(sql, source)
    with settings_of(table.spark, {DELTA + flag: value}):
        switched = other.merge(sql, source)
    assert other.rows() == table.rows()
    assert other.changes() == table.changes()
    assert switched.row == usual.row
    assert switched.metrics["numSourceRows"] == usual.metrics["numSourceRows"] == 3


def test_reasons_for_materialising(spark: SparkSession, table: Table) -> None:
    """The source is materialised unless path A runs, it is a Delta snapshot, or the setting forbids (R-450)."""
    rows: Rows = [(1, "x")]
    assert table.merge(UPSERT, rows).materialize_reason is MaterializeReason.NON_DELTA
    assert table.merge(INSERT, rows).materialize_reason is MaterializeReason.NOT_MATERIALIZED_AUTO_INSERT_ONLY
    delta = table.merge(UPSERT, rows, is_delta=True)
    assert delta.materialize_reason is MaterializeReason.NOT_MATERIALIZED_AUTO
    for value, reason in (("none", MaterializeReason.NOT_MATERIALIZED_NONE), ("all", MaterializeReason.ALL)):
        with settings_of(spark, {DELTA + "merge.materializeSource": value}):
            assert table.merge(INSERT, rows).materialize_reason is reason


def test_random_values_are_the_same_in_table_and_feed(table: Table) -> None:
    """A non-deterministic value is evaluated once per row, so images show the stored value (R-330)."""
    table.merge(
        ON + "WHEN MATCHED THEN UPDATE SET v = uuid() WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, uuid())",
        [(1, "x"), (9, "y")],
    )
    stored = {row for row in table.rows() if row[0] in {1, 9}}
    images = {row[:2] for row in table.changes() if row[2] in {"insert", "update_postimage"}}
    assert images == stored
    assert len({row[1] for row in stored}) == 2


def test_not_null_is_enforced(spark: SparkSession, tmp_path: Path) -> None:
    """A NULL for a NOT NULL column fails the merge and leaves neither a version nor a file (R-741)."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.string())])
    target = create(spark, tmp_path / "target", pa.table({"id": [1], "v": ["a"]}, schema=schema))
    before = sorted(path.name for path in (tmp_path / "target").rglob("*.parquet"))
    with pytest.raises(ExecutionError, match=r"DELTA_NOT_NULL_CONSTRAINT_VIOLATED.*column: id"):
        target.merge(UPSERT, [(1, "x"), (None, "y")])
    assert target.version() == 0
    assert sorted(path.name for path in (tmp_path / "target").rglob("*.parquet")) == before


def test_empty_commits_and_history_metrics(spark: SparkSession, table: Table) -> None:
    """Settings force an empty commit, with another isolation level, and leave metrics out of the history."""
    with settings_of(spark, {DELTA + "skipRecordingEmptyCommits": "false", DELTA + "history.metricsEnabled": "false"}):
        result = table.merge(ON + "WHEN MATCHED THEN DELETE", [(77, "x")])
    assert result.version == 2
    assert table.history()["isolationLevel"] == "SnapshotIsolation"
    assert "operationMetrics" not in table.history()


def test_replayed_transactions_do_nothing(spark: SparkSession, table: Table) -> None:
    """A transaction that the table knows already is not run again and returns no row (R-715)."""
    for version, expected in (("1", 2), ("1", None), ("0", None), ("2", 3)):
        with settings_of(spark, {DELTA + "write.txnAppId": "app", DELTA + "write.txnVersion": version}):
            result = table.merge(INSERT, [(int(version) + 50, "x")])
        assert result.version == expected
        assert (result.row is None) is (expected is None)


@pytest.mark.usefixtures("race")
def test_lost_race_leaves_no_trace(table: Table, tmp_path: Path) -> None:
    """A concurrent append that the merge should have read is a conflict; none of its files stay behind (R-750)."""
    with pytest.raises(ConcurrentModificationError) as caught:
        table.merge(UPSERT, [(1, "x"), (9, "y")])
    assert caught.value.kind is ConflictKind.CONCURRENT_APPEND
    assert table.rows()[1, "rival"] == 1
    assert (1, "x") not in table.rows()
    assert len(list((tmp_path / "target").rglob("*.parquet"))) == 3


def test_interrupt_after_the_commit_keeps_its_files(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cleaning up asks the log first, so that files of a commit that was made are not taken for orphans."""

    def interrupted(*arguments: Any, **options: Any) -> None:
        commit(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        table.merge(UPSERT, [(1, "x")])
    assert table.rows() == Counter([(1, "x"), (2, None), (3, "c"), (None, "n")])
    assert sum(table.changes().values()) == 2


def test_changed_source_is_noticed(
    spark: SparkSession, table: Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Scans that count different numbers of source rows are logged, or fail if the setting asks for it (R-456)."""
    execute = command.execute

    def miscounting(run: Any) -> Any:
        return replace(execute(run), num_source_rows_in_second_scan=5)

    monkeypatch.setattr(command, "execute", miscounting)
    with caplog.at_level(logging.WARNING):
        assert table.merge(UPSERT, [(1, "x")]).version == 2
    assert "has 1 rows in initial scan but 5 rows in second scan" in caplog.text
    with (
        settings_of(spark, {DELTA + "merge.failIfSourceChanged": "true"}),
        pytest.raises(ExecutionError, match="not deterministic"),
    ):
        table.merge(UPSERT, [(1, "x")])
    assert table.version() == 2


def test_unmaterialised_source_is_counted_twice(spark: SparkSession, table: Table) -> None:
    """Without materialisation the second scan counts the source anew, and both counts agree (R-504)."""
    with settings_of(spark, {DELTA + "merge.materializeSource": "none"}):
        result = table.merge(UPSERT, [(1, "x"), (9, "y")])
    assert result.internal_metrics["numSourceRowsInSecondScan"] == 2
    assert result.metrics["numSourceRows"] == 2
