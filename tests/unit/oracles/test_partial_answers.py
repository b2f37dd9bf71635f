"""A doubt about one observable leaves the others judged."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.properties.statistics import Counts, Stop, Summary, denominator_line
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import parse_cases
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from mergecheck.model.case import Case

_UPDATE = "WHEN MATCHED THEN UPDATE SET v = soundex(s.v), n = s.n"
_METRICS = {"numSourceRows": 2, "numTargetRowsUpdated": 1, "numTargetRowsInserted": 0, "numTargetRowsDeleted": 0}


def _case(clauses: str = _UPDATE, *, schema: str = "id INT, v STRING, n INT", **target: Any) -> Case:
    document = {
        "format_version": 1,
        "id": "in-part",
        "target": {"schema": schema, "files": [[[1, "a", 0], [2, "b", 0]]], **target},
        "source": {"schema": "id INT, v STRING, n INT", "rows": [[1, "x", 5], [9, "y", 6]]},
        "sql": f"MERGE INTO target t USING source s ON t.id = s.id {clauses}",
    }
    (case,) = parse_cases(json.dumps(document), name="in-part", lines=False)
    return case


@dataclass(slots=True)
class _Engine:
    answers: list[Any]
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(metric_names=frozenset(_METRICS)))
    name: str = "canned"
    version: str = "1"

    def run(self, case: Case) -> Any:  # noqa: ARG002 - the same for every case
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def close(self) -> None:
        """Nothing to close."""


def _outcome(*rows: Any, **metrics: int) -> Outcome:
    return Outcome(
        schema=parse_schema("id INT, v STRING, n INT"), rows=rows, metrics={**_METRICS, **metrics}, committed=True
    )


RIGHT = _outcome((1, "X", 5), (2, "b", 0))


def test_a_value_that_nobody_translates_leaves_out_its_column_only() -> None:
    reference = evaluate(_case())
    assert isinstance(reference.answer, Unsupported)
    assert reference.partial is not None
    assert isinstance(reference.partial.answer, Prediction)
    assert reference.left_out == {"column v", "error"}
    report = check_case(_case(), _Engine([RIGHT]))
    assert (report.verdict, report.mismatches) == (Verdict.JUDGED_IN_PART, ())
    assert report.reason == "reference: function soundex; left out: column v, error"
    assert Check.ROWS in {made.check for made in report.compared if made.against == "reference"}


@pytest.mark.parametrize(
    ("answer", "differs"),
    [
        (_outcome((1, "X", 6), (2, "b", 0)), ("rows", "changed_rows")),
        (_outcome((1, "X", 5)), ("rows", "missing_rows")),
        (_outcome((1, "X", 5), (2, "b", 0), numTargetRowsUpdated=2), ("metrics", "numTargetRowsUpdated")),
        (_outcome((1, "X", 5), (2, "b", 0), numSourceRows=1), ("metrics", "numSourceRows")),
        (replace(RIGHT, committed=False), ("commit", "no_commit")),
    ],
)
def test_the_rest_is_judged(answer: Outcome, differs: tuple[str, str]) -> None:
    report = check_case(_case(), _Engine([answer]))
    assert report.verdict is Verdict.MISMATCH
    assert differs in {(m.check.value, m.kind) for m in report.mismatches}


def test_a_merge_with_such_a_value_may_fail_but_must_leave_the_table() -> None:
    failed = Rejection(error_class="ANY", message="a value", unchanged=True)
    assert check_case(_case(), _Engine([failed])).verdict is Verdict.JUDGED_IN_PART
    assert check_case(_case(), _Engine([replace(failed, unchanged=False)])).verdict is Verdict.MISMATCH


@pytest.mark.parametrize(
    "case",
    [
        _case(schema="id INT, v STRING NOT NULL, n INT"),
        _case(properties={"delta.constraints.c": "v <> 'X'"}),
        _case(partition_by=["v"]),
        _case("WHEN MATCHED AND soundex(s.v) = 'X' THEN DELETE"),
    ],
)
def test_a_doubt_on_which_more_depends_leaves_out_the_prediction(case: Case) -> None:
    reference = evaluate(case)
    assert isinstance(reference.answer, Unsupported)
    assert reference.partial is None


def test_that_a_merge_must_fail_is_known_whatever_a_value_is() -> None:
    """Two source rows match one row of the target (R-320)."""
    case = _case()
    assert case.source is not None
    case = replace(case, source=replace(case.source, rows=((1, "x", 5), (1, "y", 6))))
    report = check_case(case, _Engine([RIGHT]))
    assert [(m.check.value, m.kind) for m in report.mismatches] == [("error", "no_error")]
    failed = Rejection(error_class="ANY", message="", unchanged=True)
    assert check_case(case, _Engine([failed])).verdict is Verdict.JUDGED_IN_PART


def test_an_isolation_level_leaves_out_what_the_log_says_of_it_only() -> None:
    case = _case("WHEN MATCHED THEN UPDATE SET n = s.n", properties={"delta.isolationLevel": "WriteSerializable"})
    assert evaluate(case).left_out == {"log isolationLevel"}
    failed = Rejection(error_class="ANY", message="", unchanged=True)
    report = check_case(case, _Engine([failed]))
    assert [(m.check.value, m.kind) for m in report.mismatches] == [("error", "spurious_error")]


def test_relations_are_tried_on_what_nobody_predicts() -> None:
    """P-16: with the same rows in one file each, the engine gives another table."""
    case = _case("WHEN MATCHED AND soundex(s.v) = 'X' THEN UPDATE SET n = s.n")
    other = _outcome((1, "a", 9), (2, "b", 0))
    report = Checker(engine=_Engine([_outcome((1, "a", 5), (2, "b", 0)), other])).check_case(case)
    assert report.verdict is Verdict.MISMATCH
    assert {m.against[:4] for m in report.mismatches} == {"P-16"}
    assert isinstance(report.reference.answer, Unsupported)


@pytest.mark.parametrize("value", ["uuid()", "randn()", "(SELECT first(n) FROM source)"])
def test_relations_are_not_tried_on_what_may_differ_from_run_to_run(value: str) -> None:
    case = _case(f"WHEN MATCHED AND soundex(s.v) = 'X' THEN UPDATE SET v = CAST({value} AS STRING)")
    other = _outcome((1, "a", 9), (2, "b", 0))
    report = Checker(engine=_Engine([_outcome((1, "a", 5), (2, "b", 0)), other])).check_case(case)
    assert report.verdict is Verdict.JUDGED_IN_PART


def test_a_form_of_the_case_that_fails_is_no_fault_where_nobody_knows_which_values_may() -> None:
    case = _case("WHEN MATCHED AND soundex(s.v) = 'X' THEN UPDATE SET n = s.n")
    failed = Rejection(error_class="DIVIDE_BY_ZERO", message="", unchanged=True)
    report = Checker(engine=_Engine([_outcome((1, "a", 5), (2, "b", 0)), failed])).check_case(case)
    assert report.verdict is Verdict.JUDGED_IN_PART


def test_check_does_not_turn_a_case_judged_in_part_into_one_that_agrees() -> None:
    wrong = _outcome((1, "X", 6), (2, "b", 0))
    report = Checker(engine=_Engine([wrong]), checks=frozenset({Check.METRICS})).check_case(_case())
    assert report.verdict is Verdict.JUDGED_IN_PART


def test_the_summary_names_what_was_left_out() -> None:
    counts = Counts()
    counts.add(check_case(_case(), _Engine([RIGHT])))
    counts.add(check_case(_case("WHEN MATCHED AND soundex(s.v) = 'X' THEN DELETE"), _Engine([RIGHT])))
    line = denominator_line(Summary(seed=1, stop=Stop.BUDGET, seconds=1.0, counts=counts))
    for name in ("values of a column 1", "error 1", "the prediction 1"):
        assert name in line
