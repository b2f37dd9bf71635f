"""Properties of whole merges by the reference: two merges that must agree, or differ in known metrics only."""

from __future__ import annotations

import pytest
from reference_cases import CDF, bag, merge, predicted

ROWS = ("numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
UPDATE = "WHEN MATCHED AND s.v = 'x' THEN UPDATE SET v = s.v "
INSERT = "WHEN NOT MATCHED AND s.v = 'x' THEN INSERT * "
BY_SOURCE = "WHEN NOT MATCHED BY SOURCE AND t.v = 'a' THEN DELETE "
TARGET = [[[1, "a"], [2, "b"]], [[3, "c"], [4, "a"]], [[5, "e"]]]
SOURCE = [[1, "x"], [2, "y"], [8, "x"], [9, "y"]]


@pytest.mark.parametrize(
    ("clauses", "last", "changed"),
    [
        (UPDATE, "WHEN MATCHED THEN DELETE", {"2"}),
        (INSERT, "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)", {"9"}),
        (BY_SOURCE, "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'left'", {"3", "5"}),
    ],
    ids=["matched", "not-matched", "by-source"],
)
def test_a_last_clause_acts_on_what_was_left(clauses: str, last: str, changed: set[str]) -> None:
    """P-21: rows on which a clause with a condition fired before come to the same."""
    before = predicted(merge(clauses, target=TARGET, source=SOURCE))
    after = predicted(merge(clauses + last, target=TARGET, source=SOURCE))
    differing = set(before.rows) ^ set(after.rows)
    assert {str(row[0]) for row in differing} == changed


@pytest.mark.parametrize(
    "clauses",
    [
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        "WHEN MATCHED AND s.v = 'x' THEN DELETE WHEN NOT MATCHED AND s.v = 'x' THEN INSERT *",
    ],
)
def test_a_source_may_be_merged_in_two_parts(clauses: str) -> None:
    """P-26: ON is an equality of keys, no clause changes the key, and the parts share none."""
    whole = predicted(merge(clauses, target=TARGET, source=SOURCE))
    first = predicted(merge(clauses, target=TARGET, source=SOURCE[::2]))
    second = predicted(merge(clauses, target=[list(row) for row in first.rows], source=SOURCE[1::2]))
    assert bag(second.rows) == bag(whole.rows)


def test_a_clause_that_never_fires_changes_metrics_of_the_layout_only() -> None:
    """R-550: it touches more files, so more rows are copied and more files removed; rows and other metrics stay."""
    answers = [
        predicted(merge(UPDATE + more, target=TARGET, source=SOURCE))
        for more in ("", "WHEN NOT MATCHED AND FALSE THEN INSERT *", "WHEN NOT MATCHED BY SOURCE AND FALSE THEN DELETE")
    ]
    assert len({tuple(bag(answer.rows)) for answer in answers}) == 1
    assert len({tuple(answer.metrics[name] for name in ROWS) for answer in answers}) == 1
    copied = [answer.metrics["numTargetRowsCopied"].low for answer in answers]
    removed = [answer.metrics["numTargetFilesRemoved"].low for answer in answers]
    assert (copied, removed) == ([1, 1, 4], [1, 1, 3])


def test_path_a_and_the_classic_path_differ_in_metrics_only() -> None:
    """R-550: without path A matched rows are copied and their files removed."""
    conf = {"spark.databricks.delta.merge.optimizeInsertOnlyMerge.enabled": "false"}
    on, off = (predicted(merge(INSERT, target=TARGET, source=SOURCE, conf=conf)) for conf in ({}, conf))
    assert bag(on.rows) == bag(off.rows)
    assert [on.metrics[name] for name in ROWS] == [off.metrics[name] for name in ROWS]
    assert (on.metrics["numTargetRowsCopied"].low, off.metrics["numTargetRowsCopied"].low) == (0, 2)


def test_the_feed_changes_neither_rows_nor_row_metrics() -> None:
    """P-15, R-621: only the number of change data files differs (R-550)."""
    off, on = (
        predicted(merge(UPDATE + INSERT + BY_SOURCE, target=TARGET, source=SOURCE, properties=properties))
        for properties in ({}, CDF)
    )
    assert bag(off.rows) == bag(on.rows)
    differing = {name for name in off.metrics if off.metrics[name] != on.metrics[name]}
    assert differing == {"numTargetChangeFilesAdded"}
