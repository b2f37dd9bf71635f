"""The values of one case in each dimension, by the reference alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.rules.evidence import evidence_of
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.reference.dialects import DATABRICKS, MULTI_MATCH
from tools.nway.dimensions import DIMENSIONS

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.reference.merge_reference import MergeReference


def values_of(case: Case, reference: MergeReference) -> frozenset[str] | None:
    """Return the properties of a case, as ``dimension=thing``; None if the reference cannot judge the case.

    Where ambiguous matches are refused (R-320), the conditions are taken from a merge that allows them: an executor
    that tries conditions first must not differ.
    """
    answer = reference.evaluate(case)
    if isinstance(answer.answer, Unsupported):
        return None
    is_ambiguous = isinstance(answer.answer, Rejection) and answer.answer.error_class == MULTI_MATCH
    if is_ambiguous and answer.trace.effects is None:
        allowed = reference.evaluate(case, dialect=DATABRICKS)
        answer = replace(answer, trace=allowed.trace)
    evidence = evidence_of(case, answer, facts_of(case, answer))
    return frozenset(f"{each.name}={thing}" for each in DIMENSIONS for thing in each.read(evidence))
