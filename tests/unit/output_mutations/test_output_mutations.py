"""Known deviations are narrow: an engine's answer that is wrong in another way too is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.deviations.registry import Deviation, Deviations
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.model.case import Expectation
from mergecheck.model.outcome import Outcome
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate
from tools.output_mutations.answered import Answered
from tools.output_mutations.answers import load_answers
from tools.output_mutations.catalogue import OUTPUT_MUTATIONS
from tools.output_mutations.trial import corrupted
from tools.output_mutations.values import other_values

KNOWN = load_deviations()
ANSWERS = load_answers()


@pytest.mark.parametrize("entry", KNOWN.entries, ids=lambda entry: entry.id)
def test_every_corruption_of_the_recorded_answer_is_reported(entry: Deviation) -> None:
    tried = list(corrupted(entry, KNOWN, ANSWERS[entry.id]))
    assert tried
    assert [(one.corruption.name, one.explained_by, one.answer) for one in tried if one.explained_by] == []


@pytest.mark.parametrize("entry", KNOWN.entries, ids=lambda entry: entry.id)
def test_the_recorded_answer_itself_is_explained(entry: Deviation) -> None:
    recorded = ANSWERS[entry.id]
    report = check_case(entry.case, recorded)
    assert entry in KNOWN.explain(report, recorded.capabilities)


@pytest.mark.parametrize("entry_id", ["delta-spark-partition-folders", "delta-spark-source-rows-sorted"])
def test_an_expectation_that_holds_what_the_engine_does_wrong_hides_no_deviation(entry_id: str) -> None:
    (entry,) = KNOWN.named([entry_id]).entries
    recorded = ANSWERS[entry_id]
    assert isinstance(recorded.answer, Outcome)
    source_rows = {name: recorded.answer.metrics[name] for name in ("numSourceRows",)}
    expect = Expectation(rows=recorded.answer.rows, metrics=source_rows)
    report = check_case(replace(entry.case, expect=expect), recorded)
    assert entry in KNOWN.explain(report, recorded.capabilities)
    other = check_case(replace(entry.case, expect=Expectation(rows=())), recorded)
    assert KNOWN.explain(other, recorded.capabilities) == ()


def test_answers_of_no_other_entries_are_kept() -> None:
    assert set(ANSWERS) == {entry.id for entry in KNOWN.entries}


def test_every_corruption_applies_to_some_answer() -> None:
    given = [
        Answered(
            case=entry.case,
            reference=evaluate(entry.case),
            capabilities=ANSWERS[entry.id].capabilities,
            result=ANSWERS[entry.id].answer,
        )
        for entry in KNOWN.entries
    ]
    idle = [one.name for one in OUTPUT_MUTATIONS if not any(answer for each in given for answer in one.spoiled(each))]
    assert idle == []


@pytest.mark.parametrize("entry_id", ["delta-spark-lost-row", "pyspark-zero-branches"])
def test_an_entry_that_names_differences_only_is_too_wide(entry_id: str) -> None:
    """The test can fail: without its reading an entry takes other answers for the known one."""
    wide = Deviations(tuple(replace(entry, as_if=None) if entry.id == entry_id else entry for entry in KNOWN.entries))
    (entry,) = wide.named([entry_id]).entries
    assert any(one.explained_by for one in corrupted(entry, wide, ANSWERS[entry_id]))


@pytest.mark.parametrize(
    ("column", "value", "others"),
    [
        ("x INT", 3, [2, None]),
        ("x INT", None, [7]),
        ("x STRING", "a", ["a~", None]),
        ("x DOUBLE", 0.0, [0.07, None]),
        ("x STRUCT<a: INT, b: INT>", (1, None), [(0, None), (None, None), (1, 7), None]),
        ("x ARRAY<INT>", (1,), [()]),
    ],
)
def test_other_values_of_a_cell(column: str, value: object, others: list[object]) -> None:
    """Another value, and NULL; of a struct, field by field."""
    (field,) = parse_schema(column).columns
    assert list(other_values(value, field.type)) == others
