"""Fingerprints and ids: what makes two mismatches one finding."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.registry import engine_names, load_engine
from mergecheck.harness.findings.corpus import find_case_file, load_corpus
from mergecheck.harness.findings.fingerprint import fingerprint, primary_mismatch
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, UserInputError, Verdict
from mergecheck.model.case import Case, Target
from mergecheck.model.case_id import content_digest, with_content_id
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = parse_schema("id BIGINT")
CASE = Case(id="mine", target=Target(schema=SCHEMA, files=(((1,),),)), source=None, sql="MERGE")


def mismatch(check: Check, kind: str = "kind", against: str = "reference") -> Mismatch:
    return Mismatch(check=check, against=against, kind=kind, lines=("line",))


def report(*mismatches: Mismatch, error: str = "") -> CaseReport:
    rejection = Rejection(error_class=error, message="")
    return CaseReport(
        case=CASE,
        engine="e",
        engine_version="1",
        verdict=Verdict.MISMATCH if mismatches else Verdict.AGREE,
        reference=Reference(answer=Unsupported("not looked at")),
        result=rejection if error else Outcome(schema=SCHEMA, rows=()),
        mismatches=mismatches,
    )


def test_the_table_names_the_fault_before_the_metrics() -> None:
    """Whatever the order of the mismatches, the most telling one makes the fingerprint."""
    rows, metrics = mismatch(Check.ROWS), mismatch(Check.METRICS)
    assert primary_mismatch(report(metrics, rows)) == rows
    assert fingerprint(report(metrics, rows)) == fingerprint(report(rows))
    assert fingerprint(report(rows)) != fingerprint(report(metrics))


def test_the_reference_goes_before_the_other_oracles() -> None:
    """A difference from the reference names the fault, where the engine also contradicts itself."""
    itself = mismatch(Check.ROWS, "P-9", against="itself")
    assert primary_mismatch(report(itself, mismatch(Check.ROWS))).against == "reference"


def test_error_classes_tell_faults_apart() -> None:
    """Two errors where there should be none are two faults."""
    found = mismatch(Check.ERROR, "spurious_error")
    assert fingerprint(report(found, error="A")) != fingerprint(report(found, error="B"))


def test_an_agreement_has_no_fingerprint() -> None:
    """Only mismatches have one."""
    assert fingerprint(report()) is None


def test_ids_follow_the_content() -> None:
    """Equal content has an equal id, whatever the case was called; other content has another."""
    named = with_content_id(CASE)
    assert with_content_id(replace(CASE, id="yours")) == named
    assert with_content_id(named) == named
    assert content_digest(replace(CASE, sql="MERGE INTO")) != content_digest(CASE)


def test_saved_findings_are_found_by_id(tmp_path: Path) -> None:
    """A saved case can be named by its id, its file or its folder; cases set aside stay below it."""
    store = FindingsDirectory(tmp_path / "findings")
    path = store.save(CASE, "text")
    assert find_case_file("mine", findings=store) == path
    for name in ("mine", str(path), str(tmp_path)):
        assert [saved.case for saved in load_corpus([name], trust=True, findings=store).cases] == [CASE]


def test_a_corpus_keeps_the_order_given(tmp_path: Path) -> None:
    """Files come in the order of the arguments, cases in the order of the file."""
    for name in ("b", "a"):
        FindingsDirectory(tmp_path / name).save(replace(CASE, id=name), "text")
    names = [str(tmp_path / name) for name in ("b", "a")]
    assert [saved.case.id for saved in load_corpus(names, trust=True).cases] == ["b", "a"]


def test_registered_engines() -> None:
    """The own engine is registered like anybody's."""
    assert "pyspark" in engine_names()


def test_a_module_without_callable_is_no_engine() -> None:
    """A value in the place of a class is refused with the allowed values."""
    with pytest.raises(UserInputError, match="is a str; give a class or a function"):
        load_engine("mergecheck.harness.engines.registry:GROUP")
