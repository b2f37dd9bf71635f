"""Wrong answers of an engine are noticed, and what hides them is named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.lab.mutants import run_mutants
from mergecheck.harness.oracles.reference_engine import ReferenceAsEngine, answered
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.session import stream_for
from mergecheck.harness.verdict import Check
from mergecheck.model.outcome import Outcome, Prediction, Rejection
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from mergecheck.harness.lab.mutants import MutantRun
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

UNUSUAL = {
    "a written row has a stale partition value",
    "an empty text becomes NULL",
    "a text loses its blanks at the end",
    "the column that evolution adds is missing",
    "a failed merge leaves a changed table",
}


class Complete(ReferenceAsEngine):
    """Reports everything, each metric as the least that is right."""

    def run(self, case: Case) -> EngineResult:
        answer = evaluate(case).answer
        result = answered(answer)
        if isinstance(answer, Prediction) and isinstance(result, Outcome):
            return replace(result, metrics={name: bound.low for name, bound in answer.metrics.items()})
        return replace(result, unchanged=True) if isinstance(result, Rejection) else result


class WithoutFeed(Complete):
    """An adapter that gives no change feed, and whose errors have no class."""

    capabilities = Capabilities(cdf=False, error_class=False, reasons={"cdf": "my adapter reads no feed"})

    def run(self, case: Case) -> EngineResult:
        result = super().run(case)
        return replace(result, cdf=None) if isinstance(result, Outcome) else result


def run_of(engine: ReferenceAsEngine, num_cases: int) -> MutantRun:
    return run_mutants(stream_for(engine, 1), Checker(engine=engine), Budget(max_cases=num_cases))


def test_a_wrong_answer_of_an_engine_that_reports_everything_is_noticed() -> None:
    """Each mutant is noticed by the first check of it: of a metric that is a range, some value is right."""
    run = run_of(Complete(), 30)
    found = {one.mutant.name: one for one in run.found}
    assert run.num_right >= 0.9 * run.num_cases
    assert [one for one in run.found if one.num_tried > 1 and one.mutant.check is not Check.METRICS] == []
    unnoticed = {name for name, one in found.items() if one.num_tried and one.case_number is None}
    assert {name for name in unnoticed if "Time" not in name and "Bytes" not in name and "Files" not in name} == set()
    assert {name for name, one in found.items() if not one.num_tried} <= UNUSUAL
    assert {"as if no rows matched", "a pre-image is missing", "numTargetRowsCopied is one more"} <= found.keys()


def test_what_an_adapter_does_not_report_is_the_reason() -> None:
    """The feed and the class of an error are not compared, the rows are."""
    found = {one.mutant.name: one for one in run_of(WithoutFeed(), 12).found}
    doubled, other = found["a change row is doubled"], found["the error is of another class"]
    assert (doubled.num_tried, doubled.case_number, doubled.reason) == (0, None, "my adapter reads no feed")
    assert other.num_tried
    assert (other.case_number, bool(other.reason)) == (None, True)
    assert found["a copied row is lost"].case_number is not None
