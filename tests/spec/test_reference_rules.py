"""The reference, rule by rule: each test is one sentence of a rule on a few rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from reference_cases import CDF, DELTA, REFERENCE, UPSERT, bag, merge, merge_case, predicted, rejected

from mergecheck.model.outcome import Bound, MergePath, Rejection
from mergecheck.model.storage import Statistics, TargetLayout

MULTI_MATCH = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"


def test_upsert_replaces_matches_and_adds_the_rest() -> None:
    """R-303, R-304: update replaces, insert adds, the rest stays."""
    answer = predicted(merge(UPSERT, target=[[1, "a"], [2, "b"]], source=[[2, "x"], [3, "y"]]))

    assert bag(((1, "a"), (2, "x"), (3, "y"))) == bag(answer.rows)


def test_null_condition_is_not_true() -> None:
    """R-301: a NULL clause condition falls through to the next clause."""
    clauses = "WHEN MATCHED AND s.v = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'second'"
    answer = predicted(merge(clauses, target=[[1, "a"]], source=[[1, None]]))

    assert ((1, "second"),) == answer.rows


def test_null_keys_match_only_null_safely() -> None:
    """R-308: NULL = NULL is no match, NULL <=> NULL is one."""
    clauses = "WHEN MATCHED THEN UPDATE SET v = 'hit'"
    plain = predicted(merge(clauses, target=[[None, "a"]], source=[[None, "b"]]))
    null_safe = predicted(merge(clauses, target=[[None, "a"]], source=[[None, "b"]], on="t.k <=> s.k"))

    assert ((None, "a"),) == plain.rows
    assert ((None, "hit"),) == null_safe.rows


def test_first_true_clause_wins() -> None:
    """R-301: at most one clause fires, the first that holds."""
    clauses = "WHEN MATCHED AND TRUE THEN UPDATE SET v = 'first' WHEN MATCHED THEN DELETE"
    answer = predicted(merge(clauses, target=[[1, "a"]], source=[[1, "b"]]))

    assert ((1, "first"),) == answer.rows


def test_matched_pair_that_fires_nothing_is_not_handed_on() -> None:
    """R-302: matching decides the kind, not firing."""
    clauses = "WHEN MATCHED AND FALSE THEN DELETE WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE"
    answer = predicted(merge(clauses, target=[[1, "a"]], source=[[1, "b"]]))

    assert ((1, "a"),) == answer.rows


def test_assigned_values_are_those_before_the_merge() -> None:
    """R-116: SET a = b, b = a swaps."""
    clauses = "WHEN MATCHED THEN UPDATE SET a = t.b, b = t.a"
    answer = predicted(merge(clauses, target=[[1, 2, 3]], source=[[1, 0, 0]], schema="k INT, a INT, b INT"))

    assert ((1, 3, 2),) == answer.rows


def test_duplicate_source_rows_insert_duplicates() -> None:
    """R-305: SU is a bag."""
    answer = predicted(merge("WHEN NOT MATCHED THEN INSERT *", target=[], source=[[1, "a"], [1, "a"]]))

    assert ((1, "a"), (1, "a")) == answer.rows
    assert answer.path is MergePath.A


@pytest.mark.parametrize(
    "clauses",
    [
        "WHEN MATCHED AND s.v = 'x' THEN UPDATE SET v = 'u'",
        "WHEN MATCHED AND TRUE THEN DELETE",
        "WHEN MATCHED AND s.v = 'x' THEN DELETE WHEN MATCHED THEN DELETE",
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE",
        # R-322 is about statements with MATCHED clauses only
        "WHEN MATCHED AND t.k > 50 THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        "WHEN MATCHED AND t.k > 50 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE",
    ],
)
def test_ambiguity_ignores_clause_conditions(clauses: str) -> None:
    """R-321: pairs are counted by ON alone, also without MATCHED clauses."""
    reference = merge(clauses, target=[[1, "a"]], source=[[1, "x"], [1, "y"]])

    assert rejected(reference) == MULTI_MATCH
    assert reference.alternative is None


def test_ambiguity_is_not_checked_on_path_a_only() -> None:
    """R-320: the optimised insert-only path has no check, the classic one has."""
    clauses, tables = "WHEN NOT MATCHED THEN INSERT *", {"target": [[1, "a"]], "source": [[1, "x"], [1, "y"]]}
    conf = {f"{DELTA}merge.optimizeInsertOnlyMerge.enabled": "false"}

    assert predicted(merge(clauses, **tables)).path is MergePath.A
    assert rejected(merge(clauses, **tables, conf=conf)) == MULTI_MATCH


def test_sole_unconditional_delete_counts_distinct_rows() -> None:
    """R-320, R-530, R-614: allowed, one deletion and one change row per target row."""
    clauses = "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    answer = predicted(
        merge(clauses, target=[[1, "a"], [2, "b"]], source=[[1, "x"], [1, "y"], [3, "z"]], properties=CDF)
    )

    assert bag(((2, "b"), (3, "z"))) == bag(answer.rows)
    assert answer.metrics["numTargetRowsDeleted"] == Bound(1, 1)
    assert answer.cdf is not None
    assert bag(((1, "a", "delete"), (3, "z", "insert"))) == bag(answer.cdf)


@pytest.mark.parametrize(
    ("condition", "may_succeed"),
    [
        ("FALSE", True),
        ("s.v = 'x' AND t.k > 1", True),
        ("NOT (s.v = 'x' OR t.k = 1)", True),
        ("NOT (t.k <> 1 AND s.v = 'x')", False),
        ("(t.k > 1 AND s.v = 'x') OR (t.k > 1 AND s.v = 'y')", True),
        ("(t.k > 1 AND s.v = 'x') OR (t.k = 1 AND s.v = 'z')", False),
        ("s.v = 'z'", False),
    ],
)
def test_what_prunes_is_read_after_the_optimizer(condition: str, *, may_succeed: bool) -> None:
    """R-322, R-421, and the note on them: the ambiguous row is (1, 'a')."""
    clauses = f"WHEN MATCHED AND {condition} THEN DELETE"
    reference = merge(clauses, target=[[1, "a"]], source=[[1, "x"], [1, "y"]])

    assert rejected(reference) == MULTI_MATCH
    assert (reference.alternative is not None) is may_succeed


def test_an_empty_binary_literal_may_stand_in_a_disjunction() -> None:
    """It has no number that a dialect could write in its place."""
    clauses = "WHEN MATCHED AND (t.v = X'' OR t.v BETWEEN X'' AND X'') THEN DELETE"
    reference = merge(clauses, target=[[1, ""]], source=[[1, ""]], schema="k INT, v BINARY")

    assert predicted(reference).rows == ()


def test_pruned_multi_match_may_succeed() -> None:
    """R-322: both answers are right where target-only clause predicates may hide the ambiguous row."""
    clauses = "WHEN MATCHED AND t.k > 50 THEN UPDATE SET v = 'u'"
    reference = merge(clauses, target=[[[1, "a"]], [[100, "b"]]], source=[[1, "x"], [1, "y"], [100, "z"]])

    assert rejected(reference) == MULTI_MATCH
    assert reference.alternative is not None
    assert bag(((1, "a"), (100, "u"))) == bag(reference.alternative.rows)


def test_pruned_multi_match_may_fail_otherwise() -> None:
    """R-322: where the ambiguous row is not seen, the merge is refused for another row."""
    clauses = "WHEN MATCHED AND t.k > 50 THEN UPDATE SET v = NULL"
    files, source = [[[1, "a"]], [[100, "b"]]], [[1, "x"], [1, "y"], [100, "z"]]
    reference = merge(clauses, target=files, source=source, schema="k INT, v STRING NOT NULL")

    assert rejected(reference) == MULTI_MATCH
    assert isinstance(reference.answer, Rejection)
    assert reference.answer.other_classes == {"DELTA_NOT_NULL_CONSTRAINT_VIOLATED"}


@pytest.mark.parametrize(
    ("condition", "file", "layout", "may_succeed"),
    [
        ("t.k > 50", [[1, "a"]], {}, True),
        ("t.k > 50", [[1, "a"], [100, "b"]], {}, False),  # its maximum is 100
        ("t.k = 50", [[1, "a"], [100, "b"]], {}, False),  # 50 is between its bounds
        ("t.k IN (-7, 50)", [[1, "a"], [100, "b"]], {}, False),
        ("t.k IN (-7, 150)", [[1, "a"], [100, "b"]], {}, True),
        ("t.k > 1 AND t.k < 2", [[1, "a"], [100, "b"]], {}, False),  # conjuncts are taken one by one
        ("t.k > 50 AND t.v = 'q'", [[1, "a"], [100, "z"]], {}, False),
        ("t.k > 50 AND t.v = 'q'", [[1, "a"], [100, "b"]], {}, True),  # no text from 'a' to 'b'
        ("t.k IS NULL", [[1, "a"], [None, "b"]], {}, False),
        ("t.k IS NULL", [[1, "a"], [2, "b"]], {}, True),
        ("t.k > 50", [[1, "a"]], {"statistics": "none"}, False),
        ("t.k > 50", [[1, "a"]], {"statistics": "counts"}, False),
        ("t.k > 50", [[1, "a"]], {"statistics": "alternate"}, False),  # the first file has none
        ("FALSE", [[1, "a"]], {"statistics": "none"}, True),
    ],
)
def test_a_file_that_no_statistics_exclude_is_read(
    condition: str, file: list[Any], layout: dict[str, str], *, may_succeed: bool
) -> None:
    """R-322: the ambiguous row is (1, 'a'); it is seen in every file that cannot be pruned."""
    case = merge_case(f"WHEN MATCHED AND {condition} THEN DELETE", target=[file], source=[[1, "x"], [1, "y"]])
    storage = TargetLayout(statistics=Statistics(layout.get("statistics", "all")))
    reference = REFERENCE.evaluate(replace(case, target=replace(case.target, layout=storage)))

    assert rejected(reference) == MULTI_MATCH
    assert (reference.alternative is not None) is may_succeed


@pytest.mark.parametrize(("partition", "may_succeed"), [("'a'", False), ("'b'", True)])
def test_partition_values_prune_without_statistics(partition: str, *, may_succeed: bool) -> None:
    """R-322, R-420."""
    condition = f"t.v = {partition} AND t.k > 50"
    target = [[[1, "a"]], [[100, "b"]]]
    tables: dict[str, Any] = {"target": target, "source": [[1, "x"], [1, "y"]], "partition_by": ("v",)}
    case = merge_case(f"WHEN MATCHED AND {condition} THEN DELETE", **tables)
    storage = TargetLayout(statistics=Statistics.NONE)
    reference = REFERENCE.evaluate(replace(case, target=replace(case.target, layout=storage)))

    assert rejected(reference) == MULTI_MATCH
    assert (reference.alternative is not None) is may_succeed


def test_one_clause_that_may_read_the_file_is_enough() -> None:
    """R-322: the ambiguous row is hidden only where no clause's target-only predicate holds on it."""
    first = "WHEN MATCHED AND t.k > 50 THEN UPDATE SET v = 'u' "
    tables: dict[str, list[Any]] = {"target": [[1, "a"]], "source": [[1, "x"], [1, "y"]]}
    read = merge(first + "WHEN MATCHED AND t.v = 'a' THEN DELETE", **tables)
    hidden = merge(first + "WHEN MATCHED AND t.v = 'b' THEN DELETE", **tables)

    assert rejected(read) == rejected(hidden) == MULTI_MATCH
    assert read.alternative is None
    assert hidden.alternative is not None


@pytest.mark.parametrize(
    ("clauses", "copied", "removed"),
    [
        ("WHEN MATCHED AND s.v = 'no' THEN DELETE", 0, 0),
        ("WHEN MATCHED AND s.v = 'no' THEN DELETE WHEN NOT MATCHED THEN INSERT *", 2, 1),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE AND FALSE THEN DELETE", 3, 2),
        ("WHEN MATCHED THEN DELETE", 1, 1),
    ],
)
def test_touched_files_depend_on_the_kinds_present(clauses: str, copied: int, removed: int) -> None:
    """R-410, R-411: what counts as touched, and so as copied."""
    files = [[[1, "a"], [2, "b"]], [[3, "c"], [4, "d"]]]
    answer = predicted(merge(clauses, target=files, source=[[1, "x"]]))

    assert answer.metrics["numTargetRowsCopied"] == Bound(copied, copied)
    assert answer.metrics["numTargetFilesRemoved"] == Bound(removed, removed)


@pytest.mark.parametrize(
    ("clauses", "path", "committed"),
    [
        ("WHEN NOT MATCHED AND FALSE THEN INSERT *", MergePath.A, False),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", MergePath.B, True),
        ("WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND FALSE THEN INSERT *", MergePath.B, False),
        ("WHEN MATCHED THEN DELETE", MergePath.C, False),
        ("WHEN NOT MATCHED BY SOURCE AND FALSE THEN DELETE", MergePath.D, True),
    ],
)
def test_paths_and_commits(clauses: str, path: MergePath, *, committed: bool) -> None:
    """R-402, R-732: which path runs and whether a version is created, when nothing matches."""
    answer = predicted(merge(clauses, target=[[1, "a"]], source=[[9, "x"]]))

    assert (answer.path, answer.committed) == (path, committed)


def test_no_op_update_is_an_update() -> None:
    """R-310, R-612: counted, with two equal images."""
    answer = predicted(
        merge("WHEN MATCHED THEN UPDATE SET v = t.v", target=[[1, "a"]], source=[[1, "x"]], properties=CDF)
    )

    assert answer.metrics["numTargetRowsUpdated"] == Bound(1, 1)
    assert answer.cdf is not None
    assert bag(((1, "a", "update_preimage"), (1, "a", "update_postimage"))) == bag(answer.cdf)


def test_one_file_per_partition_tuple() -> None:
    """R-543: with repartitioning the number of files is exact; without it is a bound."""
    tables: dict[str, Any] = {"target": [[1, "a"], [2, "b"]], "source": [[1, "c"], [7, "d"]]}
    clauses = "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'n' WHEN MATCHED THEN UPDATE SET v = s.v"
    exact = predicted(merge(clauses, **tables, partition_by=("v",)))
    loose = predicted(
        merge(
            clauses,
            **tables,
            partition_by=("v",),
            conf={f"{DELTA}merge.repartitionBeforeWrite.enabled": "false"},
        )
    )

    assert exact.metrics["numTargetFilesAdded"] == Bound(2, 2)
    assert loose.metrics["numTargetFilesAdded"] == Bound(1, 2)


def test_empty_string_partition_is_null() -> None:
    """R-744: an empty string in a partition column is stored as NULL, in rows and images alike."""
    answer = predicted(
        merge(
            "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE",
            target=[[5, "z"]],
            source=[[1, ""]],
            partition_by=("v",),
            properties=CDF,
        )
    )

    assert ((1, None),) == answer.rows
    assert answer.cdf is not None
    assert (1, None, "insert") in answer.cdf
