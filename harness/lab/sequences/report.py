"""What became of a sequence."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.lab.sequences.turns import TurnCounts

if TYPE_CHECKING:
    from mergecheck.harness.lab.sequences.steps import Sequence
    from mergecheck.harness.lab.sequences.turns import Pair
    from mergecheck.harness.verdict import CaseReport, Mismatch


class Ending(Enum):
    """How a sequence ended."""

    AGREES = "agrees"
    MISMATCH = "mismatch"
    UNSUPPORTED = "unsupported"
    ENGINE_ERROR = "engine error"


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceReport:
    """The result of a sequence.

    Attributes:
        num_steps: steps done, the last one included.
        report: of the merge that ended it; its case holds the table before that merge. None if it ended otherwise.
        mismatches: the differences.
        reason: why it is unsupported, or what failed.
        pair: the table's last writer, and the reader or merger after it, if the difference lies between the two.
        turns: the writers' steps and reads.
    """

    sequence: Sequence
    ending: Ending
    num_steps: int
    report: CaseReport | None = None
    mismatches: tuple[Mismatch, ...] = ()
    reason: str = ""
    pair: Pair | None = None
    turns: TurnCounts = field(default_factory=TurnCounts)


class StopError(Exception):
    """A sequence ends before its last step; the attributes are those in its report."""

    def __init__(
        self,
        ending: Ending,
        *,
        report: CaseReport | None = None,
        mismatches: tuple[Mismatch, ...] = (),
        pair: Pair | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(reason)
        self.ending, self.report, self.reason, self.pair = ending, report, reason, pair
        self.mismatches = report.mismatches if report is not None else mismatches
