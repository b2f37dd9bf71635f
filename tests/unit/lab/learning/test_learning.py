"""An engine's answers: every probe has one, the file keeps it, and a change is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.lab.learning.learned import (
    Answer,
    EngineKnowledge,
    Learned,
    differences,
    knowledge_text,
    learn,
    read_knowledge,
)
from mergecheck.harness.lab.learning.probes import probes
from mergecheck.harness.properties.vocabulary import PROPERTIES, PlainCase, has
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported
from mergecheck.reference import MergeReference
from mergecheck.strategies import Feature

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult
    from mergecheck.reference.answer import Reference


LEARNED = Path(__file__).parents[4] / "docs" / "learned"


class Picky:
    """Takes no partitions, fails on BY SOURCE, and loses the rows of a merge by a DOUBLE."""

    name = "picky"
    version = "1.0"
    capabilities = Capabilities(metrics=False, cdf=False)

    def __init__(self, references: dict[str, Reference]) -> None:
        self._references = references

    def run(self, case: Case) -> EngineResult:
        if case.target.partition_by:
            return Unsupported("partitions")
        if "BY SOURCE" in case.sql:
            return Rejection(error_class="PARSE", message="no BY SOURCE in /tmp/one/two.sql\nLINE 1")
        answer = self._references[case.id].answer
        assert isinstance(answer, Prediction)
        rows = () if case.target.schema.ddl().startswith("k DOUBLE") else answer.rows
        return Outcome(schema=answer.schema, rows=rows)

    def close(self) -> None:
        """Hold nothing."""


@pytest.fixture(scope="module")
def references() -> dict[str, Reference]:
    reference = MergeReference()
    return {probe.case.id: reference.evaluate(probe.case) for probe in probes()}


@pytest.fixture(scope="module")
def known(references: dict[str, Reference]) -> EngineKnowledge:
    checker = Checker(engine=Picky(references), reference=lambda case: references[case.id])
    answers = learn(probes(), checker.check_case)
    return EngineKnowledge(engine="picky", version="1.0", answers=answers)


def test_the_reference_predicts_every_probe(references: dict[str, Reference]) -> None:
    """A probe that must fail, or that no oracle can judge, would teach nothing about an engine."""
    unknown = [probe.name for probe in probes() if not isinstance(references[probe.case.id].answer, Prediction)]
    assert unknown == []


def test_probes_have_names_of_their_own_and_known_features() -> None:
    keys = [(probe.group, probe.name) for probe in probes()]
    assert len(keys) == len(set(keys))
    assert {feature for probe in probes() for feature in probe.features} <= {feature.value for feature in Feature}


def test_a_probe_has_the_properties_that_its_features_name() -> None:
    """A refused probe takes the feature out of random cases, so the probe must have it."""
    named = [(probe, name) for probe in probes() for name in probe.features if name in PROPERTIES]
    assert [(probe.name, name) for probe, name in named if not has(PlainCase(case=probe.case), name)] == []
    assert len({name for _, name in named}) >= 15


def test_answers(known: EngineKnowledge) -> None:
    assert known.answers["type as partition", "INT"] == Learned(Answer.REFUSES, "picky: partitions")
    assert known.answers["clause", "WHEN NOT MATCHED BY SOURCE THEN DELETE"] == Learned(
        Answer.REFUSES, "no BY SOURCE in PATH"
    )
    assert known.answers["type as key", "DOUBLE"].answer is Answer.DIFFERS
    assert known.answers["type as key", "INT"] == Learned(Answer.TAKES)


def test_a_feature_is_left_out_if_all_of_its_probes_are_refused(known: EngineKnowledge) -> None:
    off = known.features_off(probes())
    assert off == {"partitions", "not-matched-by-source-update", "not-matched-by-source-delete"}
    one = {**known.answers, ("type as partition", "INT"): Learned(Answer.TAKES)}
    assert "partitions" not in replace(known, answers=one).features_off(probes())
    assert replace(known, answers={}).features_off(probes()) == frozenset()


def test_the_file_gives_back_what_was_learned(known: EngineKnowledge, tmp_path: Path) -> None:
    path = tmp_path / "picky.json"
    path.write_text(knowledge_text(known), encoding="utf-8")
    assert read_knowledge(path) == known
    assert list(differences(read_knowledge(path), known)) == []


def test_differences_are_told(known: EngineKnowledge) -> None:
    before = dict(known.answers)
    del before["type as key", "INT"]
    before["clause", "no such probe"] = Learned(Answer.TAKES)
    before["type as key", "DOUBLE"] = Learned(Answer.TAKES)
    before["clause", "WHEN NOT MATCHED BY SOURCE THEN DELETE"] = Learned(Answer.REFUSES, "no BY SOURCE in PATH")
    lines = list(differences(replace(known, answers=before), known))
    assert lines[0] == "clause: no such probe: in the file, but there is no such probe"
    assert lines[1].startswith("type as key: DOUBLE: before: takes. Now: differs (rows ")
    assert lines[2:] == ["type as key: INT: not in the file. Now: takes"]


@pytest.mark.parametrize("document", [[], {}, {"engine": "a", "version": "1", "groups": {"g": {"maybe": ["x"]}}}])
def test_another_file_is_refused(tmp_path: Path, document: object) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserInputError, match=r"other\.json has no answers of an engine"):
        read_knowledge(path)


def test_a_file_about_another_engine(known: EngineKnowledge) -> None:
    assert known.remark_on(Picky({})) == ""
    other = Picky({})
    other.version = "2.0"
    assert known.remark_on(other) == "--capabilities is about picky 1.0; this is 2.0"
    other.name = "else"
    with pytest.raises(UserInputError, match="about the engine picky, not else"):
        known.remark_on(other)


@pytest.mark.parametrize("name", ["delta-rs", "duckdb", "sail"])
def test_the_files_in_the_docs_are_complete(name: str) -> None:
    """Written by ``mergecheck engine conform``, and for the probes that there are."""
    path = LEARNED / f"{name}.json"
    kept = read_knowledge(path)
    assert kept.engine == name
    assert kept.answers.keys() == {(probe.group, probe.name) for probe in probes()}
    assert path.read_text(encoding="utf-8") == knowledge_text(kept)
