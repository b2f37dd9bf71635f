"""Mutation tests of the observables besides rows: engines' recorded answers, each changed in one observable.

``python -m tools.benchmarks.record_answers ENGINE`` records the answers anew.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.compare.answers.rejections import compare_rejection
from mergecheck.harness.compare.kinds import KINDS
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import load_cases
from mergecheck.model.outcome import MergePath, Outcome, Rejection
from mergecheck.reference import MergeReference
from tools.output_mutations.answered import Answered
from tools.output_mutations.answers import answers_from_json
from tools.output_mutations.log_entries import (
    actions_changed,
    commit_info_changed,
    definition_changed,
    file_metrics_changed,
    result_row_changed,
    times_changed,
)

if TYPE_CHECKING:
    from mergecheck.harness.lab.mutants import RecordedEngine

FOLDER = Path(__file__).parent / "recorded"
CASES = {case.id: case for case in load_cases(FOLDER / "cases.jsonl")}
ANSWERS = [
    pytest.param(recorded, CASES[case_id], id=f"{file.stem} {case_id}")
    for file in sorted(FOLDER.glob("*.json"))
    for case_id, recorded in answers_from_json(file.read_text(encoding="utf-8")).items()
]
MUTATIONS = [
    (file_metrics_changed, {Check.METRICS}),
    (times_changed, {Check.METRICS}),
    (definition_changed, {Check.TABLE}),
    (actions_changed, {Check.TABLE, Check.LOG, Check.COMMIT, Check.METRICS}),
    (commit_info_changed, {Check.LOG}),
    (result_row_changed, {Check.RESULT}),
]
REFERENCE = MergeReference()


def given(recorded: RecordedEngine, case: Any) -> Answered:
    return Answered(
        case=case,
        reference=REFERENCE.evaluate(case),
        capabilities=recorded.capabilities,
        result=recorded.answer,
    )


@pytest.mark.parametrize(("recorded", "case"), ANSWERS)
def test_a_recorded_answer_agrees(recorded: RecordedEngine, case: Any) -> None:
    """Unchanged, so that what follows is due to the change."""
    report = check_case(case, recorded, reference=REFERENCE.evaluate)
    assert (report.verdict, report.mismatches) == (Verdict.AGREE, ())


@pytest.mark.parametrize(("mutate", "checks"), MUTATIONS, ids=[mutate.__name__ for mutate, _ in MUTATIONS])
@pytest.mark.parametrize(("recorded", "case"), ANSWERS)
def test_every_change_of_one_observable_is_reported(
    recorded: RecordedEngine, case: Any, mutate: Any, checks: Any
) -> None:
    """Each change alone, by the check that is about it, with kinds of the closed vocabulary and short lines."""
    answered = given(recorded, case)
    assert isinstance(recorded.answer, Outcome)
    for mutant in mutate(recorded.answer, answered):
        report = check_case(case, replace(recorded, answer=mutant), reference=lambda _: answered.reference)
        assert report.verdict is Verdict.MISMATCH
        assert {m.check for m in report.mismatches} <= checks
        assert all(m.kind in KINDS[m.check] for m in report.mismatches)
        assert all(len(line) <= 100 for m in report.mismatches for line in m.lines)


def test_every_mutation_applies_to_some_answer() -> None:
    """The tests above can fail."""
    answers = [(parameter.values[0], parameter.values[1]) for parameter in ANSWERS]
    for mutate, _ in MUTATIONS:
        assert any(list(mutate(r.answer, given(r, case))) for r, case in answers), mutate.__name__  # type: ignore[union-attr,arg-type,operator]


@pytest.mark.parametrize(("recorded", "case"), ANSWERS)
def test_another_path_is_reported(recorded: RecordedEngine, case: Any) -> None:
    """R-402, where the engine shows its path; the paths of Delta Lake follow from its commits."""
    assert isinstance(recorded.answer, Outcome)
    if recorded.answer.path is None:
        assert recorded.name == "delta-rs"
        return
    reference = REFERENCE.evaluate(case)
    for path in MergePath:
        if path is not recorded.answer.path:
            mutant = replace(recorded, answer=replace(recorded.answer, path=path))
            report = check_case(case, mutant, reference=lambda _: reference)
            assert Check.PATH in {m.check for m in report.mismatches}


@pytest.mark.parametrize(
    ("found", "agrees"),
    [
        ("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", True),
        ("DATATYPE_MISMATCH", True),
        ("DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION", False),
        ("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION_AT_ALL", False),
        ("DATATYPE_MISMATCHED.CAST_WITHOUT_SUGGESTION", False),
    ],
)
def test_sub_classes_of_errors_are_compared(found: str, *, agrees: bool) -> None:
    """P-4, where both sides give one."""
    wanted = Rejection(error_class="DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", message="")
    engine = replace(wanted, error_class=found, unchanged=True)
    compared = compare_rejection(wanted, engine, capabilities=Capabilities())
    assert [m.kind for m in compared.mismatches] == ([] if agrees else ["error_class"])
