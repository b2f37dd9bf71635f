"""Errors on both sides: their classes, and the table that a failed merge leaves."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mergecheck.harness.compare.answers.rejections import compare_rejection
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.verdict import Check
from mergecheck.model.outcome import Rejection

EVERYTHING = Capabilities()


def test_rejections_agree_by_class() -> None:
    """P-4 asks for the same class, not the same text; a class stands for its sub-classes."""
    left = Rejection(error_class="DATATYPE_MISMATCH", message="one", unchanged=True)
    right = dataclasses.replace(left, error_class="DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", message="two")
    assert compare_rejection(left, right, capabilities=EVERYTHING).mismatches == ()
    other = dataclasses.replace(right, error_class="DATATYPE_MISMATCHED")
    (mismatch,) = compare_rejection(left, other, capabilities=EVERYTHING).mismatches
    assert (mismatch.check, mismatch.kind) == (Check.ERROR, "error_class")


@pytest.mark.parametrize(("unchanged", "kinds"), [(True, []), (False, ["changed_after_error"]), (None, [])])
def test_a_failed_merge_changes_nothing(unchanged: Any, kinds: Any) -> None:
    """P-30; an engine that did not look is not found guilty, but the check is not passed either."""
    rejection = Rejection(error_class="X", message="", unchanged=unchanged)
    compared = compare_rejection(rejection, rejection, capabilities=EVERYTHING)
    assert [m.kind for m in compared.mismatches] == kinds
    assert compared.unsupported == ((Check.UNCHANGED,) if unchanged is None else ())
