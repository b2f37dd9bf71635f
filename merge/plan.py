"""Which executor does a merge, and which optimisation takes its place (R-402).

Delta Lake has none of these optimisations. Each has one setting (see ``conf``); with all of them off the executors run
alone. They change how a merge runs, never its rows, change rows, errors or the metrics of R-540.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.merge.executors.classic import find_touched_files, write_all_changes
from mergecheck.merge.executors.deletion_vectors import mark_changed_rows
from mergecheck.merge.executors.first_scan import plan_first_scan
from mergecheck.merge.executors.insert_only import write_only_inserts
from mergecheck.merge.executors.joins import Joins
from mergecheck.merge.executors.merge_run import uses_insert_only_path
from mergecheck.merge.executors.optimizations.arrow_rewrite import (
    find_arrow_matches,
    plan_arrow_rewrite,
    rewrite_with_arrow,
)
from mergecheck.merge.executors.optimizations.broadcast import BroadcastJoins
from mergecheck.merge.executors.optimizations.by_source_files import leaves_files_by_source, plan_first_scan_by_source
from mergecheck.merge.executors.optimizations.low_shuffle import rewrite_with_low_shuffle, uses_low_shuffle
from mergecheck.merge.executors.optimizations.one_task import OneTaskJoins, shuffles_to_one_task, split_bytes
from mergecheck.merge.executors.optimizations.single_scan import merge_in_single_scan
from mergecheck.merge.executors.optimizations.source_keys import files_with_source_keys, plan_first_scan_by_keys
from mergecheck.merge.metrics import TimedPart

if TYPE_CHECKING:
    from collections import Counter

    from pyspark.sql import SparkSession

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.executors.first_scan import TouchedFiles
    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.executors.source import PreparedSource
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.metrics import PathResult


def joins(
    spark: SparkSession, conf: MergeConf, merge: ResolvedMerge, source: PreparedSource, ways: Counter[str]
) -> Joins:
    """Choose how the executors join both tables; ``ways`` counts the optimisations that change a join."""
    plain = Joins(condition=merge.condition)
    if conf.broadcast_source:
        broadcast = BroadcastJoins(conf=conf, merge=merge, source=source, ways=ways)
        plain = replace(plain, arrangements=(broadcast.arrange,))
    if not conf.one_task:
        return plain
    one_task = OneTaskJoins(
        source=source, shuffles_to_one_task=shuffles_to_one_task(spark), split_bytes=split_bytes(spark), ways=ways
    )
    return replace(plain, arrangements=(*plain.arrangements, one_task.arrange), one_task_writes=one_task.writes)


def execute(run: MergeRun) -> PathResult:
    """Choose the execution path and run it (R-402)."""
    if uses_insert_only_path(run.merge, run.conf):
        run.ways["insert_only"] += 1
        return _insert_without_first_scan(run)
    done = _merge_with_arrow(run)
    if done is not None:
        return done
    done = merge_in_single_scan(run) if run.conf.single_scan and not run.marks_rows else None
    if done is not None:
        run.ways["single_scan"] += 1
        return done
    touched = _first_scan(run)
    if not touched.files:
        return write_only_inserts(run, filter_matched_rows=False, first_scan=touched)
    if run.marks_rows:
        run.ways["deletion_vectors"] += 1
        return mark_changed_rows(run, touched)
    if run.conf.low_shuffle and uses_low_shuffle(run, touched):
        run.ways["low_shuffle"] += 1
        return rewrite_with_low_shuffle(run, touched)
    run.ways["classic"] += 1
    return write_all_changes(run, touched)


def _merge_with_arrow(run: MergeRun) -> PathResult | None:
    plan = plan_arrow_rewrite(run)
    if plan is None:
        return None
    before = run.ways.copy()
    matches = find_arrow_matches(run, plan)
    if matches is not None and matches.touched.files:
        done = rewrite_with_arrow(run, matches)
    elif matches is not None:
        done = write_only_inserts(run, filter_matched_rows=False, first_scan=matches.touched)
    else:
        done = None
    if matches is None or done is None:  # what was counted is not used
        run.ways.clear()
        run.ways.update(before)
        return None
    run.count_scan(matches.touched.scanned)
    run.ways["arrow_rewrite"] += 1
    return done


def _insert_without_first_scan(run: MergeRun) -> PathResult:
    with run.stopwatch.part(TimedPart.REWRITE):
        files = files_with_source_keys(run) if run.conf.prune_by_source_keys else run.candidates
    run.count_scan(files)
    return write_only_inserts(run, filter_matched_rows=True, files=files)


def _first_scan(run: MergeRun) -> TouchedFiles:
    with run.stopwatch.part(TimedPart.SCAN):
        if leaves_files_by_source(run):
            scan = plan_first_scan_by_source(run)
        else:
            scan = plan_first_scan_by_keys(run) if run.conf.prune_by_source_keys else plan_first_scan(run)
    return find_touched_files(run, scan)
