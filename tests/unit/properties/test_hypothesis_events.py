"""The events of a case for Hypothesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings

from mergecheck.harness.properties import hypothesis_events
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.verdict import CaseReport, Verdict
from mergecheck.reference import evaluate
from mergecheck.strategies import cases, samples

if TYPE_CHECKING:
    import pytest


def report_of(case: Any) -> CaseReport:
    reference = evaluate(case)
    return CaseReport(
        case=case,
        engine="none",
        engine_version="1",
        verdict=Verdict.AGREE,
        reference=reference,
        result=None,
        facts=facts_of(case, reference),
    )


def test_cells_become_events_and_their_number_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a test of Hypothesis; a case in which nothing fires counts as no busy cell."""
    events: list[str] = []
    targets: list[float] = []
    monkeypatch.setattr(hypothesis_events, "event", events.append)
    monkeypatch.setattr(hypothesis_events, "target", lambda number, **_label: targets.append(number))

    @settings(max_examples=10, deadline=None, database=None, derandomize=True)
    @given(cases())
    def guided(case: Any) -> None:
        hypothesis_events.report_to_hypothesis(report_of(case))

    guided()
    assert {"path=D", "verdict=agree"} <= set(events)
    assert any(value.startswith("fired=") for value in events)
    assert 0 in targets
    assert max(targets) > 0


def test_outside_of_a_test_nothing_is_told() -> None:
    """Where Hypothesis itself would raise an error."""
    hypothesis_events.report_to_hypothesis(report_of(next(iter(samples(1))).case))
