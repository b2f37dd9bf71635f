"""Paths B, C and D in one query, for merges so small that one task does all of it (``singleScan.enabled``).

Two scans plan, read and join the same rows twice. A task that gets all rows of the join finds the touched files and
writes these alone. It must see the last row before it writes the first, so it holds all of them in memory.

Cases whose result could differ are left to two scans: ambiguous matches (R-320, R-530), and every error, since one
query evaluates values on rows that the first scan would not reach (R-312).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows

from mergecheck.merge.errors import MergeError
from mergecheck.merge.executors.cdc import rows_to_write
from mergecheck.merge.executors.classic import rewriting_join_type
from mergecheck.merge.executors.clauses import CLAUSE, COPIED, precompute_clauses
from mergecheck.merge.executors.first_scan import files_of_names
from mergecheck.merge.executors.merge_run import has_inserts, is_matched_only
from mergecheck.merge.executors.optimizations.by_source_files import (
    files_with_keys,
    files_within_reach,
    leaves_files_by_source,
)
from mergecheck.merge.executors.optimizations.one_task import fit_in_one_task, has_few_rows, split_bytes
from mergecheck.merge.executors.output import TARGET_ROW_PRESENT
from mergecheck.merge.executors.source import SOURCE_ROW_PRESENT
from mergecheck.merge.executors.target import scan_target
from mergecheck.merge.expressions.spark_errors import SPARK_ERRORS
from mergecheck.merge.logs import TRACE
from mergecheck.merge.metrics import ExecutionPath, PathResult, TimedPart
from mergecheck.merge.table.reading.scan import FILE_NAME, ROW_INDEX
from mergecheck.merge.table.writing.touched_rows import AMBIGUOUS, TOUCHED_FILE, write_touched_files

if TYPE_CHECKING:
    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.writing.write import WriteResult

MAX_BYTES = 4 * 2**20
"""Limit of bytes of files whose rows a task holds; unpacked they are some ten times as large."""
_IS_MATCHED = f"({SOURCE_ROW_PRESENT} IS NOT NULL AND {TARGET_ROW_PRESENT} IS NOT NULL)"

_logger = logging.getLogger(__name__)


def uses_single_scan(run: MergeRun) -> bool:
    """Return whether one task can do the whole merge at once."""
    files, num_bytes = run.candidates, sum(file.size for file in run.candidates)
    return (
        bool(files)
        and num_bytes <= MAX_BYTES
        and not run.conf.is_large(num_bytes)
        and has_few_rows(run.source)
        and fit_in_one_task(files, split_bytes(run.spark))
    )


def merge_in_single_scan(run: MergeRun) -> PathResult | None:
    """Run the one query, if the merge is small enough.

    If two scans have to decide, the result is None, and nothing of this query is used.
    """
    if not uses_single_scan(run):
        return None
    join_type, files = rewriting_join_type(run), run.candidates
    by_source = leaves_files_by_source(run)
    if by_source:
        files = files_within_reach(run, files_with_keys(run))
    with run.stopwatch.part(TimedPart.SCAN):
        target = scan_target(run, files).coalesce(1)
        # A broadcast would be a job of its own; rows that one task has already are sorted without a shuffle.
        source = run.source.frame.coalesce(1).hint("merge")
        joined = source.join(target, F.expr(run.merge.condition.sql), join_type)
        output = rows_to_write(run, joined, further_columns=identity_columns(run.merge, by_source=by_source))
        try:
            written = run.writer.write(
                output, change_data=run.records_changes, in_one_task=True, function=write_touched_files
            )
        except (MergeError, *SPARK_ERRORS) as error:
            _logger.debug("The single scan failed; two scans run to find the cause: %s", error)
            return None
    if written.reported(AMBIGUOUS):
        return None
    run.ways["by_source_files"] += by_source
    run.ways["files_pruned"] = len(run.candidates) - len(files)
    run.count_scan(files)
    return _result(run, written, join_type)


def identity_columns(merge: ResolvedMerge, *, by_source: bool = False) -> tuple[str, ...]:
    """Write a joined row's target row, whether it is a matched pair, and whether it touches the file (R-410).

    Conditions are named as ``rows_to_write`` precomputes them. With ``by_source`` only rows on which a clause fires
    touch their file, and matches if there is an insert clause (R-414).
    """
    if by_source:
        fires = f"({TARGET_ROW_PRESENT} IS NOT NULL AND {CLAUSE} <> {COPIED})"
        touches = f"{fires} OR {_IS_MATCHED}" if has_inserts(merge) else fires
    elif merge.not_matched_by_source:
        touches = f"{TARGET_ROW_PRESENT} IS NOT NULL"
    elif is_matched_only(merge):
        conditions = [clause.condition_column or "TRUE" for clause in precompute_clauses(merge.clauses)]
        touches = f"{_IS_MATCHED} AND coalesce({' OR '.join(conditions)}, FALSE)"
    else:
        touches = _IS_MATCHED
    return (FILE_NAME, ROW_INDEX, f"{_IS_MATCHED} AS _is_matched_", f"({touches}) AS _touches_")


def _result(run: MergeRun, written: WriteResult, join_type: str) -> PathResult:
    removed = files_of_names((name for name, _ in written.reported(TOUCHED_FILE)), run.candidates)
    _logger.log(TRACE, "mergeInSingleScan: matched files:\n\t%s", "\n\t".join(file.path for file in removed))
    num_source_rows = run.source.num_rows
    if num_source_rows is None:
        raise RuntimeError("a merge in one task knows how many rows its source has")
    if removed:
        path, scanned_again = ExecutionPath.D, join_type == "full_outer"
    else:
        path, scanned_again = (ExecutionPath.B, True) if has_inserts(run.merge) else (ExecutionPath.C, False)
    if path is not ExecutionPath.C:
        with run.stopwatch.part(TimedPart.REWRITE):  # part of the one query, and did run
            pass
    return PathResult(
        path=path,
        written=written,
        num_source_rows=num_source_rows,
        num_source_rows_in_second_scan=num_source_rows if scanned_again else None,
        removed=removed,
    )
