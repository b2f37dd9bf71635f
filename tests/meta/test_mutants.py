"""The tester tested: mutants of ``merge`` are found, shrunk, kept and replayed.

One fault for each observable; ``python -m tools.selfcheck`` counts the whole catalogue. ``--log-cli-level=INFO`` shows
how each fault was found.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits, num_rows
from mergecheck.harness.properties.merge_text import num_clauses
from mergecheck.harness.report.events import FindingSaved
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.session import FuzzOptions, run_fuzz, stream_for
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import load_cases
from tools.selfcheck.catalogue import chosen
from tools.selfcheck.fault import Area, Fault, Mutant
from tools.selfcheck.mutation import Change
from tools.selfcheck.trial import alone, run_seed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.findings.store import Finding
    from mergecheck.harness.report.events import Event

pytestmark = pytest.mark.spark

_logger = logging.getLogger(__name__)

SEED = 5
# By which observables a case may name the fault; another one would mean another fault.
CHECKS = {
    "preimage-from-new-row": frozenset({Check.CDF}),
    "copied-rows-counted-twice": frozenset({Check.METRICS}),
    "insert-route-without-anti-join": frozenset({Check.ROWS}),
    "multi-match-check-dropped": frozenset({Check.ERROR}),
    "never-evolves": frozenset({Check.SCHEMA, Check.ERROR}),
}
BUDGET = Budget(max_cases=300, max_findings=1)
# Runs, not seconds, so that a slow machine shrinks as far; enough for the sizes below, not for the prettiest case.
LIMITS = ShrinkLimits(max_runs=60, max_seconds=600)


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    """Start the merge once for all faults."""
    engine = PySparkEngine()
    yield engine
    engine.close()


@pytest.fixture(autouse=True)
def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep findings and the case under way out of the checkout."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("fault", chosen(list(CHECKS)), ids=lambda fault: fault.id)
def test_a_mutant_is_found_and_shrunk(fault: Fault, engine: PySparkEngine) -> None:
    """A fuzz run finds it within 300 cases; the case that it keeps is small, shows the fault, and nothing but it."""
    with Mutant.of(fault).switched_on():
        finding, path = fuzz(engine)
        (kept,) = load_cases(path)
        replayed = Checker(engine=engine).check_case(kept)
    _logger.info("%s: %s", fault.id, _told(finding))

    assert kept == finding.report.case
    assert fingerprint(replayed) == finding.fingerprint
    assert finding.fingerprint.check in CHECKS[fault.id]
    assert Checker(engine=engine).check_case(kept).verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED)
    num_target_rows, num_source_rows = num_rows(kept)
    assert num_target_rows <= 3
    assert num_source_rows <= 3
    assert num_clauses(kept.sql) <= 2


def _told(finding: Finding) -> str:
    case = finding.report.case
    rows, clauses = num_rows(case), num_clauses(case.sql)
    return (
        f"{finding.num_cases} cases to {finding.fingerprint}; {finding.num_runs} runs and {finding.seconds:.0f} s "
        f"to {rows[0]} target rows, {rows[1]} source rows, {clauses} clauses: {case.sql}"
    )


def fuzz(engine: PySparkEngine) -> tuple[Finding, Path]:
    """Run until the first finding, and return it with the file in which it is kept."""
    said: list[Event] = []
    options = FuzzOptions(seed=SEED, budget=BUDGET, findings=Path("findings"), limits=LIMITS)
    run_fuzz(Checker(engine=engine), options, listener=said.append)
    (saved,) = (event for event in said if isinstance(event, FindingSaved))
    return saved.finding, saved.path


def test_a_fault_that_disturbs_the_watch_is_run(engine: PySparkEngine) -> None:
    """Its harm to the right merge beside it is no mistake of the merge, and ends with the watch."""
    spoil = Change(
        function="merge.table.writing.checks.table_checks",
        replace="relation = Relation(",
        by="properties.clear()  # of the snapshot, which everybody shares\n    relation = Relation(",
    )
    fault = Fault(
        id="spoils-the-snapshot",
        area=Area.WRITING,
        summary="The table's properties are forgotten.",
        rules=("R-601",),
        changes=(spoil,),
    )
    (late,) = chosen(["removes-left-out"])  # with faults of the analysis alone, the merge is not run
    result = run_seed([fault, late], engine, alone(stream_for(engine, SEED)), seed=SEED, max_cases=10)
    assert fault.id in result.kills
