"""Every interleaving of a scenario, on the merge of this project: its points are the steps of ``TableLogs``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mergecheck.harness.delta.read import newest_version
from mergecheck.harness.delta.write import write_source, write_target
from mergecheck.harness.engines.spark.config import table_folder
from mergecheck.harness.engines.spark.session import Profile, another_session, apply_profile, settings_of
from mergecheck.harness.lab.concurrency.explore import interleavings
from mergecheck.harness.lab.concurrency.history import Diary, Ending, EndingKind, read_history
from mergecheck.harness.lab.concurrency.judge import Judge
from mergecheck.harness.lab.concurrency.points import Point, PointKind
from mergecheck.harness.lab.concurrency.scenario import do_other
from mergecheck.harness.lab.concurrency.scheduled_logs import ScheduledLogs
from mergecheck.harness.lab.concurrency.turns import TurnScheduler
from mergecheck.harness.lab.sequences.steps import Merge
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.merge import merge_sql
from mergecheck.merge.errors import ConcurrentModificationError, MergeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mergecheck.harness.lab.concurrency.explore import Choose
    from mergecheck.harness.lab.concurrency.history import History
    from mergecheck.harness.lab.concurrency.judge import Verdict
    from mergecheck.harness.lab.concurrency.scenario import Scenario, Writer
    from mergecheck.harness.lab.concurrency.turns import Turn
    from mergecheck.harness.processes.time_limit import TimeLimit
    from mergecheck.merge.command import MergeResult
    from mergecheck.reference import MergeReference

_RESULT_COLUMNS = ("num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleaving:
    """One interleaving of a scenario and its faults, if any."""

    scenario: Scenario
    history: History
    verdict: Verdict


def enumerate_interleavings(
    scenario: Scenario,
    spark: SparkSession,
    reference: MergeReference,
    *,
    limit: TimeLimit = DEFAULT_LIMIT,
    interrupt: Callable[[], None] | None = None,
) -> Iterator[Interleaving]:
    """Run every interleaving of a scenario and judge it.

    Args:
        scenario: the table and its writers. Merges have a point before each read and each try to write the log; the
            other writers, run by delta-rs, have one point.
        spark: a session; each merge gets another one on the same Spark.
        reference: computes the results of the serial orders.
        limit: how long the writers of one interleaving may take.
        interrupt: ends what runs on Spark.

    Raises:
        EngineLateError: they take longer.
    """
    judge = Judge(target=scenario.target, writers=scenario.writers, reference=reference, conflicts=scenario.conflicts)
    sessions = {writer.name: _session(spark) for writer in scenario.writers if isinstance(writer.action, Merge)}
    with ThreadPoolExecutor(len(scenario.writers)) as executor, table_folder() as folder:
        sources = _write_sources(scenario, folder)
        run_one = partial(_run, scenario, sessions=sessions, sources=sources, executor=executor, limit=limit)

        def run(choose: Choose) -> History | None:
            with limit.over(interrupt):
                return run_one(choose)

        for history in interleavings(run):
            yield Interleaving(scenario=scenario, history=history, verdict=judge.judge(history))


def _session(spark: SparkSession) -> SparkSession:
    session = another_session(spark)
    apply_profile(session, Profile.TINY)
    return session


def _write_sources(scenario: Scenario, folder: Path) -> Mapping[str, Path]:
    sources: dict[str, Path] = {}
    for writer in scenario.writers:
        if isinstance(writer.action, Merge) and writer.action.source.schema.columns:
            sources[writer.name] = folder / writer.name
            write_source(writer.action.source, sources[writer.name])
    return sources


def _run(
    scenario: Scenario,
    choose: Choose,
    *,
    sessions: Mapping[str, SparkSession],
    sources: Mapping[str, Path],
    executor: ThreadPoolExecutor,
    limit: TimeLimit,
) -> History | None:
    """Run the writers on a new table; None if the run was abandoned."""
    diary = Diary()
    with table_folder() as folder:
        path = folder / "target"
        write_target(scenario.target, path)
        bodies: dict[str, Callable[[Turn], Ending]] = {
            writer.name: _Body(
                writer=writer,
                scenario=scenario,
                path=path,
                diary=diary,
                spark=sessions.get(writer.name),
                source=sources.get(writer.name),
            ).run
            for writer in scenario.writers
        }
        turns = TurnScheduler(executor=executor, newest=partial(newest_version, path), patience=limit.seconds)
        endings = turns.play(bodies, choose)
        return None if endings is None else read_history(path, 0, endings, events=tuple(diary.events))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """The work of one writer in its thread."""

    writer: Writer
    scenario: Scenario
    path: Path
    diary: Diary
    spark: SparkSession | None
    source: Path | None

    def run(self, turn: Turn) -> Ending:
        """Write the table and return the ending."""
        if self.spark is None:
            return self._write(turn)
        ending = self._merge(turn, self.spark)
        if ending.kind is not EndingKind.COMMITTED:
            self._say(ending.said())
        return ending

    def _write(self, turn: Turn) -> Ending:
        turn.wait(Point(PointKind.WRITE))
        read = newest_version(self.path)
        do_other(self.writer.action, self.path, self.scenario.target.schema)
        self._say(f"reads version {read} and commits version {read + 1}")
        return Ending(kind=EndingKind.COMMITTED, version=read + 1, read=read, newest=read + 1)

    def _merge(self, turn: Turn, spark: SparkSession) -> Ending:
        assert isinstance(self.writer.action, Merge)  # noqa: S101 - only merges have a session
        logs = ScheduledLogs(path=str(self.path), wait=turn.wait, said=self._say)
        tables = {"target": str(self.path)} | ({} if self.source is None else {"source": str(self.source)})
        try:
            with settings_of(spark, self.writer.action.conf):
                result = merge_sql(spark, self.writer.action.sql, tables=tables, interleaved=True, logs=logs)
        except MergeError as error:
            kind = EndingKind.CONFLICT if isinstance(error, ConcurrentModificationError) else EndingKind.REJECTED
            return self._ended(kind, logs, error=error.error_class)
        kind = EndingKind.NOTHING if result.version is None else EndingKind.COMMITTED
        return self._ended(kind, logs, result=result)

    def _ended(
        self, kind: EndingKind, logs: ScheduledLogs, *, result: MergeResult | None = None, error: str = ""
    ) -> Ending:
        row = None if result is None or result.row is None else dict(zip(_RESULT_COLUMNS, result.row, strict=True))
        return Ending(
            kind=kind,
            version=None if result is None else result.version,
            error=error,
            row=row,
            read=next(iter(logs.versions_read), 0),
            newest=newest_version(self.path),
        )

    def _say(self, text: str) -> None:
        self.diary.note(self.writer.name, text)
