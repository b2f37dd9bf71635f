"""Entries that fit only the case that the reading of another entry makes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mergecheck.harness.corruptions.answers import RecordedEngine, load_answers
from mergecheck.harness.corruptions.trial import corrupted
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.deviations.registry import Deviations
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.reference.case.case_file import case_from_json
from mergecheck.reference.outcome import Outcome
from mergecheck.reference.types.ddl import parse_schema

_KNOWN = load_deviations()
_NUMBER, _SEVERAL = "duckdb-number-as-condition", "duckdb-several-matches-one-action"
_CASE = case_from_json(
    {
        "format_version": 1,
        "id": "c",
        "target": {"schema": "k INT, v INT", "files": [[[1, 10], [1, 20]]]},
        "source": {"schema": "k INT, v INT", "rows": [[1, 1], [1, 2]]},
        "sql": "MERGE INTO target t USING source s ON 5 WHEN MATCHED AND s.v = 2 THEN UPDATE SET v = s.v",
    },
    where="test",
)
_MERGED = Outcome(
    schema=parse_schema("k INT, v INT"),
    rows=((1, 2), (1, 2)),
    metrics={"numTargetRowsInserted": 0, "numTargetRowsUpdated": 2, "numTargetRowsDeleted": 0},
)


@pytest.fixture
def engine() -> RecordedEngine:
    """Give DuckDB's answer: the number is TRUE, and of two matches one acts."""
    return replace(load_answers()[_NUMBER], answer=_MERGED)


def test_what_several_matches_mean_is_asked_of_the_rewritten_case(engine: RecordedEngine) -> None:
    report = check_case(_CASE, engine)
    assert [entry.id for entry in _KNOWN.explain(report, engine.capabilities)] == [_NUMBER, _SEVERAL]


@pytest.mark.parametrize("entry_id", [_NUMBER, _SEVERAL])
def test_one_of_the_two_entries_does_not_explain_it(engine: RecordedEngine, entry_id: str) -> None:
    others = Deviations(tuple(entry for entry in _KNOWN.entries if entry.id != entry_id))
    assert others.explain(check_case(_CASE, engine), engine.capabilities) == ()


def test_another_answer_to_the_rewritten_case_is_reported(engine: RecordedEngine) -> None:
    (entry,) = _KNOWN.named([_NUMBER]).entries
    tried = list(corrupted(replace(entry, case=_CASE), _KNOWN, engine))
    assert len(tried) > 20
    assert [one for one in tried if one.explained_by] == []
