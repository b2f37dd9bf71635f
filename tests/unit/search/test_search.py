"""The fuzz loop, driven by checks that need no engine."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from search_runs import METRICS, ROWS, Run, cases, null_key_fault, report

from mergecheck.harness.findings.store import RunningCase
from mergecheck.harness.properties.statistics import Stop, denominator_line
from mergecheck.harness.report import events
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.verdict import CaseReport, EngineDownError, Verdict
from mergecheck.model.case_file import load_cases

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.model.case import Case


def test_an_agreeing_engine_gives_no_finding(tmp_path: Path) -> None:
    """The budget ends the run, every case is counted once and nothing is left on disk."""
    run = Run(tmp_path, report)
    assert (run.summary.counts.num_cases, run.summary.counts.num_verified, run.summary.stop) == (150, 150, Stop.BUDGET)
    assert len(run.checked) == 150
    assert not (tmp_path / "findings").exists()
    assert not list((tmp_path / "running").iterdir())


def test_a_fault_is_found_shrunk_and_kept(tmp_path: Path) -> None:
    """A fault that needs a NULL key on both sides ends in one row a table, one clause and the columns needed."""
    run = Run(tmp_path, null_key_fault, budget=Budget(max_cases=300))
    (saved,) = run.findings
    case = saved.finding.report.case
    assert case.source is not None
    assert (len(case.target.rows), len(case.source.rows), case.sql.count("WHEN")) == (1, 1, 1)
    assert not case.target.properties
    assert saved.finding.report.mismatches == (ROWS, METRICS)
    assert load_cases(saved.path) == (case,)
    assert saved.path.stem == case.id
    assert "missing" in saved.path.with_name(f"{case.id}.report.txt").read_text()


def test_further_cases_of_a_known_fault_are_counted_not_kept(tmp_path: Path) -> None:
    """One fingerprint makes one finding, however often it shows; the run goes on behind it."""
    run = Run(tmp_path, null_key_fault, budget=Budget(max_cases=300))
    (saved,) = run.findings
    assert run.summary.counts.num_cases == 300
    assert run.summary.counts.findings == {saved.finding.id: run.summary.counts.verdicts[Verdict.MISMATCH]}
    assert run.summary.counts.findings[saved.finding.id] > 5


def test_two_faults_make_two_findings(tmp_path: Path) -> None:
    """Shrinking one fault never slips to the other."""

    def check(case: Case) -> CaseReport:
        metrics = [METRICS] if len(case.target.files) > 1 and len(case.target.rows) > 2 else []
        found = null_key_fault(case)
        return report(case, *(m for m in found.mismatches if m is ROWS), *metrics)

    run = Run(tmp_path, check, budget=Budget(max_cases=300))
    assert sorted(saved.finding.fingerprint.kind for saved in run.findings) == ["missing_rows", "numTargetRowsCopied"]
    sizes = {saved.finding.fingerprint.kind: saved.finding.report.case.target for saved in run.findings}
    assert len(sizes["numTargetRowsCopied"].files) == 2
    assert len(sizes["missing_rows"].rows) == 1


def test_the_same_seed_gives_the_same_cases(tmp_path: Path) -> None:
    """A seed names the cases, and a larger budget only adds to them."""
    first = Run(tmp_path, report, budget=Budget(max_cases=60)).checked
    again = Run(tmp_path, report, budget=Budget(max_cases=400)).checked
    other = Run(tmp_path, report, budget=Budget(max_cases=60), draws=Draws(cases(), seed=8)).checked
    assert again[:60] == first
    assert len({case.id for case in again}) == 400
    assert other != first


def test_a_mismatch_that_does_not_come_back_is_flaky(tmp_path: Path) -> None:
    """Only a confirmed mismatch is a finding; the flaky case is kept apart."""
    seen: set[str] = set()

    def check(case: Case) -> CaseReport:
        if len(case.target.rows) > 8 and case.id not in seen:
            seen.add(case.id)
            return report(case, ROWS)
        return report(case)

    run = Run(tmp_path, check)
    assert run.summary.counts.num_flaky == len(seen) > 0
    assert run.summary.counts.verdicts[Verdict.MISMATCH] == 0
    assert not run.findings
    assert {path.stem for path in (tmp_path / "findings" / "flaky").glob("*.json")} == seen


def test_a_lost_engine_ends_the_run(tmp_path: Path) -> None:
    """After a few failures in a row the run stops and keeps the case."""
    run = Run(tmp_path, lambda case: report(case, verdict=Verdict.ENGINE_ERROR, reason="connection refused"))
    assert (run.summary.stop, run.summary.counts.num_cases) == (Stop.ENGINE_DOWN, 3)
    assert len(list((tmp_path / "findings" / "engine_error").glob("*.json"))) == 1


def test_one_failure_of_the_engine_does_not_end_the_run(tmp_path: Path) -> None:
    """Failures that are not in a row are counted and the run goes on."""
    numbers = iter(range(10_000))

    def check(case: Case) -> CaseReport:
        failed = next(numbers) % 2
        return report(case, verdict=Verdict.ENGINE_ERROR if failed else Verdict.AGREE, reason="lost" if failed else "")

    assert Run(tmp_path, check).summary.counts.num_cases == 150


def test_defects_of_the_reference_do_not_end_the_run(tmp_path: Path) -> None:
    """They are kept apart from failures of the engine, and counted."""

    def check(case: Case) -> CaseReport:
        return replace(report(case, verdict=Verdict.ENGINE_ERROR, reason="it raised"), is_defect=True)

    run = Run(tmp_path, check)
    assert (run.summary.stop, run.summary.counts.num_cases) == (Stop.BUDGET, 150)
    assert (run.summary.counts.num_defects, run.summary.counts.num_engine_failures) == (150, 0)
    assert "engine down 0  harness bug 150" in denominator_line(run.summary)
    assert len(list((tmp_path / "findings" / "harness_bug").glob("*.json"))) == 1


def test_max_findings_ends_the_run(tmp_path: Path) -> None:
    """The run stops once it has as many findings as asked for."""
    run = Run(tmp_path, null_key_fault, budget=Budget(max_cases=300, max_findings=1))
    assert run.summary.stop is Stop.FINDINGS
    assert run.summary.counts.num_cases < 300


def test_a_time_budget_checks_one_case_at_least(tmp_path: Path) -> None:
    """A time budget of nothing still checks one case."""
    run = Run(tmp_path, report, budget=Budget(max_cases=None, max_seconds=0))
    assert (run.summary.counts.num_cases, run.summary.stop) == (1, Stop.BUDGET)


def test_a_time_budget_ends_the_run(tmp_path: Path) -> None:
    """Time is up in the middle of a batch."""
    started = time.monotonic()
    run = Run(tmp_path, report, budget=Budget(max_cases=None, max_seconds=2.0))
    assert run.summary.counts.num_cases > 1
    assert time.monotonic() - started < 20


def test_an_interrupt_ends_with_a_summary(tmp_path: Path) -> None:
    """Ctrl+C is no crash: the counts are shown and no case stays under way."""
    numbers = iter(range(10_000))

    def check(case: Case) -> CaseReport:
        if next(numbers) == 20:
            raise KeyboardInterrupt
        return report(case)

    run = Run(tmp_path, check)
    assert (run.summary.stop, run.summary.counts.num_cases) == (Stop.INTERRUPTED, 20)
    assert isinstance(run.events[-1], events.RunEnded)
    assert not list(RunningCase(tmp_path).leftovers())


def test_an_interrupt_while_shrinking_keeps_the_finding(tmp_path: Path) -> None:
    """A confirmed mismatch is not lost to an impatient user."""
    shown: list[Case] = []

    def check(case: Case) -> CaseReport:
        found = null_key_fault(case)
        shown.extend([case] if found.mismatches else [])
        if len(shown) == 4:
            raise KeyboardInterrupt
        return found

    (saved,) = Run(tmp_path, check).findings
    assert saved.finding.cut_short
    assert saved.path.exists()


def test_a_bug_of_the_harness_is_not_shrunk(tmp_path: Path) -> None:
    """An exception out of the check ends the run at once, as itself."""
    calls: list[Case] = []

    def check(case: Case) -> CaseReport:
        calls.append(case)
        raise EngineDownError("no reference")

    with pytest.raises(EngineDownError, match="no reference"):
        Run(tmp_path, check)
    assert len(calls) == 1
