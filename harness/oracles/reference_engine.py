"""The reference as an engine, so that relations, invariants and ``expect`` can test its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.engine import Capabilities
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.model.case import Case
from mergecheck.model.outcome import EngineResult, Rejection, Unsupported


class ReferenceAsEngine:
    """Answers with the reference's prediction of a case."""

    name = "reference"
    version = "1"
    capabilities = Capabilities()

    def __init__(self) -> None:
        self._reference = MergeReference()

    def run(self, case: Case) -> EngineResult:
        """Evaluate a case."""
        return answered(self._reference.evaluate(case).answer)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def answered(answer: Prediction | Rejection | Unsupported) -> EngineResult:
    """Turn an answer of the reference into an engine's; only metrics that it knows exactly are kept."""
    if not isinstance(answer, Prediction):
        return answer
    return Outcome(
        schema=answer.schema,
        rows=answer.rows,
        metrics={name: bound.low for name, bound in answer.metrics.items() if bound.exact},
        cdf=answer.cdf,
        committed=answer.committed,
        path=answer.path,
        result_row=answer.result_row,
    )
