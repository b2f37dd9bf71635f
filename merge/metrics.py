"""The operation metrics of a merge, by Delta's names (R-501 to R-530)."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.merge.table.snapshot.data_files import total_records
from mergecheck.merge.table.writing.row_records import DELETES, UPDATES, RowAction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot
    from mergecheck.merge.table.writing.vectors import MarkedFile
    from mergecheck.merge.table.writing.write import WriteResult, WrittenFile

_VECTOR_METRICS = tuple(f"numTargetDeletionVectors{what}" for what in ("Added", "Removed", "Updated"))

_logger = logging.getLogger(__name__)


class ExecutionPath(Enum):
    """The paths of R-402 that this package has."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"
    E = "E"


class TimedPart(Enum):
    """Parts of a run that are timed (R-405); the value is the metric."""

    MATERIALIZE_SOURCE = "materializeSourceTimeMs"
    SCAN = "scanTimeMs"
    REWRITE = "rewriteTimeMs"


class Stopwatch:
    """Times the parts of one run; a part that ran takes at least 1 ms, one that did not run 0 (R-512)."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._millis: dict[TimedPart, int] = {}

    @contextmanager
    def part(self, part: TimedPart) -> Iterator[None]:
        """Time a block as a part of the run."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._millis[part] = self._millis.get(part, 0) + max(1, _millis_since(started))

    def metrics(self) -> dict[str, int]:
        """Return the four times; the whole is never less than a part."""
        parts = {part.value: self._millis.get(part, 0) for part in TimedPart}
        return {"executionTimeMs": max(_millis_since(self._started), *parts.values()), **parts}


def _millis_since(started: float) -> int:
    return int((time.perf_counter() - started) * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathResult:
    """The work of one execution path, before the commit.

    Attributes:
        num_source_rows: |S| (R-504).
        num_source_rows_in_second_scan: None if no second scan read the whole source.
        removed: files that leave the table: on path D the touched ones (R-410), all rewritten, on path E files without
            a live row.
        marked: files of which some rows were marked in a vector (path E).
        delete_overcount: joined rows beyond the first of each deleted target row that reached the writer (R-530).
    """

    path: ExecutionPath
    written: WriteResult
    num_source_rows: int
    num_source_rows_in_second_scan: int | None = None
    removed: tuple[DataFile, ...] = ()
    marked: tuple[MarkedFile, ...] = ()
    delete_overcount: int = 0

    @property
    def ended(self) -> tuple[DataFile, ...]:
        """The logical files that are no more: the removed ones, and those with another vector as they were."""
        return (*self.removed, *(marked.file for marked in self.marked))

    def count(self, *actions: RowAction) -> int:
        """Count the rows of some actions, with the correction of R-530."""
        total = sum(self.written.counts.get(action, 0) for action in actions)
        return total - (self.delete_overcount if RowAction.MATCHED_DELETE in actions else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeMetrics:
    """All metrics of one merge: the 22 operation metrics of R-510 by Delta's names, and the internal ones of R-503."""

    operation: Mapping[str, int]
    internal: Mapping[str, int] = field(default_factory=dict)

    @property
    def row(self) -> tuple[int, int, int, int]:
        """The row that the command returns: affected, updated, deleted and inserted rows (R-110)."""
        updated, deleted, inserted = (
            self.operation[f"numTargetRows{kind}"] for kind in ("Updated", "Deleted", "Inserted")
        )
        return updated + deleted + inserted, updated, deleted, inserted


def merge_metrics(
    result: PathResult, snapshot: Snapshot, candidates: Sequence[DataFile], times: Mapping[str, int]
) -> MergeMetrics:
    """Compute every metric of a run (R-503 to R-530); the candidates are the files left by data skipping."""
    return MergeMetrics(
        operation={**_row_metrics(result), **_file_metrics(result), **times},
        internal=_internal_metrics(result, snapshot, candidates),
    )


def _row_metrics(result: PathResult) -> dict[str, int]:
    inserted, updated = result.count(RowAction.INSERT), result.count(*UPDATES)
    copied = result.count(RowAction.COPY)
    return {
        "numSourceRows": result.num_source_rows,
        "numTargetRowsInserted": inserted,
        "numTargetRowsUpdated": updated,
        "numTargetRowsMatchedUpdated": result.count(RowAction.MATCHED_UPDATE),
        "numTargetRowsNotMatchedBySourceUpdated": result.count(RowAction.NOT_MATCHED_BY_SOURCE_UPDATE),
        "numTargetRowsDeleted": result.count(*DELETES),
        "numTargetRowsMatchedDeleted": result.count(RowAction.MATCHED_DELETE),
        "numTargetRowsNotMatchedBySourceDeleted": result.count(RowAction.NOT_MATCHED_BY_SOURCE_DELETE),
        "numTargetRowsCopied": copied,
        "numOutputRows": inserted + updated + copied,
    }


def _file_metrics(result: PathResult) -> dict[str, int]:
    added, changes = result.written.data_files, result.written.change_files
    return {
        "numTargetFilesAdded": len(added),
        "numTargetFilesRemoved": len(result.removed),
        "numTargetBytesAdded": sum(file.size for file in added),
        "numTargetBytesRemoved": sum(file.size for file in result.removed),
        "numTargetChangeFilesAdded": len(changes),
        **_vector_metrics(result),
    }


def _vector_metrics(result: PathResult) -> dict[str, int]:
    """Count vectors: those that take another's place are among the added and the removed ones (R-511)."""
    updated = sum(marked.file.vector is not None for marked in result.marked)
    if result.path is not ExecutionPath.E:
        return dict.fromkeys(_VECTOR_METRICS, 0)
    gone = sum(file.vector is not None for file in result.removed)
    return dict(zip(_VECTOR_METRICS, (len(result.marked), updated + gone, updated), strict=True))


def _internal_metrics(result: PathResult, snapshot: Snapshot, candidates: Sequence[DataFile]) -> dict[str, int]:
    written = result.written
    return {
        "numSourceRowsInSecondScan": result.num_source_rows_in_second_scan or 0,
        "operationNumSourceRows": result.num_source_rows,
        "numTargetFilesBeforeSkipping": len(snapshot.files),
        "numTargetFilesAfterSkipping": len(candidates),
        "numTargetBytesBeforeSkipping": sum(file.size for file in snapshot.files),
        "numTargetBytesAfterSkipping": sum(file.size for file in candidates),
        "numTargetPartitionsAfterSkipping": _num_partitions(snapshot, candidates),
        "numTargetPartitionsRemovedFrom": _num_partitions(snapshot, result.removed),
        "numTargetPartitionsAddedTo": _num_partitions(snapshot, written.data_files),
        "numTargetChangeFileBytes": sum(file.size for file in written.change_files),
    }


def _num_partitions(snapshot: Snapshot, files: Sequence[DataFile] | Sequence[WrittenFile]) -> int:
    columns = snapshot.partition_columns
    return len({tuple(repr(f.partition_values.get(name)) for name in columns) for f in files}) if columns else 0


def log_metric_invariants(metrics: MergeMetrics, result: PathResult) -> None:
    """Log metrics that contradict the record counts of the files (R-721)."""
    m = metrics.operation
    if result.path is ExecutionPath.E:
        return  # rows are not copied, and the vectors are counted by the rows that were changed
    changed = m["numTargetRowsUpdated"] + m["numTargetRowsCopied"]
    added = sum(file.num_records for file in result.written.data_files)
    if m["numTargetRowsInserted"] + changed != added:
        _logger.warning("%d rows were added to files, but the metrics say %d", added, m["numOutputRows"])
    removed = total_records(result.removed)
    if removed is not None and changed + m["numTargetRowsDeleted"] != removed:
        _logger.warning("The rows of the removed files are not those that were updated, deleted or copied: %s", dict(m))
