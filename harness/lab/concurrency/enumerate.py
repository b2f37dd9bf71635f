"""Every interleaving of a scenario, on an engine that can be stopped at points."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from mergecheck.harness.delta.read import newest_version
from mergecheck.harness.delta.write import write_target
from mergecheck.harness.engine import Point, PointKind, ReadingEngine
from mergecheck.harness.engines.spark.config import table_folder
from mergecheck.harness.lab.concurrency.explore import interleavings
from mergecheck.harness.lab.concurrency.history import Diary, Ending, EndingKind, read_history
from mergecheck.harness.lab.concurrency.judge import Judge
from mergecheck.harness.lab.concurrency.points import WHOLE_WRITE
from mergecheck.harness.lab.concurrency.scenario import do_other
from mergecheck.harness.lab.concurrency.turns import TurnScheduler
from mergecheck.harness.lab.sequences.steps import Merge
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.case import Case
from mergecheck.model.outcome import Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from mergecheck.harness.engine import InterleavedEngine, Written
    from mergecheck.harness.lab.concurrency.explore import Choose
    from mergecheck.harness.lab.concurrency.history import History
    from mergecheck.harness.lab.concurrency.judge import Verdict
    from mergecheck.harness.lab.concurrency.scenario import Scenario, Writer
    from mergecheck.harness.lab.concurrency.turns import Turn
    from mergecheck.harness.processes.time_limit import TimeLimit
    from mergecheck.reference import MergeReference

_SINCE_ANALYSIS = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
_CONFLICTS = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", _SINCE_ANALYSIS)
"""How the classes of errors begin with which a writer loses against another one (R-142, R-750)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleaving:
    """One interleaving of a scenario and its faults, if any."""

    scenario: Scenario
    history: History
    verdict: Verdict


def enumerate_interleavings(
    scenario: Scenario,
    engine: InterleavedEngine,
    reference: MergeReference,
    *,
    limit: TimeLimit = DEFAULT_LIMIT,
    interrupt: Callable[[], None] | None = None,
) -> Iterator[Interleaving]:
    """Run every interleaving of a scenario and judge it.

    Args:
        scenario: the table and its writers. Merges have the engine's points; the other writers, run by delta-rs, have
            one point.
        engine: runs the merges, each by a fork of it. If it reads tables, it reads what the writers left, too.
        reference: computes the results of the serial orders.
        limit: how long the writers of one interleaving may take.
        interrupt: ends the engine's work.

    Raises:
        EngineLateError: they take longer.
        EngineDownError: the engine does not support a merge of the scenario.
    """
    judge = Judge(
        target=scenario.target,
        writers=scenario.writers,
        reference=reference,
        conflicts=scenario.conflicts,
        may_give_up=not engine.capabilities.conflicts_by_rule,
    )
    with ExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(len(scenario.writers)))
        engines: dict[str, InterleavedEngine] = {}
        for writer in scenario.writers:
            if isinstance(writer.action, Merge):
                engines[writer.name] = fork = engine.fork()
                stack.callback(fork.close)
        reader = engine if isinstance(engine, ReadingEngine) else None
        run_one = partial(_run, scenario, engines=engines, executor=executor, limit=limit, reader=reader)

        def run(choose: Choose) -> History | None:
            with limit.over(interrupt):
                return run_one(choose)

        for history in interleavings(run):
            yield Interleaving(scenario=scenario, history=history, verdict=judge.judge(history))


def _run(
    scenario: Scenario,
    choose: Choose,
    *,
    engines: Mapping[str, InterleavedEngine],
    executor: ThreadPoolExecutor,
    limit: TimeLimit,
    reader: ReadingEngine | None,
) -> History | None:
    """Run the writers on a new table; None if the run was abandoned."""
    diary = Diary()
    with table_folder() as folder:
        path = folder / "target"
        write_target(scenario.target, path)
        bodies: dict[str, Callable[[Turn], Ending]] = {
            writer.name: _Body(
                writer=writer, scenario=scenario, path=path, diary=diary, engine=engines.get(writer.name)
            ).run
            for writer in scenario.writers
        }
        turns = TurnScheduler(executor=executor, newest=partial(newest_version, path), patience=limit.seconds)
        endings = turns.play(bodies, choose)
        if endings is None:
            return None
        return read_history(path, 0, endings, events=tuple(diary.events), reader=reader)


@dataclass(slots=True, kw_only=True)
class _Body:
    """The work of one writer in its thread.

    Attributes:
        started: the newest version when it started; an engine may analyse its statement there.
        versions_read: the versions that were the newest when it asked.
        newest_before: the newest version when it last began to commit.
    """

    writer: Writer
    scenario: Scenario
    path: Path
    diary: Diary
    engine: InterleavedEngine | None
    started: int = 0
    versions_read: list[int] = field(default_factory=list)
    newest_before: int = -1

    def run(self, turn: Turn) -> Ending:
        """Write the table and return the ending; ``turn`` is of one run, and so is what is kept here."""
        self.started, self.versions_read, self.newest_before = newest_version(self.path), [], -1
        if self.engine is None:
            return self._write(turn)
        ending = self._merge(turn, self.engine)
        self._say(ending.said())
        return ending

    def _write(self, turn: Turn) -> Ending:
        turn.wait(WHOLE_WRITE)
        read = newest_version(self.path)
        do_other(self.writer.action, self.path, self.scenario.target.schema)
        self._say(f"reads version {read} and commits version {read + 1}")
        return Ending(kind=EndingKind.COMMITTED, version=read + 1, read=read, newest=read + 1)

    def _merge(self, turn: Turn, engine: InterleavedEngine) -> Ending:
        assert isinstance(self.writer.action, Merge)  # noqa: S101 - only merges have an engine
        action = self.writer.action
        source = action.source if action.source.schema.columns else None
        case = Case(
            id=self.writer.name, target=self.scenario.target, source=source, sql=action.sql, conf=dict(action.conf)
        )
        answer = engine.run_in_steps(case, self.path, partial(self._at, turn))
        if isinstance(answer, Unsupported):
            raise EngineDownError(f"{engine.name} does not support the merge {self.writer.name}: {answer.reason}")
        return self._ended(answer)

    def _at(self, turn: Turn, point: Point) -> None:
        """Wait at a point, and note what the writer finds when it goes on: nobody else runs then."""
        turn.wait(point)
        newest = newest_version(self.path)
        if point.kind is PointKind.BEFORE_SNAPSHOT:
            self.versions_read.append(newest)
            self._say(f"reads version {newest}")
        elif point.kind is PointKind.BEFORE_COMMIT:
            self.newest_before = newest
            if point.version is not None and point.version <= newest:
                self._say(f"finds version {point.version} taken")

    def _ended(self, answer: Written | Rejection) -> Ending:
        newest, read = newest_version(self.path), next(iter(self.versions_read), 0)
        if isinstance(answer, Rejection):
            kind = EndingKind.CONFLICT if answer.error_class.startswith(_CONFLICTS) else EndingKind.REJECTED
            read = self.started if answer.error_class.startswith(_SINCE_ANALYSIS) else read
            return Ending(kind=kind, error=answer.error_class, read=read, newest=newest)
        if not answer.committed:
            return Ending(kind=EndingKind.NOTHING, row=answer.result_row, read=read, newest=newest)
        version = self.newest_before + 1  # nobody else has run since
        return Ending(kind=EndingKind.COMMITTED, version=version, row=answer.result_row, read=read, newest=newest)

    def _say(self, text: str) -> None:
        self.diary.note(self.writer.name, text)
