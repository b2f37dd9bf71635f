"""Cases kept for good: those that once failed here, and those of Delta Lake's own suites.

Every ``.json`` and ``.jsonl`` file below this folder is run on the merge and held against the reference and, where the
case has one, against its ``expect``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.check import check_case
from harness.engines.pyspark import PySparkEngine
from harness.report import mismatch_report
from harness.verdict import Verdict
from reference.case_file import load_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference.case import Case

pytestmark = pytest.mark.spark

FOLDER = Path(__file__).parent
FILES = sorted([*FOLDER.rglob("*.jsonl"), *FOLDER.rglob("*.json")])
CASES = [(path.stem, case) for path in FILES for case in load_cases(path)]

# What a reason for "unsupported" may end with today; each is a piece of work, not a deviation.
NOT_YET = ("schema evolution", "resolveMergeUpdateStructsByName.enabled = false", "a table without columns")


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    """Start the merge once for all cases."""
    engine = PySparkEngine()
    yield engine
    engine.close()


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{name}-{case.id}" for name, case in CASES])
def test_saved_case(case: Case, engine: PySparkEngine) -> None:
    """The case agrees, or is rejected by both sides alike."""
    report = check_case(case, engine)

    if report.verdict is Verdict.UNSUPPORTED:
        assert report.reason.endswith(NOT_YET)
        return
    assert not report.mismatches, mismatch_report(report)
    assert report.verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED), report.reason


def test_most_saved_cases_are_supported() -> None:
    """A change that turned the corpus into "unsupported" would show here, without any engine."""
    from reference import evaluate  # noqa: PLC0415 - the engine tests above need it first
    from reference.outcome import Unsupported  # noqa: PLC0415 - the same

    unsupported = [case.id for _, case in CASES if isinstance(evaluate(case).answer, Unsupported)]

    assert len(unsupported) <= 78
