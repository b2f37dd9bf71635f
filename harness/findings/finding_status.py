"""The status of a finding: its case is checked again, and the difference compared with the one in the case's file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.verdict import LEFT_OUT, Check, Verdict
from mergecheck.model.outcome import Outcome, Unsupported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mergecheck.harness.findings.origin import Origin
    from mergecheck.harness.verdict import CaseReport, Mismatch

_REFERENCE, _EXPECT, _ITSELF, _BASE = "reference", "expect", "itself", "base"
_NO_ERROR = "no_error"
_METRIC = re.compile(r"\b(?:num[A-Z]\w*|\w+TimeMs)\b")
# A mismatch's text is compared where it depends on the case alone; elsewhere it contains times, sizes and paths.
_STEADY = frozenset({Check.ROWS, Check.CDF, Check.SCHEMA})
_STEADY_METRICS = "numTargetRows"


class FindingStatus(Enum):
    """The status of a finding; the value is used in JSON output."""

    FIXED = "fixed"
    """all in which the engine differed was compared again, and agrees"""
    STILL_FAILS = "still_fails"
    """what differed and was compared again differs in the same way"""
    CHANGED = "changed"
    """something differs, but not as it did"""
    NOW_ERRORS = "now_errors"
    """the engine has no answer, or the merge now ends in an error that it did not end in"""
    NOT_CHECKED = "not_checked"
    """no difference was seen, but the observables that the finding concerns were not compared, or not in full"""

    @property
    def words(self) -> str:
        """The status in words, for reports."""
        return self.value.replace("_", " ")


class CheckStatus(Enum):
    """The status of one observable of a finding; the value is used in reports."""

    FIXED = "fixed"
    STILL = "still differs"
    CHANGED = "differs in another way"
    NEW = "differs now"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """A finding then and now.

    Attributes:
        checks: what became of each observable that differed then or differs now.
        reasons: why an observable was not compared again, and what to do.
    """

    status: FindingStatus
    checks: Mapping[Check, CheckStatus] = field(default_factory=dict)
    reasons: Mapping[Check, str] = field(default_factory=dict)


def compare(report: CaseReport, origin: Origin) -> FindingChange:
    """Decide the status of a finding. It is fixed only if all in which it differed was compared again, and agrees.

    Args:
        report: the check of its case now.
        origin: where the case comes from.
    """
    if report.verdict is Verdict.ENGINE_ERROR:
        return FindingChange(status=FindingStatus.NOW_ERRORS)
    then, now = _by_check(origin.difference), _by_check(report.mismatches)
    if not any(each.against == _EXPECT for each in origin.difference):  # an expectation was added to the case
        now = _by_check(each for each in report.mismatches if each.against != _EXPECT) or now
    reasons: dict[Check, str] = {}
    for each in origin.difference:
        if each.check not in now and (reason := _not_compared(each, origin, report)):
            reasons.setdefault(each.check, reason)
    checks = {check: _status(check, then, now, reasons) for check in Check if check in then or check in now}
    return FindingChange(status=_overall(checks, report), checks=checks, reasons=reasons)


def _not_compared(then: Mismatch, origin: Origin, report: CaseReport) -> str:
    """Explain why a difference would not have been seen now, if it were still there; empty if it would have been."""
    if report.verdict is Verdict.UNSUPPORTED:
        return report.reason or "the case is not supported"
    if report.verdict is Verdict.BOTH_REJECTED and then.check not in (Check.ERROR, Check.UNCHANGED):
        # the outcome of a merge that had to be refused is gone if it is refused
        if any(each.kind == _NO_ERROR for each in origin.difference):
            return ""
        return "the merge is refused now, by the engine and the reference"
    is_shown = any(made.shows(then) for made in report.compared)
    if is_shown and then.against == _ITSELF and then.check is Check.METRICS and isinstance(report.result, Outcome):
        named = dict.fromkeys(_METRIC.findall(" ".join(then.lines)))
        missing = [name for name in named if name not in report.result.metrics]
        return f"the engine does not report {', '.join(missing)}" if missing else ""
    return "" if is_shown else _reason(then, report)


def _reason(then: Mismatch, report: CaseReport) -> str:
    told, name, reference = report.unsupported_reasons, then.check.value, report.reference.answer
    if told.get(name) == LEFT_OUT:
        return f"{LEFT_OUT} or by the configuration: add --check {name}"
    if then.against in {made.against for made in report.compared}:
        what = then.kind if _METRIC.fullmatch(then.kind) else name
        why = told.get(then.kind) or told.get(name)
        return f"{report.engine} does not show it: {what}{f' ({why})' if why else ''}; use an engine that does"
    if then.against == _REFERENCE and isinstance(reference, Unsupported):
        return f"reference: {reference.reason}"
    if then.against in (_REFERENCE, _EXPECT, _ITSELF, _BASE):
        return f"the engine was not held against {then.against}: use --oracle reference"
    return f"the relation {then.against} was not tried, or is not about the case now: use --oracle metamorphic"


def _overall(checks: Mapping[Check, CheckStatus], report: CaseReport) -> FindingStatus:
    found = set(checks.values())
    if checks.get(Check.ERROR) is CheckStatus.NEW:
        return FindingStatus.NOW_ERRORS
    if CheckStatus.STILL in found and found <= {CheckStatus.STILL, CheckStatus.NOT_CHECKED}:
        return FindingStatus.STILL_FAILS
    if report.verdict is Verdict.MISMATCH:
        return FindingStatus.CHANGED
    return FindingStatus.NOT_CHECKED if CheckStatus.NOT_CHECKED in found else FindingStatus.FIXED


def _status(
    check: Check, then: Mapping[Check, object], now: Mapping[Check, object], untried: Collection[Check]
) -> CheckStatus:
    if check not in now:
        return CheckStatus.NOT_CHECKED if check in untried else CheckStatus.FIXED
    if check not in then:
        return CheckStatus.NEW
    return CheckStatus.STILL if then[check] == now[check] else CheckStatus.CHANGED


def _by_check(mismatches: Iterable[Mismatch]) -> dict[Check, set[tuple[str, str, tuple[str, ...]]]]:
    found: dict[Check, set[tuple[str, str, tuple[str, ...]]]] = {}
    for each in mismatches:
        is_steady = each.check in _STEADY or each.kind.startswith(_STEADY_METRICS)
        found.setdefault(each.check, set()).add((each.against, each.kind, each.lines if is_steady else ()))
    return found
