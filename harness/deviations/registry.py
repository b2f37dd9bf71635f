"""Known deviations of engines, as data: which cases, which difference, why, and the date of the last review.

An entry explains a mismatch only if its engine, its versions and its predicate fit and if some fitting entry names
every difference of the case. Anything else stays a finding. An entry with a bug model defines exactly the engine's
other behaviour: the answer is compared with the bug model's.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from mergecheck.harness.deviations.bug_models.catalogue import BUG_MODELS
from mergecheck.harness.deviations.bug_models.judged import KeptReference, Phase, judged
from mergecheck.harness.deviations.expected import CELLS, WHOLE_ROWS, parts_of
from mergecheck.harness.deviations.row_pairing import expecting_all_cells
from mergecheck.harness.verdict import EngineDownError, ExitCode, MergecheckError, Verdict
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    import datetime as dt
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from packaging.specifiers import SpecifierSet

    from mergecheck.harness.deviations.bug_models.judged import Ask, BugModel, Judged
    from mergecheck.harness.deviations.causes import Cause
    from mergecheck.harness.deviations.expected import ExpectedDifference
    from mergecheck.harness.deviations.predicates import Predicate
    from mergecheck.harness.engine import Capabilities, Engine
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.model.case import Case

_ORDER = {name: place for place, name in enumerate(BUG_MODELS)}


class StaleDeviationError(MergecheckError):
    """An entry does not describe its engine any more; the message names it and gives the next step."""

    exit_code = ExitCode.MISMATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """One entry.

    Attributes:
        versions: None for any, also one that is no version number.
        when: selects the entry's cases.
        difference: the mismatches that it explains.
        message: must be found in the engine's error, its class before its message; such an entry explains nothing
            if the engine does not fail. None for any answer.
        cause: further conditions on the case, and names the error must contain; None if ``when`` suffices.
        as_if: the engine's other behaviour; its answer must be exactly that. None: any answer that differs only in
            ``difference`` is explained.
        review: the day by which the entry should be reviewed.
        case: a case that shows the deviation.
    """

    id: str
    engine: str
    versions: SpecifierSet | None
    when: Predicate
    difference: tuple[ExpectedDifference, ...]
    message: re.Pattern[str] | None
    cause: Cause | None
    as_if: BugModel | None
    reason: str
    link: str
    review: dt.date
    case: Case

    def is_about(self, engine: str, version: str) -> bool:
        """Return whether the entry speaks of this release."""
        if self.engine != engine or self.versions is None:
            return self.engine == engine
        try:
            return self.versions.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return False

    def names_one_of(self, mismatches: Iterable[Mismatch]) -> bool:
        """Return whether a mismatch has the kind of the entry's difference, a cheap check."""
        return any(wanted.names(mismatch) for mismatch in mismatches for wanted in self.difference)

    def fits(self, report: CaseReport) -> bool:
        """Return whether the entry speaks of this engine and of cases like this one."""
        if not self.is_about(report.engine, report.engine_version) or not self.when.holds(report):
            return False
        if self.message is None:
            return True
        result = report.result
        if not isinstance(result, Rejection):
            return False
        error = f"{result.error_class} {result.message}"
        return bool(self.message.search(error)) and (self.cause is None or self.cause(report, error))


@dataclass(frozen=True, slots=True)
class Deviations:
    """All entries that a run knows.

    Attributes:
        ask: evaluates the cases that bug models take the engine to have run.
    """

    entries: tuple[Deviation, ...] = ()
    ask: Ask = field(default_factory=KeptReference, compare=False, repr=False)

    def explain(self, report: CaseReport, capabilities: Capabilities) -> tuple[Deviation, ...]:
        """Return the entries that together explain every difference of a mismatch; none if one is left over.

        Entries with a bug model are tried one by one, and together. A bug model is not applied to a difference between
        the engine's own answers; there such entries explain their ``difference``.

        Args:
            report: the engine's answer.
            capabilities: the engine's capabilities.
        """
        if report.verdict is not Verdict.MISMATCH:
            return ()
        found = self._explained(report, capabilities)
        name, _, version = capabilities.deviations_of.partition(" ")
        if found or not name:
            return found
        return self._explained(replace(report, engine=name, engine_version=version), capabilities)

    def _explained(self, report: CaseReport, capabilities: Capabilities) -> tuple[Deviation, ...]:
        answer = judged(report, self.ask, capabilities.dialect)
        if answer is None:
            return self._explaining_all(report.mismatches, self.entries, report)
        plain = tuple(entry for entry in self.entries if entry.as_if is None)
        read = [(entry, entry.as_if) for entry in self.entries if entry.as_if is not None and entry.fits(report)]
        read.sort(key=lambda pair: _ORDER[pair[1].name])
        rewrites = [pair for pair in read if pair[1].phase is Phase.REWRITE]
        repairs = [pair for pair in read if pair[1].phase is Phase.REPAIR]
        for used, rewritten in _rewritten(answer, rewrites):
            now, repaired = _repaired(rewritten, repairs)
            left = now.mismatches(capabilities) if used or repaired else report.mismatches
            rest = self._explaining_all(left, plain, report)
            if rest or not left:
                return (*used, *repaired, *rest)
        return ()

    def _explaining_all(
        self, mismatches: Sequence[Mismatch], entries: Sequence[Deviation], report: CaseReport
    ) -> tuple[Deviation, ...]:
        """Return the entries whose differences are together all of some mismatches; none if one is left over."""
        in_cells = [*mismatches, *(_in_cells(m) for m in mismatches if m.kind in WHOLE_ROWS)]
        fitting = [entry for entry in entries if entry.names_one_of(in_cells) and entry.fits(report)]
        explained: dict[str, Deviation] = {}
        for mismatch in mismatches:
            found = _explaining(mismatch, fitting, report)
            if not found:
                return ()
            explained.update((entry.id, entry) for entry in found)
        return tuple(explained.values())

    def annotated(self, report: CaseReport, capabilities: Capabilities) -> CaseReport:
        """Return the report with the ids of the entries that explain it."""
        found = self.explain(report, capabilities)
        return replace(report, deviations=tuple(entry.id for entry in found)) if found else report

    def of(self, engine: Engine) -> tuple[Deviation, ...]:
        """Return the entries about an engine."""
        name, _, version = engine.capabilities.deviations_of.partition(" ")
        return tuple(
            entry
            for entry in self.entries
            if entry.is_about(engine.name, engine.version) or (name and entry.is_about(name, version))
        )

    def named(self, ids: Iterable[str]) -> Deviations:
        """Return the entries of these ids alone."""
        wanted = set(ids)
        return replace(self, entries=tuple(entry for entry in self.entries if entry.id in wanted))

    def check_examples(self, engine: Engine, check: Callable[[Case, Engine], CaseReport]) -> None:
        """Require that every entry about an engine still describes it.

        Raises:
            StaleDeviationError: if the case of an entry agrees by now, or differs in another way; all are named.
            EngineDownError: if the engine fails on such a case.
        """
        stale = [
            _stale(entry, report)
            for entry in self.of(engine)
            if entry.id not in self._explaining_ids(report := _answered(entry, engine, check), engine.capabilities)
        ]
        if stale:
            advice = "Narrow the versions, mend the entry, or take it out; --no-deviations runs without any."
            raise StaleDeviationError("\n".join([*stale, advice]))

    def _explaining_ids(self, report: CaseReport, capabilities: Capabilities) -> set[str]:
        return {entry.id for entry in self.explain(report, capabilities)}

    def due(self, engine: Engine, today: dt.date) -> tuple[Deviation, ...]:
        """Return the entries about an engine whose review date has passed."""
        return tuple(entry for entry in self.of(engine) if entry.review < today)

    def link(self, deviation_id: str) -> str:
        """Return a link to more about an entry."""
        return next((entry.link for entry in self.entries if entry.id == deviation_id), "")

    def reason(self, deviation_id: str) -> str:
        """Return why an entry is there."""
        return next((entry.reason for entry in self.entries if entry.id == deviation_id), "")


def _rewritten(
    answer: Judged, rewrites: Sequence[tuple[Deviation, BugModel]]
) -> Iterator[tuple[tuple[Deviation, ...], Judged]]:
    """Apply every set of rewrites of which each changes something, small sets first, each in the given order."""
    waiting: deque[tuple[tuple[Deviation, ...], int, Judged]] = deque([((), 0, answer)])
    while waiting:
        used, first, now = waiting.popleft()
        yield used, now
        for place, (entry, bug_model) in enumerate(rewrites[first:], start=first):
            after = bug_model.apply(now)
            if after is not None:
                waiting.append(((*used, entry), place + 1, after))


def _repaired(now: Judged, repairs: Sequence[tuple[Deviation, BugModel]]) -> tuple[Judged, list[Deviation]]:
    """Apply repairs in the given order; those that change nothing are left out."""
    used = []
    for entry, bug_model in repairs:
        after = bug_model.apply(now)
        if after is not None:
            now = after
            used.append(entry)
    return now, used


def _explaining(mismatch: Mismatch, fitting: Sequence[Deviation], report: CaseReport) -> list[Deviation]:
    """Return the entries that name the parts of a mismatch, or the cells in which its rows differ; none if not all."""
    named = [_covering(mismatch, part, fitting, report) for part in parts_of(mismatch)]
    if all(named):
        return [entry for entries in named for entry in entries]
    if mismatch.kind not in (CELLS, *WHOLE_ROWS):
        return []
    cells = _in_cells(mismatch)
    expecting = expecting_all_cells(
        mismatch.check, report, lambda cell: _covering(cells, cell, fitting, report), against=mismatch.against
    )
    return [entry for entry in fitting if entry in expecting]


def _covering(mismatch: Mismatch, part: str, fitting: Sequence[Deviation], report: CaseReport) -> list[Deviation]:
    return [entry for entry in fitting if any(wanted.covers(mismatch, part, report) for wanted in entry.difference)]


def _in_cells(mismatch: Mismatch) -> Mismatch:
    """Take missing and extra rows for changed ones."""
    return replace(mismatch, kind=CELLS)


def _answered(entry: Deviation, engine: Engine, check: Callable[[Case, Engine], CaseReport]) -> CaseReport:
    report = check(entry.case, engine)
    if report.verdict is Verdict.ENGINE_ERROR:
        raise EngineDownError(f"the case of deviation {entry.id!r} could not be run: {report.reason}")
    return report


def _stale(entry: Deviation, report: CaseReport) -> str:
    found = ", ".join(f"{m.check.value} {m.kind}" for m in report.mismatches) or report.reason
    return (
        f"deviation {entry.id!r} no longer describes {report.engine} {report.engine_version}: its case must differ in "
        f"{', '.join(wanted.what for wanted in entry.difference)}, but its verdict is {report.verdict.value}"
        + (f" ({found})" if found else "")
    )
