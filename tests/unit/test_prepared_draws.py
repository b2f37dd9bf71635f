"""One case ahead: the same cases in the same order, prepared while somebody else is at work."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from small_cases import cases

from mergecheck.harness.coverage.statistics import Statistics
from mergecheck.harness.search.prefetch import prepared
from mergecheck.harness.search.stream import Draws
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.reference.case.model import Case

WAIT = 10.0  # seconds, far more than anything here takes


def statistics() -> Statistics:
    return Statistics(seed=3)


@pytest.mark.parametrize("batch_size", [1, 5])
def test_the_cases_are_those_of_the_draws(tmp_path: Path, batch_size: int) -> None:
    plain = Draws(cases(), seed=3, batch_size=batch_size)
    with prepared(Draws(cases(), seed=3, batch_size=batch_size), evaluate, work_directory=tmp_path) as ahead:
        assert ahead.seed == 3
        for _ in range(20):
            index, case = plain.draw(statistics())
            assert ahead.draw(statistics()) == (index, case)
            assert ahead.batched(case, index) == plain.batched(case, index)


def test_the_next_case_is_drawn_and_judged_while_one_is_checked(tmp_path: Path) -> None:
    """What is handed out has been judged, and the one behind it is being judged meanwhile."""
    judged: list[Case] = []
    second = threading.Event()

    def reference(case: Case) -> None:
        judged.append(case)
        if len(judged) == 2:
            second.set()

    with prepared(Draws(cases(), seed=3), reference, work_directory=tmp_path) as ahead:
        _, first = ahead.draw(statistics())
        assert judged[0] is first
        assert second.wait(WAIT)
        assert ahead.draw(statistics())[1] is judged[1]


def test_nothing_is_judged_where_nobody_asks(tmp_path: Path) -> None:
    with prepared(Draws(cases(), seed=3), None, work_directory=tmp_path) as ahead:
        assert [ahead.draw(statistics())[0] for _ in range(3)] == [0, 1, 2]
    assert not list(tmp_path.rglob("*.json"))


def test_a_reference_that_fails_is_left_to_the_check(tmp_path: Path) -> None:
    """The check asks again, with the case on disk and the failure told."""

    def reference(_: Case) -> None:
        raise ZeroDivisionError

    with prepared(Draws(cases(), seed=3), reference, work_directory=tmp_path) as ahead:
        assert [ahead.draw(statistics())[0] for _ in range(3)] == [0, 1, 2]


def test_a_draw_that_fails_is_told(tmp_path: Path) -> None:
    none = Draws(cases().filter(lambda _: False), seed=3)
    with prepared(none, evaluate, work_directory=tmp_path) as ahead, pytest.raises(RuntimeError, match="no case"):
        ahead.draw(statistics())


def test_the_case_being_judged_is_on_disk(tmp_path: Path) -> None:
    """A process that is lost in the reference leaves the case behind, as one that is lost in the engine does."""
    kept: list[list[str]] = []

    def reference(_: Case) -> None:
        kept.append([path.name for path in tmp_path.rglob("*.json")])

    with prepared(Draws(cases(), seed=3), reference, work_directory=tmp_path) as ahead:
        ahead.draw(statistics())
    assert all(len(names) == 1 and names[0].endswith("-1.json") for names in kept)
    assert not list(tmp_path.rglob("*.json"))


def test_nothing_is_drawn_elsewhere_while_a_draw_is_shrunk(tmp_path: Path) -> None:
    """The case under way comes to its end first."""
    judged: list[Case] = []
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def reference(case: Case) -> None:
        judged.append(case)
        if len(judged) == 2:
            begun.set()
            may_end.wait(WAIT)
            ended.set()

    def fails(_: Case) -> bool:
        assert ended.is_set()
        return True

    with prepared(Draws(cases(), seed=3), reference, work_directory=tmp_path) as ahead:
        index, _ = ahead.draw(statistics())
        assert begun.wait(WAIT)
        threading.Timer(0.2, may_end.set).start()
        ahead.shrink(index, fails)
