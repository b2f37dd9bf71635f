"""Which case is checked next: the stream of a seed, steered to what is new, alone or among others of its statement."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Protocol

from mergecheck.harness.coverage.case_space import cells_of
from mergecheck.harness.search.batching import MOST_ROWS, batch_of
from mergecheck.reference import evaluate
from mergecheck.reference.outcome import Prediction, Rejection
from mergecheck.strategies import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from mergecheck.harness.coverage.statistics import Statistics
    from mergecheck.harness.search.batching import Batch
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Reference

STEERED_WIDTH = 4


class CaseSource(Protocol):
    """Where a run's cases come from: ``Draws``, or something that works ahead of them."""

    @property
    def seed(self) -> int:
        """The seed of the stream."""
        ...

    def draw(self, statistics: Statistics) -> tuple[int, Case]:
        """Return the next case, and its number, see ``Draws.draw``."""
        ...

    def batched(self, case: Case, index: int) -> Batch | None:
        """Put the case among others of its statement, see ``Draws.batched``."""
        ...

    def shrink(self, index: int, fails: Callable[[Case], bool]) -> Case:
        """Let Hypothesis simplify a draw, see ``Stream.shrink``."""
        ...


class Draws:
    """The draws of one run; the same seed gives the same, whatever the budget.

    Args:
        cases: what to draw.
        seed: of the stream.
        first: number of the case to begin with.
        reference: tells what a case would reach, at a fraction of what the engine would take.
        steer: of several draws take the one that reaches most new cells of the case space.
        batch_size: pairs of tables that are checked in one merge, where a case allows it.
    """

    def __init__(
        self,
        cases: SearchStrategy[Case],
        *,
        seed: int,
        first: int = 0,
        reference: Callable[[Case], Reference] = evaluate,
        steer: bool = False,
        batch_size: int = 1,
    ) -> None:
        self._seed = seed
        self._stream = Stream(cases)
        self._next_index = first
        self._reference = reference
        self._steer = steer
        self._batch_size = batch_size

    @property
    def seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def draw(self, statistics: Statistics) -> tuple[int, Case]:
        """Draw the next case, and its number.

        Args:
            statistics: of the run so far; draws that are passed over are counted there.
        """
        if not self._steer:
            return self._next()
        drawn = [self._next() for _ in range(STEERED_WIDTH)]
        statistics.num_passed_over += STEERED_WIDTH - 1
        news = [statistics.space.num_new(self._cells(case)) for _, case in drawn]
        return drawn[news.index(max(news))]

    def shrink(self, index: int, fails: Callable[[Case], bool]) -> Case:
        """Let Hypothesis simplify a draw, see ``Stream.shrink``."""
        return self._stream.shrink(self._seed, index, fails)

    def batched(self, case: Case, index: int) -> Batch | None:
        """Put a case among others of its statement; None where it cannot be, or where all must be rejected."""
        if self._batch_size == 1:
            return None
        for max_source_rows in (MOST_ROWS, 1):  # one each, where several rows make some pair ambiguous
            random = Random(f"{self._seed}/{index}/{max_source_rows}")  # noqa: S311 - a test case, no secret
            batch = batch_of(case, random, size=self._batch_size, max_source_rows=max_source_rows)
            if batch is None:
                return None
            if isinstance(self._reference(batch.case).answer, Prediction):
                return batch
        return None

    def _next(self) -> tuple[int, Case]:
        index, self._next_index = self._next_index, self._next_index + 1
        return index, self._stream.draw(self._seed, index)

    def _cells(self, case: Case) -> frozenset[tuple[str, ...]]:
        answer = self._reference(case)
        return cells_of(case.target, answer.facts, is_rejected=isinstance(answer.answer, Rejection))
