"""The work of a merge and the work that it needed: findings, grades, and unknown work."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.properties.statistics import Counts
from mergecheck.harness.verdict import CaseReport, Check, Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import FileWork, Outcome, Prediction
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.work_counts import WorkCounts
from mergecheck.reference import evaluate

SCHEMA = parse_schema("k INT, v INT")
CASE = Case(
    id="work",
    target=Target(schema=SCHEMA, files=(((1, 10), (2, 20)), ((11, 30), (12, 40)), ((21, 50),))),
    source=Source(schema=SCHEMA, rows=((11, 31),)),
    sql="MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v",
)
SECOND = frozenset({1})


@dataclass(frozen=True)
class Worker:
    """An engine that gives the reference's rows, and reports some work."""

    work: FileWork | None
    loses_rows: bool = False
    reports_updates: int | None = None
    name = "worker"
    version = "1"
    capabilities = Capabilities(cdf=False)

    def run(self, case: Case) -> Outcome:
        answer = evaluate(case).answer
        assert isinstance(answer, Prediction)
        metrics = {name: bound.low for name, bound in answer.metrics.items()}
        if self.reports_updates is not None:
            metrics["numTargetRowsUpdated"] = self.reports_updates
        return Outcome(schema=answer.schema, rows=answer.rows[self.loses_rows :], metrics=metrics, work=self.work)

    def close(self) -> None:
        pass


def checked(work: FileWork | None, *, loses_rows: bool = False) -> CaseReport:
    return Checker(engine=Worker(work, loses_rows)).check_case(CASE)


def test_a_merge_without_needless_work() -> None:
    report = checked(FileWork(rewritten=SECOND, num_scanned=1, bytes_scanned=7, sizes=(5, 7, 9)))
    assert report.verdict is Verdict.AGREE
    assert report.work == WorkCounts(
        merges=1,
        rows_changed=1,
        rows_copied=1,
        files_rewritten=1,
        merges_with_scans=1,
        files_scanned=1,
        merges_with_bytes=1,
        bytes_scanned=7,
    )


def test_needless_work_is_graded_and_no_mismatch() -> None:
    """The first and the last file are excluded by the key; they were read, and the last one was rewritten."""
    work = FileWork(rewritten=frozenset({1, 2}), num_scanned=3, bytes_scanned=21, sizes=(5, 7, 9))
    report = checked(work)
    assert report.verdict is Verdict.AGREE
    assert report.work is not None
    assert (report.work.files_rewritten_in_vain, report.work.rows_copied, report.work.rows_copied_in_vain) == (1, 2, 1)
    assert (report.work.files_scanned_in_vain, report.work.bytes_scanned_in_vain) == (2, 14)
    assert report.work.line() == (
        "1 of 2 files rewritten in vain, 1 of 2 rows copied in vain (2.00 copied per row changed), "
        "2 of 3 files read in vain (14 of 21 bytes)"
    )


@pytest.mark.parametrize("rewritten", [frozenset[int](), frozenset({0})])
def test_a_file_with_a_row_that_changes_and_was_left_is_a_finding(rewritten: frozenset[int]) -> None:
    """The rows are right here: the work that an engine reports contradicts them."""
    report = checked(FileWork(rewritten=rewritten))
    assert report.verdict is Verdict.MISMATCH
    (found,) = report.mismatches
    assert (found.check, found.kind) == (Check.FILES, "over_pruned")
    assert found.lines == ("file 2 has a row that changes, and was left as it was",)
    assert report.work is None


def test_a_marked_file_is_not_left() -> None:
    report = checked(FileWork(marked=SECOND))
    assert report.verdict is Verdict.AGREE
    assert report.work == WorkCounts(merges=1, rows_changed=1, files_rewritten=1)


def test_wrong_rows_are_the_finding_if_both_are_wrong() -> None:
    report = checked(FileWork(), loses_rows=True)
    assert Check.ROWS in {found.check for found in report.mismatches}
    assert "over_pruned" not in {found.kind for found in report.mismatches}
    assert report.work is None


def test_work_that_is_not_reported_is_left_out_with_its_reason() -> None:
    counts = Counts()
    for work in (None, FileWork(rewritten=SECOND), FileWork(rewritten=SECOND, num_scanned=2)):
        counts.add(checked(work))
    seen = counts.work.counts
    assert (seen.merges, seen.merges_with_scans, seen.files_scanned_in_vain) == (2, 1, 1)
    assert counts.work.lines() == (
        (
            "work: 0 of 2 files rewritten in vain, 0 of 2 rows copied in vain (1.00 copied per row changed), "
            "1 of 2 files read in vain; of 2 merges"
        ),
        "work not known in 1 merge: the engine does not report which files it rewrites",
    )


def test_a_merge_with_a_wrong_metric_is_graded_all_the_same() -> None:
    engine = Worker(FileWork(rewritten=SECOND), reports_updates=7)
    report = Checker(engine=engine).check_case(CASE)
    assert {found.check for found in report.mismatches} == {Check.METRICS}
    assert report.work is not None


def test_a_refused_merge_has_no_work() -> None:
    counts = Counts()
    counts.add(Checker(engine=Worker(FileWork())).check_case(replace(CASE, sql=f"{CASE.sql}, v = s.v")))
    assert counts.work.lines() == ()
