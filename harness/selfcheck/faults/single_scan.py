"""Faults of merging in a single scan, where the task that writes finds out which files are touched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mergecheck.harness.selfcheck import preconditions as needs
from mergecheck.harness.selfcheck.fault import Area, Edit, Fault, with_other
from mergecheck.harness.selfcheck.worker_faults import (
    write_change_files_of_inserts,
    write_doubled_matches,
    write_untouched_rows_too,
)
from mergecheck.merge import plan
from mergecheck.merge.executors.optimizations import single_scan
from mergecheck.merge.executors.output import TARGET_ROW_PRESENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.merge.expressions.resolved import ResolvedMerge

_ORIGIN = "merging in a single scan"


def _as_if(change: Callable[[ResolvedMerge], ResolvedMerge]) -> Callable[[Any], Callable[..., tuple[str, ...]]]:
    """Make the wrong version of ``identity_columns``: what it says of another statement."""
    return lambda right: lambda merge: right(change(merge))


def _without_conditions(merge: ResolvedMerge) -> ResolvedMerge:
    return replace(merge, matched=tuple(replace(clause, condition=None) for clause in merge.matched))


def _without_by_source(merge: ResolvedMerge) -> ResolvedMerge:
    return replace(merge, not_matched_by_source=())


def _every_file(right: Any) -> Callable[..., tuple[str, ...]]:
    return lambda merge: (*right(merge)[:-1], f"{TARGET_ROW_PRESENT} IS NOT NULL AS _touches_")


def _handed_over(function: Any) -> tuple[Edit, ...]:
    return (
        Edit(plan, "merge_in_single_scan", with_other(single_scan, "write_touched_files", function), comparable=False),
    )


SINGLE_SCAN_FAULTS = (
    Fault(
        name="single-scan-touches-every-file",
        area=Area.MATCHING,
        sentence="A single scan rewrites every file that it has read.",
        rules=("R-410", "R-412"),
        origin=_ORIGIN,
        edits=(Edit(single_scan, "identity_columns", _every_file),),
        by_two_scans=False,
    ),
    Fault(
        name="single-scan-match-touches",
        area=Area.MATCHING,
        sentence="In a single scan of a matched-only merge a match touches its file whether or not a clause fires.",
        rules=("R-410",),
        origin=_ORIGIN,
        edits=(Edit(single_scan, "identity_columns", _as_if(_without_conditions)),),
        needs=needs.only_matched,
        seldom="A matched-only merge in a single scan, with a file that has matches and none that fires: one in 600.",
        by_two_scans=False,
    ),
    Fault(
        name="single-scan-forgets-by-source",
        area=Area.MATCHING,
        sentence="In a single scan only files with a match are touched, although NOT MATCHED BY SOURCE is there.",
        rules=("R-410",),
        origin=_ORIGIN,
        edits=(Edit(single_scan, "identity_columns", _as_if(_without_by_source)),),
        needs=needs.by_source,
        by_two_scans=False,
    ),
    Fault(
        name="single-scan-never-ambiguous",
        area=Area.MATCHING,
        sentence="A single scan does not look for target rows with several matches.",
        rules=("R-320",),
        origin=_ORIGIN,
        edits=_handed_over(write_doubled_matches),
        needs=needs.several_matches,
        by_two_scans=False,
    ),
    Fault(
        name="single-scan-writes-untouched-rows",
        area=Area.WRITING,
        sentence="A single scan writes the rows of untouched files too, and these files stay.",
        rules=("R-412",),
        origin=_ORIGIN,
        edits=_handed_over(write_untouched_rows_too),
        by_two_scans=False,
    ),
    Fault(
        name="single-scan-change-files-of-inserts",
        area=Area.CDF,
        sentence="A single scan without a touched file writes change files for its inserts.",
        rules=("R-620",),
        origin=_ORIGIN,
        edits=_handed_over(write_change_files_of_inserts),
        by_two_scans=False,
    ),
)
