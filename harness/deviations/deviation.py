"""A known deviation of an engine: one entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from mergecheck.reference.outcome import Rejection

if TYPE_CHECKING:
    import datetime as dt
    import re
    from collections.abc import Iterable

    from packaging.specifiers import SpecifierSet

    from mergecheck.harness.deviations.expected import ExpectedDifference
    from mergecheck.harness.deviations.predicates import Predicate
    from mergecheck.harness.deviations.readings.judged import Judged, Phase, Reading
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.reference.case.model import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One entry.

    Attributes:
        versions: None for any, also one that is no version number.
        when: which cases it is about.
        difference: the mismatches that it explains.
        message: must be found in the engine's error, its class before its message; such an entry explains nothing
            if the engine does not fail. None for any answer.
        as_if: what the engine does instead; its answer must be exactly that. None: any answer that differs only in
            ``difference`` is explained.
        review: the day by which somebody should look at the entry again.
        case: a case that shows the deviation.
    """

    id: str
    engine: str
    versions: SpecifierSet | None
    when: Predicate
    difference: tuple[ExpectedDifference, ...]
    message: re.Pattern[str] | None
    as_if: Reading | None
    reason: str
    link: str
    review: dt.date
    case: Case

    def is_about(self, engine: str, version: str) -> bool:
        """Tell whether the entry speaks of this release."""
        if self.engine != engine or self.versions is None:
            return self.engine == engine
        try:
            return self.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return False

    @property
    def phase(self) -> Phase | None:
        """When its reading has its turn; None without a reading."""
        return None if self.as_if is None else self.as_if.phase

    def applied(self, now: Judged) -> Judged | None:
        """Apply its reading; None if that changes nothing, or if there is none."""
        return None if self.as_if is None else self.as_if.apply(now)

    def names_one_of(self, mismatches: Iterable[Mismatch]) -> bool:
        """Tell whether a difference of the entry is of the kind of one of the mismatches, which is quickly seen."""
        return any(wanted.names(mismatch) for mismatch in mismatches for wanted in self.difference)

    def fits(self, report: CaseReport) -> bool:
        """Tell whether the entry speaks of this engine and of cases like this one."""
        if not self.is_about(report.engine, report.engine_version) or not self.when.holds(report):
            return False
        if self.message is None:
            return True
        result = report.result
        return isinstance(result, Rejection) and bool(self.message.search(f"{result.error_class} {result.message}"))
