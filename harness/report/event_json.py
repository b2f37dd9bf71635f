"""The events of a run as JSON, one document each, for programs that follow a run (``fuzz --events``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.origin import origin_of, origin_to_json
from mergecheck.harness.properties.phases import phases_json
from mergecheck.harness.report import events
from mergecheck.harness.report.json import mismatches_json
from mergecheck.model.case_file import ORIGIN_KEY, case_to_json

if TYPE_CHECKING:
    from mergecheck.harness.findings.origin import Origin
    from mergecheck.harness.findings.store import Finding
    from mergecheck.harness.verdict import CaseReport


def event_json(event: events.Event) -> dict[str, Any]:
    """Return an event as JSON; ``event`` names its kind, by the names in docs/commands.md."""
    match event:
        case events.RunStarted():
            limits = {"max_cases": event.max_cases, "max_seconds": event.max_seconds}
            return {
                "event": "started",
                "engine": event.engine,
                "engine_version": event.engine_version,
                "seed": event.seed,
                **limits,
            }
        case events.CaseChecked():
            return {"event": "case", "number": event.summary.counts.num_cases, **_case(event.report)}
        case events.ShrinkingStarted():
            return {"event": "shrinking", "fingerprint": str(event.fingerprint)}
        case events.ShrinkingStep():
            return {
                "event": "smaller",
                "target_rows": event.num_target_rows,
                "source_rows": event.num_source_rows,
                "runs": event.num_runs,
                "seconds": round(event.seconds, 3),
            }
        case events.FindingSaved():
            return {"event": "finding", **finding_json(event)}
        case events.FindingRepeated():
            example = None if event.example is None else str(event.example)
            return {
                "event": "repeated",
                "id": event.finding_id,
                "fingerprint": str(event.fingerprint),
                "example": example,
            }
        case events.CaseSetAside():
            return {"event": "set_aside", "kind": event.kind, "path": str(event.path), "reason": event.reason}
        case events.RunEnded():
            counts = event.summary.counts
            return {
                "event": "ended",
                "stop": event.summary.stop.value,
                "seconds": round(event.summary.seconds, 3),
                "phase_seconds": phases_json(counts.phase_seconds),
                "num_cases": counts.num_cases,
                "findings": dict(counts.findings),
            }


def finding_json(event: events.FindingSaved) -> dict[str, Any]:
    """Write a finding and the place where it is kept."""
    return {
        "id": event.finding.id,
        "number": event.finding.number,
        "path": str(event.path),
        "fingerprint": str(event.finding.fingerprint),
        "hypotheses": list(event.finding.hypotheses),
        "cut_short": event.finding.cut_short,
        "mismatches": mismatches_json(event.finding.report.mismatches),
        "case_file": case_to_json(event.finding.report.case) | {ORIGIN_KEY: origin_to_json(_origin(event.finding))},
    }


def _origin(finding: Finding) -> Origin:
    report = finding.report
    return origin_of(report, found_by="fuzz", engine=report.engine, seed=finding.seed, number=finding.number)


def _case(report: CaseReport) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": report.case.id,
        "verdict": report.verdict.value,
        "seconds": round(report.seconds, 4),
    }
    if report.deviations:
        found["deviations"] = list(report.deviations)
    if report.reason:
        found["reason"] = report.reason
    return found
