"""ClassicMergeExecutor, method by method: the scan that finds the touched files, and their rewriting (paths C and D).

``harness/specification/text/methods.md`` lists Delta's names of these methods. The table of these tests has the rows
(1, a), (2, NULL) in one file and (3, c), (NULL, n) in another, and its change feed is on.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from merge_tables import DELETE_AND_INSERT, DELTA, INSERT, ON, UPSERT, arrow, create

from mergecheck.harness.engines.spark.session import PLANS_DESCRIBED, settings_of
from mergecheck.merge.conf import SINGLE_SCAN
from mergecheck.merge.errors import ExecutionError
from mergecheck.merge.executors.classic import find_touched_files, write_all_changes
from mergecheck.merge.executors.first_scan import (
    find_touched_join_type,
    plan_first_scan,
    scan_for_matches,
)
from mergecheck.merge.logs import TRACE
from mergecheck.merge.metrics import ExecutionPath
from mergecheck.merge.table.writing.row_records import RowAction

if TYPE_CHECKING:
    from pathlib import Path

    from merge_tables import Rows, Table
    from pyspark.sql import SparkSession

    from mergecheck.merge.executors.first_scan import TouchedFiles

pytestmark = pytest.mark.spark

BY_SOURCE = " WHEN NOT MATCHED BY SOURCE AND FALSE THEN DELETE"
FIRST, SECOND = {1, 2}, {3, None}


def ids(table: Table, touched: TouchedFiles) -> list[set[int | None]]:
    """Name files by the keys in them."""
    return sorted(({row[0] for row in table.rows_of([file])} for file in touched.files), key=repr)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (ON + "WHEN MATCHED THEN DELETE", [FIRST]),
        (ON + "WHEN MATCHED AND s.v = 'x' THEN DELETE", [FIRST]),
        (ON + "WHEN MATCHED AND t.v = 'q' THEN DELETE", []),
        (ON + "WHEN MATCHED AND t.v = 'q' THEN DELETE WHEN NOT MATCHED AND FALSE THEN INSERT *", [FIRST]),
        (ON + "WHEN MATCHED AND t.v = 'q' THEN DELETE" + BY_SOURCE, [FIRST, SECOND]),
        (ON.replace("t.id = s.id", "t.id > 99") + "WHEN MATCHED THEN DELETE", []),
    ],
    ids=["matches", "fires", "fires-nowhere", "with-insert", "by-source", "skipped"],
)
def test_find_touched_files_by_the_kinds_of_clauses(table: Table, sql: str, expected: list[set[int | None]]) -> None:
    """A file is touched by a pair on which a clause may fire; with inserts by any pair; by source always (R-410)."""
    touched = find_touched_files(table.prepared(sql, [(1, "x"), (9, "y")]))
    assert ids(table, touched) == expected
    assert touched.num_source_rows == 2


def test_find_touched_files_counts_source_rows_that_match_nothing(spark: SparkSession, table: Table) -> None:
    """Their number is right for every source: materialised, counted by the scan, with nothing to scan (R-504)."""
    rows: Rows = [(7, "x"), (8, "y"), (None, "z")]
    for mode in ("auto", "none"):
        with settings_of(spark, {DELTA + "merge.materializeSource": mode}):
            assert find_touched_files(table.prepared(UPSERT, rows)).num_source_rows == 3
            skipped = table.prepared(ON.replace("t.id = s.id", "t.id > 99") + "WHEN MATCHED THEN DELETE", rows)
            assert find_touched_files(skipped).num_source_rows == 3


def test_find_touched_files_refuses_several_source_rows_for_one_target_row(table: Table) -> None:
    """Pairs are counted by ON alone, not by the clauses' conditions (R-320, R-321, R-323)."""
    rows: Rows = [(1, "x"), (1, "y"), (3, "z")]
    for clauses in ("WHEN MATCHED AND s.v = 'x' THEN UPDATE SET *", "WHEN NOT MATCHED BY SOURCE THEN DELETE"):
        with pytest.raises(ExecutionError, match="DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"):
            find_touched_files(table.prepared(ON + clauses, rows))


def test_find_touched_files_tells_how_often_a_sole_delete_would_overcount(table: Table) -> None:
    """A sole unconditional delete may match twice; pairs beyond the first of a row are the overcount (R-530, R-A01)."""
    rows: Rows = [(1, "x"), (1, "y"), (1, "z"), (3, "x"), (3, "y"), (2, "x")]
    touched = find_touched_files(table.prepared(DELETE_AND_INSERT, rows))
    assert (touched.num_multiple_matches, touched.overcount) == (2, 3)
    assert ids(table, touched) == [FIRST, SECOND]


def test_find_touched_files_names_each_file_once(table: Table) -> None:
    """R-A02, R-A03: the touched files are a set of the snapshot's own file actions, however many rows touch them."""
    run = table.prepared(UPSERT, [(1, "x"), (2, "y"), (3, "z")])
    touched = find_touched_files(run).files
    assert sorted(file.path for file in touched) == sorted(file.path for file in run.snapshot.files)
    assert all(any(file is own for own in run.snapshot.files) for file in touched)


@pytest.mark.parametrize(
    ("sql", "columns", "join"),
    [
        (UPSERT, "id:bigint", "Inner"),
        (UPSERT.replace("WHEN MATCHED", "WHEN MATCHED AND t.v = 'a'"), "id:bigint", "Inner"),
        (ON + "WHEN MATCHED AND t.v = 'a' THEN DELETE", "id:bigint,v:string", "Inner"),
        (ON + "WHEN MATCHED THEN DELETE" + BY_SOURCE, "id:bigint", "RightOuter"),
    ],
    ids=["upsert", "condition-not-needed", "matched-only", "by-source"],
)
def test_find_touched_files_reads_few_columns(
    table: Table, sql: str, columns: str, join: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scan reads what ON, and in a matched-only merge the conditions, mention (R-422), and joins by R-404."""
    run = table.prepared(sql, [(1, "x")])
    query = scan_for_matches(run, plan_first_scan(run))
    assert query is not None
    with settings_of(run.spark, PLANS_DESCRIBED):
        query.explain()
    plan = capsys.readouterr().out
    assert f"ReadSchema: struct<{columns},_tmp_metadata_row_index:bigint>" in plan
    assert re.search(rf"Join .*\b{join}\b", plan)
    assert plan_first_scan(run).target_columns == set(range(len(columns.split(","))))
    assert find_touched_join_type(run.merge) == {"Inner": "inner", "RightOuter": "right_outer"}[join]


def test_write_all_changes_rewrites_touched_files(table: Table) -> None:
    """All surviving rows of the touched files are written anew, and the change rows beside them.

    Rows that a DELETE or no insert clause drops are not among them (R-412, R-610, R-A12, R-A18).
    """
    sql = (
        ON + "WHEN MATCHED AND s.v = 'gone' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED AND s.v <> 'no' THEN INSERT *"
    )
    run = table.prepared(sql, [(1, "x"), (3, "gone"), (9, "in"), (8, "no"), (None, "in")])
    result = write_all_changes(run, find_touched_files(run))
    assert result.path is ExecutionPath.D
    assert len(result.removed) == 2
    assert result.written.counts == {
        RowAction.MATCHED_UPDATE: 1,
        RowAction.UPDATE_PREIMAGE: 1,
        RowAction.MATCHED_DELETE: 1,
        RowAction.INSERT: 2,
        RowAction.COPY: 2,
    }
    assert table.rows_of(result.written.data_files) == Counter(
        [(1, "x"), (2, None), (None, "n"), (9, "in"), (None, "in")]
    )
    assert table.rows_of(result.written.change_files) == Counter(
        [
            (1, "a", "update_preimage"),
            (1, "x", "update_postimage"),
            (3, "c", "delete"),
            (9, "in", "insert"),
            (None, "in", "insert"),
        ]
    )
    assert table.version() == 1  # nothing is visible before the commit


def test_write_all_changes_of_a_matched_only_merge_keeps_unmatched_rows(spark: SparkSession, table: Table) -> None:
    """D1, a right outer join, does not read the whole source; D2, a full outer one, does (R-402, R-404, R-504)."""
    for optimised, second_scan in (("true", None), ("false", 2)):
        with settings_of(spark, {DELTA + "merge.optimizeMatchedOnlyMerge.enabled": optimised}):
            run = table.prepared(ON + "WHEN MATCHED THEN UPDATE SET *", [(1, "x"), (9, "y")])
            result = write_all_changes(run, find_touched_files(run))
        assert table.rows_of(result.written.data_files) == Counter([(1, "x"), (2, None)])
        assert result.num_source_rows_in_second_scan == second_scan


def test_write_all_changes_fires_by_source_clauses_on_unmatched_rows_only(table: Table) -> None:
    """A pair on which no matched clause fires is copied, and not handed to other kinds (R-302)."""
    sql = ON + "WHEN MATCHED AND t.v = 'q' THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.v = 'n' THEN UPDATE SET v = 'u'"
    run = table.prepared(sql, [(1, "x"), (3, "x")])
    result = write_all_changes(run, find_touched_files(run))
    assert table.rows_of(result.written.data_files) == Counter([(1, "a"), (2, None), (3, "c"), (None, "u")])
    assert result.count(RowAction.COPY) == 3
    assert result.count(RowAction.NOT_MATCHED_BY_SOURCE_UPDATE) == 1


@pytest.mark.parametrize("change_data", ["true", "false"])
def test_write_all_changes_counts_rows_that_a_sole_delete_matches_twice_once(
    spark: SparkSession, tmp_path: Path, change_data: str
) -> None:
    """With a feed the joined rows are de-duplicated, without one the overcount is subtracted (R-530, R-614)."""
    table = create(spark, tmp_path / "target", arrow([(1, "a"), (2, "b")]), delta_enableChangeDataFeed=change_data)
    run = table.prepared(ON + "WHEN MATCHED THEN DELETE", [(1, "x"), (1, "y"), (1, "z")])
    result = write_all_changes(run, find_touched_files(run))
    assert result.count(RowAction.MATCHED_DELETE) == 1
    assert result.delete_overcount == (0 if change_data == "true" else 2)
    assert result.written.counts[RowAction.MATCHED_DELETE] == (1 if change_data == "true" else 3)
    expected = [(1, "a", "delete")] if change_data == "true" else []
    assert table.rows_of(result.written.change_files) == Counter(expected)


def test_write_all_changes_of_copies_writes_no_change_row(table: Table) -> None:
    """A touched file on which nothing fires is rewritten all the same, also without path A (R-411, R-412, R-620)."""
    with settings_of(table.spark, {DELTA + "merge.optimizeInsertOnlyMerge.enabled": "false"}):
        run = table.prepared(INSERT, [(1, "x")])
        result = write_all_changes(run, find_touched_files(run))
    assert table.rows_of(result.written.data_files) == Counter([(1, "a"), (2, None)])
    assert (result.written.counts, result.written.change_files) == ({RowAction.COPY: 2}, ())


def test_delta_log_messages(spark: SparkSession, table: Table, caplog: pytest.LogCaptureFixture) -> None:
    """The debug and trace messages begin as Delta's do (R-A05, R-A19, R-A23)."""
    with settings_of(spark, {SINGLE_SCAN: "false"}), caplog.at_level(TRACE, logger="mergecheck.merge"):
        table.merge(UPSERT, [(1, "x")])
        table.merge(INSERT, [(77, "x")])
    texts = [record.getMessage() for record in caplog.records]
    for beginning in (
        "findTouchedFiles: matched files:",
        "writeAllChanges using full_outer join:",
        "writeAllChanges: expressions",
        "writeAllChanges: join output expressions",
        "writeAllChanges: join output plan:",
        "writeInsertsOnlyWhenNoMatchedClauses: output plan:",
        "prepareInsertsOnlyOutputDF: not matched expressions",
    ):
        assert any(text.startswith(beginning) for text in texts), beginning
