"""A run compared with an earlier one: its time, its verified cases, its work in vain, and the cases that fail."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.properties.limits import percent
from mergecheck.harness.properties.phases import PHASES
from mergecheck.harness.report.fuzz_figures import read_figures, work_from_json
from mergecheck.harness.verdict import UserInputError, Verdict
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mergecheck.harness.report.fuzz_figures import RunFigures
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.work_counts import WorkCounts

MIN_CASES = 30
"""Runs of fewer cases are not judged: one large table decides their speed."""
SLOWER = 2.0
"""A run is much slower if a case takes this many times as long. Two runs of one machine differ by a third or so."""
MIN_DROP = 0.05
STANDARD_ERRORS = 3.0
"""Much less is verified if the share drops by at least ``MIN_DROP``, and by more than other cases explain."""


@dataclass(frozen=True, slots=True)
class Share:
    """The share of an unwanted kind, such as cases that were not judged."""

    name: str
    bad: int
    total: int


def more_in_vain(before: WorkCounts, now: WorkCounts, *, is_same: bool) -> list[str]:
    """List the work of which more is in vain than before, in a sentence each.

    Args:
        before: the work of an earlier run.
        now: the later one's.
        is_same: whether both ran the same cases: then any more is more, otherwise what other cases do not explain.
    """
    is_same = is_same and (before.merges, before.merges_with_scans) == (now.merges, now.merges_with_scans)
    return [
        f"{later.bad:,} of {later.total:,} {later.name} in vain, {earlier.bad:,} of {earlier.total:,} before"
        for earlier, later in zip(_in_vain(before), _in_vain(now), strict=True)
        if (later.bad > earlier.bad if is_same else _is_larger(earlier, later))
    ]


def _in_vain(work: WorkCounts) -> tuple[Share, ...]:
    return (
        Share("files rewritten", work.files_rewritten_in_vain, work.files_rewritten),
        Share("rows copied", work.rows_copied_in_vain, work.rows_copied),
        Share("files read", work.files_scanned_in_vain, work.files_scanned),
    )


def _is_larger(before: Share, now: Share) -> bool:
    """Return whether a share has grown by more than other cases explain."""
    if not (before.total and now.total):
        return False
    growth = now.bad / now.total - before.bad / before.total
    if growth < MIN_DROP:
        return False
    together = (before.bad + now.bad) / (before.total + now.total)
    variance = together * (1 - together) * (1 / before.total + 1 / now.total)
    return growth > STANDARD_ERRORS * math.sqrt(variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs of one engine.

    Attributes:
        baseline: the earlier one.
        now: the one that has ended.
    """

    baseline: RunFigures
    now: RunFigures

    @property
    def is_judged(self) -> bool:
        """Whether both have enough cases."""
        return min(self.baseline.num_cases, self.now.num_cases) >= MIN_CASES

    def line(self) -> str:
        """Return the figures of both runs in one line."""
        before, now = self.baseline, self.now
        told = (
            f"baseline {before.name}: {before.cases_a_second:.1f} cases a second without shrinking, now "
            f"{now.cases_a_second:.1f}; verified {percent(before.verified_share)}, now {percent(now.verified_share)}"
        )
        return told if self.is_judged else f"{told}; too few cases to tell which is better (under {MIN_CASES})"

    def worse(self) -> tuple[str, ...]:
        """List the figures in which the run is much worse, a sentence each; empty if none is, or with too few cases."""
        if not self.is_judged:
            return ()
        found = []
        before, now = self.baseline, self.now
        if 0 < now.cases_a_second * SLOWER <= before.cases_a_second:
            found.append(f"a case takes {_times(before.cases_a_second, now.cases_a_second)} as long{self._phases()}")
        if self._verifies_less():
            found.append(
                f"{percent(now.verified_share)} of the cases were verified, {percent(before.verified_share)} before"
            )
        found += self._work_in_vain()
        return tuple(f"much worse than the baseline: {sentence}" for sentence in found)

    def _work_in_vain(self) -> list[str]:
        """List the work of which more is in vain: of the same cases any, of others more than these explain."""
        before, now = self.baseline, self.now
        is_same = before.seed is not None and (before.seed, before.num_cases) == (now.seed, now.num_cases)
        return more_in_vain(before.work, now.work, is_same=is_same)

    def _verifies_less(self) -> bool:
        runs = (self.baseline, self.now)
        return _is_larger(*(Share("cases", run.num_judged - run.num_verified, run.num_judged) for run in runs))

    def _phases(self) -> str:
        """Name the phases whose time a case has grown as much."""
        grown = []
        for phase in (phase for phase in PHASES if phase != "shrink"):
            before = self.baseline.phase_seconds.get(phase, 0.0) / self.baseline.num_cases
            now = self.now.phase_seconds.get(phase, 0.0) / self.now.num_cases
            if before > 0 and now >= SLOWER * before:
                grown.append(f"{phase} {_times(now, before)}")
        return f" ({', '.join(grown)})" if grown else ""


def read_baseline(path: Path, *, engine: str) -> RunFigures:
    """Read the run with which another run of an engine is compared.

    Raises:
        UserInputError: the file cannot be read, is no result of ``fuzz --json``, or is of another engine.
    """
    found = read_figures(path)
    if found.engine != engine:
        raise UserInputError(f"{path} is a run of engine {found.engine}, so it is no baseline for engine {engine}")
    return found


def _times(more: float, less: float) -> str:
    return f"{more / less:.1f} times"


class Word(Enum):
    """The state of a case against the known failures of a baseline."""

    REGRESSION = "regression"
    """it differs, and not as the baseline knows it; fails the run"""
    EXPECTED = "expected"
    """it differs with the fingerprint that the baseline has"""
    NOW_PASSING = "now passing"
    """it agrees, and the baseline knows a failure; fails the run until the entry goes"""
    QUARANTINED = "quarantined"
    """the baseline wants its result to decide nothing"""


FAILING = frozenset({Word.REGRESSION, Word.NOW_PASSING})


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRun:
    """An earlier run of saved cases.

    Attributes:
        name: the file that it was read from.
        work: the work by the id of the case.
        known: the fingerprint of each known failure, by the id of the case.
        quarantined: ids of cases whose result decides nothing.
    """

    name: str
    work: Mapping[str, WorkCounts]
    known: Mapping[str, str]
    quarantined: frozenset[str]

    def word(self, report: CaseReport) -> Word | None:
        """Return the state of a case; None if it agrees as before, or could not be judged."""
        if report.case.id in self.quarantined:
            return Word.QUARANTINED
        found, known = fingerprint(report), self.known.get(report.case.id)
        if found is not None:
            return Word.EXPECTED if str(found) == known else Word.REGRESSION
        return Word.NOW_PASSING if known is not None and _passes(report, known) else None

    def lines(self, reports: Iterable[CaseReport]) -> Iterator[str]:
        """Count the cases by word, and name those that fail the run."""
        words = [(report, self.word(report)) for report in reports]
        counts = ", ".join(f"{word.value} {sum(one is word for _, one in words)}" for word in Word)
        yield f"baseline {self.name}: {counts}"
        for report, word in words:
            if word is Word.REGRESSION:
                known = self.known.get(report.case.id)
                yield f"  {word.value}  {report.case.id}  {fingerprint(report)}{f'; known: {known}' if known else ''}"
            elif word is Word.NOW_PASSING:
                yield f"  {word.value}  {report.case.id}  take its entry out of {self.name}"

    def more_in_vain(self, reports: Iterable[CaseReport]) -> tuple[str, ...]:
        """List the cases of which more work is in vain now, in a sentence each."""
        known = [(report, self.work[report.case.id]) for report in reports if report.case.id in self.work]
        return tuple(
            f"more than in {self.name}: case {report.case.id}: {sentence}"
            for report, before in known
            if report.work is not None
            for sentence in more_in_vain(before, report.work, is_same=True)
        )


def _passes(report: CaseReport, known: str) -> bool:
    """Return whether a case agrees, also in what differed: without that comparison nothing is known."""
    if report.verdict is Verdict.BOTH_REJECTED:
        return True
    check = known.partition(": ")[2].partition(" ")[0]
    return report.verdict is Verdict.AGREE and any(made.check.value == check for made in report.compared)


def is_saved_run(path: Path) -> bool:
    """Return whether a file is a result of ``replay``, and not of ``fuzz``.

    Raises:
        UserInputError: the file cannot be read.
    """
    try:
        document = json.loads(read_ordinary(path))
    except OSError as error:
        raise UserInputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "cases" in document


class BadEntryError(ValueError):
    """An entry of a baseline decides nothing, or two decide different things."""


def _require_entry(case: Mapping[str, Any], first: Mapping[str, Any], name: str) -> None:
    """Check what decides about a case: a typing error would make a known failure a regression."""
    if not isinstance(case.get("quarantined", False), bool | str):
        raise BadEntryError(
            f"case {name}: quarantined must be true, false or the reason, given {case['quarantined']!r:.80}"
        )
    if not isinstance(case.get("fingerprint", ""), str):
        raise BadEntryError(f"case {name}: fingerprint must be a text, given {case['fingerprint']!r:.80}")
    if any(case.get(key) != first.get(key) for key in ("fingerprint", "quarantined")):
        raise BadEntryError(f"case {name} stands there twice, with different fingerprints or quarantines")


def read_saved_run(path: Path, *, engine: str) -> SavedRun:
    """Read what ``replay --json`` wrote, or as much of it as was kept: the engine, and cases by id.

    Raises:
        UserInputError: the file cannot be read, is no result of ``replay --json``, or is of another engine.
    """
    try:
        document = json.loads(read_ordinary(path))
        of_engine = str(document["engine"])
        cases: dict[str, Mapping[str, Any]] = {}
        for case in document["cases"]:
            name = str(case["id"])
            _require_entry(case, cases.setdefault(name, case), name)
        work = {name: work_from_json(case["work"]) for name, case in cases.items() if "work" in case}
        known = {name: case["fingerprint"] for name, case in cases.items() if "fingerprint" in case}
        quarantined = frozenset(name for name, case in cases.items() if case.get("quarantined"))
    except OSError as error:
        raise UserInputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f": {error}" if isinstance(error, BadEntryError) else ""
        message = f"{path} is no result of replay{reason}. Write one by: mergecheck replay CASES --json > {path.name}"
        raise UserInputError(message) from error
    if of_engine != engine:
        raise UserInputError(f"{path} is a run of engine {of_engine}, so it is no baseline for engine {engine}")
    return SavedRun(name=path.name, work=work, known=known, quarantined=quarantined)
