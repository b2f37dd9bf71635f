"""The alternatives whose result, by the reference, is the engine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import REFERENCE
from mergecheck.harness.compare.answers.outcomes import compare_outcome
from mergecheck.harness.compare.answers.rejections import compare_rejection
from mergecheck.harness.explanation.alternatives import alternatives
from mergecheck.harness.explanation.answer_hypotheses import answer_hypotheses
from mergecheck.harness.explanation.contradictions import contradiction_hypotheses
from mergecheck.harness.verdict import Check
from mergecheck.model.outcome import Outcome, Prediction, Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.engine import Capabilities
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

_ALWAYS = frozenset({Check.ROWS, Check.SCHEMA, Check.CDF, Check.ERROR, Check.UNCHANGED})


@dataclass(frozen=True, slots=True)
class Implied:
    """An alternative that agrees with the engine.

    Attributes:
        hypothesis: the assumption, such as ``as if NULL counted as TRUE in clause 1``.
        causes: the marks that it shares with findings of the same cause, see ``Alternative``.
        family: the hypothesis without numbers and texts of the statement.
        unexplained: the checks that differ all the same; empty if all that differed agrees.
    """

    hypothesis: str
    causes: frozenset[str]
    family: str
    unexplained: tuple[Check, ...] = ()

    def __str__(self) -> str:
        """Format it for a report."""
        rest = ", ".join(check.value for check in self.unexplained)
        return f"{self.hypothesis} ({rest} not explained)" if rest else self.hypothesis


def implied(
    report: CaseReport,
    *,
    reference: Callable[[Case], Reference],
    capabilities: Capabilities,
    drawn: CaseReport | None = None,
) -> tuple[Implied, ...]:
    """Try the alternatives of a case that an engine got wrong.

    An alternative agrees if its rows, columns, change feed and error are the engine's, and if it removes at least
    one difference. Those that settle all differences are returned; without any, those that leave some unexplained.
    If the answer differs from nothing but itself, the alternatives are other answers (``contradictions``).
    The most specific comes first. Many agree on a case of two rows, so those that agree on the drawn case, too, go
    before the others.

    Args:
        report: the check of the case.
        reference: evaluates an edited case.
        capabilities: the observables that the engine shows.
        drawn: the check of the larger case that it was made of.
    """
    full = _most_explaining(report, tuple(_agreeing(report, reference, capabilities)), tuple(_of_answer(report)))
    if drawn is None or len(full) <= 1:
        return full
    families = frozenset(one.family for one in full)
    there_too = (*_agreeing(drawn, reference, capabilities, families=families), *_of_answer(drawn))
    there = {one.family for one in there_too if not one.unexplained}
    return tuple(sorted(full, key=lambda one: one.family not in there))


def shown_cause(
    report: CaseReport, causes: frozenset[str], *, reference: Callable[[Case], Reference], capabilities: Capabilities
) -> str | None:
    """Return the cause, of some that are known, that explains all differences of a case; None if there is none.

    Args:
        report: the check of the case.
        causes: the known causes.
        reference: evaluates an edited case.
        capabilities: the observables that the engine shows.
    """
    families = frozenset(cause.partition(":")[0] for cause in causes)
    for one in (*_agreeing(report, reference, capabilities, families=families), *_of_answer(report)):
        known = sorted(one.causes & causes)
        if known and not one.unexplained:
            return known[0]
    return None


def _agreeing(
    report: CaseReport,
    reference: Callable[[Case], Reference],
    capabilities: Capabilities,
    *,
    families: frozenset[str] | None = None,
) -> Iterator[Implied]:
    """Yield the alternatives that agree; of some families only, if they are given."""
    differing = _differing(report)
    if not differing or not isinstance(report.result, Outcome | Rejection):
        return
    for one in alternatives(report.case, report.reference.trace):
        if families is not None and one.family not in families:
            continue
        left = _left(report, reference(one.case), capabilities)
        if left is None or left & _ALWAYS or not differing - left:
            continue
        unexplained = tuple(check for check in Check if check in left & differing)
        yield Implied(one.hypothesis, one.causes, one.family, unexplained)


def _of_answer(report: CaseReport) -> Iterator[Implied]:
    """Yield the hypotheses that the answer supports without another evaluation."""
    differing = _differing(report)
    if differing:
        given_ones = answer_hypotheses(report, differing)
    else:
        differing, given_ones = frozenset(one.check for one in report.mismatches), contradiction_hypotheses(report)
    for given in given_ones:
        left = differing - given.explains
        if not left & _ALWAYS:
            unexplained = tuple(check for check in Check if check in left)
            yield Implied(given.text, frozenset({given.text}), given.text, unexplained)


def _most_explaining(
    report: CaseReport, agreeing: tuple[Implied, ...], of_answer: tuple[Implied, ...]
) -> tuple[Implied, ...]:
    """Return the hypotheses that explain most: another statement before an answer that no statement gives."""
    whole = tuple(one for one in agreeing if not one.unexplained)
    whole_answers = tuple(one for one in of_answer if not one.unexplained)
    if whole:
        return whole if isinstance(report.reference.answer, Rejection) else (*whole, *whole_answers)
    is_of_rows = bool(_differing(report) & _ALWAYS)
    return (agreeing or of_answer) if is_of_rows else (whole_answers or agreeing or of_answer)


def _differing(report: CaseReport) -> frozenset[Check]:
    """Return the observables that differ from the reference."""
    return frozenset(m.check for m in report.mismatches if m.against == REFERENCE)


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
