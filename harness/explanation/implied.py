"""The alternatives whose result, by the reference, is the engine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import REFERENCE
from mergecheck.harness.compare.answers.outcomes import compare_outcome
from mergecheck.harness.compare.answers.rejections import compare_rejection
from mergecheck.harness.explanation.alternatives import alternatives
from mergecheck.harness.verdict import Check
from mergecheck.model.outcome import Outcome, Prediction, Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.harness.engine import Capabilities
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

_ALWAYS = frozenset({Check.ROWS, Check.SCHEMA, Check.CDF, Check.ERROR, Check.UNCHANGED})


@dataclass(frozen=True, slots=True)
class Implied:
    """An alternative that agrees with the engine.

    Attributes:
        hypothesis: what would be so, such as ``as if NULL counted as TRUE in clause 1``.
        unexplained: the checks that differ all the same; empty if all that differed agrees.
    """

    hypothesis: str
    unexplained: tuple[Check, ...] = ()

    def __str__(self) -> str:
        """Format it for a report."""
        rest = ", ".join(check.value for check in self.unexplained)
        return f"{self.hypothesis} ({rest} not explained)" if rest else self.hypothesis


def implied(
    report: CaseReport, *, reference: Callable[[Case], Reference], capabilities: Capabilities
) -> tuple[Implied, ...]:
    """Try the alternatives of a case that differs from the reference.

    An alternative agrees if its rows, columns, change feed and error are the engine's, and if that settles at least
    one difference. Those that settle all differences come first; without any, those that leave some unexplained.

    Args:
        report: the check of the case.
        reference: evaluates an edited case.
        capabilities: the observables that the engine shows.
    """
    differing = frozenset(m.check for m in report.mismatches if m.against == REFERENCE)
    if not differing or not isinstance(report.result, Outcome | Rejection):
        return ()
    full: list[Implied] = []
    partial: list[Implied] = []
    for alternative in alternatives(report.case, report.reference.trace):
        left = _left(report, reference(alternative.case), capabilities)
        if left is None or left & _ALWAYS or not differing - left:
            continue
        unexplained = tuple(check for check in Check if check in left & differing)
        (partial if unexplained else full).append(Implied(alternative.hypothesis, unexplained))
    return tuple(full or partial)


def _left(report: CaseReport, other: Reference, capabilities: Capabilities) -> frozenset[Check] | None:
    """Return the checks in which the engine differs from an edited case's answer; None if only one side fails."""
    mismatches: Sequence[Mismatch]
    answer, result = other.answer, report.result
    if isinstance(answer, Prediction) and isinstance(result, Outcome):
        mismatches = compare_outcome(answer, result, capabilities=capabilities).mismatches
    elif isinstance(answer, Rejection) and isinstance(result, Rejection):
        mismatches = compare_rejection(answer, result, capabilities=capabilities).mismatches
    else:
        return None
    return frozenset(mismatch.check for mismatch in mismatches)
