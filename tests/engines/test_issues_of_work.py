"""Reports about needless or too little reading, as cases of three files: the needed work, and the engines' work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engines.delta_rs.engine import DeltaRsEngine
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.sail.engine import SailEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.oracles.work.needs import ExcludedBy, UnknownNeeds, file_needs
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.engine import Engine
    from mergecheck.model.work_counts import WorkCounts

SCHEMA = parse_schema("id INT, p STRING, v INT")
TARGET = Target(
    schema=SCHEMA,
    files=(((1, "a", 10), (2, "a", 20)), ((11, "b", 30), (12, "b", 40)), ((21, "c", 50), (22, "c", 60))),
    partition_by=("p",),
)
SOURCE = Source(schema=SCHEMA, rows=((11, "b", 31),))
STATEMENT, ROWS, NEEDED = ExcludedBy.STATEMENT, ExcludedBy.SOURCE, None
UPDATE, INSERT = "WHEN MATCHED THEN UPDATE SET v = s.v", "WHEN NOT MATCHED THEN INSERT *"


@dataclass(frozen=True)
class Issue:
    """A report.

    Attributes:
        excluded: what excludes each file.
        read: how many files delta-rs 1.6.6 reads.
        by_delta: how many files Delta Lake 4.4 on Spark reads, and how many of them it rewrites.
    """

    sql: str
    excluded: tuple[ExcludedBy | None, ...]
    read: int
    by_delta: tuple[int, int]


ISSUES = {
    "delta#7362, delta-rs#4535, #3476: ON and BY SOURCE name one partition": Issue(
        f"t.id = s.id AND t.p = 'b' {UPDATE} WHEN NOT MATCHED BY SOURCE AND t.p = 'b' THEN DELETE",
        (STATEMENT, NEEDED, STATEMENT),
        read=3,
        by_delta=(3, 3),
    ),
    "delta-rs#4596: pruning by ON alone would be unsound, BY SOURCE reaches the other files": Issue(
        f"t.id = s.id AND t.p = 'b' {UPDATE} WHEN NOT MATCHED BY SOURCE AND t.p = 'a' THEN DELETE",
        (NEEDED, NEEDED, STATEMENT),
        read=3,
        by_delta=(3, 3),
    ),
    "delta#668, sail#2476: ON names a partition": Issue(
        f"t.id = s.id AND t.p = 'b' {UPDATE} {INSERT}", (STATEMENT, NEEDED, STATEMENT), read=1, by_delta=(1, 1)
    ),
    "delta-rs#3432, #3636: ON equates the partitions": Issue(
        f"t.id = s.id AND t.p = s.p {UPDATE} {INSERT}", (ROWS, NEEDED, ROWS), read=3, by_delta=(3, 1)
    ),
    "delta-rs#4301: ON lists partitions": Issue(
        f"t.id = s.id AND t.p IN ('b', 'c') {UPDATE} {INSERT}", (STATEMENT, NEEDED, ROWS), read=2, by_delta=(2, 1)
    ),
    "delta-rs#2411: the bounds of a key": Issue(
        f"t.id = s.id AND t.id BETWEEN 11 AND 15 {UPDATE} {INSERT}",
        (STATEMENT, NEEDED, STATEMENT),
        read=1,
        by_delta=(1, 1),
    ),
    "delta#1812: a clause that excludes all": Issue(
        "t.id = s.id WHEN MATCHED AND t.p = 'none' THEN DELETE",
        (STATEMENT, STATEMENT, STATEMENT),
        read=3,
        by_delta=(0, 0),
    ),
}


def case_of(issue: Issue) -> Case:
    return Case(id="issue", target=TARGET, source=SOURCE, sql=f"MERGE INTO target t USING source s ON {issue.sql}")


@pytest.fixture(scope="module")
def delta_spark() -> Iterator[DeltaSparkEngine]:
    engine = DeltaSparkEngine(start_session())
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def sail() -> Iterator[SailEngine]:
    engine = SailEngine()
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[DeltaRsEngine]:
    engine = DeltaRsEngine()
    yield engine
    engine.close()


def work_of(engine: Engine, issue: Issue) -> WorkCounts:
    """Check the case of an issue, which every engine does right, and return the work of its merge."""
    report = Checker(engine=engine).check_case(case_of(issue))
    assert report.verdict is Verdict.AGREE, report.mismatches
    assert report.work is not None
    return report.work


@pytest.mark.parametrize("name", ISSUES)
def test_what_a_merge_has_to_read(name: str) -> None:
    case = case_of(ISSUES[name])
    needs = file_needs(case, evaluate(case))
    assert not isinstance(needs, UnknownNeeds)
    assert tuple(file.excluded_by for file in needs) == ISSUES[name].excluded


@pytest.mark.parametrize("name", ISSUES)
def test_what_delta_rs_reads(engine: DeltaRsEngine, name: str) -> None:
    """The rows are right in each; a release that reads fewer files changes the number here."""
    issue = ISSUES[name]
    work = work_of(engine, issue)
    needed = sum(excluded is NEEDED for excluded in issue.excluded)
    assert (work.files_scanned, work.files_scanned_in_vain) == (issue.read, issue.read - needed)
    assert work.files_rewritten_in_vain == 0


@pytest.mark.spark
@pytest.mark.parametrize("name", ISSUES)
def test_what_delta_lake_on_spark_reads_and_rewrites(delta_spark: DeltaSparkEngine, name: str) -> None:
    """With a BY SOURCE clause all files; the rows are right in each."""
    issue = ISSUES[name]
    work = work_of(delta_spark, issue)
    assert (work.files_scanned, work.files_rewritten) == issue.by_delta


@pytest.mark.parametrize("name", ISSUES)
def test_sail_rewrites_nothing_in_vain(sail: SailEngine, name: str) -> None:
    """It does not report how many files it reads."""
    work = work_of(sail, ISSUES[name])
    assert (work.files_rewritten_in_vain, work.merges_with_scans) == (0, 0)
