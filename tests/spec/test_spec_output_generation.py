"""MergeOutputGeneration, method by method: the clause that fires, the written rows, the feed's rows (R-A11 to R-A17).

``harness/specification/text/methods.md`` lists Delta's names of these methods. Inside a run the target's columns are
``target_0`` (id) and ``target_1`` (v), the source's ``source_0`` and ``source_1``, and the output's ``output_0`` and
``output_1``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from merge_tables import ON, resolved

from mergecheck.merge.executors.cdc import (
    SOURCE_ROW_INDEX,
    TARGET_ROW_INDEX,
    deduplicate_cdf_deletes,
    generate_cdc_and_output_rows,
    hide_source_index,
    needs_deduplication,
    pack_and_explode_cdc_output,
)
from mergecheck.merge.executors.clauses import (
    CLAUSE,
    COPIED,
    IGNORED,
    generate_clause_output_exprs,
    generate_precomputed_conditions_and_df,
    precompute_clauses,
    rewrite_condition,
)
from mergecheck.merge.executors.insert_only import generate_inserts_only_output_cols
from mergecheck.merge.executors.output import (
    TARGET_ROW_PRESENT,
    ClauseActions,
    generate_all_action_exprs,
    generate_write_all_changes_output_cols,
)
from mergecheck.merge.executors.source import SOURCE_ROW_PRESENT
from mergecheck.merge.table.writing.row_records import ACTION, RowAction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ALL_KINDS = (
    ON + "WHEN MATCHED AND s.v > 5 THEN UPDATE SET v = s.v + 1 WHEN MATCHED THEN DELETE "
    "WHEN NOT MATCHED AND s.v > 7 THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.v = 3 THEN DELETE"
)
NO_PARTITIONS: frozenset[int] = frozenset()

JOINED = (
    f"source_0 INT, source_1 INT, {SOURCE_ROW_PRESENT} BOOLEAN, "
    f"target_0 INT, target_1 INT, {TARGET_ROW_PRESENT} BOOLEAN"
)
PAIR_5, PAIR_9, PAIR_NULL = ((k, v, True, k, 3, True) for k, v in ((1, 5), (2, 9), (3, None)))
SOURCE_7, SOURCE_8 = ((k, v, True, None, None, None) for k, v in ((4, 7), (5, 8)))
TARGET_3, TARGET_4 = ((None, None, None, k, v, True) for k, v in ((6, 3), (7, 4)))


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def joined(spark: SparkSession, *given: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(given), JOINED)


def test_rewrite_condition_names_the_column_that_holds_it() -> None:
    """A condition becomes a column, named by clause type and the number of conditions before it (R-423)."""
    clauses = resolved(ALL_KINDS).clauses
    first = rewrite_condition(clauses[0], position=0, num_conditions=0)
    assert (first.clause, first.position, first.condition_column) == (clauses[0], 0, "_Update_condition_0_")
    assert rewrite_condition(clauses[1], position=1, num_conditions=1).condition_column is None
    names = [clause.condition_column for clause in precompute_clauses(clauses)]
    assert names == ["_Update_condition_0_", None, "_Insert_condition_1_", "_Delete_condition_2_"]


@pytest.mark.spark
def test_generate_precomputed_conditions_and_df_evaluates_each_condition_on_every_row(spark: SparkSession) -> None:
    """Every condition is a column of every joined row, of whatever kind the row is, and may be NULL (R-312, R-423)."""
    frame = joined(spark, PAIR_9, PAIR_NULL, SOURCE_8, TARGET_3)
    output, clauses = generate_precomputed_conditions_and_df(frame, resolved(ALL_KINDS).clauses)
    assert output.columns[6:] == ["_Update_condition_0_", "_Insert_condition_1_", "_Delete_condition_2_"]
    assert rows(output.select("source_0", "target_0", *output.columns[6:])) == [
        (2, 2, True, True, True),
        (3, 3, None, None, True),
        (5, None, True, True, None),
        (None, 6, None, None, True),
    ]
    assert [clause.position for clause in clauses] == [0, 1, 2, 3]


@pytest.mark.spark
def test_generate_precomputed_conditions_and_df_leaves_a_frame_without_conditions_alone(spark: SparkSession) -> None:
    """Clauses without conditions cost no further projection."""
    frame = joined(spark, PAIR_5)
    output, (clause,) = generate_precomputed_conditions_and_df(frame, resolved(ON + "WHEN MATCHED THEN DELETE").clauses)
    assert output is frame
    assert clause.condition_column is None


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", "-1"),
        ("WHEN MATCHED THEN DELETE", "0"),
        ("WHEN MATCHED AND s.v = 1 THEN DELETE", "CASE WHEN _Delete_condition_0_ THEN 0 ELSE -1 END"),
        (
            "WHEN MATCHED AND s.v = 1 THEN UPDATE SET * WHEN MATCHED AND s.v = 2 THEN DELETE",
            "CASE WHEN _Update_condition_0_ THEN 0 WHEN _Delete_condition_1_ THEN 1 ELSE -1 END",
        ),
        (
            "WHEN MATCHED AND s.v = 1 THEN UPDATE SET * WHEN MATCHED THEN DELETE",
            "CASE WHEN _Update_condition_0_ THEN 0 ELSE 1 END",
        ),
    ],
    ids=["none", "unconditional", "conditional", "several", "last-unconditional"],
)
def test_generate_clause_output_exprs_takes_the_first_clause_that_holds(clauses: str, expected: str) -> None:
    """Without clause the fallback, without condition the clause, otherwise a CASE in statement order (R-301, R-A14)."""
    merge = resolved(f"{ON} {clauses} WHEN NOT MATCHED THEN INSERT *")
    assert generate_clause_output_exprs(precompute_clauses(merge.matched), otherwise=COPIED) == expected


def test_generate_clause_output_exprs_ignores_rows_on_which_no_insert_fires() -> None:
    """For inserts the fallback is NULL, which drops the row (R-302)."""
    merge = resolved(ON + "WHEN NOT MATCHED AND s.v = 1 THEN INSERT *")
    assert (
        generate_clause_output_exprs(precompute_clauses(merge.not_matched), otherwise=IGNORED)
        == "CASE WHEN _Insert_condition_0_ THEN 0 ELSE CAST(NULL AS INT) END"
    )


@pytest.mark.parametrize(
    ("change_data", "deleted"), [(True, ("target_0", "target_1")), (False, ("NULL", "NULL"))], ids=["cdf", "no-cdf"]
)
def test_generate_all_action_exprs_gives_each_clause_its_columns(
    change_data: bool,  # noqa: FBT001 - a parameter of the test
    deleted: tuple[str, ...],
) -> None:
    """Aligned values for UPDATE and INSERT; for DELETE the old row, or nothing where no feed wants it (R-A13)."""
    merge = resolved(ALL_KINDS)
    assert generate_all_action_exprs(merge, precompute_clauses(merge.clauses), change_data=change_data) == (
        ClauseActions(position=0, action=RowAction.MATCHED_UPDATE, values=merge.clauses[0].values),
        ClauseActions(position=1, action=RowAction.MATCHED_DELETE, values=deleted),
        ClauseActions(position=2, action=RowAction.INSERT, values=("source_0", "source_1")),
        ClauseActions(position=3, action=RowAction.NOT_MATCHED_BY_SOURCE_DELETE, values=deleted),
    )
    assert merge.clauses[0].values[0] == "target_0"  # columns that an UPDATE does not mention stay


def test_generate_write_all_changes_output_cols_without_change_data() -> None:
    """Presence of the sides picks the kind, the clause's number picks values and action (R-302, R-A11 to R-A15)."""
    merge = resolved(
        ON + "WHEN MATCHED AND s.v > 5 THEN UPDATE SET v = s.v WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND s.v > 7 THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.v = 3 THEN DELETE"
    )
    cols = generate_write_all_changes_output_cols(
        merge, precompute_clauses(merge.clauses), change_data=False, string_partitions=NO_PARTITIONS
    )
    assert cols.clause == (
        "CASE WHEN _source_row_present_ IS NULL THEN CASE WHEN _Delete_condition_2_ THEN 3 ELSE -1 END "
        "WHEN _target_row_present_ IS NULL THEN CASE WHEN _Insert_condition_1_ THEN 2 ELSE CAST(NULL AS INT) END "
        "ELSE CASE WHEN _Update_condition_0_ THEN 0 ELSE 1 END END"
    )
    assert cols.action == "CASE _clause_ WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 3 WHEN 3 THEN 5 ELSE 0 END"
    assert cols.columns == (
        "CASE WHEN _clause_ IN (1, 3) THEN NULL WHEN _clause_ IN (2) THEN source_0 ELSE target_0 END AS output_0",
        "CASE WHEN _clause_ IN (0, 2) THEN source_1 WHEN _clause_ IN (1, 3) THEN NULL ELSE target_1 END AS output_1",
    )


def test_generate_write_all_changes_output_cols_with_change_data() -> None:
    """The pre-image of an update and a deleted row show the old values, which need no branch of their own (R-610)."""
    merge = resolved(ON + "WHEN MATCHED AND s.v > 5 THEN UPDATE SET v = s.v WHEN MATCHED THEN DELETE")
    cols = generate_write_all_changes_output_cols(
        merge, precompute_clauses(merge.clauses), change_data=True, string_partitions=frozenset({1})
    )
    changed = "CASE WHEN _action_ = 6 THEN target_1 WHEN _clause_ IN (0) THEN source_1 ELSE target_1 END"
    assert cols.columns == (
        "target_0 AS output_0",
        # the empty string is NULL in a string partition column.
        f"nullif({changed}, '') AS output_1",
    )


@pytest.mark.spark
def test_generate_write_all_changes_output_cols_on_rows_of_every_kind(spark: SparkSession) -> None:
    """What each joined row becomes: updated, deleted, inserted, ignored (dropped) or copied."""
    merge = resolved(ALL_KINDS)
    given = joined(spark, PAIR_5, PAIR_9, PAIR_NULL, SOURCE_7, SOURCE_8, TARGET_3, TARGET_4)
    frame, clauses = generate_precomputed_conditions_and_df(given, merge.clauses)
    cols = generate_write_all_changes_output_cols(merge, clauses, change_data=False, string_partitions=NO_PARTITIONS)
    frame = frame.selectExpr("*", f"{cols.clause} AS {CLAUSE}")
    output = frame.selectExpr("source_0", "target_0", CLAUSE, f"{cols.action} AS {ACTION}", *cols.columns)
    copy, update, delete, insert, gone = (
        RowAction.COPY,
        RowAction.MATCHED_UPDATE,
        RowAction.MATCHED_DELETE,
        RowAction.INSERT,
        RowAction.NOT_MATCHED_BY_SOURCE_DELETE,
    )
    assert rows(output) == [
        (1, 1, 1, delete, None, None),
        (2, 2, 0, update, 2, 10),
        (3, 3, 1, delete, None, None),  # NULL > 5 is not TRUE, so the second clause fires
        (4, None, None, copy, None, None),  # ignored: no clause at all, which drops the row
        (5, None, 2, insert, 5, 8),
        (None, 6, 3, gone, None, None),
        (None, 7, -1, copy, 7, 4),
    ]


@pytest.mark.spark
def test_generate_cdc_and_output_rows_adds_pre_images(spark: SparkSession) -> None:
    """An update is two rows, pre-image and new row; anything else is one, a deleted one with old values (R-610)."""
    merge = resolved(ALL_KINDS)
    frame, clauses = generate_precomputed_conditions_and_df(
        joined(spark, PAIR_5, PAIR_9, SOURCE_8, TARGET_4), merge.clauses
    )
    cols = generate_write_all_changes_output_cols(merge, clauses, change_data=True, string_partitions=NO_PARTITIONS)
    frame = frame.selectExpr("*", f"{cols.clause} AS {CLAUSE}")
    assert rows(generate_cdc_and_output_rows(frame, cols, deduplicate_deletes=False)) == sorted(
        [
            (RowAction.MATCHED_DELETE, 1, 3),
            (RowAction.MATCHED_UPDATE, 2, 10),
            (RowAction.UPDATE_PREIMAGE, 2, 3),
            (RowAction.INSERT, 5, 8),
            (RowAction.COPY, 7, 4),
        ]
    )


@pytest.mark.spark
def test_pack_and_explode_cdc_output_doubles_updates_of_both_kinds(spark: SparkSession) -> None:
    """One code per row decides where it goes; only updates of both kinds get a second row (R-A16)."""
    frame = spark.createDataFrame(
        [(int(action),) for action in RowAction if action < RowAction.UPDATE_PREIMAGE], "a INT"
    )
    image = RowAction.UPDATE_PREIMAGE
    matched, by_source = RowAction.MATCHED_UPDATE, RowAction.NOT_MATCHED_BY_SOURCE_UPDATE
    assert rows(pack_and_explode_cdc_output(frame, "a")) == [
        (RowAction.COPY, RowAction.COPY),
        (matched, matched),
        (matched, image),
        (RowAction.MATCHED_DELETE, RowAction.MATCHED_DELETE),
        (RowAction.INSERT, RowAction.INSERT),
        (by_source, by_source),
        (by_source, image),
        (RowAction.NOT_MATCHED_BY_SOURCE_DELETE, RowAction.NOT_MATCHED_BY_SOURCE_DELETE),
    ]


@pytest.mark.spark
def test_deduplicate_cdf_deletes_keeps_one_row_per_target_row(spark: SparkSession) -> None:
    """A target row matched twice is one delete; inserted rows, and equal rows of other indexes, stay (R-614, R-A17)."""
    delete, insert = int(RowAction.MATCHED_DELETE), int(RowAction.INSERT)
    frame = spark.createDataFrame(
        [
            (0, True, 10, delete, "twice"),
            (0, True, 11, delete, "twice"),
            (1, True, 12, delete, "twice"),  # an equal row, but another one
            (None, None, 0, insert, "in"),  # the source's index 0 is not the target's index 0
            (None, None, 1, insert, "in"),
        ],
        f"{TARGET_ROW_INDEX} INT, {TARGET_ROW_PRESENT} BOOLEAN, {SOURCE_ROW_INDEX} INT, {ACTION} INT, v STRING",
    )
    hidden = frame.selectExpr(TARGET_ROW_INDEX, hide_source_index(), ACTION, "v")
    assert rows(deduplicate_cdf_deletes(hidden).select(ACTION, "v")) == [
        (delete, "twice"),
        (delete, "twice"),
        (insert, "in"),
        (insert, "in"),
    ]


@pytest.mark.parametrize(
    ("clauses", "multiple_matches", "change_data", "expected"),
    [
        ("WHEN MATCHED THEN DELETE", True, True, True),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", True, True, True),
        ("WHEN MATCHED THEN DELETE", False, True, False),
        ("WHEN MATCHED THEN DELETE", True, False, False),
        ("WHEN MATCHED AND TRUE THEN DELETE", True, True, False),
    ],
)
def test_deduplicate_cdf_deletes_is_asked_for_where_deletes_could_be_doubled(
    *, clauses: str, multiple_matches: bool, change_data: bool, expected: bool
) -> None:
    """Only with a change feed, ambiguous matches and the one clause that allows them (R-320, R-A04, R-A10)."""
    found = needs_deduplication(resolved(ON + clauses), multiple_matches=multiple_matches, change_data=change_data)
    assert found is expected


def test_generate_inserts_only_output_cols_dispatches_on_the_clause() -> None:
    """Several insert clauses: the first that holds, else NULL, which drops the row; values by clause (R-A22)."""
    merge = resolved(ON + "WHEN NOT MATCHED AND s.v = 1 THEN INSERT * WHEN NOT MATCHED THEN INSERT (v) VALUES (s.id)")
    cols = generate_inserts_only_output_cols(precompute_clauses(merge.not_matched), string_partitions=frozenset({0}))
    assert cols.clause == "CASE WHEN _Insert_condition_0_ THEN 0 ELSE 1 END"
    insert = int(RowAction.INSERT)
    assert cols.action == f"CASE _clause_ WHEN 0 THEN {insert} WHEN 1 THEN {insert} END"
    assert cols.columns == (
        "nullif(CASE _clause_ WHEN 0 THEN source_0 WHEN 1 THEN CAST(NULL AS INT) END, '') AS output_0",
        "CASE _clause_ WHEN 0 THEN source_1 WHEN 1 THEN source_0 END AS output_1",
    )
