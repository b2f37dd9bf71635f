"""Random races: the draws, and a fault of delta-rs that a race finds."""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from mergecheck.harness.lab.concurrency.race import counter
from mergecheck.harness.lab.concurrency.race.clients import Answer, AnswerKind
from mergecheck.harness.lab.concurrency.race.draw import draw_writers
from mergecheck.harness.lab.concurrency.race.race_run import RaceOptions, run_race
from mergecheck.harness.lab.concurrency.scenarios import COUNTER, scenarios
from mergecheck.harness.lab.sequences.steps import Rewrite
from mergecheck.harness.processes.time_limit import EngineLateError, TimeLimit
from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("most", [0, 1, 8])
def test_no_more_writers_compact_than_may(most: int) -> None:
    rounds = [draw_writers(Random(seed), 8, most_compactions=most) for seed in range(300)]
    assert {len(writers) for writers in rounds} == {8}
    counts = [sum(isinstance(writer.action, Rewrite) for writer in writers) for writers in rounds]
    assert max(counts) == min(most, 4)  # none of these seeds draws more


def test_two_compactions_of_delta_rs_double_the_rows(tmp_path: Path) -> None:
    """If this fails, delta-rs has mended it: then ``COMPACTED_BY_ANOTHER`` has no reason any more."""
    table = str(tmp_path / "table")
    for key in (1, 2):
        write_deltalake(table, pa.table({"k": [key]}), mode="append")
    first, second = DeltaTable(table), DeltaTable(table)
    first.optimize.compact()
    second.optimize.compact()  # of the files that the other one has removed
    assert sorted(DeltaTable(table).to_pyarrow_table()["k"].to_pylist()) == [1, 1, 2, 2]


def test_a_round_that_takes_too_long_is_a_failure_of_the_engine() -> None:
    """No writer can answer within a nanosecond."""
    options = RaceOptions(engine="delta-rs", num_writers=2, num_steps=2, seed=1, kills=0, patience=1e-9)
    with pytest.raises(EngineDownError, match=r"gave no answer within 1e-09 s \(--case-timeout\)"):
        run_race(options)


def test_a_merge_that_counts_has_a_limit_of_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the case of that race."""

    class Slow:
        def write(self, *_: object) -> Answer:
            time.sleep(0.2)
            return Answer(kind=AnswerKind.DONE)

    monkeypatch.setattr(counter, "open_client", lambda _: Slow())
    scenario = next(each for each in scenarios() if each.name == COUNTER)
    with pytest.raises(EngineLateError, match=r"no answer within 0.05 s"):
        counter.race_counters("delta-rs", scenario, num_threads=1, num_merges=1, limit=TimeLimit(seconds=0.05))
