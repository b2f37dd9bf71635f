"""A fixed suite over every feature of MERGE, and the certificate that an engine gets for it."""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib.metadata
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from importlib import resources
from typing import TYPE_CHECKING, Any

from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import parse_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

_SUITE = "suite.jsonl"


class Mark(Enum):
    """An engine's result on a case of the suite."""

    PASS = "pass"  # noqa: S105 - a mark, no password
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    ERROR = "error"


_MARKS = {
    Verdict.AGREE: Mark.PASS,
    Verdict.BOTH_REJECTED: Mark.PASS,
    Verdict.MISMATCH: Mark.FAIL,
    Verdict.JUDGED_IN_PART: Mark.UNSUPPORTED,
    Verdict.UNSUPPORTED: Mark.UNSUPPORTED,
    Verdict.ENGINE_ERROR: Mark.ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One case of the suite on an engine; a known deviation is a failure like any other, but it is named."""

    feature: str
    name: str
    mark: Mark
    report: CaseReport


def suite() -> tuple[Case, ...]:
    """Return the cases of the suite; an id is ``feature/name``, and every case has its expected result."""
    return parse_cases(_text(), name=_SUITE, lines=True)


def conform(engine: Engine, check: Callable[[Case, Engine], CaseReport]) -> Iterator[Result]:
    """Run the suite on an engine, case by case."""
    for case in suite():
        report = check(case, engine)
        feature, _, name = case.id.partition("/")
        yield Result(feature=feature, name=name, mark=_MARKS[report.verdict], report=report)


def counts(results: Sequence[Result]) -> dict[str, Counter[Mark]]:
    """Count marks by feature, in the suite's order."""
    found: dict[str, Counter[Mark]] = {}
    for result in results:
        found.setdefault(result.feature, Counter())[result.mark] += 1
    return found


def failed_checks(results: Sequence[Result]) -> Counter[str]:
    """Count failed cases by check, so that one wrong counter that fails many cases is visible as one fault."""
    return Counter(
        check
        for result in results
        if result.mark is Mark.FAIL
        for check in {mismatch.check.value for mismatch in result.report.mismatches}
    )


def certificate(engine: Engine, results: Sequence[Result]) -> dict[str, Any]:
    """Build a certificate of the checks an engine passed, to be kept and compared.

    Returns:
        A JSON object: the engine, this project's version and the time, marks by feature, and every case with the checks
        that were not made.
    """
    totals = Counter(result.mark for result in results)
    return {
        "certificate_version": 1,
        "engine": engine.name,
        "engine_version": engine.version,
        "mergecheck_version": importlib.metadata.version("mergecheck"),
        "suite": {"cases": len(suite()), "digest": hashlib.sha256(_text().encode()).hexdigest()},
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "conforms": bool(results) and totals[Mark.PASS] == len(results),
        "totals": _json(totals),
        "failed_checks": dict(failed_checks(results)),
        "features": {feature: _json(marks) for feature, marks in counts(results).items()},
        "not_checked": dict(engine.capabilities.reasons),
        "cases": [_case(result) for result in results],
    }


def _case(result: Result) -> dict[str, Any]:
    report = result.report
    document: dict[str, Any] = {"id": report.case.id, "mark": result.mark.value}
    if report.reason:
        document["reason"] = report.reason
    if report.mismatches:
        document["mismatches"] = mismatches_json(report.mismatches)
    if report.deviations:
        document["deviation"] = list(report.deviations)
    if report.unsupported_checks:
        document["not_checked"] = [check.value for check in report.unsupported_checks]
    return document


def _json(marks: Counter[Mark]) -> dict[str, int]:
    return {mark.value: marks[mark] for mark in Mark}


def _text() -> str:
    return (resources.files("mergecheck.harness.lab.conformance") / _SUITE).read_text(encoding="utf-8")
