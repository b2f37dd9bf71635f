"""Every interleaving of a scenario, on an engine that can be stopped at points."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from mergecheck.harness.engine import Lost, Point, PointKind, ReadingEngine, TableKeepingEngine
from mergecheck.harness.engines.spark.config import table_folder
from mergecheck.harness.lab.concurrency.explore import interleavings
from mergecheck.harness.lab.concurrency.history import Diary, Ending, EndingKind
from mergecheck.harness.lab.concurrency.judge import Judge
from mergecheck.harness.lab.concurrency.points import WHOLE_WRITE
from mergecheck.harness.lab.concurrency.scenario import Isolation
from mergecheck.harness.lab.concurrency.tables import DeltaScenarioTable, KeptTable, RefusedError
from mergecheck.harness.lab.concurrency.turns import TurnScheduler
from mergecheck.harness.lab.sequences.steps import Merge
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
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
    from mergecheck.harness.lab.concurrency.tables import ScenarioTable
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
    isolation: Isolation = Isolation.SERIALIZABLE,
    limit: TimeLimit = DEFAULT_LIMIT,
    interrupt: Callable[[], None] | None = None,
) -> Iterator[Interleaving]:
    """Run every interleaving of a scenario and judge it.

    Args:
        scenario: the table and its writers. Merges have the engine's points; the other writers have one point. Delta
            tables are written by delta-rs there.
        engine: runs the merges, each by a fork of it. If it reads tables, it reads what the writers left, too.
        reference: computes the results of the serial orders.
        isolation: the level of the table.
        limit: how long the writers of one interleaving may take.
        interrupt: ends the engine's work.

    Raises:
        EngineLateError: they take longer.
        RefusedError: the engine does not support the table or a merge of the scenario.
    """
    if isinstance(engine, TableKeepingEngine) and not scenario.fits_any_engine:
        raise RefusedError(f"{engine.name} has no Delta table, which a writer needs")
    if not engine.capabilities.cdf:
        scenario = scenario.without_change_feed()
    judge = Judge(
        target=scenario.target,
        writers=scenario.writers,
        reference=reference,
        isolation=isolation,
        conflicts=scenario.conflicts,
        # Under WriteSerializable Delta records a commit that changes nothing; the reference predicts none.
        commits_by_rule="commit" not in engine.capabilities.reasons and isolation is not Isolation.WRITE_SERIALIZABLE,
        may_give_up=not engine.capabilities.conflicts_by_rule,
        by_class=engine.capabilities.error_class,
        must_give_up=engine.capabilities.error_class and isolation is Isolation.SERIALIZABLE,
    )
    with ExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(len(scenario.writers)))
        engines: dict[str, InterleavedEngine] = {}
        for writer in scenario.writers:
            if isinstance(writer.action, Merge):
                engines[writer.name] = fork = engine.fork()
                stack.callback(fork.close)
        run_one = partial(_run, scenario, engine, engines=engines, executor=executor, limit=limit, isolation=isolation)

        def run(choose: Choose) -> History | None:
            with limit.over(interrupt):
                return run_one(choose)

        for history in interleavings(run):
            yield Interleaving(scenario=scenario, history=history, verdict=judge.judge(history))


def _run(
    scenario: Scenario,
    engine: InterleavedEngine,
    choose: Choose,
    *,
    engines: Mapping[str, InterleavedEngine],
    executor: ThreadPoolExecutor,
    limit: TimeLimit,
    isolation: Isolation,
) -> History | None:
    """Run the writers on a new table; None if the run was abandoned."""
    diary = Diary()
    with table_folder() as folder:
        path = folder / "target"
        table = _table_of(engine, path, scenario, isolation)
        table.make()
        bodies: dict[str, Callable[[Turn], Ending]] = {
            writer.name: _Body(
                writer=writer, scenario=scenario, path=path, table=table, diary=diary, engine=engines.get(writer.name)
            ).run
            for writer in scenario.writers
        }
        turns = TurnScheduler(executor=executor, newest=table.newest, patience=limit.seconds)
        endings = turns.play(bodies, choose)
        return None if endings is None else table.history(endings, tuple(diary.events))


def _table_of(engine: InterleavedEngine, path: Path, scenario: Scenario, isolation: Isolation) -> ScenarioTable:
    if isinstance(engine, TableKeepingEngine):
        return KeptTable(engine=engine, target=scenario.target, isolation=isolation)
    reader = engine if isinstance(engine, ReadingEngine) else None
    return DeltaScenarioTable(path=path, target=scenario.target, isolation=isolation, reader=reader)


@dataclass(slots=True, kw_only=True)
class _Body:
    """The work of one writer in its thread.

    Attributes:
        started: the newest version when it started; an engine may analyse its statement there.
        versions_read: the versions that were the newest when it asked.
        newest_before: the newest version when it last left a point before its commit; no other writer has run since.
    """

    writer: Writer
    scenario: Scenario
    path: Path
    table: ScenarioTable
    diary: Diary
    engine: InterleavedEngine | None
    started: int = 0
    versions_read: list[int] = field(default_factory=list)
    newest_before: int = -1

    def run(self, turn: Turn) -> Ending:
        """Write the table and return the ending; ``turn`` is of one run, and so is what is kept here."""
        self.started, self.versions_read, self.newest_before = self.table.newest(), [], -1
        if self.engine is None:
            return self._write(turn)
        ending = self._merge(turn, self.engine)
        self._say(ending.said())
        return ending

    def _write(self, turn: Turn) -> Ending:
        turn.wait(WHOLE_WRITE)
        read = self.table.newest()
        self.table.write(self.writer.action, self.scenario.target.schema)
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
            raise RefusedError(f"{engine.name} does not support the merge {self.writer.name}: {answer.reason}")
        return self._ended(answer)

    def _at(self, turn: Turn, point: Point) -> None:
        """Wait at a point, and note what the writer finds when it goes on: nobody else runs then."""
        turn.wait(point)
        newest = self.table.newest()
        if point.kind is not PointKind.AFTER_COMMIT:  # its own version is there by then
            self.newest_before = newest
        if point.kind is PointKind.BEFORE_SNAPSHOT:
            self.versions_read.append(newest)
            self._say(f"reads version {newest}")
        elif point.kind is PointKind.BEFORE_COMMIT and point.version is not None and point.version <= newest:
            self._say(f"finds version {point.version} taken")

    def _ended(self, answer: Written | Lost | Rejection) -> Ending:
        newest, read = self.table.newest(), next(iter(self.versions_read), 0)
        if isinstance(answer, Lost):
            return Ending(kind=EndingKind.CONFLICT, error=answer.error_class, read=read, newest=newest)
        if isinstance(answer, Rejection):
            kind = EndingKind.CONFLICT if answer.error_class.startswith(_CONFLICTS) else EndingKind.REJECTED
            read = self.started if answer.error_class.startswith(_SINCE_ANALYSIS) else read
            return Ending(kind=kind, error=answer.error_class, read=read, newest=newest)
        if not answer.committed:
            return Ending(kind=EndingKind.NOTHING, row=answer.result_row, read=read, newest=newest)
        version = self.newest_before + 1
        return Ending(kind=EndingKind.COMMITTED, version=version, row=answer.result_row, read=read, newest=newest)

    def _say(self, text: str) -> None:
        self.diary.note(self.writer.name, text)
