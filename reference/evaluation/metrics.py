"""The 22 history metrics of a merge: exact where R-540 and R-541 allow it, bounds where the writer decides (R-542)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.outcome import Bound, MergePath

if TYPE_CHECKING:
    from collections.abc import Mapping


def predict_metrics(
    counts: Mapping[str, int],
    path: MergePath,
    *,
    change_data_feed: bool,
    written_tuples: Bound | None,
    change_tuples: Bound | None,
) -> dict[str, Bound]:
    """Give the range of every metric of R-510.

    Args:
        counts: what ``Evaluation.counts`` gives.
        path: the execution path.
        change_data_feed: whether the table records changes.
        written_tuples: partition tuples of the rows written where one file per tuple is promised (R-543), else None.
        change_tuples: the same for change rows.
    """
    rewrites = path is MergePath.D
    inserted = counts["inserted"]
    updated = counts["matched_updated"] + counts["by_source_updated"]
    deleted = counts["matched_deleted"] + counts["by_source_deleted"]
    copied = counts["touched_rows"] - updated - deleted if rewrites else 0
    output = inserted + updated + copied
    removed = counts["touched_files"] if rewrites else 0
    changed = rewrites and change_data_feed and inserted + updated + deleted > 0
    exact = {
        "numSourceRows": counts["source"],
        "numTargetRowsInserted": inserted,
        "numTargetRowsUpdated": updated,
        "numTargetRowsMatchedUpdated": counts["matched_updated"],
        "numTargetRowsNotMatchedBySourceUpdated": counts["by_source_updated"],
        "numTargetRowsDeleted": deleted,
        "numTargetRowsMatchedDeleted": counts["matched_deleted"],
        "numTargetRowsNotMatchedBySourceDeleted": counts["by_source_deleted"],
        "numTargetRowsCopied": copied,
        "numOutputRows": output,
        "numTargetFilesRemoved": removed,
        "numTargetDeletionVectorsAdded": 0,
        "numTargetDeletionVectorsRemoved": 0,
        "numTargetDeletionVectorsUpdated": 0,
    }
    return {name: Bound(value, value) for name, value in exact.items()} | {
        "numTargetFilesAdded": _num_files(output, written_tuples),
        "numTargetBytesAdded": _some_bytes(output),
        "numTargetBytesRemoved": _some_bytes(removed),
        "numTargetChangeFilesAdded": _num_files(inserted + 2 * updated + deleted if changed else 0, change_tuples),
        "executionTimeMs": Bound(0, None),
        "materializeSourceTimeMs": Bound(1, None),
        "scanTimeMs": Bound(0, 0) if path is MergePath.A else Bound(1, None),
        "rewriteTimeMs": Bound(0, 0) if path is MergePath.C else Bound(1, None),
    }


def _num_files(num_rows: int, num_tuples: Bound | None) -> Bound:
    if num_rows == 0:
        return Bound(0, 0)
    if num_tuples is None or num_tuples.high is None:
        return Bound(1, num_rows)
    return Bound(num_tuples.low, min(num_tuples.high, num_rows))


def _some_bytes(num_files_or_rows: int) -> Bound:
    return Bound(1, None) if num_files_or_rows else Bound(0, 0)
