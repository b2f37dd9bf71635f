"""Compare errors: the class of an error, and the table that a failed merge leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import REFERENCE, Comparison, mismatch, one_line
from mergecheck.harness.verdict import Check, Compared, Mismatch

if TYPE_CHECKING:
    from mergecheck.harness.engine import Capabilities
    from mergecheck.model.outcome import Rejection

CRASHED, TIMED_OUT = "CRASHED", "TIMED_OUT"
"""Error classes of an engine whose process ended, or had no answer in time."""

_INTERNAL = "INTERNAL_ERROR"
BREAKDOWNS = (CRASHED, TIMED_OUT, "INTERNAL:", "FATAL:")
"""How the classes of errors begin that are never a right refusal, even of a statement that must be refused."""


def compare_rejection(wanted: Rejection, found: Rejection, *, capabilities: Capabilities) -> Comparison:
    """Hold a failed merge against the reference's error: same class (P-4), table as before (P-30).

    Where several values fail and no rule orders them, each of the prediction's classes is right.
    """
    allowed = [wanted.error_class, *sorted(wanted.other_classes - {wanted.error_class})]
    mismatches: list[Mismatch] = []
    unsupported: list[Check] = []
    compared = Compared(check=Check.ERROR, against=REFERENCE)
    if found.error_class.startswith(BREAKDOWNS):
        lines = (f"reference: {' or '.join(allowed)}", f"engine: {found.error_class}", f"  {one_line(found.message)}")
        mismatches.append(mismatch(Check.ERROR, REFERENCE, "breakdown", *lines))
    elif not capabilities.error_class:
        unsupported.append(Check.ERROR)
        compared = replace(compared, kinds=frozenset({"breakdown"}))  # it may have failed for another reason
    elif not any(same_error_class(error_class, found.error_class) for error_class in allowed):
        text = " or ".join(allowed)
        lines = (f"reference: {text}", f"engine: {found.error_class}", f"  {one_line(found.message)}")
        mismatches.append(mismatch(Check.ERROR, REFERENCE, "error_class", *lines))
    unchanged = check_unchanged(found, against=REFERENCE)
    return Comparison(
        mismatches=(*mismatches, *unchanged.mismatches),
        compared=(compared, *unchanged.compared),
        unsupported=(*unsupported, *unchanged.unsupported),
    )


def breakdowns(found: Rejection, *, against: str) -> tuple[Mismatch, ...]:
    """Report an error that no statement deserves: a process that ended, or an internal error."""
    if not found.error_class.startswith((*BREAKDOWNS, _INTERNAL)):
        return ()
    lines = (f"engine: {found.error_class}, which is no refusal", f"  {one_line(found.message)}")
    return (mismatch(Check.ERROR, against, "breakdown", *lines),)


def check_unchanged(found: Rejection, *, against: str) -> Comparison:
    """Require that a failed merge left the table as it was (P-30)."""
    if found.unchanged is None:
        return Comparison(unsupported=(Check.UNCHANGED,))
    compared = (Compared(check=Check.UNCHANGED, against=against),)
    if found.unchanged:
        return Comparison(compared=compared)
    lines = (f"the merge failed with {found.error_class}, but the table is not as it was before",)
    broken = mismatch(Check.UNCHANGED, against, "changed_after_error", *lines)
    return Comparison(mismatches=(broken,), compared=compared)


def same_error_class(left: str, right: str) -> bool:
    """Return whether two error classes are the same. A class without a sub-class equals each of its sub-classes."""
    return left == right or left.startswith(right + ".") or right.startswith(left + ".")


def no_error(wanted: str, *, against: str) -> Mismatch:
    """Report that an engine merged although it must fail."""
    return mismatch(Check.ERROR, against, "no_error", f"{against}: {wanted}", "engine: the merge succeeded")


def spurious_error(found: Rejection, *, against: str) -> Mismatch:
    """Report that an engine failed although it must merge."""
    lines = (f"{against}: the merge succeeds", f"engine: {found.error_class}", f"  {one_line(found.message)}")
    return mismatch(Check.ERROR, against, "spurious_error", *lines)
