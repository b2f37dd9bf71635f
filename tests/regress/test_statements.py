"""Merges as people write them: the reference judges most of them, and the engine agrees on a sample.

``python -m tools.benchmarks.statements --engine pyspark`` runs all of them; ``--record`` writes the answers' kinds
anew.
"""

from __future__ import annotations

import json

import pytest

from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.oracles.reference_oracle import check_prepared
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.verdict import Verdict
from mergecheck.reference import MergeReference
from tools.benchmarks.statements import ANSWERS, HELD_OUT, Answered, answers, share

WAREHOUSE = "warehouse"
LEAST_JUDGED = {"collected": 0.9, WAREHOUSE: 0.65, HELD_OUT: 0.86}
"""The share of the statements that the reference judges without asking Spark (docs/statements.md)."""
SAMPLED = 20  # every so manieth judged statement runs on the engine


@pytest.fixture(scope="module")
def answered() -> list[Answered]:
    """Ask the reference about every statement."""
    return answers(MergeReference().evaluate)


def test_the_answers_are_of_the_recorded_kinds(answered: list[Answered]) -> None:
    """Each statement is predicted, rejected with the recorded class, or unsupported for the recorded reason."""
    recorded = json.loads(ANSWERS.read_text(encoding="utf-8"))

    assert {one.case.id: one.kind for one in answered} == recorded


def test_every_statement_has_a_name_of_its_own(answered: list[Answered]) -> None:
    """No two statements are recorded under one id."""
    assert len({one.case.id for one in answered}) == len(answered)


def test_the_share_that_is_judged(answered: list[Answered]) -> None:
    """The reference judges at least the stated share, also of the statements that nobody looked at before."""
    apart = {origin: [one for one in answered if one.origin == origin] for origin in (WAREHOUSE, HELD_OUT)}
    collected = [one for one in answered if one.origin not in apart]

    assert share(collected) >= LEAST_JUDGED["collected"]
    for origin, statements in apart.items():
        assert share(statements) >= LEAST_JUDGED[origin]


@pytest.mark.spark
def test_the_engine_agrees_on_a_sample(answered: list[Answered]) -> None:
    """Judged statements from every origin give the reference's answer."""
    engine = PySparkEngine()
    sample = [one.prepared for one in answered if one.is_judged][::SAMPLED]

    reports = [check_prepared(prepared, engine) for prepared in sample]
    engine.close()

    assert [mismatch_report(case_document(report)) for report in reports if report.mismatches] == []
    assert {report.verdict for report in reports} <= {Verdict.AGREE, Verdict.BOTH_REJECTED}
