"""Run a sequence: every step on the table that the steps before it left, compared after every step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake.exceptions import DeltaError

from mergecheck.harness.compare.rows import difference, row_mismatches, same_rows
from mergecheck.harness.delta.read import change_rows, newest_version, read_table
from mergecheck.harness.delta.write import UnwritableTableError, write_target
from mergecheck.harness.engine import LivingEngine, ReadingEngine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.sequences.bound_engine import BoundEngine
from mergecheck.harness.sequences.other_writers import UnpredictableStepError, Version, expected, widened, write
from mergecheck.harness.sequences.steps import Merge
from mergecheck.harness.sequences.turns import DELTA_RS, HARNESS, Turns, misread
from mergecheck.harness.spark.config import table_folder
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.reference import MergeReference
from mergecheck.reference.case.case_file import change_schema
from mergecheck.reference.case.model import Case, Target
from mergecheck.reference.case.storage import Statistics
from mergecheck.reference.outcome import Prediction

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mergecheck.harness.delta.read import TableState
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.sequences.steps import Sequence, Step
    from mergecheck.harness.sequences.turns import Pair
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.reference.case.model import Row


class Ending(Enum):
    """How a sequence ended."""

    AGREES = "agrees"
    MISMATCH = "mismatch"
    UNSUPPORTED = "unsupported"
    ENGINE_ERROR = "engine error"


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceReport:
    """What became of a sequence.

    Attributes:
        num_steps: steps done, the last one included.
        report: of the merge that ended it; its case holds the table as it was then. None if it ended otherwise.
        mismatches: the differences.
        reason: why it is unsupported, or what failed.
        pair: who wrote the table last and who then read or merged it, if that is where they differ.
        turns: what the writers did.
    """

    sequence: Sequence
    ending: Ending
    num_steps: int
    report: CaseReport | None = None
    mismatches: tuple[Mismatch, ...] = ()
    reason: str = ""
    pair: Pair | None = None
    turns: Turns = field(default_factory=Turns)


class _StopError(Exception):
    def __init__(
        self,
        ending: Ending,
        *,
        report: CaseReport | None = None,
        mismatches: tuple[Mismatch, ...] = (),
        pair: Pair | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(reason)
        self.ending, self.report, self.reason, self.pair = ending, report, reason, pair
        self.mismatches = report.mismatches if report is not None else mismatches


def run_sequence(sequence: Sequence, engine: Engine, writers: Mapping[str, Engine] | None = None) -> SequenceReport:
    """Do the steps one after the other, then hold the whole change feed against what the steps must have written.

    Args:
        sequence: what to do.
        engine: does the merges, see ``LivingEngine``; all else is delta-rs's.
        writers: the engines that merges name, by their names; those that can read read the table after every step.

    Returns:
        The first disagreement, if there is one.
    """
    lacking = [each.name for each in (engine, *(writers or {}).values()) if not isinstance(each, LivingEngine)]
    if lacking:
        reason = f"{lacking[0]} cannot merge into a table that is there already"
        return SequenceReport(sequence=sequence, ending=Ending.UNSUPPORTED, num_steps=0, reason=reason)
    with table_folder() as folder:
        run = _Run(engine=engine, writers=writers or {}, path=folder / "target", target=sequence.target)
        done = 0
        try:
            run.create()
            for done, step in enumerate(sequence.steps, start=1):  # noqa: B007 - told by the report
                run.do(step)
            mismatches = run.feed_mismatches()
        except _StopError as stop:
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

    def __init__(self, *, engine: Engine, writers: Mapping[str, Engine], path: Path, target: Target) -> None:
        self.turns = Turns()
        self._engine = engine
        self._writers = writers
        self._last = HARNESS
        self._is_feed_known = True
        self._own: tuple[Case, LivingEngine] | None = None  # the last merge that was wrong on a fresh table, too
        self._path = path
        self._target = target
        self._feed: list[Row] = []
        self._versions: list[Version] = []
        self._reference = MergeReference()

    def create(self) -> None:
        """Write the table at version 0."""
        try:
            write_target(self._target, self._path)
        except UnwritableTableError as error:
            raise _StopError(Ending.UNSUPPORTED, reason=f"table: {error}") from error
        self._look()

    def do(self, step: Step) -> None:
        """Do one step and compare what it left."""
        if isinstance(step, Merge):
            self._merge(step)
            return
        version = newest_version(self._path)
        try:
            left = expected(step, self._target, self._reference, versions=self._versions)
            write(step, self._path, self._target.schema)
        except UnpredictableStepError as error:
            raise _StopError(Ending.UNSUPPORTED, reason=str(error)) from error
        except (DeltaError, OSError, ValueError) as error:
            raise _StopError(Ending.UNSUPPORTED, reason=f"delta-rs: {type(error).__name__}: {error}") from error
        state = self._look()
        if not same_rows(left.rows, state.rows, state.schema):
            reason = f"delta-rs left other rows behind than {type(step).__name__.lower()} should"
            raise _StopError(Ending.UNSUPPORTED, reason=reason)
        if state.version > version:
            self._feed += left.changes or ()
            self._is_feed_known = self._is_feed_known and left.changes is not None
            self._written(DELTA_RS, state)

    def feed_mismatches(self) -> tuple[Mismatch, ...]:
        """Compare the change rows of all versions together; each merge's own were compared when it was made (P-2)."""
        if not (self._target.change_data_feed and self._is_feed_known):
            return ()
        state = read_table(self._path)
        schema = change_schema(state.schema)
        wanted = [(*widened(row[:-1], state.schema), row[-1]) for row in self._feed]
        versions = range(1, state.version + 1)
        found = [row for version in versions for row in change_rows(self._path, version=version, state=state)]
        differing = difference(wanted, found, wanted_schema=schema, found_schema=schema)
        return row_mismatches(
            differing, check=Check.CDF, against="reference", wanted_schema=schema, found_schema=schema
        )

    def _merge(self, step: Merge) -> None:
        engine = self._writers[step.writer] if step.writer else self._engine
        assert isinstance(engine, LivingEngine)  # noqa: S101 - looked at before
        case = Case(id="step", target=self._target, source=step.source, sql=step.sql, conf=step.conf)
        version = newest_version(self._path)
        report = check_case(case, BoundEngine(engine, self._path), reference=self._reference.evaluate)
        if report.verdict is Verdict.ENGINE_ERROR:
            raise _StopError(Ending.ENGINE_ERROR, report=report, reason=report.reason)
        if report.verdict is Verdict.UNSUPPORTED:
            if step.writer:
                self.turns.skipped[report.reason] += 1
                return
            raise _StopError(Ending.UNSUPPORTED, reason=report.reason)
        if report.verdict is Verdict.MISMATCH:
            if not (step.writer and self._differs_alone(case, engine, report)):
                raise _StopError(
                    Ending.MISMATCH, report=report, pair=(self._last, step.writer) if step.writer else None
                )
            self.turns.own[step.writer] += 1
            self._own = case, engine
            self._is_feed_known = False  # nobody has predicted the change rows of that version
        state = self._look()
        if state.version > version:
            answer = report.reference.answer
            self._feed += (answer.cdf or ()) if isinstance(answer, Prediction) else ()
            self._written(step.writer, state)

    def _differs_alone(self, case: Case, engine: Engine, report: CaseReport) -> bool:
        """Tell whether a merge differs so on a table of the harness, too: then no other writer is the cause."""
        alone = check_case(case, engine, reference=self._reference.evaluate)
        return _kinds(report.mismatches) <= _kinds(alone.mismatches)

    def _written(self, writer: str, state: TableState) -> None:
        """Count whose turn it was, and let every reader read what was written."""
        if not self._writers:
            return
        self.turns.pairs[self._last, writer] += 1
        self._last = writer
        for name, reader in self._writers.items():
            if not isinstance(reader, ReadingEngine):
                continue
            found = misread(reader, self._path, state.schema, state.rows)
            self.turns.reads[writer, name] += 1
            if not found:
                continue
            with table_folder() as folder:
                write_target(self._target, folder / "target")
                is_its_own = bool(misread(reader, folder / "target", state.schema, state.rows))
            if not is_its_own and self._is_left_by_a_wrong_merge(reader):
                raise _StopError(Ending.UNSUPPORTED, reason=f"{name} misreads what a merge leaves that is wrong alone")
            if not is_its_own:
                raise _StopError(Ending.MISMATCH, mismatches=found, pair=(writer, name))
            self.turns.own[f"{name} as reader"] += 1

    def _is_left_by_a_wrong_merge(self, reader: ReadingEngine) -> bool:
        """Tell whether a reader misreads a fresh table into which only the last wrong merge was made."""
        if self._own is None:
            return False
        case, engine = self._own
        with table_folder() as folder:
            write_target(case.target, folder / "target")
            engine.run_on(case, folder / "target")
            state = _read(folder / "target")
            return bool(misread(reader, folder / "target", state.schema, state.rows))

    def _look(self) -> TableState:
        """Read the table: the next step starts from what is really there."""
        state = _read(self._path)
        files = tuple(file.rows for file in state.files)
        # which of the files have statistics is the engine's choice; with them R-322 leaves most open
        layout = replace(self._target.layout, statistics=Statistics.ALL)
        self._target = replace(self._target, schema=state.schema, files=files, layout=layout)
        new = state.version + 1 - len(self._versions)
        self._versions += [Version(state.schema, state.rows)] * new
        return state


def _read(path: Path) -> TableState:
    try:
        return read_table(path)
    except (DeltaError, pa.ArrowException, OSError, ValueError, LookupError) as error:
        # A merge that did it was a mismatch before, or its writer's own difference; else it was delta-rs.
        raise _StopError(Ending.UNSUPPORTED, reason=f"the table is lost: {type(error).__name__}") from error


def _kinds(mismatches: tuple[Mismatch, ...]) -> set[tuple[Check, str]]:
    return {(mismatch.check, mismatch.kind) for mismatch in mismatches}
