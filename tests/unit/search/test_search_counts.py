"""The counts of a search, its findings and its files."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from search_runs import ROWS, Run, cases, null_key_fault, report

from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.findings.store import FindingsDirectory, RunningCase
from mergecheck.harness.oracles.reference_engine import answered
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.statistics import Counts, Stop, denominator_line, size_line
from mergecheck.harness.report import events
from mergecheck.harness.report.json import summary_json
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.paired_query import PAIR
from mergecheck.harness.search.session import WARM_UP
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.verdict import CaseReport, UserInputError, Verdict
from mergecheck.model.case_file import dump_case, load_cases
from mergecheck.model.case_id import with_content_id
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.reference import evaluate
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.model.case import Case


def test_a_small_domain_is_exhausted(tmp_path: Path) -> None:
    """A strategy without new cases ends the run instead of spinning."""
    one = with_content_id(Run(tmp_path, report, budget=Budget(max_cases=1)).checked[0])
    summary = Run(tmp_path, report, budget=Budget(max_cases=100), draws=Draws(st.just(one), seed=1)).summary
    assert (summary.counts.num_cases, summary.stop) == (1, Stop.EXHAUSTED)


def test_shrinking_keeps_to_its_limit_and_says_so(tmp_path: Path) -> None:
    """A limit on runs bounds the executions of shrinking; the finding is marked as cut short."""
    run = Run(tmp_path, null_key_fault, budget=Budget(max_findings=1), limits=ShrinkLimits(max_runs=5))
    (saved,) = run.findings
    assert saved.finding.cut_short
    assert saved.finding.num_runs <= 5
    assert "cut short" in saved.path.with_name(f"{saved.finding.id}.report.txt").read_text()


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    """The message names the folder and what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UserInputError, match="Run mergecheck in a folder you can write"):
        Run(tmp_path / "file", report)


def test_unsupported_cases_are_counted_by_reason(tmp_path: Path) -> None:
    """A case that is not verified never counts as verified, and its reason is shown."""
    run = Run(tmp_path, lambda case: report(case, verdict=Verdict.UNSUPPORTED, reason="reference: why"))
    assert run.summary.counts.unsupported == {"reference: why": 150}
    assert run.summary.counts.verified_share == 0


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.AGREE])
def test_what_an_engine_was_not_held_against_counts_as_not_reached(tmp_path: Path, verdict: Verdict) -> None:
    """The reference may know the reach of a case that the engine does not take: that is no test of the engine."""

    def check(case: Case) -> CaseReport:
        found = report(case, verdict=verdict, reason="fake: why")
        answer = report(case).reference.answer
        applied = frozenset({("matched", "update")})
        facts = replace(found.facts, rules=frozenset({"R-320"}), clauses_applied=applied, multi_matched=True)
        return replace(found, reference=Reference(answer=answer), facts=facts)

    summary = Run(tmp_path, check).summary
    is_judged = verdict is Verdict.AGREE
    assert summary.counts.rules == ({"R-320": 150} if is_judged else {})
    assert [summary.counts.num_multi_matched, sum(summary.counts.paths.values())] == [150 * is_judged] * 2
    reached = summary.counts.space.cells, summary.counts.clauses_present, summary.counts.clauses_fired
    assert [bool(counted) for counted in reached] == [is_judged] * 3


def test_rejections_are_counted_by_class_and_rules_by_number(tmp_path: Path) -> None:
    """A run counts the cases that both sides reject, and which rules the cases reached that were judged."""

    def check(case: Case) -> CaseReport:
        error_class = "DELTA_EVEN" if len(case.target.rows) % 2 == 0 else "DELTA_ODD"
        rejected = Rejection(error_class=error_class, message="", unchanged=True)
        found = report(case, verdict=Verdict.BOTH_REJECTED)
        facts = Facts(rules=frozenset({"R-320", error_class}))
        return replace(found, result=rejected, reference=Reference(answer=rejected), facts=facts)

    summary = Run(tmp_path, check).summary
    assert set(summary.counts.rejected) == {"DELTA_EVEN", "DELTA_ODD"}
    assert sum(summary.counts.rejected.values()) == summary.counts.verdicts[Verdict.BOTH_REJECTED] == 150
    assert summary.counts.rules == {"R-320": 150, **summary.counts.rejected}
    document = summary_json(summary)
    assert (document["rejected"], document["rules"]) == (summary.counts.rejected, summary.counts.rules)
    most, least = Counter(summary.counts.rejected).most_common()
    assert f"both rejected 150 ({most[0]} {most[1]}, {least[0]} {least[1]})  unsupported 0  " in denominator_line(
        summary
    )


def test_a_killed_process_leaves_its_case(tmp_path: Path) -> None:
    """The case is on disk before it runs: kill -9 in the middle leaves a whole case file behind."""
    case = with_content_id(Run(tmp_path, report, budget=Budget(max_cases=1)).checked[0])
    (tmp_path / "case.json").write_text(dump_case(case))
    script = textwrap.dedent(
        f"""
        import os, pathlib, signal
        from mergecheck.harness.findings.store import RunningCase
        from mergecheck.model.case_file import load_cases
        folder = pathlib.Path({str(tmp_path)!r})
        RunningCase(folder).write(load_cases(folder / "case.json")[0])
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    killed = subprocess.run([sys.executable, "-c", script], check=False)  # noqa: S603 - our own script
    assert killed.returncode < 0
    (left,) = RunningCase(tmp_path).leftovers()
    assert load_cases(left) == (case,)


def test_the_loop_itself_is_cheap(tmp_path: Path) -> None:
    """Drawing, writing and counting cost a few milliseconds a case."""
    run = Run(tmp_path, report, budget=Budget(max_cases=500))
    assert run.summary.seconds / 500 < 0.03


def test_a_kept_finding_is_never_overwritten(tmp_path: Path) -> None:
    """A file that stands where a finding belongs stays as it is."""
    case = with_content_id(Run(tmp_path, report, budget=Budget(max_cases=1)).checked[0])
    store = FindingsDirectory(tmp_path / "findings")
    path = store.save(case, "first")
    path.write_text(json.dumps({"mine": True}))
    assert store.save(case, "second") == path
    assert json.loads(path.read_text()) == {"mine": True}
    assert path.with_name(f"{case.id}.report.txt").read_text() == "first\n"


def test_steering_reaches_more_and_stays_reproducible(tmp_path: Path) -> None:
    """The same draws for the same seed; more cells than unsteered draws; cases passed over are counted."""
    budget = Budget(max_cases=12)
    plain = Run(tmp_path / "plain", evaluated, budget=budget)
    steered, again = (
        Run(tmp_path / name, evaluated, budget=budget, draws=Draws(cases(), seed=7, steer=True)) for name in ("a", "b")
    )
    assert [case.id for case in steered.checked] == [case.id for case in again.checked]
    assert len(steered.summary.counts.space.cells) > len(plain.summary.counts.space.cells)
    assert (plain.summary.counts.num_passed_over, steered.summary.counts.num_passed_over) == (0, 36)


def test_a_batch_that_disagrees_is_narrowed_to_a_pair(tmp_path: Path) -> None:
    """Thirty pairs in one merge, one finding of a single pair; without a fault all pairs are counted."""
    budget = Budget(max_cases=20, max_findings=1)
    agreeing = Run(tmp_path / "agreeing", report, budget=budget, draws=Draws(cases(), seed=7, batch_size=30))
    assert agreeing.summary.counts.num_batched >= 30
    assert any(PAIR in case.sql for case in agreeing.checked)
    faulty = Run(tmp_path / "faulty", null_key_fault, budget=budget, draws=Draws(cases(), seed=7, batch_size=30))
    (saved,) = faulty.findings
    assert PAIR not in saved.finding.report.case.sql


def evaluated(case: Case) -> CaseReport:
    """Report an agreement, with the reference's facts of the case."""
    reference = evaluate(case)
    return replace(report(case), reference=reference, facts=facts_of(case, reference))


def differs_by_size(case: Case) -> CaseReport:
    """Deviate in one known way for a target of one row, and in another for one of two; no way explains both."""
    sizes = Counter(row[-1] if PAIR in case.sql else 0 for row in case.target.rows)
    kinds = {{1: "one", 2: "other"}[size] for size in sizes.values() if size in (1, 2)}
    found = report(case, *([ROWS] if kinds else []))
    found = replace(found, result=answered(evaluate(case).answer))
    return replace(found, deviations=tuple(kinds)) if len(kinds) == 1 else found


def test_a_batch_that_differs_in_several_known_ways_is_no_finding(tmp_path: Path) -> None:
    """Each pair alone shows a known deviation, which explains no batch of both; pairs that agree are in it, too."""
    draws = Draws(cases(), seed=7, batch_size=12)
    run = Run(tmp_path, differs_by_size, budget=Budget(max_cases=12), draws=draws)
    batches = [
        each.report for each in run.events if isinstance(each, events.CaseChecked) and PAIR in each.report.case.sql
    ]
    assert {"one", "other"} in [set(each.deviations) for each in batches]
    assert run.findings == []


@pytest.mark.parametrize("in_company", ["a lost row", "an error", "another difference"])
def test_known_pairs_whose_company_differs_are_a_finding(tmp_path: Path, in_company: str) -> None:
    """What the engine does to pairs together is not explained by what it does to each alone."""

    def check(case: Case) -> CaseReport:
        found = differs_by_size(case)
        result = found.result
        if not found.mismatches or found.deviations or not isinstance(result, Outcome):
            return found
        if in_company == "a lost row":
            return replace(found, result=replace(result, rows=result.rows[1:]))
        if in_company == "an error":
            return replace(found, result=Rejection(error_class="OUT_OF_LUCK", message="two are one too many"))
        return replace(found, mismatches=(ROWS, replace(ROWS, kind="extra_rows")))

    budget, limits = Budget(max_cases=12, max_findings=1), ShrinkLimits(max_runs=0)
    run = Run(tmp_path, check, budget=budget, limits=limits, draws=Draws(cases(), seed=7, batch_size=12))
    (saved,) = run.findings
    assert PAIR in saved.finding.report.case.sql


def test_a_batch_deviates_by_its_pairs() -> None:
    """Two pairs of ten that deviate in either of two statements: a tenth, and one statement."""
    counts = Counts()
    counts.add(replace(report(WARM_UP, ROWS), deviations=("known",)), num_pairs=10, num_deviating_pairs=2)
    counts.add(report(WARM_UP))
    assert (counts.deviating_share, counts.num_deviating, counts.num_pairs, counts.num_batches) == (0.1, 1, 11, 1)


def test_what_only_the_company_of_pairs_shows_is_the_smallest_batch(tmp_path: Path) -> None:
    """Two pairs that agree alone: the finding has both."""

    def check(case: Case) -> CaseReport:
        many = len(case.target.rows) > 8 and "DELETE" in case.sql
        return report(case, *([ROWS] if many and PAIR in case.sql else []))

    limits = ShrinkLimits(max_runs=0)
    budget = Budget(max_cases=20, max_findings=1)
    run = Run(tmp_path, check, budget=budget, limits=limits, draws=Draws(cases(), seed=7, batch_size=30))
    (saved,) = run.findings
    case = saved.finding.report.case
    pairs = {row[-1] for row in case.target.rows}
    assert PAIR in case.sql
    assert 2 <= len(pairs) < 30


def test_a_share_of_the_statements_stays_alone(tmp_path: Path) -> None:
    """Statements and pairs of tables are counted apart; pairs that a batch leaves out are checked by themselves."""
    budget = Budget(max_cases=40)
    run = Run(tmp_path, report, budget=budget, draws=Draws(cases(), seed=7, batch_size=10))
    counts, alone = run.summary.counts, [case for case in run.checked if PAIR not in case.sql]
    assert counts.num_cases == 40 == counts.num_batches + len(alone)
    assert counts.num_pairs == counts.num_batched + len(alone)
    assert len(alone) >= 10
    assert any(isinstance(evaluate(case).answer, Rejection) for case in alone)
    line = size_line(run.summary)
    assert line.startswith(f"40 statements, {counts.num_pairs:,} pairs of tables in ")


def test_a_batch_that_the_engine_refuses_is_checked_as_its_first_case(tmp_path: Path) -> None:
    """It may refuse the column that keeps the pairs apart."""

    def check(case: Case) -> CaseReport:
        if PAIR not in case.sql:
            return report(case)
        return replace(report(case, verdict=Verdict.UNSUPPORTED, reason="no such column"), result=Unsupported("column"))

    run = Run(tmp_path, check, budget=Budget(max_cases=12), draws=Draws(cases(), seed=7, batch_size=6))
    counts = run.summary.counts
    assert any(PAIR in case.sql for case in run.checked)
    assert (counts.num_verified, counts.num_pairs, counts.num_batches) == (12, 12, 0)


def test_of_a_batch_that_the_engine_refuses_a_part_is_checked(tmp_path: Path) -> None:
    """A value that only some pairs have may be too much for it: here pair 6, so that it takes the first half."""

    def check(case: Case) -> CaseReport:
        place = case.target.schema.names.index(PAIR) if PAIR in case.sql else None
        if place is None or all(row[place] != 6 for row in case.target.rows):
            return report(case)
        return replace(report(case, verdict=Verdict.UNSUPPORTED, reason="value"), result=Unsupported("value"))

    run = Run(tmp_path, check, budget=Budget(max_cases=12), draws=Draws(cases(), seed=7, batch_size=10))
    counts = run.summary.counts
    assert counts.num_batches >= 4
    assert counts.num_verified == 12
    assert counts.num_batched < 10 * counts.num_batches
