"""Prefetching: the same cases in the same order, prepared while the engine is at work."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from small_cases import cases

from mergecheck.harness.checker import Checker
from mergecheck.harness.findings.store import RunningCase
from mergecheck.harness.oracles.reference_engine import ReferenceAsEngine
from mergecheck.harness.properties.case_space import CaseSpace
from mergecheck.harness.search.prefetch import prefetching
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.verdict import Oracle, Verdict
from mergecheck.model.outcome import Unsupported
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.model.case import Case

WAIT = 10.0  # seconds, far more than anything here takes
SPACE = CaseSpace()


class Evaluations:
    """A reference that notes its cases; the second case waits until it may end."""

    def __init__(self, *, may_end: bool = True) -> None:
        self.cases: list[Case] = []
        self.second_begun, self.second_may_end = threading.Event(), threading.Event()
        if may_end:
            self.second_may_end.set()

    def __call__(self, case: Case) -> Reference:
        self.cases.append(case)
        if len(self.cases) == 2:
            self.second_begun.set()
            self.second_may_end.wait(WAIT)
        return Reference(answer=Unsupported("for this test"))


def checker(reference: Evaluations, **options: object) -> Checker:
    return Checker(engine=ReferenceAsEngine(), reference=reference, **options)  # type: ignore[arg-type]  # a test's own


@pytest.mark.parametrize("batch_size", [1, 5])
def test_the_cases_are_those_of_the_draws(batch_size: int) -> None:
    plain = Draws(cases(), seed=3, batch_size=batch_size)
    evaluations = Evaluations()
    with prefetching(Draws(cases(), seed=3, batch_size=batch_size), checker(evaluations)) as prefetch:
        assert prefetch.seed == 3
        for _ in range(20):
            drawn, upcoming = plain.draw(SPACE), prefetch.next(SPACE)
            assert upcoming.drawn == (drawn if drawn.is_repeated else plain.batched(drawn))
            assert (upcoming.finish is None) == drawn.is_repeated


def test_only_the_references_own_failure_makes_a_batch_a_case() -> None:
    """The check of that case reports the failure. Any other error is a fault of making batches, and is raised."""

    def fails(case: Case) -> Reference:
        raise RuntimeError(case.id)

    def refuses(_case: Case) -> bool:
        raise LookupError("of the engine")

    failing, refusing = (
        Draws(cases(), seed=3, batch_size=5, reference=fails),
        Draws(cases(), seed=3, batch_size=5, takes=refuses),
    )
    first, second = ([draws.draw(SPACE) for _ in range(2)][1] for draws in (failing, refusing))
    assert failing.batched(first).reference is None
    with pytest.raises(LookupError, match="of the engine"):
        refusing.batched(second)


def test_the_next_case_is_evaluated_while_one_is_checked() -> None:
    """A case that is handed out has been evaluated, and the one behind it is being evaluated meanwhile."""
    evaluations = Evaluations()
    with prefetching(Draws(cases(), seed=3), checker(evaluations)) as prefetch:
        first = prefetch.next(SPACE)
        assert evaluations.cases[0] == first.drawn.case
        assert evaluations.second_begun.wait(WAIT)
        assert first.finish is not None
        assert first.finish().reason == "reference: for this test"
        assert prefetch.next(SPACE).drawn.case == evaluations.cases[1]
        assert evaluations.cases.count(first.drawn.case) == 1


def test_the_metamorphic_oracle_does_not_evaluate(tmp_path: Path) -> None:
    evaluations = Evaluations()
    metamorphic = checker(evaluations, oracle=Oracle.METAMORPHIC, work_directory=tmp_path)
    with prefetching(Draws(cases(), seed=3), metamorphic) as prefetch:
        drawn = [prefetch.next(SPACE).drawn.index for _ in range(3)]
    assert (drawn, evaluations.cases) == ([0, 1, 2], [])
    assert not list(tmp_path.rglob("*.json"))


def test_a_batch_under_way_ends_with_the_run() -> None:
    """Ctrl+C waits for one evaluation, and not for all by which the failing pairs of a large batch are found."""
    asked: list[Case] = []
    begun, closed = threading.Event(), threading.Event()

    class Closing(Draws):
        def close(self) -> None:
            super().close()
            closed.set()

    def reference(case: Case) -> Reference:
        asked.append(case)
        begun.set()
        closed.wait(WAIT)
        return Reference(answer=Unsupported("for this test"))

    draws = Closing(cases(), seed=3, batch_size=5, reference=reference)
    with prefetching(draws, checker(Evaluations())) as prefetch:
        prefetch.next(SPACE)
        assert begun.wait(WAIT)
    assert len(asked) == 1


def test_nothing_is_drawn_beyond_the_budget() -> None:
    """The run ends when its last case does; repeated draws do not count."""
    evaluations = Evaluations()
    with prefetching(Draws(cases(), seed=3), checker(evaluations), max_cases=5) as prefetch:
        taken = 0
        while taken < 5:
            taken += not prefetch.next(SPACE).drawn.is_repeated
    assert len(evaluations.cases) == 5


def test_a_reference_that_fails_is_the_verdict_on_its_case(tmp_path: Path) -> None:
    """The run goes on with the case behind it."""

    def reference(case: Case) -> Reference:
        seen.append(case)
        if len(seen) == 2:
            raise ZeroDivisionError
        return Reference(answer=Unsupported("for this test"))

    seen: list[Case] = []
    failing = Checker(engine=ReferenceAsEngine(), reference=reference, work_directory=tmp_path)
    with prefetching(Draws(cases(), seed=3), failing) as prefetch:
        found = [finish() for finish in (prefetch.next(SPACE).finish for _ in range(3)) if finish is not None]
    open_end = Verdict.JUDGED_IN_PART
    assert [report.verdict for report in found] == [open_end, Verdict.ENGINE_ERROR, open_end]
    assert [report.is_defect for report in found] == [False, True, False]
    assert not list(tmp_path.rglob("*.json"))


def test_a_draw_that_fails_is_told() -> None:
    none = Draws(cases().filter(lambda _: False), seed=3)
    with prefetching(none, checker(Evaluations())) as prefetch, pytest.raises(RuntimeError, match="no case"):
        prefetch.next(SPACE)


def test_the_case_being_evaluated_is_on_disk(tmp_path: Path) -> None:
    """A process that is lost in the reference leaves the case behind, and beside it the one on the engine."""
    evaluations = Evaluations(may_end=False)
    kept = checker(evaluations, work_directory=tmp_path)
    with prefetching(Draws(cases(), seed=3), kept) as prefetch:
        prefetch.next(SPACE)
        assert evaluations.second_begun.wait(WAIT)
        with RunningCase(tmp_path).under_way(evaluations.cases[0]):
            assert len(list(RunningCase(tmp_path).leftovers())) == 2
        evaluations.second_may_end.set()
    assert not list(RunningCase(tmp_path).leftovers())


def test_nothing_is_drawn_while_a_draw_is_shrunk() -> None:
    """Hypothesis does one thing at a time: the next draw waits for the end of shrinking."""
    draws = Draws(cases(), seed=3)
    index = draws.draw(SPACE).index
    begun, may_end = threading.Event(), threading.Event()

    def fails(_: Case) -> bool:
        begun.set()
        return may_end.wait(WAIT)

    with ThreadPoolExecutor(2) as pool:
        shrinking = pool.submit(draws.shrink, index, fails)
        assert begun.wait(WAIT)
        drawing = pool.submit(draws.draw, SPACE)
        with pytest.raises(TimeoutError):
            drawing.result(timeout=0.2)
        may_end.set()
        shrinking.result(WAIT)
        assert drawing.result(WAIT).index == index + 1
