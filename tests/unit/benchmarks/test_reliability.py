"""Quick forms of the commands of ``tools.benchmarks.reliability``."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from small_cases import cases

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.report import events
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.session import FuzzOptions, run_fuzz
from mergecheck.harness.verdict import CaseReport
from mergecheck.model.case import Case
from mergecheck.model.outcome import MergePath, Outcome, Prediction
from mergecheck.reference.answer import Reference
from tools.benchmarks.reliability.killed_commits import kill_writers
from tools.benchmarks.reliability.killed_merges import kill_merges, make_table
from tools.benchmarks.reliability.many_cases import Sample, rise_mib

if TYPE_CHECKING:
    from pathlib import Path

NUM_CASES = 120


class Healthy:
    """Gives the target back."""

    name = "healthy"
    version = "1"
    capabilities = Capabilities()

    def run(self, case: Case) -> Outcome:
        return Outcome(schema=case.target.schema, rows=case.target.rows)

    def close(self) -> None:
        pass


def predicted(case: Case) -> Reference:
    target = case.target
    answer = Prediction(schema=target.schema, rows=target.rows, metrics={}, cdf=None, committed=True, path=MergePath.D)
    return Reference(answer=answer)


def test_killed_writers_leave_whole_versions_and_lose_none(tmp_path: Path) -> None:
    """The long form: ``python -m tools.benchmarks.reliability.killed_commits``."""
    found = kill_writers(tmp_path / "table", num_kills=12, seed=1)
    assert (found.num_kills, found.faults) == (12, ())
    assert found.num_versions > 4


@pytest.mark.spark
def test_a_killed_merge_is_whole_or_absent(tmp_path: Path) -> None:
    """The long form: ``python -m tools.benchmarks.reliability.killed_merges``."""
    (said,) = kill_merges(make_table(tmp_path), num_kills=1, seed=1)
    assert "n as it must be" in said


def test_a_run_keeps_no_case_that_it_is_done_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The long form, in MiB: ``python -m tools.benchmarks.reliability.many_cases``."""
    monkeypatch.chdir(tmp_path)
    alive: list[int] = []

    def count(event: events.Event) -> None:
        if isinstance(event, events.CaseChecked) and event.summary.counts.num_cases in (NUM_CASES // 3, NUM_CASES):
            gc.collect()
            alive.append(sum(isinstance(one, Case | CaseReport) for one in gc.get_objects()))

    checker = Checker(engine=Healthy(), reference=predicted)
    run_fuzz(checker, FuzzOptions(seed=1, budget=Budget(max_cases=NUM_CASES)), listener=count, cases=cases())
    early, late = alive
    assert late - early < 20


def test_the_rise_of_memory_is_that_after_the_first_fifth() -> None:
    samples = [Sample(number, own, 2 * own) for number, own in enumerate([10.0, 50.0, 60.0, 61.0, 62.0])]
    assert rise_mib(samples) == (12.0, 24.0)
