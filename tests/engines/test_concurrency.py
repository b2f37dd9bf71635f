"""Interleavings of merges on Spark: they equal serial orders, and mutants of the conflict rules do not.

`mergecheck lab concurrency` runs all scenarios, `python -m tools.selfcheck.conflicts` all faults; here are the quickest
of both.
"""

from __future__ import annotations

import pytest

from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.lab.concurrency.enumerate import enumerate_interleavings
from mergecheck.harness.lab.concurrency.history import EndingKind
from mergecheck.harness.lab.concurrency.interleaving_text import Tally, finding_lines
from mergecheck.harness.lab.concurrency.scenarios import scenarios
from mergecheck.reference import MergeReference
from tools.selfcheck.catalogue import load_conflict_faults
from tools.selfcheck.conflicts import hunt

pytestmark = pytest.mark.spark

SCENARIOS = {scenario.name: scenario for scenario in scenarios()}
FAULTS = {one.fault.id: one for one in load_conflict_faults()}
QUICK = ("concurrent-append-ignored", "version-overwritten", "source-reads-not-counted", "same-application-ignored")


@pytest.fixture(scope="module")
def engine() -> PySparkEngine:
    return PySparkEngine(start_session())


@pytest.mark.parametrize(
    ("name", "count", "endings"),
    [
        ("counter", 4, {EndingKind.COMMITTED: 6, EndingKind.CONFLICT: 2}),
        ("append", 3, {EndingKind.COMMITTED: 4, EndingKind.CONFLICT: 1, EndingKind.NOTHING: 1}),
    ],
)
def test_every_interleaving_equals_a_serial_order(
    engine: PySparkEngine, name: str, count: int, endings: dict[EndingKind, int]
) -> None:
    """A merge loses if another commit came after it read; it has nothing to do if it reads the appended rows."""
    tally = Tally(SCENARIOS[name])
    for one in enumerate_interleavings(tally.scenario, engine, MergeReference()):
        tally.add(one)
    assert tally.findings == []
    assert tally.num_interleavings == count
    assert tally.endings == endings


@pytest.mark.parametrize(
    ("name", "count", "endings", "needless"),
    [
        ("counter", 4, {EndingKind.COMMITTED: 6, EndingKind.CONFLICT: 2}, 0),
        ("insert-other-keys", 4, {EndingKind.COMMITTED: 6, EndingKind.CONFLICT: 2}, 2),
        ("add-column", 3, {EndingKind.COMMITTED: 4, EndingKind.CONFLICT: 2}, 0),
        ("append-only", 3, {EndingKind.COMMITTED: 4, EndingKind.CONFLICT: 1, EndingKind.REJECTED: 1}, 0),
    ],
)
def test_delta_lake_is_stopped_at_its_transactions(
    name: str, count: int, endings: dict[EndingKind, int], needless: int
) -> None:
    """By an observer that its released jar calls: the same orders as of our merge, and serial ones.

    Beside a new column a merge loses twice: before its snapshot, because it was analysed without the column (R-142),
    and before its commit. A table that became append-only refuses it with Delta's own error, raised within a hook.
    """
    tally = Tally(SCENARIOS[name])
    for one in enumerate_interleavings(tally.scenario, DeltaSparkEngine(start_session()), MergeReference()):
        tally.add(one)
    assert tally.findings == []
    assert tally.num_interleavings == count
    assert tally.endings == endings
    assert tally.num_needless == needless
    assert all(conflict.is_by_rule for conflict in tally.conflicts)


def test_a_merge_of_delta_lake_makes_a_table_unreadable_that_was_replaced_since_analysis() -> None:
    """It compares only the number of columns, and writes files with the old type (docs/findings)."""
    tally = Tally(SCENARIOS["narrowed-column"])
    for one in enumerate_interleavings(tally.scenario, DeltaSparkEngine(start_session()), MergeReference()):
        tally.add(one)
    (found,) = tally.findings
    assert {name: ending.version for name, ending in found.history.endings.items()} == {"a": 2, "w": 1}
    (problem,) = found.verdict.problems
    assert problem.startswith("the engine reads version 2 otherwise: FAILED_READ_FILE")


@pytest.mark.parametrize("name", QUICK)
def test_a_mutant_is_found(engine: PySparkEngine, name: str) -> None:
    """In the scenario that the catalogue names; the finding shows who did what when."""
    planted = FAULTS[name]
    found = hunt(planted.fault, [SCENARIOS[planted.scenario]], engine, MergeReference())
    assert found.finding is not None
    lines = finding_lines(found.finding)
    for part in ("  writers:", "  what happened:", "  serial orders, that of the log first:"):
        assert part in lines
    assert any(line.startswith("    a: MERGE INTO target") for line in lines)


def test_every_fault_names_a_scenario() -> None:
    assert len(FAULTS) >= 10
    assert {one.scenario for one in FAULTS.values()} <= SCENARIOS.keys()
