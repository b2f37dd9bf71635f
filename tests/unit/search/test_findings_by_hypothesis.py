"""Findings that one hypothesis explains are one finding."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from search_runs import cases

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.report import events
from mergecheck.harness.search.loop import Budget, Search
from mergecheck.harness.search.prefetch import prefetching
from mergecheck.harness.search.stream import Draws
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult


class NullSafe:
    """Merges as the reference does, but NULL keys match each other."""

    name, version, capabilities = "null-safe", "1", Capabilities(cdf=False, metrics=False)

    def run(self, case: Case) -> EngineResult:
        answer = evaluate(replace(case, sql=case.sql.replace("t.id = s.id", "t.id <=> s.id"))).answer
        if isinstance(answer, Prediction):
            return Outcome(schema=answer.schema, rows=answer.rows)
        return answer

    def close(self) -> None:
        pass


def test_forms_of_one_fault_are_one_finding(tmp_path: Path) -> None:
    """Lost inserts, rows not deleted and errors of NULL keys: ON used <=>. The cases in each form are counted."""
    found: list[events.Event] = []
    checker = Checker(engine=NullSafe())
    with prefetching(Draws(cases(), seed=7), checker) as prefetch:
        summary = Search(
            checker,
            prefetch,
            budget=Budget(max_cases=40),
            findings=FindingsDirectory(tmp_path),
            listener=found.append,
            limits=ShrinkLimits(max_runs=60),
        ).run()
    (saved,) = (event.finding for event in found if isinstance(event, events.FindingSaved))
    assert saved.hypotheses[0] == "as if ON used <=> for ="
    assert summary.counts.findings[saved.id] > 1
    text = (tmp_path / f"{saved.id}.report.txt").read_text()
    assert text.startswith("MISMATCH  acts as if ON used <=> for =\n")
