"""The odd one out: who differs from the rest, and that the reference can be it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.engine import Capabilities
from mergecheck.harness.lab.scoreboard.majority_vote import REFERENCE, odd_json, odd_lines, silent_lines, votes
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Check, Rerun
from mergecheck.model.case_file import parse_cases
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported
from mergecheck.reference import evaluate
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from mergecheck.harness.lab.scoreboard.majority_vote import Vote
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

_CASE = parse_cases(
    json.dumps(
        {
            "format_version": 1,
            "id": "c",
            "target": {
                "schema": "id INT, d DOUBLE",
                "files": [[[1, 0.0]]],
                "properties": {"delta.enableChangeDataFeed": "true"},
            },
            "source": {"schema": "id INT, d DOUBLE", "rows": [[1, "NaN"]]},
            "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        }
    ),
    name="test",
    lines=False,
)[0]


class Fixed:
    """Gives one answer."""

    version = "1"

    def __init__(self, name: str, answer: EngineResult, capabilities: Capabilities | None = None) -> None:
        self.name = name
        self.capabilities = capabilities or Capabilities()
        self._answer = answer

    def run(self, case: Case) -> EngineResult:  # noqa: ARG002 - the answer is fixed
        return self._answer

    def close(self) -> None:
        """Hold nothing."""


def _right(**changes: object) -> Outcome:
    answer = evaluate(_CASE).answer
    assert isinstance(answer, Prediction)
    right = Outcome(
        schema=answer.schema,
        rows=answer.rows,
        metrics={name: bound.low for name, bound in answer.metrics.items()},
        cdf=answer.cdf,
        committed=True,
    )
    return replace(right, **changes)  # type: ignore[arg-type]


def _votes(*engines: Fixed, reference: Reference | None = None) -> dict[Check, Vote]:
    answer = reference or evaluate(_CASE)
    reports: list[CaseReport] = [check_case(_CASE, engine, reference=lambda _: answer) for engine in engines]
    return {vote.check: vote for vote in votes(reports, [engine.capabilities for engine in engines])}


def test_all_agree() -> None:
    found = _votes(Fixed("a", _right()), Fixed("b", _right()))
    assert set(found) == {Check.ERROR, Check.SCHEMA, Check.ROWS, Check.CDF, Check.METRICS}
    assert {vote.text for vote in found.values()} == {"all agree"}
    assert odd_lines(list(found.values())) == []


def test_the_engine_that_differs_is_named_in_the_check_in_which_it_differs() -> None:
    found = _votes(Fixed("a", _right()), Fixed("b", _right(rows=((1, 0.0),))))
    assert found[Check.ROWS].odd == ("b",)
    assert found[Check.ROWS].text == f"odd one out: b ({REFERENCE}, a agree)"
    assert found[Check.SCHEMA].text == "all agree"


def test_engines_of_one_name_are_told_apart_by_what_started_them() -> None:
    """As a class of a project that builds on a registered engine, beside that engine."""
    engines = Fixed("a", _right()), Fixed("a", _right(rows=((1, 0.0),)))
    reports = [
        replace(check_case(_CASE, engine), rerun=Rerun(engine=name))
        for engine, name in zip(engines, ("a", "mine:A"), strict=True)
    ]
    found = {vote.check: vote for vote in votes(reports, [engine.capabilities for engine in engines])}
    assert found[Check.ROWS].odd == ("mine:A",)


def test_the_reference_can_be_the_odd_one() -> None:
    right = evaluate(_CASE)
    assert isinstance(right.answer, Prediction)
    wrong = replace(right, answer=replace(right.answer, rows=((1, -0.0),)))
    found = _votes(Fixed("a", _right()), Fixed("b", _right()), reference=wrong)
    assert found[Check.ROWS].odd == (REFERENCE,)
    assert odd_json([found[Check.ROWS]]) == {"rows": {"groups": [["a", "b"], [REFERENCE]], "odd": [REFERENCE]}}


def test_a_tie_names_nobody() -> None:
    other = _right(rows=())
    found = _votes(Fixed("a", _right()), Fixed("b", other), Fixed("c", other))
    assert found[Check.ROWS].odd == ()
    assert found[Check.ROWS].text == f"no majority: {REFERENCE}, a | b, c"


def test_two_parties_do_not_vote() -> None:
    assert _votes(Fixed("a", _right())) == {}


def test_an_unsupported_check_has_no_vote() -> None:
    blind = Capabilities(cdf=False, error_class=False, schema=False)
    found = _votes(Fixed("a", _right()), Fixed("b", _right(cdf=()), blind))
    assert Check.CDF not in found
    assert Check.SCHEMA not in found
    assert Check.ROWS in found


def test_an_engine_that_does_not_support_the_case_is_no_party() -> None:
    assert _votes(Fixed("a", _right()), Fixed("b", Unsupported("merge"))) == {}


def test_a_failure_differs_from_a_merge_and_classes_count_where_there_are_some() -> None:
    failed = Rejection(error_class="SOME_CLASS", message="", unchanged=True)
    found = _votes(Fixed("a", _right()), Fixed("b", failed))
    assert found[Check.ERROR].odd == ("b",)
    assert Check.ROWS not in found  # two are left that show a table
    rejected = Reference(answer=replace(failed, error_class="RIGHT_CLASS"))
    right, other = Fixed("a", replace(failed, error_class="RIGHT_CLASS.SUB")), Fixed("b", failed)
    assert _votes(right, other, reference=rejected)[Check.ERROR].odd == ("b",)
    no_classes = Fixed("c", failed, Capabilities(error_class=False))
    assert _votes(right, no_classes, reference=rejected)[Check.ERROR].text == "all agree"


def test_what_an_engine_was_found_to_be_decides_its_vote() -> None:
    """The reference allows two answers; an engine that gives the other one is no odd one."""
    answer = evaluate(_CASE)
    assert isinstance(answer.answer, Prediction)
    reference = replace(answer, alternative=replace(answer.answer, rows=((1, 0.0),)))
    found = _votes(Fixed("a", _right()), Fixed("b", _right(rows=((1, 0.0),))), reference=reference)
    assert found[Check.ROWS].text == "all agree"


def test_two_parties_may_contradict_each_other() -> None:
    """`run` with several engines shows a difference even if all others are silent."""
    engines = [Fixed("a", _right(rows=())), Fixed("b", Unsupported("no"))]
    reports = [check_case(_CASE, engine, reference=evaluate) for engine in engines]
    found = votes(reports, [engine.capabilities for engine in engines], min_parties=2)
    assert "rows       no majority: the reference | a" in odd_lines(found)
    assert silent_lines(reports) == ["no vote    b (unsupported)"]
