"""The draws of a run: the stream of a seed, steered to new cells, alone or in a batch of the same statement."""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Protocol

from mergecheck import strategies
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.properties.case_space import CaseSpace, cells_of
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.search.batching import batch_of
from mergecheck.model.axis import every_case
from mergecheck.model.case_id import ID_LENGTH, content_digest, with_content_id
from mergecheck.model.outcome import Rejection
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hypothesis.strategies import SearchStrategy

    from mergecheck.harness.search.batching import Batch
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts
    from mergecheck.reference.answer import Reference

STEERED_WIDTH = 4
ALONE_EVERY = 4
"""Every so many statements stay alone, and after as many batches a pair that is apart is checked alone.

A batch takes no path of R-402 that needs all pairs to agree, prunes no file that holds one pair, and does not fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One draw of a run.

    Attributes:
        index: its number in the stream.
        case: the case to check: the drawn one, or a batch of it. Its id comes from its content.
        singles: the cases of a batch, each alone; empty if the case is no batch.
        reference: the reference's answer for ``case``, if drawing needed it.
        is_alone: whether its merge fails, so that it is checked apart from the batch of its statement.
        is_repeated: whether the run has drawn the same case before.
        num_passed_over: draws that were left out in favour of it (``--steer``).
        num_failing: pairs of tables that its batch does not have because their merge fails.
        num_left_out: pairs that its batch does not have because they were not separated from failing ones.
        phase_seconds: the time that this took, by ``draw`` and ``reference``.
    """

    index: int
    case: Case
    singles: tuple[Case, ...] = ()
    reference: Reference | None = None
    is_alone: bool = False
    is_repeated: bool = False
    num_passed_over: int = 0
    num_failing: int = 0
    num_left_out: int = 0
    phase_seconds: Mapping[str, float] = field(default_factory=dict, compare=False)


class CaseStream(Protocol):
    """The cases of a run, in their order. One thread may draw while another one shrinks.

    Attributes:
        seed: 0 if nothing is random.
        steer: whether the next case depends on what those before have reached.
    """

    seed: int
    steer: bool

    def draw(self, space: CaseSpace) -> Drawn | None:
        """Return the next case; None after the last one."""

    def batched(self, drawn: Drawn) -> Drawn:
        """Put a case in a batch of its statement, if the run makes batches."""

    def shrink(self, index: int, fails: Callable[[Case], bool]) -> Case | None:
        """Make a case simpler by its draw; None if it was not drawn."""

    def close(self) -> None:
        """End the stream; another thread may be in ``batched``, which gives up."""


class Draws:
    """The draws of one run; the same seed gives the same, whatever the budget.

    One thread may draw while another one shrinks: Hypothesis does one thing at a time.

    Args:
        cases: the stream of cases.
        seed: of the stream.
        first: number of the first case.
        reference: evaluates a case, which shows the cells that it would reach; None for the reference itself.
        steer: take the draw, out of several, that reaches most new cells of the case space.
        batch_size: pairs of tables that are checked in one merge, if a case allows it.
        takes: whether the engine takes a case, as far as it knows beforehand; no batch is made of others.
    """

    def __init__(
        self,
        cases: SearchStrategy[Case],
        *,
        seed: int,
        first: int = 0,
        reference: Callable[[Case], Reference] | None = None,
        steer: bool = False,
        batch_size: int = 1,
        takes: Callable[[Case], bool] = lambda _: True,
    ) -> None:
        self.seed = seed
        self.steer = steer
        self._stream = strategies.Stream(cases)
        self._one_at_a_time = threading.Lock()
        self._next_index = first
        self._reference = reference or MergeReference().evaluate
        self._batch_size = batch_size
        self._takes = takes
        self._apart: deque[Drawn] = deque()
        self._digests: set[str] = set()
        self._closed = threading.Event()

    def draw(self, space: CaseSpace) -> Drawn:
        """Draw the next case.

        Args:
            space: the cells that the run has reached so far; steered draws choose by it.
        """
        timer = PhaseTimer()
        if self._apart:
            drawn = self._apart.popleft()
        else:
            drawn = self._steered(space, timer) if self.steer else self._next(timer)
        digest = content_digest(drawn.case)
        is_repeated = digest in self._digests and not drawn.is_alone  # a case that its batch left out was drawn once
        named = replace(drawn, case=replace(drawn.case, id=digest[:ID_LENGTH]), is_repeated=is_repeated)
        self._digests.add(digest)
        return replace(named, phase_seconds=timer.seconds)

    def draw_wanted(
        self,
        wants: Callable[[Case, Facts], bool],
        *,
        favours: Callable[[Case, Facts], bool] = every_case,
        most: int,
    ) -> Drawn:
        """Draw cases until one is wanted and favoured; if none of so many is, the first wanted one, or the last one."""
        wanted: Drawn | None = None
        for number in range(most):
            drawn = self.draw(CaseSpace())
            timer = PhaseTimer(dict(drawn.phase_seconds))
            reference = drawn.reference or self._answer(drawn.case, timer)
            drawn = replace(drawn, reference=reference, num_passed_over=number, phase_seconds=timer.seconds)
            if reference is None:
                continue
            facts = facts_of(drawn.case, reference)
            if wants(drawn.case, facts):
                wanted = wanted or drawn
                if favours(drawn.case, facts):
                    return drawn
        return wanted or drawn

    @property
    def makes_batches(self) -> bool:
        """Whether ``batched`` puts several pairs of tables into one merge."""
        return self._batch_size > 1

    def batched(self, drawn: Drawn) -> Drawn:
        """Put a case in a batch of its statement; it stays alone if it cannot be in one, and in a share of the draws.

        If the case itself is no part of the batch, because its merge fails, it comes next, alone.

        Raises:
            CancelledError: the stream is closed. A large batch takes many evaluations; the one under way ends.
        """
        if self._batch_size == 1 or drawn.is_alone or drawn.index % ALONE_EVERY == 0:
            return drawn
        timer, failed = PhaseTimer(), []

        def evaluate(case: Case) -> Reference:
            if self._closed.is_set():
                raise CancelledError
            try:
                with timer.measure("reference"):
                    return self._reference(case)
            except Exception:
                failed.append(case)
                raise

        started, batch = time.perf_counter(), None
        random = Random(f"{self.seed}/{drawn.index}")  # noqa: S311 - a test case, no secret
        try:
            if self._takes(drawn.case):
                batch = batch_of(drawn.case, random, size=self._batch_size, evaluate=evaluate)
        except Exception:
            if not failed:  # else the check of that case fails in the same way, and reports it
                raise
        spent = time.perf_counter() - started - timer.seconds.get("reference", 0.0)
        seconds = {phase: drawn.phase_seconds.get(phase, 0.0) for phase in ("draw", "reference")}
        seconds["draw"] += spent
        seconds["reference"] += timer.seconds.get("reference", 0.0)
        drawn = replace(drawn, phase_seconds=seconds)
        if batch is not None:
            self._keep_apart(drawn, batch)
            case = with_content_id(batch.case)
            return replace(
                drawn,
                case=case,
                singles=batch.singles,
                reference=batch.reference,
                num_failing=len(batch.apart),
                num_left_out=batch.num_left_out,
            )
        return replace(drawn, case=with_content_id(failed[0]), reference=None) if failed else drawn

    def _keep_apart(self, drawn: Drawn, batch: Batch) -> None:
        """Put the drawn case behind its batch if it is no part of it; sometimes another case whose merge fails."""
        case = None if drawn.case in batch.singles[:1] else drawn.case
        if case is None and batch.apart and drawn.index % ALONE_EVERY == 1:
            case = batch.apart[drawn.index // ALONE_EVERY % len(batch.apart)]
        if case is not None:
            self._apart.append(Drawn(index=drawn.index, case=case, is_alone=True))

    def shrink(self, index: int, fails: Callable[[Case], bool]) -> Case:
        """Let Hypothesis simplify a draw, see ``Stream.shrink``."""
        with self._one_at_a_time:
            return self._stream.shrink(self.seed, index, fails)

    def close(self) -> None:
        """End the stream: no evaluation begins any more, so that Ctrl+C need not wait for a whole batch."""
        self._closed.set()

    def _next(self, timer: PhaseTimer) -> Drawn:
        index, self._next_index = self._next_index, self._next_index + 1
        with self._one_at_a_time, timer.measure("draw"):
            return Drawn(index=index, case=self._stream.draw(self.seed, index))

    def _steered(self, space: CaseSpace, timer: PhaseTimer) -> Drawn:
        drawn = [self._next(timer) for _ in range(STEERED_WIDTH)]
        references = [self._answer(one.case, timer) for one in drawn]
        news = [
            0 if found is None else space.num_new(_cells(one.case, found))
            for one, found in zip(drawn, references, strict=True)
        ]
        best = news.index(max(news))
        return replace(drawn[best], reference=references[best], num_passed_over=STEERED_WIDTH - 1)

    def _answer(self, case: Case, timer: PhaseTimer) -> Reference | None:
        """Ask the reference; None if it fails, since the check of the case will fail in the same way and report it."""
        with suppress(Exception), timer.measure("reference"):
            return self._reference(case)
        return None


def _cells(case: Case, reference: Reference) -> frozenset[tuple[str, ...]]:
    return cells_of(case.target, facts_of(case, reference), is_rejected=isinstance(reference.answer, Rejection))
