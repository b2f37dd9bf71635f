"""The reference's answer for formats that carry it: a merge with one right answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.model.case import Case


def decided(case: Case) -> Prediction | Rejection:
    """Evaluate a case.

    Raises:
        UnsupportedByReferenceError: the reference does not decide it, or two answers are right.
    """
    found = MergeReference().evaluate(case)
    if found.alternative is not None:
        raise UnsupportedByReferenceError("a merge with two right answers")
    if not isinstance(found.answer, Prediction | Rejection):
        raise UnsupportedByReferenceError(found.answer.reason)
    return found.answer
