"""Checks between a run and its commit (R-456, R-721)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mergecheck.merge.errors import ExecutionError

if TYPE_CHECKING:
    from mergecheck.merge.executors.run import MergeRun
    from mergecheck.merge.metrics import MergeMetrics, PathResult

_logger = logging.getLogger(__name__)


def check_source_is_stable(run: MergeRun, result: PathResult) -> None:
    """Compare the two scans of the source (R-456).

    Raises:
        ExecutionError: they saw different numbers of rows and ``merge.failIfSourceChanged`` is on.
    """
    second = result.num_source_rows_in_second_scan
    if second is None or second == result.num_source_rows:
        return
    _logger.warning(
        "Merge source has %d rows in initial scan but %d rows in second scan", result.num_source_rows, second
    )
    if run.conf.fail_if_source_changed:
        raise ExecutionError(
            "UNSUPPORTED_OPERATION",
            "Cannot perform Merge because the source dataset is not deterministic. Write the source to a table first, "
            "or set spark.databricks.delta.merge.materializeSource to auto.",
        )


def log_metric_invariants(metrics: MergeMetrics, result: PathResult) -> None:
    """Log metrics that contradict the record counts of the files (R-721)."""
    m = metrics.operation
    changed = m["numTargetRowsUpdated"] + m["numTargetRowsCopied"]
    added = sum(file.num_records for file in result.written.data_files)
    if m["numTargetRowsInserted"] + changed != added:
        _logger.warning("%d rows were added to files, but the metrics say %d", added, m["numOutputRows"])
    counts = [file.statistics.num_records for file in result.removed]
    if None not in counts and changed + m["numTargetRowsDeleted"] != sum(c for c in counts if c is not None):
        _logger.warning("The rows of the removed files are not those that were updated, deleted or copied: %s", dict(m))
