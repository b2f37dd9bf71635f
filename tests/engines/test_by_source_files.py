"""R-414 on Spark: with a switch, files to which no by-source clause applies are neither read nor rewritten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.verdict import CaseReport, Verdict
from mergecheck.merge import conf
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Outcome
from mergecheck.model.types.ddl import parse_schema
from tools.selfcheck.mutation import Change, compile_changes, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.spark

SCHEMA = parse_schema("k INT, p STRING, v INT")
FILES = (((1, "a", 10), (2, "a", 20)), ((11, "b", 30), (12, "b", 40)), ((21, None, 50),))
ON = "MERGE INTO target t USING source s ON t.k = s.k"
BOTH = "WHEN MATCHED AND s.v > 0 THEN UPDATE SET v = s.v WHEN NOT MATCHED BY SOURCE AND t.p = 'b' THEN DELETE"
INSERT = "WHEN NOT MATCHED THEN INSERT *"
CASE = Case(
    id="by-source",
    target=Target(schema=SCHEMA, files=FILES, partition_by=("p",)),
    source=Source(schema=SCHEMA, rows=((11, "b", 31), (1, "a", -1), (9, "a", 90))),
    sql=f"{ON} {BOTH}",
    conf={conf.SKIP_FILES_BY_SOURCE: "true"},
)
LARGE = {**CASE.conf, conf.LARGE_TABLE_BYTES: "0"}
VECTORS = {"delta.enableDeletionVectors": "true"}
IN_A = CASE.sql.replace("ON t.k = s.k", "ON t.k = s.k AND t.p = 'a'")
IDLE = "WHEN NOT MATCHED BY SOURCE AND t.p = 'none' THEN DELETE"
CASES = {
    "one-scan": CASE,
    "two-scans": replace(CASE, conf=LARGE),
    "an-idle-match-and-an-insert": replace(CASE, sql=f"{CASE.sql} {INSERT}", conf=LARGE),
    "nothing-applies": replace(CASE, sql=f"{ON} {IDLE}"),
    "each-row-of-a-file-changes": replace(CASE, sql=IN_A, conf=LARGE),
    "one-row-of-a-file-changes": replace(CASE, sql=IN_A.replace("t.p = 'b'", "t.k = 12"), conf=LARGE),
    "no-row-within-the-bounds": replace(CASE, sql=IN_A.replace("t.p = 'b'", "t.v > 30 AND t.v < 40"), conf=LARGE),
    "vectors": replace(CASE, target=replace(CASE.target, properties=VECTORS)),
    "a-condition-that-may-fail": replace(CASE, sql=CASE.sql.replace("s.v > 0", "1 / s.v > 0")),
}
REWRITTEN = {
    "one-scan": {1},
    "two-scans": {1},
    "an-idle-match-and-an-insert": {0, 1},
    "nothing-applies": set[int](),
    "each-row-of-a-file-changes": {1},
    "one-row-of-a-file-changes": {1},
    "no-row-within-the-bounds": set[int](),
    "vectors": {1},
    "a-condition-that-may-fail": {0, 1, 2},
}


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    engine = PySparkEngine()
    yield engine
    engine.close()


def checked(engine: PySparkEngine, case: Case) -> CaseReport:
    return Checker(engine=engine).check_case(case)


@pytest.mark.parametrize("name", CASES)
def test_files_to_which_no_clause_applies_are_left_alone(engine: PySparkEngine, name: str) -> None:
    """The reference holds metrics, path and commit against the lower end of the range."""
    report = checked(engine, CASES[name])
    assert report.verdict is Verdict.AGREE, report.mismatches
    assert isinstance(report.result, Outcome)
    assert report.result.work is not None
    assert report.result.work.rewritten | report.result.work.marked == REWRITTEN[name]
    assert report.work is not None
    assert bool(report.work.files_rewritten_in_vain) == (len(REWRITTEN[name]) > 1)


def test_files_that_nothing_reaches_are_left_unread(engine: PySparkEngine) -> None:
    report = checked(engine, replace(CASE, sql=CASE.sql.replace("ON t.k = s.k", "ON t.k = s.k AND t.p = 'b'")))
    assert report.verdict is Verdict.AGREE, report.mismatches
    assert report.work is not None
    assert (report.work.files_scanned, report.work.files_scanned_in_vain) == (1, 0)


MODULE = "merge.executors.optimizations"
MUTANTS = {
    "files with a match are left unread": Change(
        function=f"{MODULE}.by_source_files.files_within_reach", replace="*may_match", by="*()"
    ),
    "files that a clause reaches are left unread": Change(
        function=f"{MODULE}.by_source_files.files_within_reach",
        replace="*skip_files(run.snapshot, _applied(run))",
        by="",
    ),
    "files without a match are left as they are": Change(
        function="merge.executors.first_scan._unmatched_files", replace="any_of_conditions(clauses)", by="'FALSE'"
    ),
    "files that a clause reaches are left as they are": Change(
        function=f"{MODULE}.single_scan.identity_columns",
        replace="{TARGET_ROW_PRESENT} IS NOT NULL AND {CLAUSE} <> {COPIED}",
        by="{_IS_MATCHED}",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(engine: PySparkEngine, name: str) -> None:
    """In one scan or in two."""
    sql = CASE.sql.replace("t.p = 'b'", "t.k = 12")
    case = replace(CASE, source=replace(CASE.source, rows=((2, "a", 21),)), sql=sql)
    with replaced(compile_changes([MUTANTS[name]])):
        verdicts = {checked(engine, replace(case, conf=settings)).verdict for settings in (CASE.conf, LARGE)}
    assert Verdict.MISMATCH in verdicts
