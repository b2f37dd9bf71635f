"""With a NOT MATCHED BY SOURCE clause, leave files alone to which none applies (``skipFilesBySource.enabled``).

Delta Lake reads and rewrites every file then (R-410, R-420). Here the conditions decide (R-414): a file is left unread
if by its bounds no row of it can match and no by-source clause can apply, and it is touched only if a by-source clause
fires on a row of it, or if a match touches it as it would without these clauses. Rows, change rows and errors stay;
metrics of the layout may be smaller, and a merge that changes nothing makes no commit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.merge.executors.first_scan import any_of_conditions, plan_first_scan
from mergecheck.merge.executors.merge_run import has_inserts
from mergecheck.merge.executors.optimizations.safe_conditions import conditions_cannot_fail
from mergecheck.merge.executors.optimizations.source_keys import files_with_source_keys
from mergecheck.merge.executors.source import SOURCE_ROW_PRESENT
from mergecheck.merge.table.reading.data_skipping import (
    conjunction,
    disjunction,
    every_row_matches,
    skip_files,
    target_only_conjuncts,
)

if TYPE_CHECKING:
    from mergecheck.merge.executors.first_scan import FirstScan
    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedMerge
    from mergecheck.merge.table.snapshot.data_files import DataFile


def leaves_files_by_source(run: MergeRun) -> bool:
    """Return whether the merge may leave files alone that R-410 touches, with the same result and the same errors.

    A condition that can fail must be evaluated on all rows (R-312), a CHECK on copied rows too (R-740); a table for
    appends refuses a rewriting (R-743), and row ids need counts (R-727). Without metrics, readers of the feed take the
    rows of rewritten files for changes (R-605).
    """
    return (
        run.conf.skip_files_by_source
        and bool(run.merge.not_matched_by_source)
        and not _every_row_touches(run.merge)
        and conditions_cannot_fail(run.merge)
        and not run.writer.checks
        and not run.snapshot.append_only
        and run.conf.stats_collect
        and (run.conf.history_metrics_enabled or not run.records_changes)
    )


def _every_row_touches(merge: ResolvedMerge) -> bool:
    """Return whether every row touches its file by R-414 too, matched or not."""
    by_match = has_inserts(merge) or any(clause.condition is None for clause in merge.matched)
    return by_match and any(clause.condition is None for clause in merge.not_matched_by_source)


def plan_first_scan_by_source(run: MergeRun) -> FirstScan:
    """Let the first scan find the files on a row of which a clause fires, and read no other files.

    Only files that may hold a match are joined with the source. The others need a filter, or nothing if the bounds of a
    file decide that a by-source clause fires on each of its rows.
    """
    merge, may_match = run.merge, files_with_keys(run)
    reached = files_within_reach(run, may_match)
    joined = {file.location for file in may_match}
    unmatched = tuple(file for file in reached if file.location not in joined)
    decided = {file.location for file in unmatched if _each_row_changes(run, file)}
    by_source = any_of_conditions(merge.not_matched_by_source)
    matched = "TRUE" if has_inserts(merge) else any_of_conditions(merge.matched)
    clauses = (*(() if has_inserts(merge) else merge.matched), *merge.not_matched_by_source)
    conditions = (clause.condition for clause in clauses if clause.condition is not None)
    run.ways["by_source_files"] += 1
    run.ways["files_pruned"] = len(run.candidates) - len(reached)  # by keys and by conditions
    return replace(
        plan_first_scan(run),
        files=may_match,
        touches=f"CASE WHEN {SOURCE_ROW_PRESENT} IS NOT NULL THEN {matched} ELSE {by_source} END",
        conditions=(merge.condition, *conditions),
        touched=tuple(file for file in unmatched if file.location in decided),
        unmatched=tuple(file for file in unmatched if file.location not in decided),
    )


def files_with_keys(run: MergeRun) -> tuple[DataFile, ...]:
    """Keep the candidates that may hold a match, by ON and by the keys of the source."""
    keyed = files_with_source_keys(run) if run.conf.prune_by_source_keys else run.candidates
    matches = conjunction(list(target_only_conjuncts(run.merge.condition.tree)))
    may_match = {file.location for file in skip_files(run.snapshot, matches)}
    return tuple(file for file in keyed if file.location in may_match)


def files_within_reach(run: MergeRun, may_match: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    """Add the candidates with a row to which a by-source clause may apply."""
    reached = {file.location for file in (*may_match, *skip_files(run.snapshot, _applied(run)))}
    return tuple(file for file in run.candidates if file.location in reached)


def _each_row_changes(run: MergeRun, file: DataFile) -> bool:
    """Return whether a file without a match has rows, and a by-source clause applies to each of them."""
    return bool(file.num_live) and every_row_matches(run.snapshot, file, _applied(run))


def _applied(run: MergeRun) -> exp.Expr:
    return disjunction([_target_condition(clause) for clause in run.merge.not_matched_by_source])


def _target_condition(clause: ResolvedClause) -> exp.Expr:
    return exp.true() if clause.condition is None else clause.condition.tree
