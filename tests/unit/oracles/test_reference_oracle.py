"""The verdict on one case, for every combination of answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from mergecheck.harness.engine import Capabilities, Engine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import CaseReport, Check, EngineDownError, Verdict
from mergecheck.model.case import Case, Expectation, Source, Target
from mergecheck.model.outcome import EngineResult, MergePath, Outcome, Prediction, Rejection, Unsupported
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field, Schema
from mergecheck.reference.answer import Reference

SCHEMA = Schema((Field("id", types.INT),))
CASE = Case(
    id="c",
    target=Target(schema=SCHEMA, files=(((1,),),)),
    source=Source(schema=SCHEMA, rows=((2,),)),
    sql="MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
)
OUTCOME = Outcome(schema=SCHEMA, rows=((2,), (1,)), committed=True, path=MergePath.A)
PREDICTION = Prediction(schema=SCHEMA, rows=((1,), (2,)), metrics={}, cdf=None, committed=True, path=MergePath.A)
REJECTION = Rejection(error_class="DELTA_X", message="no", unchanged=True)
EXPECT_ROWS = Expectation(rows=((1,), (2,)))


@dataclass
class FakeEngine:
    """Gives one answer, or raises one error, and counts how often it is asked."""

    answer: EngineResult | Exception
    name: str = "fake"
    version: str = "1"
    capabilities: Capabilities = field(default_factory=Capabilities)
    calls: int = 0

    def run(self, case: Case) -> EngineResult:  # noqa: ARG002 - the answer does not depend on the case
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        """Hold nothing."""


def check(answer: EngineResult | Exception, reference: Reference, *, expect: Expectation | None = None) -> CaseReport:
    return check_case(replace(CASE, expect=expect), FakeEngine(answer), reference=lambda _: reference)


def kinds(report: CaseReport) -> list[tuple[str, str]]:
    return [(m.against, m.kind) for m in report.mismatches]


def test_the_fake_is_an_engine() -> None:
    """The harness drives the protocol."""
    assert isinstance(FakeEngine(OUTCOME), Engine)


@pytest.mark.parametrize(
    ("answer", "reference", "verdict", "found"),
    [
        (OUTCOME, PREDICTION, Verdict.AGREE, []),
        (replace(OUTCOME, rows=((1,),)), PREDICTION, Verdict.MISMATCH, [("reference", "missing_rows")]),
        (OUTCOME, REJECTION, Verdict.MISMATCH, [("reference", "no_error")]),
        (REJECTION, PREDICTION, Verdict.MISMATCH, [("reference", "spurious_error")]),
        (REJECTION, REJECTION, Verdict.BOTH_REJECTED, []),
        (replace(REJECTION, error_class="Y"), REJECTION, Verdict.MISMATCH, [("reference", "error_class")]),
        (replace(REJECTION, unchanged=False), REJECTION, Verdict.MISMATCH, [("reference", "changed_after_error")]),
        (Unsupported("deletion vectors"), PREDICTION, Verdict.UNSUPPORTED, []),
        (OUTCOME, Unsupported("schema evolution"), Verdict.JUDGED_IN_PART, []),
        (REJECTION, Unsupported("schema evolution"), Verdict.JUDGED_IN_PART, []),
        (
            replace(REJECTION, error_class="INTERNAL_ERROR"),
            Unsupported("schema evolution"),
            Verdict.MISMATCH,
            [("itself", "breakdown")],
        ),
        (
            replace(OUTCOME, metrics={"numTargetRowsInserted": 5, "numTargetRowsDeleted": 0}),
            Unsupported("schema evolution"),
            Verdict.MISMATCH,
            [("itself", "P-5")],
        ),
    ],
)
def test_verdicts(
    answer: EngineResult,
    reference: Prediction | Rejection | Unsupported,
    verdict: Verdict,
    found: list[tuple[str, str]],
) -> None:
    """Each pair of answers has one verdict."""
    report = check(answer, Reference(answer=reference))
    assert (report.verdict, kinds(report)) == (verdict, found)


@pytest.mark.parametrize("answer", [OUTCOME, REJECTION])
def test_either_answer_agrees_where_the_layout_decides(answer: EngineResult) -> None:
    """R-322: the multi-match error, or the result without it."""
    report = check(answer, Reference(answer=REJECTION, alternative=PREDICTION))
    assert report.mismatches == ()
    assert report.verdict is (Verdict.AGREE if answer is OUTCOME else Verdict.BOTH_REJECTED)


def test_a_wrong_result_is_wrong_by_the_alternative_too() -> None:
    """R-322 allows two answers, not any answer."""
    report = check(replace(OUTCOME, rows=()), Reference(answer=REJECTION, alternative=PREDICTION))
    assert kinds(report) == [("reference", "missing_rows")]


def test_an_expected_error_of_both_stays_both_rejected() -> None:
    """The verdict names the side that rejected; an author's expectation changes nothing."""
    report = check(REJECTION, Reference(answer=REJECTION), expect=Expectation(error="DELTA_X", unchanged=True))
    assert (report.verdict, report.mismatches) == (Verdict.BOTH_REJECTED, ())


def test_expect_is_held_beside_the_reference() -> None:
    """An engine that agrees with the reference can still be at odds with the case's author."""
    report = check(OUTCOME, Reference(answer=PREDICTION), expect=Expectation(rows=()))
    assert (report.verdict, kinds(report)) == (Verdict.MISMATCH, [("expect", "extra_rows")])


@pytest.mark.parametrize(
    ("answer", "expect", "verdict"),
    [
        (OUTCOME, EXPECT_ROWS, Verdict.AGREE),
        (OUTCOME, Expectation(rows=()), Verdict.MISMATCH),
        (REJECTION, Expectation(error="DELTA_X"), Verdict.AGREE),
        (REJECTION, EXPECT_ROWS, Verdict.MISMATCH),
    ],
)
def test_without_reference_expect_decides(answer: EngineResult, expect: Expectation, verdict: Verdict) -> None:
    """A case beyond the reference is still worth something if its author gives the expected rows."""
    report = check(answer, Reference(answer=Unsupported("schema evolution")), expect=expect)
    assert report.verdict is verdict
    assert report.reason == "held against expect only, because the reference does not support schema evolution"


def test_a_case_that_the_reference_does_not_predict_is_run() -> None:
    """No prediction and no expectation: the engine's answer is checked by the invariants."""
    engine = FakeEngine(OUTCOME)
    report = check_case(CASE, engine, reference=lambda _: Reference(answer=Unsupported("x")))
    assert (report.reason, report.result, engine.calls) == ("reference: x", OUTCOME, 1)


def test_the_reasons_of_both_sides_are_named() -> None:
    """Neither gap hides behind the other's; where one side does without the case, its reason stands alone."""
    nobody = check(Unsupported("x"), Reference(answer=Unsupported("y")), expect=EXPECT_ROWS)
    assert (nobody.verdict, nobody.reason) == (Verdict.UNSUPPORTED, "reference: y; fake: x")
    assert check(Unsupported("x"), Reference(answer=PREDICTION)).reason == "fake: x"


def test_any_of_the_right_errors_agrees() -> None:
    """If no rule fixes the value that fails first, the prediction names several classes."""
    wanted = replace(REJECTION, error_class="DELTA_Y", other_classes=frozenset({"DELTA_X"}))
    assert check(REJECTION, Reference(answer=wanted)).verdict is Verdict.BOTH_REJECTED
    other = check(replace(REJECTION, error_class="DELTA_Z"), Reference(answer=wanted))
    assert kinds(other) == [("reference", "error_class")]


def test_conservation_laws_are_checked_beside_the_reference() -> None:
    """They show where the fault is, also when the rows are right."""
    metrics = {"numTargetRowsInserted": 3, "numTargetRowsDeleted": 0}
    report = check(replace(OUTCOME, metrics=metrics), Reference(answer=PREDICTION))
    assert kinds(report) == [("itself", "P-5")]


def test_laws_need_an_engine_that_shows_rows() -> None:
    """Without rows and schema nothing can be held against them."""
    blind = FakeEngine(replace(OUTCOME, schema=Schema(()), rows=()), capabilities=Capabilities(rows=False))
    report = check_case(CASE, blind, reference=lambda _: Reference(answer=PREDICTION))
    assert (report.verdict, report.mismatches) == (Verdict.AGREE, ())


def test_an_engine_that_is_down_says_nothing_about_the_merge() -> None:
    """Neither does an adapter that breaks; the place is shown."""
    down = check(EngineDownError("Spark is gone"), Reference(answer=PREDICTION))
    assert (down.verdict, down.reason, down.result) == (Verdict.ENGINE_ERROR, "Spark is gone", None)
    broken = check(KeyError("k"), Reference(answer=PREDICTION))
    assert broken.verdict is Verdict.ENGINE_ERROR
    assert broken.reason.startswith("the adapter raised KeyError: 'k' (")


def test_a_reference_that_fails_is_a_defect_of_ours() -> None:
    """The engine is not run, and the reason names the defective side; an engine's failure is no such defect."""
    engine = FakeEngine(OUTCOME)

    def fails(case: Case) -> Reference:
        raise AttributeError(f"no reading of {case.id}")

    report = check_case(CASE, engine, reference=fails)
    assert (report.verdict, report.is_defect, engine.calls) == (Verdict.ENGINE_ERROR, True, 0)
    assert report.reason.startswith("HarnessBugError: the reference raised AttributeError: no reading of ")
    assert not check(EngineDownError("Spark is gone"), Reference(answer=PREDICTION)).is_defect


def test_unchecked_observables_are_named_once() -> None:
    """Observables that an engine lacks are listed, also if only the author wanted them."""
    engine = FakeEngine(replace(OUTCOME, committed=None, path=None), capabilities=Capabilities(metrics=False))
    case = replace(CASE, expect=Expectation(metrics={"numOutputRows": 1}))
    report = check_case(case, engine, reference=lambda _: Reference(answer=PREDICTION))
    assert report.unsupported_checks == (
        *(Check.METRICS, Check.COMMIT, Check.PATH),
        *(Check.LOG, Check.RESULT, Check.TABLE),
    )
    assert report.verdict is Verdict.AGREE


def test_time_is_measured_by_phase() -> None:
    """A run can report where its time goes."""
    report = check(OUTCOME, Reference(answer=PREDICTION))
    assert set(report.phase_seconds) == {"reference", "engine", "compare"}
    assert report.seconds == pytest.approx(sum(report.phase_seconds.values()))


def test_the_reference_is_duckdb_unless_told_otherwise() -> None:
    """A right outcome of a real statement agrees with the real reference."""
    metrics = {"numSourceRows": 1, "numTargetRowsInserted": 1}
    engine = FakeEngine(replace(OUTCOME, metrics=metrics), capabilities=Capabilities(metrics=False))
    report = check_case(CASE, engine)
    assert (report.verdict, report.mismatches) == (Verdict.AGREE, ())
