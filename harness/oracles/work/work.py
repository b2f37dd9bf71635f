"""The work of a merge against the work that it needed: too little is a fault; too much is graded, never a mismatch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.work.needs import Need, UnknownNeeds, file_needs
from mergecheck.harness.verdict import Check
from mergecheck.model.outcome import Outcome
from mergecheck.model.work_counts import WorkCounts

if TYPE_CHECKING:
    from mergecheck.harness.oracles.work.needs import FileNeed
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.outcome import FileWork
    from mergecheck.reference.answer import Reference

OVER_PRUNED = "over_pruned"
"""The kind of difference of a file that had to be rewritten, and was not."""
_NOT_REPORTED = "the engine does not report which files it rewrites"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The needed work on each file, and the engine's."""

    needs: tuple[FileNeed, ...]
    done: FileWork

    @property
    def over_pruned(self) -> tuple[FileNeed, ...]:
        """Files with a row that is updated or deleted, which the merge left as they were: a fault."""
        changed = self.done.rewritten | self.done.marked
        return tuple(file for file in self.needs if file.num_changed and file.number not in changed)

    @property
    def rewritten_in_vain(self) -> tuple[FileNeed, ...]:
        """Files that were rewritten or marked, though no row of them is updated or deleted."""
        changed = self.done.rewritten | self.done.marked
        return tuple(file for file in self.needs if not file.num_changed and file.number in changed)

    @property
    def num_copied(self) -> int:
        """Rows of rewritten files that are as they were."""
        return sum(file.num_rows - file.num_changed for file in self.needs if file.number in self.done.rewritten)

    @property
    def num_copied_in_vain(self) -> int:
        """Rows of files that were rewritten in vain."""
        return sum(file.num_rows for file in self.rewritten_in_vain if file.number in self.done.rewritten)

    @property
    def num_changed(self) -> int:
        """Rows that are updated or deleted."""
        return sum(file.num_changed for file in self.needs)

    @property
    def num_rewritten(self) -> int:
        """Files that were rewritten or marked."""
        return len(self.done.rewritten | self.done.marked)

    @property
    def num_needed(self) -> int:
        """Files that have to be read."""
        return sum(file.need is not Need.SKIP for file in self.needs)

    @property
    def num_scanned_in_vain(self) -> int | None:
        """Files that were read and may be left unread; None if the engine does not report how many it read."""
        return None if self.done.num_scanned is None else max(0, self.done.num_scanned - self.num_needed)

    @property
    def bytes_scanned_in_vain(self) -> int | None:
        """Bytes of these files; None if the engine does not report what it read."""
        if self.done.bytes_scanned is None or not self.done.sizes:
            return None
        needed = sum(self.done.sizes[file.number] for file in self.needs if file.need is not Need.SKIP)
        return max(0, self.done.bytes_scanned - needed)

    @property
    def counts(self) -> WorkCounts:
        """The same as numbers that can be added."""
        scanned, in_bytes = self.num_scanned_in_vain, self.bytes_scanned_in_vain
        return WorkCounts(
            merges=1,
            rows_changed=self.num_changed,
            rows_copied=self.num_copied,
            rows_copied_in_vain=self.num_copied_in_vain,
            files_rewritten=self.num_rewritten,
            files_rewritten_in_vain=len(self.rewritten_in_vain),
            merges_with_scans=int(scanned is not None),
            files_scanned=self.done.num_scanned or 0,
            files_scanned_in_vain=scanned or 0,
            merges_with_bytes=int(in_bytes is not None),
            bytes_scanned=0 if in_bytes is None else self.done.bytes_scanned or 0,
            bytes_scanned_in_vain=in_bytes or 0,
        )


def graded(report: CaseReport) -> CaseReport:
    """Add the work of a merge whose rows are right: a wrong one's work is no measure of the work needed."""
    is_wrong = any(found.check is Check.ROWS or found.kind == OVER_PRUNED for found in report.mismatches)
    if is_wrong or not report.is_judged or not isinstance(report.result, Outcome):
        return report
    done = report.result.work
    if done is None:
        return replace(report, work_unknown=_NOT_REPORTED)
    needs = file_needs(report.case, report.reference, with_bounds=False)
    if isinstance(needs, UnknownNeeds):
        return replace(report, work_unknown=needs.reason)
    if done.num_scanned is not None and done.num_scanned > sum(bool(file.num_changed) for file in needs):
        needs = file_needs(report.case, report.reference)  # only now bounds can show that files were read in vain
        if isinstance(needs, UnknownNeeds):
            return replace(report, work_unknown=needs.reason)
    return replace(report, work=Work(needs=needs, done=done).counts)


def over_pruned(reference: Reference, done: FileWork | None) -> tuple[int, ...]:
    """List the files with a row that is updated or deleted, which a merge left as they were."""
    effects, files = reference.trace.effects, reference.trace.files
    if done is None or effects is None:
        return ()
    changed = {files[rid] for rid in (*effects.updated, *effects.deleted)}
    return tuple(sorted(changed - done.rewritten - done.marked))


def work_of(report: CaseReport) -> Work | UnknownNeeds:
    """Judge the work of a merge that succeeded, as the reference predicted it."""
    if not isinstance(report.result, Outcome):
        return UnknownNeeds("a merge that is refused or not predicted")
    if report.result.work is None:
        return UnknownNeeds(_NOT_REPORTED)
    needs = file_needs(report.case, report.reference)
    return needs if isinstance(needs, UnknownNeeds) else Work(needs=needs, done=report.result.work)
