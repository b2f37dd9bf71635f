"""Cases kept for good: from failures here, from Delta Lake's own suites, and from the specification.

Every ``.json`` and ``.jsonl`` file below this folder, and every minimal case of a rule, is run on the merge and held
against the reference and, if the case has one, against its ``expect``. ``statements`` has a test of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import load_cases
from mergecheck.model.outcome import Unsupported
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case

REFERENCE = MergeReference()
FOLDER = Path(__file__).parent
STATEMENTS = FOLDER / "statements"  # not all of these are supported
FILES = sorted(
    path for path in (*FOLDER.rglob("*.jsonl"), *FOLDER.rglob("*.json")) if not path.is_relative_to(STATEMENTS)
)
MINIMAL = sorted((FOLDER.parents[1] / "harness" / "specification" / "cases").glob("*.json"))
CASES = {f"{path.stem}-{case.id}": case for path in FILES for case in load_cases(path)}
CASES |= {path.stem: case for path in MINIMAL for case in load_cases(path)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Why a saved case is not supported.

    Attributes:
        rule: the rule of the specification that is not done, or that lets it be left out.
        reason: a part of the reason that the case's report gives.
    """

    rule: str
    reason: str


# Cases that are not supported, each with its reason. A case that agrees may not stand here.
GAPS = {
    # R-242 names the old cast by position, behind a flag that Delta keeps for emergencies.
    "schema-evolution-evo-nested-ins-updall-insall-evolve-10": Gap(
        rule="R-242", reason="resolveMergeUpdateStructsByName.enabled"
    ),
    "R-139": Gap(rule="R-139", reason="time travel in the source"),
    # Expressions in another time zone are Spark's; tests/engines/test_delta_spark_engine.py runs such a case.
    **dict.fromkeys(
        (
            "kept-a-partition-of-moments-in-another-time-zone",
            "kept-a-partition-of-moments-compared-in-another-time-zone",
            "kept-a-partition-of-moments-read-in-another-time-zone",
            "kept-a-bound-of-the-year-10000-in-another-time-zone",
        ),
        Gap(rule="R-804", reason="spark.sql.session.timeZone other than UTC"),
    ),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    """Start the merge once for all cases."""
    engine = PySparkEngine()
    yield engine
    engine.close()


@pytest.mark.spark
@pytest.mark.parametrize("name", CASES)
def test_saved_case(name: str, engine: PySparkEngine) -> None:
    """The case agrees, or is rejected by both sides alike, or is a known gap."""
    report = check_case(CASES[name], engine, reference=REFERENCE.evaluate)

    assert not report.mismatches, mismatch_report(case_document(report))
    if report.verdict in (Verdict.JUDGED_IN_PART, Verdict.UNSUPPORTED):
        assert name in GAPS, f"not supported, and not among GAPS: {report.reason}"
        assert GAPS[name].reason in report.reason
        return
    assert report.verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED), report.reason
    assert name not in GAPS or is_a_gap_of_the_reference(CASES[name]), "supported now: take it out of GAPS"


def test_gaps_are_cases() -> None:
    """A gap whose case is gone, or renamed, is none."""
    assert GAPS.keys() <= CASES.keys()
    assert len(CASES) == sum(len(load_cases(path)) for path in (*FILES, *MINIMAL))  # no two of one name


def is_a_gap_of_the_reference(case: Case) -> bool:
    return isinstance(REFERENCE.evaluate(case).answer, Unsupported)
