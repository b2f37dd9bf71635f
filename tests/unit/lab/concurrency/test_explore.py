"""The search for interleavings, on writers of a log that is a list."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engine import Point, PointKind
from mergecheck.harness.lab.concurrency.explore import interleavings
from mergecheck.harness.lab.concurrency.points import WHOLE_WRITE, Footprint, are_dependent, footprint
from mergecheck.harness.lab.concurrency.turns import TurnScheduler
from mergecheck.harness.verdict import EngineDownError, HarnessBugError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.harness.lab.concurrency.explore import Choose
    from mergecheck.harness.lab.concurrency.turns import Turn


class Log:
    """Who created which version, and what everybody saw."""

    def __init__(self) -> None:
        self.commits: list[str] = []
        self.seen: dict[str, list[str]] = {}

    def newest(self) -> int:
        return len(self.commits)

    def merge(self, name: str) -> Callable[[Turn], None]:
        """Read the newest version, then try to create the next one until nobody was faster."""

        def run(turn: Turn) -> None:
            turn.wait(Point(PointKind.BEFORE_SNAPSHOT))
            version = len(self.commits) + 1
            seen = self.seen.setdefault(name, [])
            seen.append(f"read {version - 1}")
            while True:
                turn.wait(Point(PointKind.BEFORE_COMMIT, version))
                if version > len(self.commits):
                    self.commits.append(name)
                    return
                seen.append(f"lost {version} to {self.commits[version - 1]}")
                turn.wait(Point(PointKind.BEFORE_REREAD, version))
                version += 1

        return run

    def write(self, name: str) -> Callable[[Turn], None]:
        """Do all of it at one point."""

        def run(turn: Turn) -> None:
            turn.wait(WHOLE_WRITE)
            self.seen[name] = [f"read {len(self.commits)}"]
            self.commits.append(name)

        return run

    def outcome(self) -> str:
        return f"{self.commits} {sorted(self.seen.items())}"


def outcomes(kinds: str, *, choose_all: bool = False) -> list[str]:
    """Run merges (m) and atomic writes (w) in every interleaving."""
    with ThreadPoolExecutor(len(kinds)) as executor:

        def run(choose: Choose) -> str | None:
            log = Log()
            names = [f"{kind}{number}" for number, kind in enumerate(kinds)]
            writers = {name: log.merge(name) if name[0] == "m" else log.write(name) for name in names}
            ended = TurnScheduler(executor=executor, newest=log.newest).play(
                writers, (lambda waiting: choose(dict.fromkeys(waiting, BOTH))) if choose_all else choose
            )
            return None if ended is None else log.outcome()

        return list(interleavings(run))


BOTH = Footprint(reads=True, writes=True)


@pytest.mark.parametrize(("kinds", "count"), [("m", 1), ("mm", 4), ("mw", 3), ("mmm", 36), ("mww", 12), ("mmw", 22)])
def test_each_interleaving_is_run_once(kinds: str, count: int) -> None:
    """Each commit order, with each place that the snapshots can have in it: 3! * 1 * 2 * 3 for three merges."""
    found = outcomes(kinds)
    assert len(found) == len(set(found)) == count


@pytest.mark.parametrize("kinds", ["mm", "mww", "mmw"])
def test_nothing_is_left_out(kinds: str) -> None:
    """If every two points are taken for dependent, there are more runs, which come to the same."""
    everything = outcomes(kinds, choose_all=True)
    assert len(everything) > len(outcomes(kinds))
    assert set(everything) == set(outcomes(kinds))


def test_the_first_interleaving_is_a_race() -> None:
    """Both merges read before one commits, so that a fault shows early."""
    assert outcomes("mm")[0].count("read 0") == 2


def test_points_of_versions_that_exist_are_neutral() -> None:
    assert footprint(Point(PointKind.BEFORE_COMMIT, 1), newest=1).is_neutral
    assert footprint(Point(PointKind.BEFORE_REREAD, 1), newest=1).is_neutral
    assert footprint(Point(PointKind.BEFORE_COMMIT, 2), newest=1) == Footprint(writes=True)
    assert footprint(Point(PointKind.BEFORE_REREAD, 2), newest=1) == Footprint(reads=True)


def test_a_commit_of_an_unknown_version_reads_and_writes() -> None:
    """The check for conflicts and the retries follow; steps before and after a commit concern no other writer."""
    assert footprint(Point(PointKind.BEFORE_COMMIT), newest=1) == Footprint(reads=True, writes=True)
    assert footprint(Point(PointKind.AFTER_READ), newest=1).is_neutral
    assert footprint(Point(PointKind.AFTER_COMMIT), newest=1).is_neutral


def test_which_points_depend_on_each_other() -> None:
    read, write, neutral = Footprint(reads=True), Footprint(writes=True), Footprint()
    dependent = {(one.reads, one.writes, other.reads, other.writes): are_dependent(one, other)
                 for one, other in itertools.product((read, write, neutral), repeat=2)}  # fmt: skip
    assert sum(dependent.values()) == 3
    assert are_dependent(read, write)
    assert are_dependent(write, read)
    assert are_dependent(write, write)


def test_a_run_that_does_not_repeat_itself_is_a_bug() -> None:
    runs = itertools.count()

    def run(choose: Callable[[Mapping[str, Footprint]], str | None]) -> str | None:
        return choose({f"a{next(runs)}": BOTH, "b": BOTH})

    with pytest.raises(HarnessBugError, match="does not repeat itself"):
        list(interleavings(run))


def test_one_writer_runs_at_a_time() -> None:
    """Whatever they do between their points."""
    running = threading.Lock()

    def writer(turn: Turn) -> str:
        for _ in range(3):
            assert running.acquire(blocking=False)
            running.release()
            turn.wait(Point(PointKind.BEFORE_SNAPSHOT))
        return turn.name

    with ThreadPoolExecutor(3) as executor:
        turns = TurnScheduler(executor=executor, newest=lambda: 0)
        ended = turns.play(dict.fromkeys("abc", writer), max)
    assert ended == {"a": "a", "b": "b", "c": "c"}


def test_an_error_of_a_writer_reaches_the_caller() -> None:
    def writer(turn: Turn) -> None:
        turn.wait(Point(PointKind.BEFORE_SNAPSHOT))
        raise ValueError(turn.name)

    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match="a"):
        TurnScheduler(executor=executor, newest=lambda: 0).play({"a": writer}, lambda waiting: next(iter(waiting)))


def test_a_writer_that_does_not_come_to_its_next_point_is_a_failure_of_the_engine() -> None:
    """Within the time that the caller gives."""
    released = threading.Event()
    with ThreadPoolExecutor(1) as executor:
        turns = TurnScheduler(executor=executor, newest=lambda: 0, patience=0.2)
        with pytest.raises(EngineDownError, match=r"next point within 0.2 s \(--case-timeout\)"):
            turns.play({"a": lambda _: released.wait(60)}, max)
        released.set()
