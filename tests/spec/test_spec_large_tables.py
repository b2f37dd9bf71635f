"""Optimisations for large tables: the same rows, changes and metrics as without them, and used where they may be.

The table of these tests has the rows (1, a), (2, NULL) in one file and (3, c), (NULL, n) in another, and its change
feed is on. Every size counts as large.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from merge_tables import DELETE_AND_INSERT, INSERT, ON, UPSERT, arrow, create

from mergecheck.harness.engines.spark.session import PLANS_DESCRIBED, settings_of
from mergecheck.merge import plan
from mergecheck.merge.conf import BROADCAST_SOURCE, LARGE_TABLE_BYTES, LOW_SHUFFLE, PRUNE_BY_SOURCE_KEYS
from mergecheck.merge.errors import ExecutionError
from mergecheck.merge.executors import insert_only
from mergecheck.merge.executors.classic import find_touched_files
from mergecheck.merge.executors.first_scan import plan_first_scan, scan_for_matches
from mergecheck.merge.executors.optimizations.low_shuffle import uses_low_shuffle
from mergecheck.merge.executors.optimizations.source_keys import files_with_source_keys, plan_first_scan_by_keys
from mergecheck.merge.table.reading.scan import scan_files

if TYPE_CHECKING:
    from merge_tables import Rows, Table
    from pyspark.sql import SparkSession

    from mergecheck.merge.command import MergeResult

pytestmark = pytest.mark.spark

LARGE = {LARGE_TABLE_BYTES: "0"}
CLASSIC = {**LARGE, LOW_SHUFFLE: "false", PRUNE_BY_SOURCE_KEYS: "false", BROADCAST_SOURCE: "false"}
SOURCE: Rows = [(1, "x"), (3, None), (9, "new"), (None, "null")]
WRITER_DEPENDENT = ("numTargetFilesAdded", "numTargetBytesAdded", "numTargetChangeFilesAdded")


# Of the source only numbers are referred to, so that it may be broadcast whole.
KEYS_ONLY = "WHEN MATCHED THEN UPDATE SET v = 'both' WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id) "


def comparable(result: MergeResult) -> dict[str, int]:
    return {
        name: value
        for name, value in result.metrics.items()
        if name not in WRITER_DEPENDENT and not name.endswith("TimeMs")
    }


def delete_on(condition: str) -> str:
    return ON.replace("t.id = s.id", condition) + "WHEN MATCHED THEN DELETE"


def new_table(spark: SparkSession, path: Path) -> Table:
    return create(spark, path, arrow([(1, "a"), (2, None)]), arrow([(3, "c"), (None, "n")]))


@pytest.mark.parametrize(
    "sql",
    [
        UPSERT,
        DELETE_AND_INSERT,
        ON + "WHEN MATCHED THEN DELETE",
        ON + "WHEN MATCHED AND s.v = 'x' THEN UPDATE SET v = concat(t.v, s.v)",
        ON + "WHEN MATCHED AND s.v = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        ON + "WHEN MATCHED AND s.v = 'never' THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        ON + "WHEN NOT MATCHED BY SOURCE AND t.v IS NOT NULL THEN DELETE",
        ON + "WHEN MATCHED AND t.v IS NULL THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'alone'",
        ON + KEYS_ONLY + "WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE",
        ON + KEYS_ONLY + "WHEN NOT MATCHED BY SOURCE AND t.id > 99 THEN UPDATE SET v = 'never'",
        ON + "WHEN NOT MATCHED AND s.id > 1 THEN INSERT (id) VALUES (s.id) WHEN NOT MATCHED BY SOURCE THEN DELETE",
        ON.replace("t.id = s.id", "t.id > s.id AND t.id = 0") + KEYS_ONLY + "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    ],
)
def test_low_shuffle_gives_what_the_classic_rewriting_gives(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    """Rows, change rows and metrics agree (R-403)."""
    table, other = new_table(spark, tmp_path / "low"), new_table(spark, tmp_path / "classic")
    with (
        settings_of(spark, LARGE),
        mock.patch.object(plan, "rewrite_with_low_shuffle", wraps=plan.rewrite_with_low_shuffle) as rewriting,
    ):
        result = table.merge(sql, SOURCE)
    assert rewriting.call_count == 1
    with settings_of(spark, CLASSIC):
        expected = other.merge(sql, SOURCE)
    assert comparable(expected) == comparable(result)
    assert other.rows() == table.rows()
    assert other.changes() == table.changes()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (UPSERT, True),
        (ON + "WHEN MATCHED AND 1 / t.id > 0 THEN DELETE", False),
        (UPSERT + " WHEN NOT MATCHED BY SOURCE AND FALSE THEN DELETE", False),
        (ON + "WHEN NOT MATCHED BY SOURCE AND FALSE THEN DELETE", True),
    ],
    ids=["plain", "condition-that-can-fail", "source-too-wide-for-all-rows", "source-of-keys-for-all-rows"],
)
def test_low_shuffle_is_left_out_where_it_could_differ(
    spark: SparkSession, table: Table, sql: str, *, expected: bool
) -> None:
    """A condition is evaluated on every row (R-312); a by-source clause needs every row joined, without a shuffle."""
    with settings_of(spark, LARGE):
        run = table.prepared(sql, SOURCE)
        assert uses_low_shuffle(run, find_touched_files(run)) is expected


def test_low_shuffle_is_for_large_tables(table: Table) -> None:
    run = table.prepared(UPSERT, SOURCE)
    assert not uses_low_shuffle(run, find_touched_files(run))


def test_low_shuffle_finds_several_matches_of_one_row(spark: SparkSession, table: Table) -> None:
    """The first scan raises before anything is written (R-320)."""
    with settings_of(spark, LARGE), pytest.raises(ExecutionError):
        table.merge(UPSERT, [(1, "x"), (1, "y")])


@pytest.mark.parametrize(
    ("sql", "rows", "read"),
    [
        (UPSERT, [(3, "x")], [{3, None}]),
        (UPSERT, [(1, "x"), (2, "y")], [{1, 2}]),
        (UPSERT, [(1, "x"), (3, "y")], [{1, 2}, {3, None}]),
        (UPSERT, [(None, "x"), (4, "y")], []),
        (UPSERT, [], []),
        (delete_on("t.id <=> s.id"), [(9, "x")], [{1, 2}, {3, None}]),
        (
            ON.replace("t.id = s.id", "t.id = s.id AND 1 / t.id > 0") + "WHEN MATCHED THEN DELETE",
            [(9, "x")],
            [{1, 2}, {3, None}],
        ),
        (
            ON.replace("t.id = s.id", "t.id = s.id OR t.v = s.v") + "WHEN MATCHED THEN DELETE",
            [(9, "x")],
            [{1, 2}, {3, None}],
        ),
    ],
    ids=["one", "two-keys", "both", "none", "no-source", "null-safe", "on-that-can-fail", "or"],
)
def test_files_without_a_key_of_the_source_are_not_read(
    spark: SparkSession, table: Table, sql: str, rows: Rows, read: list[set[int | None]]
) -> None:
    """NULL equals nothing; where ON is more than equal keys, or could fail on a row, every candidate is read."""
    with settings_of(spark, LARGE):
        run = table.prepared(sql, rows)
        files = files_with_source_keys(run)
    assert sorted(({row[0] for row in table.rows_of([file])} for file in files), key=repr) == read


def test_metrics_tell_the_candidates_whatever_was_read(spark: SparkSession, table: Table) -> None:
    """Skipping is counted by the predicates of R-420 and R-421 alone (R-503)."""
    with settings_of(spark, LARGE):
        result = table.merge(UPSERT, [(3, "x")])
    assert result.internal_metrics["numTargetFilesAfterSkipping"] == 2
    assert result.metrics["numTargetFilesRemoved"] == 1


def test_insert_only_merges_read_files_with_keys_of_the_source_only(spark: SparkSession, table: Table) -> None:
    with (
        settings_of(spark, {**LARGE, "spark.databricks.delta.merge.materializeSource": "all"}),
        mock.patch.object(insert_only, "without_matches", wraps=insert_only.without_matches) as joining,
    ):
        table.merge(INSERT, [(3, "x"), (9, "y")])
    assert [len(call.args[2]) for call in joining.call_args_list] == [1]
    assert table.rows()[9, "y"] == 1
    assert table.rows()[3, "x"] == 0


@pytest.mark.parametrize(("settings", "num_scanned", "join_type"), [(LARGE, 1, "inner"), ({}, 2, "right_outer")])
def test_with_a_by_source_clause_only_matches_are_looked_for(
    spark: SparkSession, table: Table, settings: dict[str, str], num_scanned: int, join_type: str
) -> None:
    """Every file with rows is touched (R-410), whether or not the first scan reads it."""
    with settings_of(spark, settings):
        run = table.prepared(ON + "WHEN NOT MATCHED BY SOURCE THEN DELETE", [(1, "x")])
        scan = plan_first_scan_by_keys(run)
        touched = find_touched_files(run, scan)
    assert (len(scan.files), scan.join_type) == (num_scanned, join_type)
    assert (len(touched.files), touched.num_source_rows, touched.num_multiple_matches) == (2, 1, 0)


def test_a_by_source_clause_does_not_hide_several_matches(spark: SparkSession, table: Table) -> None:
    """R-320, also where the first scan reads only files with keys of the source."""
    with settings_of(spark, LARGE), pytest.raises(ExecutionError):
        table.merge(ON + "WHEN NOT MATCHED BY SOURCE THEN DELETE", [(1, "x"), (1, "y")])


def test_files_whose_rows_are_not_counted_are_scanned(spark: SparkSession, tmp_path: Path) -> None:
    """Without statistics nobody knows whether a file has a row, and so whether it is touched."""
    table = create(spark, tmp_path / "t", arrow([(1, "a")]), arrow([(3, "c")]))
    with settings_of(spark, LARGE):
        run = table.prepared(ON + "WHEN NOT MATCHED BY SOURCE THEN DELETE", [(1, "x")])
    known = run.snapshot.files
    unknown = (known[0], replace(known[1], statistics=replace(known[1].statistics, num_records=None)))
    scans = [plan_first_scan_by_keys(replace(run, candidates=files)) for files in (known, unknown)]
    assert [scan.touched for scan in scans] == [known, ()]


def test_a_source_that_may_change_between_scans_prunes_nothing(spark: SparkSession, table: Table) -> None:
    """Path A reads such a source once, without materialising it (R-331, R-450)."""
    with settings_of(spark, LARGE):
        run = table.prepared(INSERT, [(9, "x")])
        assert files_with_source_keys(run) == run.snapshot.files


def test_a_small_source_is_broadcast_to_large_tables(spark: SparkSession, table: Table) -> None:
    """The number of its rows decides, not Spark's estimate of its bytes."""
    plans = []
    for settings in (LARGE, CLASSIC):
        with settings_of(spark, {**settings, **PLANS_DESCRIBED, "spark.sql.autoBroadcastJoinThreshold": "-1"}):
            run = table.prepared(UPSERT, SOURCE)
            query = scan_for_matches(run, plan_first_scan(run))
            assert query is not None
            plans.append(query._jdf.queryExecution().executedPlan().toString())
    assert ["BroadcastHashJoin" in plan for plan in plans] == [True, False]


def test_many_local_files_are_listed_without_a_job(spark: SparkSession, table: Table) -> None:
    """Spark would list more than 32 in a task each; its setting for that is afterwards as it was."""
    snapshot = table.prepared(UPSERT, SOURCE).snapshot
    one = snapshot.files[0]
    copies = [str(shutil.copy(one.location, Path(table.path) / f"copy-{number}.parquet")) for number in range(33)]
    context, setting = spark.sparkContext, "spark.sql.sources.parallelPartitionDiscovery.threshold"
    for before in (None, "7"):
        with settings_of(spark, {} if before is None else {setting: before}):
            context.setJobGroup("listing", "the scan of many files")
            scan_files(spark, snapshot, [replace(one, location=copy) for copy in copies])
            assert spark.conf.get(setting, None) == before
    assert not context.statusTracker().getJobIdsForGroup("listing")
    context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type] # which removes it
