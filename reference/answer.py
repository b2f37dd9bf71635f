"""The reference's answer to a case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.reference.trace import Trace

if TYPE_CHECKING:
    from mergecheck.model.outcome import PartialAnswer, Prediction, Rejection, Unsupported


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The reference's answer for one case.

    ``alternative`` is set if the layout of files decides between the main answer and another one (R-322): an engine
    that gives either agrees. ``least`` is the prediction for an engine whose by-source clauses touch only files to
    which they apply (R-414), if this matters. ``trace`` records how the reference came to its answer. ``asked``
    are the expressions and queries, as written, whose values come from the other evaluator. ``partial`` has the facts
    known nevertheless if ``answer`` is ``Unsupported``; None if there are none.
    """

    answer: Prediction | Rejection | Unsupported
    alternative: Prediction | None = None
    least: Prediction | None = None
    partial: PartialAnswer | None = None
    trace: Trace = field(default_factory=Trace, compare=False, repr=False)
    asked: tuple[str, ...] = field(default=(), compare=False)

    @property
    def left_out(self) -> frozenset[str]:
        """The observables that are left out of a partial answer; empty if there is none."""
        return frozenset() if self.partial is None else self.partial.left_out
