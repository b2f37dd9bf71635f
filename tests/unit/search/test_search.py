"""The fuzz loop, driven by checks that need no engine."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from mergecheck.harness.checker import Checker
from mergecheck.harness.core.case_id import with_content_id
from mergecheck.harness.core.facts import Facts
from mergecheck.harness.coverage.facts import facts_of
from mergecheck.harness.coverage.statistics import Stop, denominator_line
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.errors import EngineDownError, UserInputError
from mergecheck.harness.findings.store import FindingsDirectory, RunningCase
from mergecheck.harness.oracles.prepared_case import PreparedCase
from mergecheck.harness.report import events
from mergecheck.harness.report.json import summary_json
from mergecheck.harness.search.batching import PAIR
from mergecheck.harness.search.loop import Budget, Search
from mergecheck.harness.search.prefetch import prefetching
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.shrink.shrinker import ShrinkLimits
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.reference import evaluate
from mergecheck.reference.case.case_file import dump_case, load_cases
from mergecheck.reference.case.model import Case, Source, Target
from mergecheck.reference.outcome import MergePath, Outcome, Prediction, Reference, Rejection, Unsupported
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mergecheck.reference.outcome import EngineResult

SCHEMA = parse_schema("id BIGINT, v STRING, extra INT")
CLAUSES = (
    "WHEN MATCHED AND s.v = 'x' THEN UPDATE SET *",
    "WHEN MATCHED THEN DELETE",
    "WHEN NOT MATCHED THEN INSERT *",
    "WHEN NOT MATCHED BY SOURCE AND t.id > 3 THEN DELETE",
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows = st.lists(st.tuples(st.integers(-5, 5) | st.none(), st.sampled_from("abx"), st.integers(0, 3)), max_size=8)
    files = draw(st.lists(rows, max_size=3))
    clauses = [clause for clause in CLAUSES if draw(st.booleans())] or [CLAUSES[2]]
    return Case(
        id="drawn",
        target=Target(schema=SCHEMA, files=tuple(map(tuple, files)), properties={"delta.appendOnly": "false"}),
        source=Source(schema=SCHEMA, rows=tuple(draw(rows))),
        sql=f"MERGE INTO target t USING source s ON t.id = s.id {' '.join(clauses)}",
    )


def report(case: Case, *mismatches: Mismatch, verdict: Verdict | None = None, reason: str = "") -> CaseReport:
    prediction = Prediction(schema=SCHEMA, rows=(), metrics={}, cdf=None, committed=True, path=MergePath.D)
    return CaseReport(
        case=case,
        engine="fake",
        engine_version="1",
        verdict=verdict or (Verdict.MISMATCH if mismatches else Verdict.AGREE),
        reference=Reference(answer=Unsupported("why") if verdict is Verdict.UNSUPPORTED else prediction),
        facts=Facts(path=MergePath.D, clauses_present=frozenset({("matched", "update")}), num_changed_rows=1),
        result=Outcome(schema=SCHEMA, rows=()),
        mismatches=mismatches,
        reason=reason,
    )


ROWS = Mismatch(check=Check.ROWS, against="reference", kind="missing_rows", lines=("1 row is missing", "(1, 'a')"))
METRICS = Mismatch(check=Check.METRICS, against="reference", kind="numTargetRowsCopied", lines=("copied: 1, 2",))


def null_key_fault(case: Case) -> CaseReport:
    """A fault that shows where both tables hold a NULL key and the statement inserts."""
    assert case.source is not None
    both = any(row[0] is None for row in case.target.rows) and any(row[0] is None for row in case.source.rows)
    return report(case, *((ROWS, METRICS) if both and "INSERT" in case.sql else ()))


class Fake:
    """An engine that nobody runs."""

    name, version, capabilities = "fake", "1", Capabilities()

    def run(self, case: Case) -> EngineResult:
        raise AssertionError(case)

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted(Checker):
    """Reports what a function says of a case."""

    script: Callable[[Case], CaseReport]

    def prepare(self, case: Case, reference: Reference | None = None) -> PreparedCase:
        return PreparedCase(case, reference or Reference(answer=Unsupported("not asked")))

    def check(self, prepared: PreparedCase) -> CaseReport:
        return self.script(prepared.case)


class Run:
    def __init__(self, folder: Path, check: Callable[[Case], CaseReport], **options: object) -> None:
        self.checked: list[Case] = []
        self.events: list[events.Event] = []
        self.folder = folder
        settings = {"budget": Budget(max_cases=150), "limits": ShrinkLimits(max_runs=300)} | options
        draws = settings.pop("draws", None) or Draws(cases(), seed=7)

        def counted(case: Case) -> CaseReport:
            self.checked.append(case)
            with RunningCase(folder).under_way(case):
                return check(case)

        checker = Scripted(engine=Fake(), script=counted)
        with prefetching(draws, checker) as prefetch:
            self.summary = Search(
                checker,
                prefetch,
                findings=FindingsDirectory(folder / "findings"),
                listener=self.events.append,
                **settings,  # type: ignore[arg-type]  # a test's own options
            ).run()

    @property
    def findings(self) -> list[events.FindingSaved]:
        return [event for event in self.events if isinstance(event, events.FindingSaved)]


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
    """Ctrl+C is no crash: what was counted is told and no case stays under way."""
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


def test_a_small_domain_is_exhausted(tmp_path: Path) -> None:
    """A strategy without new cases ends the run instead of spinning."""
    one = with_content_id(Run(tmp_path, report, budget=Budget(max_cases=1)).checked[0])
    summary = Run(tmp_path, report, budget=Budget(max_cases=100), draws=Draws(st.just(one), seed=1)).summary
    assert (summary.counts.num_cases, summary.stop) == (1, Stop.EXHAUSTED)


def test_shrinking_keeps_to_its_limit_and_says_so(tmp_path: Path) -> None:
    """A limit on runs bounds the executions of shrinking; the finding tells that it was cut short."""
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
    """A case that is not verified never counts as verified, and its reason is told."""
    run = Run(tmp_path, lambda case: report(case, verdict=Verdict.UNSUPPORTED, reason="reference: why"))
    assert run.summary.counts.unsupported == {"reference: why": 150}
    assert run.summary.counts.verified_share == 0


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.AGREE])
def test_what_an_engine_was_not_held_against_counts_as_not_reached(tmp_path: Path, verdict: Verdict) -> None:
    """The reference may know what a case reaches that the engine does not take: that is no test of the engine."""

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
    """A run says what both sides reject, and which rules the cases reached that were judged."""

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
        from mergecheck.reference.case.case_file import load_cases
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
    """The same draws for the same seed; more cells than unsteered draws; what is passed over is counted."""
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
    """Report an agreement, with what the reference knows of the case."""
    reference = evaluate(case)
    return replace(report(case), reference=reference, facts=facts_of(case, reference))
