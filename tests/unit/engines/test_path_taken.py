"""The path of a merge of Delta Lake, by its commit."""

from __future__ import annotations

import pytest

from mergecheck.harness.compare.table_outcome import CommitRecord, LoggedAction
from mergecheck.harness.engines.delta_spark import path_taken, ways_taken
from mergecheck.model.outcome import MergePath

RAN = {"scanTimeMs": 1, "rewriteTimeMs": 1}
VECTORS = {"numTargetDeletionVectorsUpdated": 1}


@pytest.mark.parametrize(
    ("metrics", "kinds", "path"),
    [
        ({"scanTimeMs": 0, "rewriteTimeMs": 5}, ["add"], MergePath.A),
        ({"scanTimeMs": 5, "rewriteTimeMs": 0}, ["metaData"], MergePath.C),
        (RAN, ["add"], MergePath.B),
        (RAN, ["add", "remove"], MergePath.D),
        (RAN, ["remove"], MergePath.D),
        ({**RAN, **VECTORS}, ["add", "remove"], MergePath.E),
        ({"scanTimeMs": 0}, ["add"], None),
        ({}, ["add"], None),
    ],
)
def test_the_path_shows_in_metrics_and_actions(
    metrics: dict[str, int], kinds: list[str], path: MergePath | None
) -> None:
    """R-402, R-512, R-701; without metrics of the history the path is unknown (R-501)."""
    actions = tuple(LoggedAction(kind=kind) for kind in ("commitInfo", *kinds))
    record = CommitRecord(read_version=0, num_commits=1, actions=actions, definition_before={}, definition={})
    assert path_taken(metrics, record) is path
    assert path_taken(metrics, None) is None


def test_ways_inside_delta_lake_are_counted() -> None:
    """A way that a merge did not take is not among them; those that only plans show need plans."""
    metrics = {"numSourceRows": 0, "numTargetRowsCopied": 3, "numTargetChangeFilesAdded": 0, **VECTORS}
    shown = {"marked_rows": 1, "no_source_rows": 1, "rows_copied": 3, "deletion_vectors": 1}
    assert ways_taken(metrics, MergePath.E, ()) == shown
    plans = ("Scan ExistingRDD mergeMaterializedSource", "Exchange, REPARTITION_BY_COL")
    assert ways_taken({}, MergePath.A, plans) == {"insert_only": 1, "materialized": 1, "repartitioned": 1}
    assert ways_taken({}, None, ()) == {}
