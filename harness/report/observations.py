"""The cases of a run in the form of Hypothesis' observations, for programs that show those, such as Tyche.

The form is the JSON schema in Hypothesis' documentation, "PBT Observations": a line for each test case, and lines of
information for a person.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.report import events
from mergecheck.harness.report.event_json import event_json, finding_json
from mergecheck.harness.report.render import settings_lines, statement_lines, table_lines
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import case_to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.facts import Facts

_STATUS = {
    Verdict.AGREE: "passed",
    Verdict.BOTH_REJECTED: "passed",
    Verdict.MISMATCH: "failed",
    Verdict.JUDGED_IN_PART: "gave_up",
    Verdict.UNSUPPORTED: "gave_up",
    Verdict.ENGINE_ERROR: "gave_up",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """One run.

    Attributes:
        name: the subject of the test; Hypothesis gives the name of the test.
        run_start: when the run began, in seconds since 1970.
    """

    name: str
    run_start: float

    def of(self, event: events.Event) -> Iterator[dict[str, Any]]:
        """Give the lines of an event; most kinds of events have none."""
        if isinstance(event, events.CaseChecked):
            yield {"type": "test_case", **_case(event), **self._run()}
        elif isinstance(event, events.FindingSaved):
            title = f"finding {event.finding.id}: {event.finding.fingerprint}"
            yield {"type": "alert", "title": title, "content": finding_json(event), **self._run()}
        elif isinstance(event, events.RunEnded):
            yield {"type": "info", "title": "the run ended", "content": event_json(event), **self._run()}

    def _run(self) -> dict[str, Any]:
        return {"property": self.name, "run_start": self.run_start}


def _case(event: events.CaseChecked) -> dict[str, Any]:
    report = event.report
    tables = [*table_lines(report.case), *settings_lines(report.case)]
    return {
        "status": "passed" if report.deviations else _STATUS[report.verdict],
        "status_reason": _reason(report),
        "representation": "\n".join([*tables, "", *statement_lines(report.case.sql)]),
        "arguments": {"case": case_to_json(report.case)},
        "how_generated": f"drawn by mergecheck, seed {event.summary.seed}",
        "features": _features(report),
        "coverage": None,
        "timing": {f"execute:{phase}": max(seconds, 0.0) for phase, seconds in report.phase_seconds.items()},
        "metadata": {
            "id": report.case.id,
            "engine": report.engine,
            "engine_version": report.engine_version,
            "deviations": list(report.deviations),
            "rules": sorted(report.facts.rules),
            "os.getpid()": os.getpid(),
        },
    }


def _reason(report: CaseReport) -> str:
    found = None if report.deviations else fingerprint(report)
    return report.reason if found is None else str(found)


def _features(report: CaseReport) -> dict[str, Any]:
    """Return the features by which a viewer groups and draws: numbers, and values of closed sets."""
    case, facts, read = report.case, report.facts, report.reference.trace.source
    return {
        "verdict": "deviates" if report.deviations else report.verdict.value,
        "target rows": len(case.target.rows),
        "source rows": 0 if read is None else len(read.rows),
        "columns": len(case.target.schema.columns),
        "changed rows": facts.num_changed_rows,
        "path": "none" if facts.path is None else facts.path.value,
        **{f"clause {' '.join(clause)}": _fired(facts, clause) for clause in sorted(facts.clauses_present)},
        **{f"match {sort}": True for sort in sorted(facts.matches)},
        **{f"NULL in {place}": True for place in sorted(facts.nulls)},
        **{f"deviation {name}": True for name in report.deviations},
    }


def _fired(facts: Facts, clause: tuple[str, str]) -> str:
    return "fired" if clause in facts.clauses_applied else "present"
