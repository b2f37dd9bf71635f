"""The scale mode on Spark: a large merge agrees, and mutants are found there and reduced to small cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits, num_rows
from mergecheck.harness.lab.scale.engines import open_scale_engine
from mergecheck.harness.lab.scale.scale_run import Limits, run_scale
from mergecheck.harness.lab.scale.tables.spec import load_spec, make_spec
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import load_cases
from tools.selfcheck.catalogue import chosen
from tools.selfcheck.fault import Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mergecheck.harness.lab.scale.engines import ScaleEngine
    from tools.selfcheck.fault import Fault

pytestmark = pytest.mark.spark

MEMORY = 2 * 2**30
# Runs, not seconds, so that a slow machine shrinks as far; enough for the sizes below, not for the prettiest case.
SHRINK_LIMITS = ShrinkLimits(max_runs=35, max_seconds=600)


@pytest.fixture(scope="module")
def engine() -> Iterator[ScaleEngine]:
    started = open_scale_engine("pyspark", driver_memory="2g")
    yield started
    started.close()


def limits(folder: Path) -> Limits:
    return Limits(memory_bytes=MEMORY, work=folder / "work", findings=folder / "findings", shrink=SHRINK_LIMITS)


def test_a_hundred_thousand_rows_agree(engine: ScaleEngine, tmp_path: Path) -> None:
    spec = make_spec(shape="conditional-upsert", rows=100_000, files=None, seed=1)
    phases: list[str] = []
    report = run_scale(spec, engine, limits(tmp_path), listener=lambda phase, _rows: phases.append(phase))
    judgement = report.judged.judgement
    assert report.verdict is Verdict.AGREE, judgement.mismatches
    assert judgement.checked is not None
    assert judgement.counts is not None
    assert judgement.checked["rows"] == 100_000 + judgement.counts["inserted"] - judgement.counts["matched_deleted"]
    assert min(judgement.counts[name] for name in ("inserted", "matched_updated", "matched_deleted")) > 100
    assert 0 < judgement.counts["touched_rows"] < 100_000
    assert phases == list(report.seconds)
    assert phases[:2] == ["generate", "merge"]
    assert report.judged.peak_bytes is not None
    assert report.judged.peak_bytes < MEMORY
    assert not list((tmp_path / "work").iterdir())


def test_an_ambiguous_merge_is_rejected_by_both(engine: ScaleEngine, tmp_path: Path) -> None:
    spec = make_spec(shape="ambiguous", rows=20_000, files=None, seed=1)
    assert run_scale(spec, engine, limits(tmp_path)).verdict is Verdict.BOTH_REJECTED


@pytest.mark.parametrize(
    ("fault", "check"),
    [(*chosen(["last-clause-wins"]), Check.ROWS), (*chosen(["copied-rows-counted-twice"]), Check.METRICS)],
    ids=["rows that differ", "a metric"],
)
def test_a_mutant_is_found_and_reduced(engine: ScaleEngine, tmp_path: Path, fault: Fault, check: Check) -> None:
    """Rows that differ lead to the rows of their keys; a wrong metric to small tables of the same shape."""
    spec = make_spec(shape="conditional-upsert", rows=20_000, files=None, seed=1)
    with Mutant.of(fault).switched_on():
        report = run_scale(spec, engine, limits(tmp_path))
    assert report.verdict is Verdict.MISMATCH
    assert check in {mismatch.check for mismatch in report.judged.judgement.mismatches}
    assert bool(report.judged.judgement.keys) is (check is Check.ROWS)
    reduction = report.reduction
    assert reduction is not None
    assert reduction.path is not None
    (case,) = load_cases(reduction.path)
    assert sum(num_rows(case)) <= 12
    assert report.spec_path is not None
    assert spec == load_spec(report.spec_path)
    small = engine.small()
    with Mutant.of(fault).switched_on():
        assert check_case(case, small).verdict is Verdict.MISMATCH
    assert check_case(case, small).verdict is Verdict.AGREE
