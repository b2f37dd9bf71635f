"""What became of a finding: its case was checked again, and the difference is compared with that of the case's file."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.verdict import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mergecheck.harness.findings.origin import Origin
    from mergecheck.harness.verdict import CaseReport, Mismatch

_EXPECT = "expect"
# What a mismatch says is compared where it depends on the case alone; elsewhere times, sizes and paths get into it.
_STEADY = frozenset({Check.ROWS, Check.CDF, Check.SCHEMA})
_STEADY_METRICS = "numTargetRows"


class FindingStatus(Enum):
    """What became of a finding; the value is what JSON output says."""

    FIXED = "fixed"
    """nothing differs any more"""
    STILL_FAILS = "still_fails"
    """the same differs in the same way"""
    CHANGED = "changed"
    """something differs, but not as it did"""
    NOW_ERRORS = "now_errors"
    """the engine has no answer, or the merge now ends in an error that it did not end in"""
    NOT_CHECKED = "not_checked"
    """this run cannot tell: the engine does not support the case or the check, or another oracle found it"""

    @property
    def words(self) -> str:
        """The status in words, for reports."""
        return self.value.replace("_", " ")


class CheckStatus(Enum):
    """What became of one observable of a finding; the value is what reports say."""

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
    """

    status: FindingStatus
    checks: Mapping[Check, CheckStatus] = field(default_factory=dict)


def compare(report: CaseReport, origin: Origin, *, is_tried: Callable[[str], bool] = lambda _: True) -> FindingChange:
    """Say what became of a finding.

    Args:
        report: the check of its case now.
        origin: where the case comes from.
        is_tried: whether this run holds the engine against what a mismatch names (``Mismatch.against``).
    """
    if report.verdict is Verdict.ENGINE_ERROR:
        return FindingChange(status=FindingStatus.NOW_ERRORS)
    if report.verdict is Verdict.UNSUPPORTED:
        return FindingChange(status=FindingStatus.NOT_CHECKED)
    then, now = _by_check(origin.difference), _by_check(report.mismatches)
    if not any(each.against == _EXPECT for each in origin.difference):  # an expectation was added to the case
        now = _by_check(each for each in report.mismatches if each.against != _EXPECT) or now
    untried = {each.check for each in origin.difference if not _is_made(report, each, is_tried)}
    checks = {check: _status(check, then, now, untried) for check in Check if check in then or check in now}
    return FindingChange(status=_overall(checks, report), checks=checks)


def _is_made(report: CaseReport, mismatch: Mismatch, is_tried: Callable[[str], bool]) -> bool:
    if not is_tried(mismatch.against):
        return False
    partly = mismatch.check is Check.METRICS and report.unsupported_metrics
    return (
        mismatch.kind not in report.unsupported_metrics if partly else mismatch.check not in report.unsupported_checks
    )


def _overall(checks: Mapping[Check, CheckStatus], report: CaseReport) -> FindingStatus:
    found = set(checks.values())
    if checks.get(Check.ERROR) is CheckStatus.NEW:
        return FindingStatus.NOW_ERRORS
    if found == {CheckStatus.STILL}:
        return FindingStatus.STILL_FAILS
    if report.verdict is Verdict.MISMATCH:
        return FindingStatus.CHANGED
    return FindingStatus.NOT_CHECKED if CheckStatus.NOT_CHECKED in found else FindingStatus.FIXED


def _status(
    check: Check, then: Mapping[Check, object], now: Mapping[Check, object], untried: set[Check]
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
