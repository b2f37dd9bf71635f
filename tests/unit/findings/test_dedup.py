"""Which mismatches of a run count as a finding that is there, and which are worth a try of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mergecheck.harness.findings.dedup import KnownFindings
from mergecheck.harness.findings.signature import minimal_signature, observed_signature
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.model.case_file import parse_cases
from mergecheck.model.outcome import Outcome
from mergecheck.reference import evaluate

_DELETE = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"
_UPDATE = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"


def report(sql: str, *, check: Check = Check.ROWS, kind: str = "missing_rows", **target: Any) -> CaseReport:
    document = {
        "format_version": 1,
        "id": "x",
        "target": {"schema": "id INT", "files": [[[1]]], **target},
        "source": {"schema": "id INT", "rows": [[1]]},
        "sql": sql,
    }
    (case,) = parse_cases(json.dumps(document), name="x", lines=False)
    reference = evaluate(case)
    return CaseReport(
        case=case,
        engine="e",
        engine_version="1",
        verdict=Verdict.MISMATCH,
        reference=reference,
        facts=facts_of(case, reference),
        result=Outcome(schema=case.target.schema, rows=()),
        mismatches=(Mismatch(check=check, against="reference", kind=kind, lines=("line",)),),
    )


def test_names_and_values_are_no_part_of_a_shape() -> None:
    other = _UPDATE.replace("SET *", "SET id = 2")
    renamed = report(other.replace("t.", "u.").replace("target t", "target u").replace("= 2", "= 7"))
    assert minimal_signature(report(other)) == minimal_signature(renamed)
    assert minimal_signature(report(other)) != minimal_signature(report(_DELETE))


def test_the_clauses_that_acted_are_part_of_a_symptom() -> None:
    assert observed_signature(report(_DELETE)) != observed_signature(report(_UPDATE))
    assert observed_signature(report(_DELETE)) == observed_signature(report(_DELETE, files=[[[1]], [[2]]]))


def test_a_new_symptom_is_worth_a_try_and_an_old_one_is_not() -> None:
    known = KnownFindings()
    assert known.match_known(report(_DELETE)) is None
    known.add("f1", drawn=report(_DELETE), minimal=report(_DELETE), is_minimal=True)
    assert known.match_known(report(_DELETE)) == "f1"
    assert known.match_known(report(_UPDATE)) is None
    assert len(known) == 1


def test_a_case_like_a_minimal_one_is_that_finding() -> None:
    known = KnownFindings()
    known.add("f1", drawn=report(_UPDATE, files=[]), minimal=report(_DELETE), is_minimal=True)
    assert known.match_minimal(report(_DELETE)) == "f1"
    assert known.match_minimal(report(_UPDATE)) is None


def test_tries_that_come_to_nothing_get_rarer() -> None:
    """Every further fruitless try of one fingerprint doubles the number of cases that are passed over."""
    known = KnownFindings()
    known.add("f1", drawn=report(_DELETE), minimal=report(_DELETE), is_minimal=True)
    other = report(_UPDATE, properties={"delta.enableChangeDataFeed": "true"})
    assert known.match_known(other) is None
    known.add_another("f1", drawn=other)
    assert known.match_known(other) == "f1"  # the same observed, not counted as a wait
    assert known.match_known(report(_UPDATE)) == "f1"  # passed over once
    assert known.match_known(report(_UPDATE)) is None


@pytest.mark.parametrize(("kind", "same"), [("missing_rows", True), ("extra_rows", False)])
def test_another_sort_of_difference_is_another_symptom(kind: str, *, same: bool) -> None:
    assert (observed_signature(report(_DELETE)) == observed_signature(report(_DELETE, kind=kind))) is same
