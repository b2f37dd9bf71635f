"""The reference in the place of an engine: what tests its own answers, by relations, laws or ``expect``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck import reference
from mergecheck.harness.engine import Capabilities
from mergecheck.reference.outcome import Outcome, Prediction

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import EngineResult, Rejection, Unsupported


class ReferenceAsEngine:
    """Gives the reference's answer to a case."""

    name = "reference"
    version = "1"
    capabilities = Capabilities()

    def run(self, case: Case) -> EngineResult:
        """Evaluate a case, with whatever functions are in place at the moment."""
        return answered(reference.evaluate(case).answer)

    def close(self) -> None:
        """There is nothing to close."""


def answered(answer: Prediction | Rejection | Unsupported) -> EngineResult:
    """Let the reference answer as an engine does; of the metrics those that it knows exactly."""
    if not isinstance(answer, Prediction):
        return answer
    return Outcome(
        schema=answer.schema,
        rows=answer.rows,
        metrics={name: bound.low for name, bound in answer.metrics.items() if bound.exact},
        cdf=answer.cdf,
        committed=answer.committed,
        path=answer.path,
    )
