"""The 22 history metrics of a merge: exact where R-540 and R-541 allow it, bounds where the writer decides (R-542)."""

from __future__ import annotations

from dataclasses import dataclass

from mergecheck.model.outcome import Bound, MergePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The numbers of rows and files that metrics are made of.

    Attributes:
        source: rows of the source.
        matched_updated: distinct rows of the target that matched clauses update; the others in the same way.
        touched_files: files that the merge rewrites, if its path rewrites any (R-410).
        touched_rows: rows in these files.
        removed_files: on path E, files of which no row is left; the others in the same way.
        marked_files: files with a new vector.
        old_vectors_removed: of the removed files, those that had a vector.
        old_vectors_marked: of the marked files, those that had one.
    """

    source: int
    inserted: int
    matched_updated: int
    matched_deleted: int
    by_source_updated: int
    by_source_deleted: int
    touched_files: int
    touched_rows: int
    removed_files: int = 0
    marked_files: int = 0
    old_vectors_removed: int = 0
    old_vectors_marked: int = 0

    @property
    def updated(self) -> int:
        """Updated rows of all kinds."""
        return self.matched_updated + self.by_source_updated

    @property
    def deleted(self) -> int:
        """Deleted rows of all kinds."""
        return self.matched_deleted + self.by_source_deleted

    @property
    def changes(self) -> int:
        """Rows of the change feed (R-611)."""
        return self.inserted + 2 * self.updated + self.deleted


def predict_metrics(
    counts: Counts,
    path: MergePath,
    *,
    change_data_feed: bool,
    written_tuples: Bound | None,
    change_tuples: Bound | None,
) -> dict[str, Bound]:
    """Give the range of every metric of R-510.

    Args:
        counts: the numbers of rows, by the merge's effect on them.
        path: the execution path.
        change_data_feed: whether the table records changes.
        written_tuples: number of partition tuples of the written rows, if there is one file per tuple (R-543).
        change_tuples: the same of the change rows.
    """
    rewrites = path is MergePath.D
    inserted, updated, deleted = counts.inserted, counts.updated, counts.deleted
    copied = counts.touched_rows - updated - deleted if rewrites else 0
    output = inserted + updated + copied
    removed = counts.touched_files if rewrites else counts.removed_files
    changed = (rewrites or path is MergePath.E) and change_data_feed and counts.changes > 0
    exact = {
        "numSourceRows": counts.source,
        "numTargetRowsInserted": inserted,
        "numTargetRowsUpdated": updated,
        "numTargetRowsMatchedUpdated": counts.matched_updated,
        "numTargetRowsNotMatchedBySourceUpdated": counts.by_source_updated,
        "numTargetRowsDeleted": deleted,
        "numTargetRowsMatchedDeleted": counts.matched_deleted,
        "numTargetRowsNotMatchedBySourceDeleted": counts.by_source_deleted,
        "numTargetRowsCopied": copied,
        "numOutputRows": output,
        "numTargetFilesRemoved": removed,
        "numTargetDeletionVectorsAdded": counts.marked_files,
        "numTargetDeletionVectorsRemoved": counts.old_vectors_removed + counts.old_vectors_marked,
        "numTargetDeletionVectorsUpdated": counts.old_vectors_marked,
    }
    return {name: Bound(value, value) for name, value in exact.items()} | {
        "numTargetFilesAdded": _num_files(output, written_tuples),
        "numTargetBytesAdded": _some_bytes(output),
        "numTargetBytesRemoved": _some_bytes(removed),
        "numTargetChangeFilesAdded": _num_files(counts.changes if changed else 0, change_tuples),
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
