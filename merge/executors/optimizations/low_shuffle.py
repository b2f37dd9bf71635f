"""Path D with little to shuffle: changed rows by a join of what they need, all others copied file by file.

The classic rewriting scan sends every row of every touched file through a full outer join. Here the join gives only
rows that a clause changes, so it reads only the columns that these need; the workers report which rows of which files
these were, and a second query copies the others (an optimisation; Delta Lake has none like it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that every Spark user knows
from pyspark.sql import types as t

from mergecheck.merge.executors.clauses import CLAUSE, COPIED
from mergecheck.merge.executors.insert_only import generate_inserts_only_output_df, prepare_rows_to_insert
from mergecheck.merge.executors.optimizations.joins import joined_source, matched_rows, may_broadcast
from mergecheck.merge.executors.optimizations.safe_conditions import conditions_cannot_fail
from mergecheck.merge.executors.output import TARGET_ROW_PRESENT
from mergecheck.merge.executors.rows_to_write import rows_to_write
from mergecheck.merge.executors.run import has_inserts, is_small
from mergecheck.merge.executors.source import referenced_source_columns
from mergecheck.merge.metrics import ExecutionPath, PathResult, TimedPart
from mergecheck.merge.table.reading.scan import FILE_NAME, ROW_INDEX, location_of, scan_files
from mergecheck.merge.table.writing.copied_rows import FileToCopy
from mergecheck.merge.table.writing.modified_rows import MODIFIED_FILE, MODIFIED_ROW
from mergecheck.merge.table.writing.write import OutputRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.executors.first_scan import TouchedFiles
    from mergecheck.merge.executors.run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.log.snapshot import DataFile

MAX_ROWS = 1_000_000_000
"""Rows of the touched files, beyond which positions of changed rows might be too many for the driver."""


def uses_low_shuffle(run: MergeRun, touched: TouchedFiles) -> bool:
    """Tell whether the touched files can be rewritten in this way, with the same result and the same errors.

    A NOT MATCHED BY SOURCE clause changes rows that match nothing, so all rows are joined, with a source that every
    task can hold. A condition that can fail must be evaluated on all rows (R-312), a CHECK must be too (R-740). Rows of
    a partitioned table are gathered by partition (R-543).
    """
    merge = run.merge
    rows = [file.statistics.num_records or 0 for file in touched.files]
    return (
        run.conf.low_shuffle
        and run.is_large(touched.files)
        and (not merge.not_matched_by_source or _joins_all_rows(run, touched.files))
        and not run.snapshot.partition_columns
        and not run.writer.checks
        and touched.num_multiple_matches == 0
        and sum(rows) <= MAX_ROWS
        and _is_flat(merge)
        and conditions_cannot_fail(merge)
    )


def _joins_all_rows(run: MergeRun, files: Sequence[DataFile]) -> bool:
    """Tell whether every row of the files can be joined without a shuffle, and the source be scanned once more."""
    return run.source.is_stable and may_broadcast(run, files, referenced_source_columns(run.merge))


def _is_flat(merge: ResolvedMerge) -> bool:
    """Tell whether all columns are atomic, and those that the table has keep their types."""
    old, new = merge.target_schema.fields, merge.final_schema.fields
    return all(isinstance(field.dataType, t.AtomicType) for field in new) and all(
        (before.name, before.dataType) == (after.name, after.dataType) for before, after in zip(old, new, strict=False)
    )


def rewrite_with_low_shuffle(run: MergeRun, touched: TouchedFiles) -> PathResult:
    """Rewrite the touched files: first what changes, then the rest (path D, R-412, R-620).

    Args:
        run: the merge under way, for which ``uses_low_shuffle`` holds.
        touched: what the first scan found, at least one file.
    """
    with run.stopwatch.part(TimedPart.REWRITE):
        small = is_small(num_source_rows=touched.num_source_rows, rewritten=touched.files)
        scans_all = has_inserts(run.merge) or bool(run.merge.not_matched_by_source)
        source_count = run.source.counted_by_scan if scans_all else None
        changed = run.writer.write(
            modified_rows(run, touched),
            change_data=run.records_changes,
            is_small=small,
            source_count=source_count,
            rows=OutputRows.MODIFIED,
        )
        positions: dict[str, list[str]] = {}
        for name, packed in changed.modified:
            positions.setdefault(location_of(name), []).append(packed)
        copied = run.writer.copy(
            run.spark,
            [FileToCopy(location=f.location, left_out=tuple(positions.pop(f.location, ()))) for f in touched.files],
            num_bytes=sum(file.size for file in touched.files),
            is_small=small,
        )
        if positions:
            raise RuntimeError(f"rows of files that are not touched were changed: {', '.join(sorted(positions))}")
    second = touched.num_source_rows if source_count is None else changed.num_source_rows
    return PathResult(
        path=ExecutionPath.D,
        written=changed.plus(copied),
        num_source_rows=touched.num_source_rows,
        num_source_rows_in_second_scan=second if scans_all else None,
        candidates=touched.candidates,
        removed=touched.files,
    )


def modified_rows(run: MergeRun, touched: TouchedFiles) -> DataFrame:
    """Build the rows that a clause changes: ``_action_``, the columns of the final schema, and which row it was.

    Full outer joins cannot broadcast a side. So where target rows without a match and source rows without a match are
    both wanted, the latter come from a join of their own.
    """
    target = scan_files(
        run.spark, run.snapshot, touched.files, constants=(f"TRUE AS {TARGET_ROW_PRESENT}",), positions=None
    )
    condition = F.expr(run.merge.condition.sql)
    if run.merge.not_matched_by_source:
        source = joined_source(run, touched.files, referenced_source_columns(run.merge))
        changed = _changed_rows(run, source.join(target, condition, "right_outer"))
        return changed.unionAll(_inserted_rows(run, touched)) if has_inserts(run.merge) else changed
    if has_inserts(run.merge):
        joined = run.source.frame.join(matched_rows(run, target, touched.files), condition, "left_outer")
    else:
        source = joined_source(run, touched.files, referenced_source_columns(run.merge))
        joined = source.join(target, condition, "inner")
    return _changed_rows(run, joined)


def _changed_rows(run: MergeRun, joined: DataFrame) -> DataFrame:
    return rows_to_write(
        run,
        joined,
        kept=f"{CLAUSE} <> {COPIED}",  # nor where it is NULL
        further_columns=(f"{FILE_NAME} AS {MODIFIED_FILE}", f"{ROW_INDEX} AS {MODIFIED_ROW}"),
    )


def _inserted_rows(run: MergeRun, touched: TouchedFiles) -> DataFrame:
    source = prepare_rows_to_insert(run, touched.scanned)
    inserted = generate_inserts_only_output_df(source, run.merge, string_partitions=run.string_partitions)
    no_row = (f"CAST(NULL AS STRING) AS {MODIFIED_FILE}", f"CAST(NULL AS BIGINT) AS {MODIFIED_ROW}")
    return inserted.selectExpr("*", *no_row)
