"""A case's way from preparing to its report."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities, PrecheckingEngine
from mergecheck.harness.findings.store import RunningCase
from mergecheck.harness.variants.judge import VariantChecker
from mergecheck.harness.verdict import Oracle, Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import EngineResult, Rejection, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate
from mergecheck.reference.answer import Reference
from mergecheck.reference.dialects import MULTI_MATCH, known_dialect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCHEMA = parse_schema("id INT")
CASE = Case(
    id="c",
    target=Target(schema=SCHEMA, files=(((1,),),)),
    source=Source(schema=SCHEMA, rows=((2,),)),
    sql="MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
)
REJECTION = Rejection(error_class="DELTA_X", message="no", unchanged=True)


@dataclass
class PickyEngine:
    """Rejects every case that it does not refuse beforehand, or fails to decide whether it refuses it."""

    refusal: Unsupported | Exception | None = None
    calls: int = 0
    while_running: Callable[[], object] = bool
    name: str = "picky"
    version: str = "1"
    capabilities: Capabilities = field(default_factory=Capabilities)
    rejection: Rejection = REJECTION

    def unsupported_reason(self, case: Case) -> Unsupported | None:  # noqa: ARG002 - the answer does not depend on it
        if isinstance(self.refusal, Exception):
            raise self.refusal
        return self.refusal

    def run(self, case: Case) -> EngineResult:  # noqa: ARG002 - the answer does not depend on it
        self.calls += 1
        self.while_running()
        return self.rejection

    def close(self) -> None:
        """Hold nothing."""


class Asked:
    """A reference that agrees with the engine and notes the cases that it is asked about."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def __call__(self, case: Case) -> Reference:
        self.cases.append(case)
        return Reference(answer=REJECTION)


@pytest.mark.parametrize(("dialect", "verdict"), [("delta", Verdict.MISMATCH), ("postgres", Verdict.BOTH_REJECTED)])
def test_an_engine_is_judged_by_its_own_dialect(dialect: str, verdict: Verdict) -> None:
    """A row that a lone DELETE reaches twice; the same for a variant's checks, unless a reference is given."""
    engine = PickyEngine(capabilities=Capabilities(dialect=known_dialect(dialect)))
    case = replace(
        CASE,
        source=Source(schema=SCHEMA, rows=((1,), (1,))),
        sql="MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE",
    )
    engine.rejection = replace(REJECTION, error_class=MULTI_MATCH)
    assert Checker(engine=engine).check_case(case).verdict is verdict
    assert VariantChecker(engine).check_base(case).verdict is verdict
    assert Checker(engine=engine, reference=evaluate).check_case(case).verdict is Verdict.MISMATCH


def test_a_case_that_the_engine_refuses_is_not_evaluated() -> None:
    """If the run skips it: then the engine's reason stands alone, and the case is not judged."""
    engine, reference = PickyEngine(refusal=Unsupported("x")), Asked()
    assert isinstance(engine, PrecheckingEngine)
    skipping = Checker(engine=engine, reference=reference, skip_reference_if_unsupported=True)
    report = skipping.check_case(CASE)
    assert (report.verdict, report.reason, report.is_judged) == (Verdict.UNSUPPORTED, "picky: x", False)
    assert (reference.cases, engine.calls, set(report.phase_seconds)) == ([], 0, {"engine"})
    assert replace(skipping, skip_reference_if_unsupported=False).check_case(CASE).verdict is Verdict.BOTH_REJECTED
    assert (reference.cases, engine.calls) == ([CASE], 1)


@pytest.mark.parametrize("refusal", [None, KeyError("k")])
def test_an_engine_that_does_not_refuse_is_run(refusal: Exception | None) -> None:
    """Neither one that cannot decide; its fault shows in the run."""
    engine = PickyEngine(refusal=refusal)
    report = Checker(engine=engine, reference=Asked(), skip_reference_if_unsupported=True).check_case(CASE)
    assert (report.verdict, report.is_judged, engine.calls) == (Verdict.BOTH_REJECTED, True, 1)


def test_a_reference_that_is_known_is_not_asked_again() -> None:
    """What drawing a case has found out is passed on."""
    reference = Asked()
    checker = Checker(engine=PickyEngine(), reference=reference)
    prepared = checker.prepare(CASE, Reference(answer=REJECTION))
    assert checker.check(prepared).verdict is Verdict.BOTH_REJECTED
    assert not reference.cases


def test_a_check_under_way_is_on_disk(tmp_path: Path) -> None:
    """While the reference evaluates it and while the engine runs it; a checker of another job has another file."""
    left: list[int] = []

    def look() -> None:
        left.append(len(list(RunningCase(tmp_path).leftovers())))

    def reference(case: Case) -> Reference:
        look()
        return evaluate(case)

    checker = Checker(engine=PickyEngine(while_running=look), reference=reference, work_directory=tmp_path)
    checker.check_case(CASE)
    with RunningCase(tmp_path).under_way(CASE):
        replace(checker, job=1).check_case(CASE)
    assert left == [1, 1, 2, 2]
    assert not list(RunningCase(tmp_path).leftovers())


@pytest.mark.parametrize("oracle", list(Oracle))
def test_an_interrupt_is_no_failure_of_the_engine(oracle: Oracle) -> None:
    """Even if the engine turns it into an error of its own."""

    def interrupted() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("query interrupted") from None

    with pytest.raises(KeyboardInterrupt):
        Checker(engine=PickyEngine(while_running=interrupted), oracle=oracle).check_case(CASE)
