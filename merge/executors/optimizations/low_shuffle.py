"""Rewrite touched files with little to shuffle: join what changes, copy the rest (``lowShuffle.enabled``).

The classic rewriting scan sends every row of every touched file through a full outer join. Here the join gives only
rows that a clause changes, so it reads only the columns that these need. The workers report which rows of which files
these were, and a second query copies the others, file by file.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import types as t

from mergecheck.merge.executors.cdc import rows_to_write
from mergecheck.merge.executors.clauses import CLAUSE, COPIED
from mergecheck.merge.executors.insert_only import generate_inserts_only_output_df, prepare_rows_to_insert
from mergecheck.merge.executors.merge_run import has_inserts, shuffle_partitions
from mergecheck.merge.executors.optimizations.broadcast import may_broadcast
from mergecheck.merge.executors.optimizations.safe_conditions import conditions_cannot_fail
from mergecheck.merge.executors.source import referenced_source_columns
from mergecheck.merge.executors.target import scan_target
from mergecheck.merge.metrics import ExecutionPath, PathResult, TimedPart
from mergecheck.merge.table.reading.scan import FILE_NAME, ROW_INDEX, location_of
from mergecheck.merge.table.writing.copied_rows import FileToCopy, copy_groups
from mergecheck.merge.table.writing.modified_rows import (
    MODIFIED_FILE,
    MODIFIED_ROW,
    MODIFIED_ROWS,
    pack,
    write_modified_rows,
)
from mergecheck.merge.table.writing.row_records import KEPT_COMMIT_VERSION, KEPT_ROW_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mergecheck.merge.executors.first_scan import TouchedFiles
    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.writing.write import WriteResult

MAX_ROWS = 1_000_000_000
"""Limit of rows in the touched files: positions of changed rows go through the driver."""
# The bytes that one task copies. Each task leaves a file, and small files make every later scan slower.
LEAST_BYTES_COPIED, MOST_BYTES_COPIED = 16 * 2**20, 128 * 2**20


def uses_low_shuffle(run: MergeRun, touched: TouchedFiles) -> bool:
    """Return whether the touched files can be rewritten in this way, with the same result and the same errors.

    A NOT MATCHED BY SOURCE clause changes rows without a match, so all rows are joined, with a broadcast source. A
    condition that can fail, and a CHECK, must be evaluated on all rows (R-312, R-740). Copied and changed rows of a
    partition would be in two files, where R-543 wants one.
    """
    merge = run.merge
    rows = [file.statistics.num_records or 0 for file in touched.files]
    return (
        run.conf.is_large(sum(file.size for file in touched.files))
        and (not merge.not_matched_by_source or _broadcasts_source(run, touched.files))
        and not run.snapshot.partition_columns
        and not run.writer.checks
        and touched.num_multiple_matches == 0
        and sum(rows) <= MAX_ROWS
        and is_flat(merge)
        and conditions_cannot_fail(merge)
    )


def _broadcasts_source(run: MergeRun, files: Sequence[DataFile]) -> bool:
    """Return whether every row of the files can be joined without a shuffle, and the source be scanned once more."""
    columns = referenced_source_columns(run.merge)
    return run.source.is_stable and may_broadcast(run.conf, run.merge, run.source, files, columns)


def is_flat(merge: ResolvedMerge) -> bool:
    """Return whether all columns are atomic, and those that the table has keep their types."""
    old, new = merge.target_schema.fields, merge.final_schema.fields
    return all(isinstance(field.dataType, t.AtomicType) for field in new) and all(
        (before.name, before.dataType) == (after.name, after.dataType) for before, after in zip(old, new, strict=False)
    )


def rewrite_with_low_shuffle(run: MergeRun, touched: TouchedFiles) -> PathResult:
    """Rewrite the touched files: first what changes, then the rest (path D, R-412, R-620).

    ``uses_low_shuffle`` must hold for the merge.
    """
    with run.stopwatch.part(TimedPart.REWRITE):
        in_one_task = run.joins.writes_in_one_task(touched.files, num_source_rows=touched.num_source_rows)
        scans_all = has_inserts(run.merge) or bool(run.merge.not_matched_by_source)
        source_count = run.source.counted_by_scan if scans_all else None
        changed = run.writer.write(
            modified_rows(run, touched),
            change_data=run.records_changes,
            in_one_task=in_one_task,
            source_count=source_count,
            function=write_modified_rows,
        )
        copied = _copy_other_rows(run, touched.files, changed, in_one_task=in_one_task)
    second = touched.num_source_rows if source_count is None else changed.num_source_rows
    return PathResult(
        path=ExecutionPath.D,
        written=changed.plus(copied),
        num_source_rows=touched.num_source_rows,
        num_source_rows_in_second_scan=second if scans_all else None,
        removed=touched.files,
    )


def _copy_other_rows(
    run: MergeRun, files: Sequence[DataFile], changed: WriteResult, *, in_one_task: bool
) -> WriteResult:
    """Copy the rows of files that were not changed, into new files."""
    positions: dict[str, list[str]] = {}
    for name, packed in changed.reported(MODIFIED_ROWS):
        positions.setdefault(location_of(name), []).append(packed or "")
    for file in files:
        if file.vector is not None:
            deleted = np.array(run.snapshot.deleted_rows(file), np.int64)
            positions.setdefault(file.location, []).append(pack(deleted))
    copies = [FileToCopy(location=f.location, left_out=tuple(positions.pop(f.location, ())), ids=f.ids) for f in files]
    if positions:
        raise RuntimeError(f"rows of files that are not touched were changed: {', '.join(sorted(positions))}")
    num_tasks = 1 if in_one_task else num_copying_tasks(run.spark, files)
    groups = tuple(tuple(copies[i::num_tasks]) for i in range(num_tasks))
    stored = frozenset(run.snapshot.stored_schema.names)
    function = functools.partial(copy_groups, run.writer.task(change_data=False), stored, groups)
    return run.writer.run(run.spark.range(0, num_tasks, 1, num_tasks), function)


def num_copying_tasks(spark: SparkSession, files: Sequence[DataFile]) -> int:
    """Choose how many tasks copy files: as many as a shuffle has, unless each had too much or too little to do."""
    num_bytes = sum(file.size for file in files)
    at_least, at_most = -(-num_bytes // MOST_BYTES_COPIED), -(-num_bytes // LEAST_BYTES_COPIED)
    return max(1, min(len(files), max(at_least, min(at_most, shuffle_partitions(spark)))))


def modified_rows(run: MergeRun, touched: TouchedFiles) -> DataFrame:
    """Build the rows that a clause changes: ``_action_``, the columns of the final schema, and which row it was.

    Full outer joins cannot broadcast a side. So if rows without a match of both tables are wanted, those of the source
    come from a join of their own.
    """
    merge = run.merge
    target = scan_target(run, touched.files)
    columns = referenced_source_columns(merge)
    joined = run.joins.join(
        run.source.frame, target, _modifying_join_type(merge), files=touched.files, source_columns=columns
    )
    changed = _changed_rows(run, joined)
    if merge.not_matched_by_source and has_inserts(merge):
        return changed.unionAll(_inserted_rows(run, touched))
    return changed


def _modifying_join_type(merge: ResolvedMerge) -> str:
    if merge.not_matched_by_source:
        return "right_outer"
    return "left_outer" if has_inserts(merge) else "inner"


def _changed_rows(run: MergeRun, joined: DataFrame) -> DataFrame:
    return rows_to_write(
        run,
        joined,
        kept=f"{CLAUSE} <> {COPIED}",  # which excludes NULL
        further_columns=(f"{FILE_NAME} AS {MODIFIED_FILE}", f"{ROW_INDEX} AS {MODIFIED_ROW}"),
    )


def _inserted_rows(run: MergeRun, touched: TouchedFiles) -> DataFrame:
    source = prepare_rows_to_insert(run, touched.scanned)
    inserted = generate_inserts_only_output_df(source, run.merge, string_partitions=run.string_partitions)
    no_row = [f"CAST(NULL AS STRING) AS {MODIFIED_FILE}", f"CAST(NULL AS BIGINT) AS {MODIFIED_ROW}"]
    if run.snapshot.tracks_rows:
        no_row += [f"CAST(NULL AS BIGINT) AS {name}" for name in (KEPT_ROW_ID, KEPT_COMMIT_VERSION)]
    return inserted.selectExpr("*", *no_row)
