"""Fingerprints: what makes two mismatches the same finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.findings.error_signature import error_text
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from mergecheck.harness.verdict import CaseReport, Mismatch

# The first of these that differs names the fault: a wrong table usually drags metrics and changes along.
_PRECEDENCE = (
    Check.ERROR,
    Check.UNCHANGED,
    Check.SCHEMA,
    Check.ROWS,
    Check.CDF,
    Check.METRICS,
    Check.FILES,
    Check.TABLE,
    Check.COMMIT,
    Check.LOG,
    Check.RESULT,
    Check.PATH,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What makes two mismatches the same one: engine, first differing observable, kind of difference.

    Attributes:
        detail: the engine's error if it rejected the merge (its class, or the steady words of its message), the
            reference's class if it alone did, else empty.
    """

    engine: str
    check: Check
    against: str
    kind: str
    detail: str = ""

    def __str__(self) -> str:
        """Format the fingerprint for a report."""
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.engine}: {self.check.value} {self.kind} against {self.against}{detail}"


def primary_mismatch(report: CaseReport) -> Mismatch:
    """Return the mismatch that names the fault; the report must have one.

    A broken invariant shows that two observables contradict each other; if the reference differs too, that shows which.
    """
    return min(
        report.mismatches,
        key=lambda m: (m.against == "itself", _PRECEDENCE.index(m.check), m.against != "reference", m.kind),
    )


def fingerprint(report: CaseReport) -> Fingerprint | None:
    """Return the fingerprint of a report, None unless its verdict is a mismatch that no deviation explains."""
    if report.verdict is not Verdict.MISMATCH or not report.mismatches or report.deviations:
        return None
    first = primary_mismatch(report)
    detail = ""
    if isinstance(report.result, Rejection):
        detail = error_text(report.result)
    elif isinstance(report.reference.answer, Rejection):
        detail = report.reference.answer.error_class  # the rule that the engine does not know
    return Fingerprint(engine=report.engine, check=first.check, against=first.against, kind=first.kind, detail=detail)
