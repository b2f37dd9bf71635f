"""The work of one merge beside what it needed: too little is a fault, too much is graded and never a mismatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.work.needs import Need, UnknownNeeds, file_needs
from mergecheck.model.outcome import Outcome

if TYPE_CHECKING:
    from mergecheck.harness.oracles.work.needs import FileNeed
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.outcome import FileWork

_NOT_REPORTED = "the engine does not report which files it rewrites"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What each file needed, and what the engine did."""

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
    def num_needed(self) -> int:
        """Files that have to be read."""
        return sum(file.need is not Need.SKIP for file in self.needs)

    @property
    def num_scanned_in_vain(self) -> int | None:
        """Files that were read and may be left unread; None if the engine does not report how many it read."""
        return None if self.done.num_scanned is None else max(0, self.done.num_scanned - self.num_needed)


def work_of(report: CaseReport) -> Work | UnknownNeeds:
    """Judge the work of a merge that succeeded, as the reference predicted it."""
    if not isinstance(report.result, Outcome):
        return UnknownNeeds("a merge that is refused or not predicted")
    if report.result.work is None:
        return UnknownNeeds(_NOT_REPORTED)
    needs = file_needs(report.case, report.reference)
    return needs if isinstance(needs, UnknownNeeds) else Work(needs=needs, done=report.result.work)
