"""A run over a scope: every statement once, its differences become findings, its result goes into the journal."""

from __future__ import annotations

import importlib.metadata
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.lab.exhaustive.journal import (
    DEVIATES,
    DISPUTE,
    ORACLES,
    Entries,
    Header,
    Journal,
    StatementResult,
    has_content,
    parse_journal,
    read_journal,
    require_same,
    require_scope,
)
from mergecheck.harness.lab.exhaustive.pieces import ScopeStream
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.properties.statistics import Stop
from mergecheck.harness.report import events
from mergecheck.harness.report.event_json import finding_json
from mergecheck.harness.search.batching import differing_pairs
from mergecheck.harness.search.loop import Budget, Search
from mergecheck.harness.search.prefetch import prefetching
from mergecheck.harness.verdict import ExitCode, HarnessBugError, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.lab.exhaustive.pieces import Piece
    from mergecheck.harness.lab.exhaustive.scope import Scope
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

NO_ENGINE = "none"
RIGHT = frozenset({Verdict.AGREE.value, Verdict.BOTH_REJECTED.value, ORACLES})
"""How merges count that are as they must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhaustiveReport:
    """A run over a scope, with the results of earlier runs in its journal.

    Attributes:
        numbers: the statements that were asked for.
        results: those that are done, by number.
        stop: why the run ended. seconds: how long it took. num_new: merges of this run alone.
        saved: the findings of this process. found: all findings of the run, as ``fuzz --json`` writes them.
    """

    scope: Scope
    engine: str
    engine_version: str
    numbers: range
    results: dict[int, StatementResult]
    stop: Stop
    seconds: float
    num_new: int
    saved: tuple[events.FindingSaved, ...] = ()
    found: tuple[Mapping[str, Any], ...] = ()

    @property
    def merges(self) -> Counter[str]:
        """Merges by verdict."""
        return sum((Counter(result.merges) for result in self.results.values()), Counter())

    @property
    def num_lists(self) -> int:
        """The pairs of lists of rows for which all merges stand."""
        return sum(result.lists for result in self.results.values())

    @property
    def reasons(self) -> Counter[str]:
        """Merges without a verdict by reason."""
        return sum((Counter(result.reasons) for result in self.results.values()), Counter())

    @property
    def deviations(self) -> Counter[str]:
        """Statements by the known deviation that they show."""
        return Counter(name for result in self.results.values() for name in result.deviations)

    @property
    def findings(self) -> Counter[str]:
        """Statements by finding."""
        return Counter(name for result in self.results.values() for name in result.findings)

    @property
    def paths(self) -> Counter[str]:
        """Merges by path, as far as they are right."""
        return sum((Counter(result.paths) for result in self.results.values()), Counter())

    @property
    def missing_paths(self) -> tuple[str, ...]:
        """The paths that the whole scope has to take and no merge took; none if statements are left."""
        return () if self.left or not self.merges else tuple(path for path in self.scope.paths if not self.paths[path])

    @property
    def left(self) -> tuple[int, ...]:
        """The statements that are not done."""
        return tuple(number for number in self.numbers if number not in self.results)

    @property
    def code(self) -> ExitCode:
        """The exit code: a difference outweighs everything but an interrupt."""
        merges = self.merges
        if self.stop is Stop.INTERRUPTED:
            return ExitCode.INTERRUPTED
        if merges[Verdict.MISMATCH.value]:
            return ExitCode.MISMATCH
        if merges[DISPUTE] or merges[Verdict.ENGINE_ERROR.value]:
            return ExitCode.ENGINE
        is_whole = not self.left and not self.missing_paths
        verified = RIGHT if self.engine == NO_ENGINE else RIGHT - {ORACLES}  # an engine that refuses all shows nothing
        return ExitCode.AGREE if is_whole and any(merges[name] for name in verified) else ExitCode.INCONCLUSIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a scope is run.

    Attributes:
        numbers: of the statements.
        journal: the file of results; None for none.
        findings: the folder of findings.
    """

    numbers: range
    journal: Path | None
    findings: Path
    num_jobs: int = 1
    max_seconds: float | None = None


@dataclass(slots=True)
class _Open:
    """A statement some of whose pieces are done."""

    merges: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    deviations: set[str] = field(default_factory=set)
    findings: set[str] = field(default_factory=set)
    disputes: list[str] = field(default_factory=list)
    lists: int = 0
    num_pieces: int = 0


class _Results:
    """Puts the pieces of each statement together, and keeps the statement once its last piece is done."""

    def __init__(self, journal: Journal, stream: ScopeStream, findings: FindingsDirectory) -> None:
        self._journal = journal
        self._stream = stream
        self._findings = findings
        self._open: dict[int, _Open] = {}
        self._finished: Piece | None = None
        self._counted: Counter[str] = Counter()
        self.saved: list[events.FindingSaved] = []
        self.num_new = 0

    def __call__(self, event: events.Event) -> None:
        """Take an event of the search; the findings of a case come after it."""
        if isinstance(event, events.CaseChecked):
            self._close()
            self._add(event)
            counted = Counter(event.summary.counts.findings)
            self._note(set(counted - self._counted))
            self._counted = counted
        elif isinstance(event, events.FindingSaved):
            self.saved.append(event)
            self._journal.add_finding(finding_json(event))
            self._note({event.finding.id})
        elif isinstance(event, events.FindingRepeated):
            self._note({event.finding_id})
        elif isinstance(event, events.RunEnded) and event.summary.stop is not Stop.INTERRUPTED:
            self._close()

    def oracles_only(self, piece: Piece, path: str) -> None:
        """Keep a piece that no engine was asked about."""
        state = self._opened(piece)
        state.merges[ORACLES] += piece.num_pairs
        state.paths.update([path] if path else [])
        self._finished = piece
        self._close()

    def _add(self, event: events.CaseChecked) -> None:
        report = event.report
        piece = self._stream.pieces.pop(event.drawn)
        state = self._opened(piece)
        verdict = report.verdict.value
        if report.deviations:
            verdict = DEVIATES
            state.deviations |= set(report.deviations)
        # If the engine refuses even the first pair alone, the statement is the reason, and all pairs have it.
        is_refused = report.verdict is Verdict.UNSUPPORTED and bool(event.refusal)
        num_judged = piece.num_pairs if is_refused else event.num_pairs
        num_differing = 0
        if report.verdict is Verdict.MISMATCH:
            num_differing = len(differing_pairs(report)) or num_judged
            state.merges[Verdict.AGREE.value] += num_judged - num_differing
        state.merges[verdict] += num_differing or num_judged
        if report.reason:
            state.reasons[report.reason] += num_judged
        if num_judged < piece.num_pairs:
            state.merges[Verdict.UNSUPPORTED.value] += piece.num_pairs - num_judged
            state.reasons[event.refusal] += piece.num_pairs - num_judged
        if report.facts.path is not None and verdict == Verdict.AGREE.value:
            state.paths[report.facts.path.value] += 1
        self._finished = piece

    def _opened(self, piece: Piece) -> _Open:
        state = self._open.setdefault(piece.statement.number, _Open())
        state.num_pieces += 1
        state.lists += piece.num_lists
        state.merges[ORACLES] += piece.num_left
        self.num_new += piece.num_pairs + piece.num_left
        for dispute in piece.disputes:
            path = self._findings.set_aside("harness_bug", dispute.case, "\n".join(dispute.lines))
            state.disputes += [*dispute.lines, f"saved to {path}"]
            state.merges[DISPUTE] += 1
        return state

    def _note(self, findings: set[str]) -> None:
        if self._finished is not None:
            self._open[self._finished.statement.number].findings |= findings

    def _close(self) -> None:
        """Keep the statement of the last piece, if that was its last one."""
        piece = self._finished
        if piece is None:
            return
        self._finished = None
        state = self._open[piece.statement.number]
        if state.num_pieces < piece.num_pieces:
            return
        del self._open[piece.statement.number]
        self._journal.add(
            StatementResult(
                number=piece.statement.number,
                sql=piece.statement.sql,
                tables=piece.statement.tables.name,
                merges={name: number for name, number in state.merges.items() if number},
                lists=state.lists,
                reasons=dict(state.reasons),
                deviations=tuple(sorted(state.deviations)),
                findings=tuple(sorted(state.findings)),
                disputes=tuple(state.disputes),
                paths=dict(state.paths),
            )
        )


def run_scope(
    scope: Scope, checker: Checker, options: RunOptions, *, listener: events.Listener = lambda _: None
) -> ExhaustiveReport:
    """Run all statements of a range that the journal does not have, on an engine that is up.

    Args:
        scope: the scope.
        checker: has the engine, its known deviations and the reference.
        options: which statements, and for how long.
        listener: receives every event.

    Raises:
        UserInputError: the journal is of another run, or something cannot be written.
    """
    engine = checker.engine
    journal = _journal(scope, options, engine.name, engine.version)
    stream = ScopeStream(
        scope,
        [number for number in options.numbers if number not in journal.results],
        reference=checker.reference,
        dialect=engine.capabilities.dialect,
    )
    results = _Results(journal, stream, FindingsDirectory(options.findings))
    started = time.monotonic()
    checker = replace(checker, skip_reference_if_unsupported=True)
    with interrupts_kept(), prefetching(stream, checker, num_jobs=options.num_jobs) as prefetch:
        summary = Search(
            checker,
            prefetch,
            budget=Budget(max_cases=None, max_seconds=options.max_seconds),
            findings=FindingsDirectory(options.findings),
            listener=events.broadcast(results, listener),
        ).run()
    return ExhaustiveReport(
        scope=scope,
        engine=engine.name,
        engine_version=engine.version,
        numbers=options.numbers,
        results=_within(journal.results, options.numbers),
        stop=summary.stop,
        seconds=time.monotonic() - started,
        num_new=results.num_new,
        saved=tuple(results.saved),
        found=tuple(map(finding_json, results.saved)),
    )


def report_of(
    scope: Scope, entries: Entries, numbers: range, *, seconds: float = 0.0, num_new: int = 0
) -> ExhaustiveReport:
    """Report what other processes have checked, by their journal.

    Args:
        scope: the scope.
        entries: the journal.
        numbers: the statements that were asked for.
        seconds: how long it took.
        num_new: merges that were not checked before.
    """
    return ExhaustiveReport(
        scope=scope,
        engine=entries.header.engine,
        engine_version=entries.header.engine_version,
        numbers=numbers,
        results=_within(entries.results, numbers),
        stop=Stop.END,
        seconds=seconds,
        num_new=num_new,
        found=entries.findings,
    )


def run_parts_of_scope(
    scope: Scope, options: RunOptions, texts: Callable[[frozenset[int]], Iterator[str]]
) -> ExhaustiveReport:
    """Put together a scope whose parts other processes check.

    Args:
        scope: the scope.
        options: which statements.
        texts: yields the journal of each part with any of some statements.

    Raises:
        UserInputError: the journal is of another run than a part, or cannot be written.
        HarnessBugError: no part has a result.
    """
    started, num_new, journal = time.monotonic(), 0, None
    if options.journal is not None and has_content(options.journal):
        header = read_journal(options.journal).header
        require_scope(header, scope)
        journal = Journal(options.journal, header)
    done = frozenset() if journal is None else journal.results.keys()
    left = frozenset(options.numbers) - done
    for text in texts(left) if left else ():
        entries = parse_journal(text)
        journal = journal or Journal(options.journal, entries.header)
        require_same(options.journal or Path("the journal"), journal.header, entries.header)
        for finding in entries.findings:
            journal.add_finding(finding)
        for result in entries.results.values():
            journal.add(result)
            num_new += result.num_merges
    if journal is None:
        raise HarnessBugError("no part of the scope has a result")
    seconds = time.monotonic() - started
    return report_of(scope, journal.merged(), options.numbers, seconds=seconds, num_new=num_new)


def run_oracles(
    scope: Scope,
    reference: Callable[[Case], Reference],
    options: RunOptions,
    *,
    on_piece: Callable[[int], None] = lambda _: None,
) -> ExhaustiveReport:
    """Hold the row model against the reference, without an engine; the arguments are ``run_scope``'s."""
    version = importlib.metadata.version("mergecheck")
    journal = _journal(scope, options, NO_ENGINE, version)
    stream = ScopeStream(
        scope, [number for number in options.numbers if number not in journal.results], reference=reference
    )
    results = _Results(journal, stream, FindingsDirectory(options.findings))
    started, stop = time.monotonic(), Stop.END
    try:
        for piece, path in stream.judged():
            results.oracles_only(piece, path)
            on_piece(results.num_new)
            if options.max_seconds is not None and time.monotonic() - started >= options.max_seconds:
                stop = Stop.BUDGET
                break
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    return ExhaustiveReport(
        scope=scope,
        engine=NO_ENGINE,
        engine_version=version,
        numbers=options.numbers,
        results=_within(journal.results, options.numbers),
        stop=stop,
        seconds=time.monotonic() - started,
        num_new=results.num_new,
    )


def _journal(scope: Scope, options: RunOptions, engine: str, version: str) -> Journal:
    header = Header(
        scope=scope.name,
        digest=scope.digest,
        engine=engine,
        engine_version=version,
        mergecheck=importlib.metadata.version("mergecheck"),
    )
    return Journal(options.journal, header)


def _within(results: Mapping[int, StatementResult], numbers: Sequence[int]) -> dict[int, StatementResult]:
    return {number: results[number] for number in numbers if number in results}
