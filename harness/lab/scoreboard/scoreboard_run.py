"""Features x engines from one stream of random cases: agreement, deviations and unsupported cases."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.checker import Checker
from mergecheck.harness.engines.registry import engine_name
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.origin import origin_of
from mergecheck.harness.findings.shrink.shrinker import Attempts, ShrinkLimits, shrink
from mergecheck.harness.lab.scoreboard.features import features_of
from mergecheck.harness.lab.scoreboard.majority_vote import votes
from mergecheck.harness.oracles.engine_call import run_limited
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.oracles.reference_oracle import prepare
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.harness.properties.statistics import SeenWork
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.search.session import WARM_UP, rerun_on
from mergecheck.harness.verdict import EngineDownError, Verdict
from mergecheck.model.case_id import with_content_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.findings.store import FindingsDirectory
    from mergecheck.harness.lab.scoreboard.majority_vote import Vote
    from mergecheck.harness.oracles.prepared_case import PreparedCase
    from mergecheck.harness.verdict import CaseReport, Rerun
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.dialects import Dialect

    Evaluate = Callable[[Case], Reference]

SHRINK_SECONDS = 30.0
_SHRINK_RUNS = 150


class Answer(Enum):
    """What became of a case on an engine."""

    AGREE = "agree"
    DEVIATES = "deviates"
    UNSUPPORTED = "unsupported"
    MISMATCH = "mismatch"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A way in which an engine differs, with its smallest known case.

    Attributes:
        column: the name of the column, see there.
        deviations: ids of known deviations; empty if it is not explained.
        hypotheses: hypotheses that the engine's result implies.
        votes: the votes on the minimal case; empty where fewer than three parties answered.
    """

    column: str
    engine: str
    what: str
    report: CaseReport
    deviations: tuple[str, ...]
    votes: tuple[Vote, ...]
    path: Path | None
    hypotheses: tuple[str, ...] = ()


@dataclass(slots=True)
class Column:
    """One engine's results over the stream.

    Attributes:
        cells: answers by feature. totals: answers over all cases. not_checked: cases by check not made.
        unsupported: cases by reason.
        seen: cases by difference. seen_in: the same for each difference by feature.
        work: the work of its merges whose rows are right.
        evaluate: the reference, by the engine's rules.
        rerun: the options that check a case on this engine again.
        down: why the engine ended before the stream, empty if it did not.
    """

    engine: Engine
    rerun: Rerun
    evaluate: Evaluate
    cells: dict[str, Counter[Answer]] = field(default_factory=dict)
    totals: Counter[Answer] = field(default_factory=Counter)
    not_checked: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    seen_in: dict[str, Counter[str]] = field(default_factory=dict)
    work: SeenWork = field(default_factory=SeenWork)
    down: str = ""

    @property
    def name(self) -> str:
        """What started the engine, with its release: two releases of one engine are two columns."""
        return self.rerun.engine

    def add(self, report: CaseReport, features: Iterable[str]) -> Answer:
        """Count one case."""
        answer = answer_of(report)
        self.totals[answer] += 1
        for feature in features:
            self.cells.setdefault(feature, Counter())[answer] += 1
        if answer is Answer.UNSUPPORTED:
            self.unsupported[report.reason] += 1
        self.not_checked.update(check.value for check in report.unsupported_checks)
        self.work = self.work.plus(report)
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The result of a run.

    Attributes:
        features_off: names of the features that no case was drawn with.
        interrupted: whether it was stopped by hand.
    """

    seed: int
    features_off: tuple[str, ...]
    num_cases: int
    seconds: float
    columns: tuple[Column, ...]
    differences: tuple[Difference, ...]
    interrupted: bool = False


def answer_of(report: CaseReport) -> Answer:
    """Sort a report into a cell; that both sides reject a statement is agreement."""
    if report.verdict is Verdict.MISMATCH:
        return Answer.DEVIATES if report.deviations else Answer.MISMATCH
    return {
        Verdict.AGREE: Answer.AGREE,
        Verdict.BOTH_REJECTED: Answer.AGREE,
        Verdict.JUDGED_IN_PART: Answer.UNSUPPORTED,
        Verdict.UNSUPPORTED: Answer.UNSUPPORTED,
        Verdict.ENGINE_ERROR: Answer.ERROR,
    }[report.verdict]


class MatrixRun:
    """One stream of cases on several engines.

    Args:
        engines: they are up.
        names: what starts each of them; None for the names of their classes.
        deviations: their known deviations.
        findings: where minimal cases are kept.
        reference: gives the reference for an engine; engines that take a row with several matches alike share one.
        listener: receives the number of checked cases.
        shrink_seconds: time limit for shrinking the case of one difference.
    """

    def __init__(
        self,
        engines: Sequence[Engine],
        *,
        names: Sequence[str] | None = None,
        deviations: Deviations,
        findings: FindingsDirectory,
        reference: Callable[[Engine], Evaluate],
        listener: Callable[[int, tuple[Column, ...]], None] = lambda _number, _columns: None,
        shrink_seconds: float = SHRINK_SECONDS,
    ) -> None:
        named = zip(engines, names or map(engine_name, engines), strict=True)
        self._columns = tuple(
            Column(engine, rerun_on(name, deviations=deviations), reference(engine)) for engine, name in named
        )
        self._deviations = deviations
        self._findings = findings
        self._listener = listener
        self._limits = ShrinkLimits(max_seconds=shrink_seconds, max_runs=_SHRINK_RUNS)
        self._differences: dict[tuple[str, str], Difference] = {}
        self._num_cases = 0

    def run(
        self,
        cases: Iterable[tuple[Case, frozenset[str]]],
        *,
        seed: int,
        max_cases: int | None,
        max_seconds: float | None,
        features_off: Sequence[str] = (),
    ) -> Matrix:
        """Check cases on every engine that is still up until the budget is spent.

        Args:
            cases: the stream: each case with the labels of its content.
            seed: where the stream comes from.
            max_cases: None for no limit.
            max_seconds: None for no limit.
            features_off: features that the stream does not draw, for the record.
        """
        for column in self._columns:
            self._guarded(column, lambda column=column: run_limited(column.engine, WARM_UP, DEFAULT_LIMIT))  # type: ignore[misc]
        started, interrupted = time.monotonic(), False
        try:
            for case, labels in cases:
                spent = max_seconds is not None and time.monotonic() - started >= max_seconds
                if spent or self._num_cases == max_cases or all(column.down for column in self._columns):
                    break
                self._check(with_content_id(case), features_of(case, labels))
                self._num_cases += 1
                self._listener(self._num_cases, self._columns)
        except KeyboardInterrupt:
            interrupted = True
        return Matrix(
            seed=seed,
            features_off=tuple(features_off),
            num_cases=self._num_cases,
            seconds=time.monotonic() - started,
            columns=self._columns,
            differences=tuple(self._differences.values()),
            interrupted=interrupted,
        )

    def _check(self, case: Case, features: tuple[str, ...]) -> None:
        prepared = self._prepared(case)
        for column in self._columns:
            if column.down:
                continue
            report = self._checker(column).check(prepared[column.engine.capabilities.dialect])
            answer = column.add(report, features)
            if answer is Answer.ERROR:
                self._guarded(column, lambda column=column: run_limited(column.engine, WARM_UP, DEFAULT_LIMIT))  # type: ignore[misc]
            elif answer in (Answer.DEVIATES, Answer.MISMATCH):
                self._difference(column, report, features)

    def _prepared(self, case: Case) -> dict[Dialect, PreparedCase]:
        """Ask the reference once for all engines that have the same rules."""
        found: dict[Dialect, PreparedCase] = {}
        for column in self._columns:
            rules = column.engine.capabilities.dialect
            if not column.down and rules not in found:
                with interrupts_kept():
                    found[rules] = prepare(case, reference=column.evaluate, timer=PhaseTimer())
        return found

    def _difference(self, column: Column, report: CaseReport, features: tuple[str, ...]) -> None:
        what = ", ".join(report.deviations) if report.deviations else str(fingerprint(report))
        column.seen[what] += 1
        column.seen_in.setdefault(what, Counter()).update(features)
        key = (column.name, what)
        if key in self._differences:
            return
        smallest = self._smallest(self._checker(column), report)
        named = with_content_id(smallest.case)
        origin = origin_of(smallest, found_by="matrix", engine=column.name)
        hypotheses = self._checker(column).hypotheses(smallest)
        text = mismatch_report(case_document(smallest, where=self._findings.path_of(named.id), hypotheses=hypotheses))
        path = self._findings.save(named, text, origin)
        self._differences[key] = Difference(
            column=column.name,
            engine=column.engine.name,
            what=what,
            report=smallest,
            deviations=report.deviations,
            votes=self._votes(named),
            path=path,
            hypotheses=hypotheses,
        )

    def _smallest(self, checker: Checker, report: CaseReport) -> CaseReport:
        """Shrink on the engine itself, within a bound of time; the same deviations must explain every step."""

        def check(case: Case) -> CaseReport:
            found = checker.check_case(case)
            same = set(found.deviations) == set(report.deviations)
            return _unexplained(found) if same else _agreeing(found)

        return shrink(Attempts(_unexplained(report), check=check, limits=self._limits))

    def _votes(self, case: Case) -> tuple[Vote, ...]:
        prepared = self._prepared(case)
        up = [self._checker(column) for column in self._columns if not column.down]
        reports = [checker.check(prepared[checker.engine.capabilities.dialect]) for checker in up]
        return votes(reports, [checker.engine.capabilities for checker in up]) if reports else ()

    def _checker(self, column: Column) -> Checker:
        return Checker(engine=column.engine, deviations=self._deviations, reference=column.evaluate, rerun=column.rerun)

    def _guarded(self, column: Column, run: Callable[[], object]) -> None:
        """Find out whether an engine is up; the others go on without one that is not."""
        try:
            with interrupts_kept():
                run()
        except EngineDownError as error:
            column.down = str(error)


def _unexplained(report: CaseReport) -> CaseReport:
    return replace(report, deviations=())


def _agreeing(report: CaseReport) -> CaseReport:
    """Make a candidate that fell out of its deviation one that shows nothing."""
    return replace(report, verdict=Verdict.AGREE, mismatches=())
