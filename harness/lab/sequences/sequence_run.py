"""Run a sequence: every step on the table that the steps before it left, compared after every step."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
from deltalake.exceptions import DeltaError

from mergecheck.harness.compare.evolution import row_converter
from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.delta.change_feed import change_rows
from mergecheck.harness.delta.read import newest_version, read_table
from mergecheck.harness.delta.write import UnwritableTableError, write_target
from mergecheck.harness.engine import ExistingTableEngine, InterruptibleEngine, ReadingEngine
from mergecheck.harness.engines.spark.config import table_folder
from mergecheck.harness.lab.sequences.bound_engine import BoundEngine
from mergecheck.harness.lab.sequences.expected import (
    StepNotDoneError,
    UnpredictableStepError,
    Version,
    expected,
    widened,
)
from mergecheck.harness.lab.sequences.maintenance import maintain
from mergecheck.harness.lab.sequences.report import Ending, SequenceReport, StopError
from mergecheck.harness.lab.sequences.steps import Merge, Restore
from mergecheck.harness.lab.sequences.turns import DELTA_RS, HARNESS, TurnCounts, differing_rows, misread
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT, EngineLateError
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case import Case
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Prediction
from mergecheck.model.storage import Statistics, Vectors
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mergecheck.harness.delta.read import TableState
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.lab.sequences.expected import Expected, OtherStep
    from mergecheck.harness.lab.sequences.steps import Sequence, Step
    from mergecheck.harness.processes.time_limit import TimeLimit
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema


def run_sequence(
    sequence: Sequence,
    engine: Engine,
    writers: Mapping[str, Engine] | None = None,
    *,
    limit: TimeLimit = DEFAULT_LIMIT,
) -> SequenceReport:
    """Do the steps one after the other, then compare the whole change feed with the expected changes of the steps.

    Args:
        sequence: the table and its steps.
        engine: does the merges, see ``ExistingTableEngine``.
        writers: the engines that the sequence names, by their names; those that can read read the table after every
            step. delta-rs does all other steps, or the engine that maintains the table.
        limit: how long an engine may take for a step, and to read the table.

    Returns:
        The first disagreement, if there is one. Ctrl+C raises KeyboardInterrupt, even if an engine swallows it.
    """
    lacking = [each.name for each in (engine, *(writers or {}).values()) if not isinstance(each, ExistingTableEngine)]
    if lacking:
        reason = f"{lacking[0]} cannot merge into a table that is there already"
        return SequenceReport(sequence=sequence, ending=Ending.UNSUPPORTED, num_steps=0, reason=reason)
    with table_folder() as folder, interrupts_kept():
        run = _Run(sequence, engine=engine, writers=writers or {}, path=folder / "target", limit=limit)
        done = 0
        try:
            run.create()
            for done, step in enumerate(sequence.steps, start=1):  # noqa: B007 - told by the report
                run.do(step)
            mismatches = run.feed_mismatches()
        except StopError as stop:
            return SequenceReport(
                sequence=sequence,
                ending=stop.ending,
                num_steps=done,
                report=stop.report,
                mismatches=stop.mismatches,
                reason=stop.reason,
                pair=stop.pair,
                turns=run.turns,
            )
    ending = Ending.MISMATCH if mismatches else Ending.AGREES
    return SequenceReport(sequence=sequence, ending=ending, num_steps=done, mismatches=mismatches, turns=run.turns)


class _Run:
    """The table under way, and what its change feed must hold so far."""

    def __init__(
        self, sequence: Sequence, *, engine: Engine, writers: Mapping[str, Engine], path: Path, limit: TimeLimit
    ) -> None:
        self.turns = TurnCounts()
        self._limit = limit
        self._engine = engine
        self._maintainer = sequence.maintainer
        self._writers = writers
        self._last = HARNESS
        self._is_feed_known = True
        self._own: tuple[Case, ExistingTableEngine] | None = None  # the last merge that was wrong on a fresh table, too
        self._path = path
        self._target = sequence.target
        self._first = 0
        self._feed: list[tuple[Row, Schema]] = []  # change rows, and the table's columns when they were written
        self._versions: list[Version] = []
        self._reference = MergeReference()

    def create(self) -> None:
        """Write the table, which has several versions at once if its rows have had their ids for long."""
        try:
            write_target(self._target, self._path)
        except UnwritableTableError as error:
            raise StopError(Ending.UNSUPPORTED, reason=f"table: {error}") from error
        self._first = newest_version(self._path)
        self._look()

    def do(self, step: Step) -> None:
        """Do one step and compare its result."""
        if isinstance(step, Merge):
            self._merge(step)
            return
        version = newest_version(self._path)
        if isinstance(step, Restore):
            step = Restore(min(step.back, version - self._first))
        try:
            left = expected(step, self._target, self._reference, versions=self._versions)
            engine = self._writers[self._maintainer] if self._maintainer else None
            with self._limited(engine):
                maintain(step, self._path, schema=self._target.schema, version=version, engine=engine)
        except UnpredictableStepError as error:
            raise StopError(Ending.UNSUPPORTED, reason=str(error)) from error
        except StepNotDoneError as error:
            raise StopError(Ending.UNSUPPORTED, reason=f"{self._maintainer or DELTA_RS}: {error}") from error
        self._target = replace(self._target, properties=left.properties)
        state = self._look()
        if not same_rows(left.rows, state.rows, state.schema):
            self._stop_at_wrong_rows(step, left, state)
        if state.version > version:
            self._feed += [(row, state.schema) for row in left.changes or ()]
            self._is_feed_known = self._is_feed_known and left.changes is not None
            self._written(self._maintainer or DELTA_RS, state)

    def _stop_at_wrong_rows(self, step: OtherStep, left: Expected, state: TableState) -> NoReturn:
        """Stop at a step that left other rows than it should: no matter of ours if it is delta-rs's."""
        name = type(step).__name__.lower()
        if not self._maintainer:
            raise StopError(Ending.UNSUPPORTED, reason=f"delta-rs left other rows behind than {name} should")
        found = differing_rows(left.rows, state.rows, state.schema)
        raise StopError(Ending.MISMATCH, mismatches=found, pair=(self._last, self._maintainer), reason=name)

    def feed_mismatches(self) -> tuple[Mismatch, ...]:
        """Compare the change rows of all versions together; each merge's own were compared when it was made (P-2)."""
        if not (self._target.change_data_feed and self._is_feed_known):
            return ()
        state = read_table(self._path)
        schema = change_schema(state.schema)
        wanted = [(*_as_read(row[:-1], written, state.schema), row[-1]) for row, written in self._feed]
        versions = range(self._first + 1, state.version + 1)
        found = [row for version in versions for row in change_rows(self._path, version=version, state=state)]
        return differing_rows(wanted, found, schema, check=Check.CDF)

    def _merge(self, step: Merge) -> None:
        engine = self._writers[step.writer] if step.writer else self._engine
        assert isinstance(engine, ExistingTableEngine)  # noqa: S101 - looked at before
        case = Case(id="step", target=self._target, source=step.source, sql=step.sql, conf=step.conf)
        version = newest_version(self._path)
        bound = BoundEngine(engine, self._path)
        report = check_case(case, bound, reference=self._reference.evaluate, limit=self._limit)
        if report.verdict is Verdict.ENGINE_ERROR:
            raise StopError(Ending.ENGINE_ERROR, report=report, reason=report.reason)
        if report.verdict is Verdict.UNSUPPORTED:
            if step.writer:
                self.turns.skipped[report.reason] += 1
                return
            raise StopError(Ending.UNSUPPORTED, reason=report.reason)
        if report.verdict is Verdict.JUDGED_IN_PART:  # the table's rows are not predicted
            raise StopError(Ending.UNSUPPORTED, reason=report.reason)
        if report.verdict is Verdict.MISMATCH:
            if not (step.writer and self._differs_alone(case, engine, report)):
                raise StopError(Ending.MISMATCH, report=report, pair=(self._last, step.writer) if step.writer else None)
            self.turns.own[step.writer] += 1
            self._own = case, engine
            self._is_feed_known = False  # the change rows of that version are not predicted
        state = self._look()
        if state.version > version:
            answer = report.reference.answer
            changes = answer.cdf if isinstance(answer, Prediction) else None
            self._feed += [(row, state.schema) for row in changes or ()]
            self._written(step.writer or self._engine.name, state)

    def _differs_alone(self, case: Case, engine: Engine, report: CaseReport) -> bool:
        """Return whether a merge differs so on a table of the harness, too: then no other writer is the cause."""
        alone = check_case(case, engine, reference=self._reference.evaluate, limit=self._limit)
        return _kinds(report.mismatches) <= _kinds(alone.mismatches)

    def _written(self, writer: str, state: TableState) -> None:
        """Count the writer's turn, and let every reader read the table."""
        if not self._writers:
            return
        self.turns.pairs[self._last, writer] += 1
        self._last = writer
        for name, reader in self._writers.items():
            if not isinstance(reader, ReadingEngine):
                continue
            found = self._misread(reader, self._path, state)
            self.turns.reads[writer, name] += 1
            if not found:
                continue
            with table_folder() as folder:
                write_target(self._target, folder / "target")
                is_its_own = bool(self._misread(reader, folder / "target", state))
            if not is_its_own and self._is_left_by_a_wrong_merge(reader):
                raise StopError(Ending.UNSUPPORTED, reason=f"{name} misreads what a merge leaves that is wrong alone")
            if not is_its_own:
                raise StopError(Ending.MISMATCH, mismatches=found, pair=(writer, name))
            self.turns.own[f"{name} as reader"] += 1

    def _is_left_by_a_wrong_merge(self, reader: ReadingEngine) -> bool:
        """Return whether a reader misreads a fresh table into which only the last wrong merge was made."""
        if self._own is None:
            return False
        case, engine = self._own
        with table_folder() as folder:
            write_target(case.target, folder / "target")
            with self._limited(engine):
                engine.run_on(case, folder / "target")
            return bool(self._misread(reader, folder / "target", _read(folder / "target")))

    def _misread(self, reader: ReadingEngine, table: Path, state: TableState) -> tuple[Mismatch, ...]:
        with self._limited(reader):
            return misread(reader, table, state.schema, state.rows)

    @contextlib.contextmanager
    def _limited(self, engine: object) -> Iterator[None]:
        """Stop if an engine takes too long for what it does beside the merges of a case."""
        interrupt = engine.interrupt if isinstance(engine, InterruptibleEngine) else None
        try:
            with self._limit.over(interrupt):
                yield
        except EngineLateError as error:
            raise StopError(Ending.ENGINE_ERROR, reason=str(error)) from error

    def _look(self) -> TableState:
        """Read the table: the next step starts from its actual content."""
        state = _read(self._path)
        files = [file for file in state.files if file.rows]  # a file of deleted rows alone is none to the reference
        marked = tuple(number for number, file in enumerate(files) if file.add.get("deletionVector"))
        # which of the files have statistics is the engine's choice; with them R-322 leaves most open
        layout = replace(
            self._target.layout,
            statistics=Statistics.ALL,
            vectors=Vectors.OWN_FILES if marked else Vectors.NONE,
            files_with_vectors=marked or None,
        )
        self._target = replace(
            self._target, schema=state.schema, files=tuple(file.rows for file in files), layout=layout
        )
        new = state.version + 1 - self._first - len(self._versions)
        self._versions += [Version(state.schema, state.rows, self._target.properties)] * new
        return state


def _read(path: Path) -> TableState:
    try:
        return read_table(path)
    except (DeltaError, pa.ArrowException, OSError, ValueError, LookupError) as error:
        # A merge that did it was a mismatch before, or its writer's own difference; else it was delta-rs.
        raise StopError(Ending.UNSUPPORTED, reason=f"the table is lost: {type(error).__name__}") from error


def _as_read(row: Row, written: Schema, schema: Schema) -> Row:
    """Give a row as it is read when the table has more columns than it was written with, or wider ones."""
    convert = row_converter(written, schema)
    return widened(row, schema) if convert is None else convert(row)


def _kinds(mismatches: tuple[Mismatch, ...]) -> set[tuple[Check, str]]:
    return {(mismatch.check, mismatch.kind) for mismatch in mismatches}
