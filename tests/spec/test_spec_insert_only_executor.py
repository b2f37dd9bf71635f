"""InsertOnlyMergeExecutor, method by method: inserts without touching a file (paths A and B), or nothing at all (C).

``harness/specification/text/methods.md`` lists Delta's names of these methods; ``generate_inserts_only_output_cols`` is
tested with the rest of the output generation. The table of these tests has the rows (1, a), (2, NULL), (3, c) and
(NULL, n).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from merge_tables import DELTA, INSERT, ON, UPSERT, resolved

from mergecheck.harness.engines.spark.session import PLANS_DESCRIBED, settings_of
from mergecheck.merge.executors.classic import find_touched_files
from mergecheck.merge.executors.insert_only import (
    generate_inserts_only_output_df,
    prepare_rows_to_insert,
    write_only_inserts,
)
from mergecheck.merge.metrics import ExecutionPath, TimedPart
from mergecheck.merge.table.writing.row_records import RowAction

if TYPE_CHECKING:
    from merge_tables import Rows, Table
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NO_PARTITIONS: frozenset[int] = frozenset()


def test_write_only_inserts_filters_matched_rows(table: Table) -> None:
    """Path A: an anti join, so several matches do no harm, equal rows stay, NULL keys match nothing (R-305, R-308)."""
    rows: Rows = [(1, "x"), (1, "y"), (9, "in"), (9, "in"), (None, "in")]
    result = write_only_inserts(table.prepared(INSERT, rows), filter_matched_rows=True)
    assert table.rows_of(result.written.data_files) == Counter({(9, "in"): 2, (None, "in"): 1})
    assert (result.path, result.num_source_rows) == (ExecutionPath.A, 5)
    assert result.num_source_rows_in_second_scan is None
    assert (result.removed, result.written.change_files) == ((), ())  # the feed is derived
    assert result.written.counts == {RowAction.INSERT: 3}


def test_write_only_inserts_filters_by_on_in_all_files(table: Table) -> None:
    """Path A skips files by the parts of ON over the target, and a row that matches only there stays out (R-420)."""
    sql = INSERT.replace("t.id = s.id", "t.id = s.id AND t.id >= 3")
    run = table.prepared(sql, [(1, "in"), (3, "x")])
    result = write_only_inserts(run, filter_matched_rows=True)
    assert table.rows_of(result.written.data_files) == Counter([(1, "in")])
    assert len(run.candidates) == 1


def test_write_only_inserts_does_not_filter_where_nothing_matches(table: Table) -> None:
    """Path B: the source alone, since the first scan found no touched file, and the source is counted again (R-456)."""
    with settings_of(table.spark, {DELTA + "merge.materializeSource": "none"}):
        run = table.prepared(UPSERT, [(7, "in"), (8, None)])
        touched = find_touched_files(run)
        result = write_only_inserts(run, filter_matched_rows=False, first_scan=touched)
    assert touched.files == ()
    assert table.rows_of(result.written.data_files) == Counter([(7, "in"), (8, None)])
    assert (result.path, result.num_source_rows, result.num_source_rows_in_second_scan) == (ExecutionPath.B, 2, 2)


def test_write_only_inserts_stops_early_without_insert_clause(table: Table) -> None:
    """Path C: no action and no second scan, which leaves the rewriting time at 0 (R-512, R-A20)."""
    run = table.prepared(ON + "WHEN MATCHED THEN DELETE", [(7, "x")])
    result = write_only_inserts(run, filter_matched_rows=False, first_scan=find_touched_files(run))
    assert (result.path, result.num_source_rows) == (ExecutionPath.C, 1)
    assert result.num_source_rows_in_second_scan is None
    assert (result.written.data_files, result.written.counts) == ((), {})
    assert run.stopwatch.metrics()[TimedPart.REWRITE.value] == 0


@pytest.mark.parametrize("mode", ["auto", "all"])
def test_write_only_inserts_counts_source_rows_before_any_condition(
    spark: SparkSession, table: Table, mode: str
) -> None:
    """A condition that filters the source does not change the number of its rows (R-424, R-504)."""
    with settings_of(spark, {DELTA + "merge.materializeSource": mode}):
        run = table.prepared(INSERT.replace("NOT MATCHED", "NOT MATCHED AND s.v = 'in'"), [(7, "in"), (8, None)])
        result = write_only_inserts(run, filter_matched_rows=True)
    assert (result.num_source_rows, result.count(RowAction.INSERT)) == (2, 1)


def test_write_only_inserts_puts_a_single_condition_before_the_join(
    spark: SparkSession, table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    """One insert clause: a filter below the anti join, and no column for the condition (R-424)."""
    run = table.prepared(INSERT.replace("NOT MATCHED", "NOT MATCHED AND s.v = 'in'"), [(7, "in"), (8, None), (1, "in")])
    prepared = prepare_rows_to_insert(run, run.snapshot.files)
    assert [row["source_0"] for row in prepared.collect()] == [7]
    with settings_of(spark, PLANS_DESCRIBED):
        prepared.explain(mode="extended")
    parsed = capsys.readouterr().out.split("== Analyzed Logical Plan ==")[0]
    assert parsed.index("LeftAnti") < parsed.index("Filter")  # a plan is printed from its root down
    assert "_condition_" not in parsed


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (INSERT, [(3, 7, 1), (3, 8, None)]),
        (ON + "WHEN NOT MATCHED THEN INSERT (v) VALUES (s.id)", [(3, None, 7), (3, None, 8)]),
        (
            ON + "WHEN NOT MATCHED AND s.v = 1 THEN INSERT (id) VALUES (s.id) WHEN NOT MATCHED THEN INSERT (v) "
            "VALUES (s.id)",
            [(3, 7, None), (3, None, 8)],
        ),
        (
            ON + "WHEN NOT MATCHED AND s.v = 2 THEN INSERT * WHEN NOT MATCHED AND s.v = 1 THEN INSERT (v) "
            "VALUES (s.id)",
            [(3, None, 7)],
        ),
        (UPSERT, [(3, 7, 1), (3, 8, None)]),
    ],
    ids=["star", "explicit", "two-clauses", "none-holds", "other-kinds"],
)
def test_generate_inserts_only_output_df_gives_an_action_and_the_table_columns(
    spark: SparkSession, sql: str, expected: list[tuple[Any, ...]]
) -> None:
    """Each row takes the first insert clause that holds; where the condition is FALSE or NULL the row goes (R-A22)."""
    source = spark.createDataFrame([(7, 1), (8, None)], "source_0 INT, source_1 INT")
    output = generate_inserts_only_output_df(source, resolved(sql), string_partitions=NO_PARTITIONS)
    assert output.columns == ["_action_", "output_0", "output_1"]
    assert sorted((tuple(row) for row in output.collect()), key=repr) == sorted(expected, key=repr)


def test_generate_inserts_only_output_df_evaluates_values_where_the_clause_fires(table: Table) -> None:
    """A value that fails on a row of another clause does not fail the merge (R-254)."""
    sql = (
        ON + "WHEN NOT MATCHED AND s.v = 'n' THEN INSERT (id) VALUES (s.id) "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (CAST(s.v AS BIGINT))"
    )
    result = write_only_inserts(table.prepared(sql, [(7, "n"), (8, "80")]), filter_matched_rows=True)
    assert table.rows_of(result.written.data_files) == Counter([(7, None), (80, None)])
