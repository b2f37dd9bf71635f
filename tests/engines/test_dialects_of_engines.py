"""The cases on which dialects differ, on the engines that have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mergecheck import load_engine
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import load_cases

CASES = [load_cases(path)[0] for path in sorted(Path("docs/dialects").glob("*.json"))]
INSTALLED = pytest.mark.packaging
AS_PREDICTED = {Verdict.AGREE, Verdict.BOTH_REJECTED}
OTHERS = {
    ("delta-rs", "no-clause-for-matches"): "delta-rs-doubled-rows",  # the row that is kept is doubled
    ("sail", "lone-delete"): "metrics",  # it counts a deleted row twice
    **dict.fromkeys(
        [("duckdb@2.0.1", name) for name in ("two-updates", "lone-delete", "delete-after-another-clause")], "in part"
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        "duckdb",
        "delta-rs",
        pytest.param("duckdb@2.0.1", marks=INSTALLED),
        pytest.param("sail", marks=INSTALLED),
        pytest.param("postgres", marks=INSTALLED),
    ],
)
def test_an_engine_has_its_dialect(name: str) -> None:
    """Whatever differs from the prediction is a known fault besides, or not predicted."""
    engine, known, others = load_engine(name), load_deviations(), {}
    try:
        for case in CASES:
            report = check_case(case, engine)
            if report.verdict not in AS_PREDICTED:
                found = known.explain(report, engine.capabilities)
                checks = ", ".join(dict.fromkeys(mismatch.check.value for mismatch in report.mismatches))
                others[name, case.id] = found[0].id if found else checks or "in part"
                assert report.verdict in (Verdict.MISMATCH, Verdict.JUDGED_IN_PART)
    finally:
        engine.close()
    assert others == {key: text for key, text in OTHERS.items() if key[0] == name}
