"""The fixed suite: right by the reference and by Delta Lake, passed by our own merge, able to fail an engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.cli import main
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.lab.conformance import Mark, certificate, conform, counts, suite
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

# What Delta Lake 4.4 itself does not pass (docs/findings/), by case.
_DELTA_FAILS = {
    "several matches/delete, insert and a row that is copied",
    "names/backtick, dot, keyword",
}


_REFERENCE = MergeReference()
_AGREED = {Verdict.AGREE, Verdict.BOTH_REJECTED}


def check(case: Case, engine: Engine) -> CaseReport:
    return check_case(case, engine, reference=_REFERENCE.evaluate)


class Reference:
    """Repeats the reference's answer, or forgets the rows that NOT MATCHED BY SOURCE changed."""

    name = "reference"
    version = "1"
    capabilities = Capabilities(metrics=False)

    def __init__(self, *, forgets: bool = False) -> None:
        self._forgets = forgets

    def run(self, case: Case) -> EngineResult:
        answer = _REFERENCE.evaluate(case).answer
        if not isinstance(answer, Prediction):
            return answer
        rows = case.target.rows if self._forgets and "BY SOURCE" in case.sql else answer.rows
        return Outcome(schema=answer.schema, rows=rows, cdf=answer.cdf, committed=answer.committed)

    def close(self) -> None:
        """Hold nothing."""


def test_every_case_says_what_must_come_out_and_the_reference_agrees() -> None:
    results = list(conform(Reference(), check))
    assert [f"{r.feature}/{r.name}" for r in results if r.mark is not Mark.PASS] == []
    assert len({case.id for case in suite()}) == len(suite()) > 50
    for case in suite():
        assert case.expect is not None
        assert case.expect.rows is not None or case.expect.error is not None


def test_a_fault_fails_its_feature_and_no_other() -> None:
    found = counts(list(conform(Reference(forgets=True), check)))
    assert found["not matched by source"][Mark.FAIL] == 3
    assert found["matched update"][Mark.FAIL] == 0


@pytest.mark.spark
def test_our_own_merge_conforms() -> None:
    results = list(conform(PySparkEngine(start_session()), check))
    assert [r.report.case.id for r in results if r.mark is not Mark.PASS] == []


@pytest.mark.spark
def test_delta_lake_itself_agrees_with_what_the_suite_expects() -> None:
    """A sixth of the suite, and the cases known to fail; ``mergecheck engine conform delta-spark`` runs all of it."""
    engine = DeltaSparkEngine(start_session())
    verdicts = {
        case.id: check(case, engine).verdict
        for number, case in enumerate(suite())
        if number % 6 == 0 or case.id in _DELTA_FAILS
    }
    assert {case_id for case_id, verdict in verdicts.items() if verdict not in _AGREED} == _DELTA_FAILS
    assert set(verdicts.values()) > _AGREED, "some merges are refused, by the expected class"


def test_the_certificate_can_be_kept_and_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outside_engine.py").write_text(
        "from tests_conformance_helper import Reference as Engine\n", encoding="utf-8"
    )
    helper = tmp_path / "tests_conformance_helper.py"
    helper.write_text(_HELPER, encoding="utf-8")
    assert main(["engine", "conform", "outside_engine:Engine", "--certificate", "c.json", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert document["conforms"] is True
    assert document["totals"]["pass"] == document["suite"]["cases"] == len(suite())
    assert main(["engine", "conform", "outside_engine:Engine", "--certificate", "c.json"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["engine", "conform", "outside_engine:Engine", "--certificate", "no/c.json"]) == 2
    assert "cannot write no/c.json" in capsys.readouterr().err


def test_a_certificate_names_what_failed() -> None:
    engine = Reference(forgets=True)
    document = certificate(engine, list(conform(engine, check)))
    assert document["conforms"] is False
    failed = [case for case in document["cases"] if case["mark"] == "fail"]
    assert document["failed_checks"]["rows"] == len(failed) > 3
    assert all(case["mismatches"] for case in failed)


_HELPER = """
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.verdict import Verdict
from mergecheck.reference import MergeReference
from mergecheck.model.outcome import Outcome, Prediction


_REFERENCE = MergeReference()


class Reference:
    name, version, capabilities = "outside", "1", Capabilities(metrics=False)

    def run(self, case):
        answer = _REFERENCE.evaluate(case).answer
        if not isinstance(answer, Prediction):
            return answer
        return Outcome(schema=answer.schema, rows=answer.rows, cdf=answer.cdf, committed=answer.committed)

    def close(self):
        pass
"""
