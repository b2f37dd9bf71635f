"""Run a sequence: every step on the table that the steps before it left, compared after every step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from deltalake.exceptions import DeltaError

from mergecheck.harness.compare.rows import difference, row_mismatches, same_rows
from mergecheck.harness.delta.read import change_rows, newest_version, read_table
from mergecheck.harness.delta.write import UnwritableTableError, write_target
from mergecheck.harness.engine import Engine, InterruptibleEngine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.sequences.other_writers import UnpredictableStepError, expected, widened, write
from mergecheck.harness.sequences.steps import Merge
from mergecheck.harness.spark.config import table_folder
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.reference import MergeReference
from mergecheck.reference.case.case_file import change_schema
from mergecheck.reference.case.model import Case, Target
from mergecheck.reference.case.storage import Statistics
from mergecheck.reference.outcome import Prediction

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.delta.read import TableState
    from mergecheck.harness.sequences.steps import Sequence, Step
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.reference.case.model import Row
    from mergecheck.reference.outcome import EngineResult


@runtime_checkable
class LivingEngine(Engine, Protocol):
    """An engine that can merge into a table that is there already."""

    def run_on(self, case: Case, table: Path) -> EngineResult:
        """Run a case on a table; the case's target says what it holds now."""
        ...


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
    """

    sequence: Sequence
    ending: Ending
    num_steps: int
    report: CaseReport | None = None
    mismatches: tuple[Mismatch, ...] = ()
    reason: str = ""


class _StopError(Exception):
    def __init__(self, ending: Ending, *, report: CaseReport | None = None, reason: str = "") -> None:
        super().__init__(reason)
        self.ending, self.report, self.reason = ending, report, reason


def run_sequence(sequence: Sequence, engine: Engine) -> SequenceReport:
    """Do the steps one after the other, then hold the whole change feed against what the steps must have written.

    Args:
        sequence: what to do.
        engine: does the merges, see ``LivingEngine``; appends, deletes, rewrites and new columns are delta-rs's.

    Returns:
        The first disagreement, if there is one.
    """
    if not isinstance(engine, LivingEngine):
        reason = f"{engine.name} cannot merge into a table that is there already"
        return SequenceReport(sequence=sequence, ending=Ending.UNSUPPORTED, num_steps=0, reason=reason)
    with table_folder() as folder:
        run = _Run(engine=engine, path=folder / "target", target=sequence.target)
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
                mismatches=stop.report.mismatches if stop.report is not None else (),
                reason=stop.reason,
            )
    ending = Ending.MISMATCH if mismatches else Ending.AGREES
    return SequenceReport(sequence=sequence, ending=ending, num_steps=done, mismatches=mismatches)


class _Run:
    """The table under way, and what its change feed must hold so far."""

    def __init__(self, *, engine: LivingEngine, path: Path, target: Target) -> None:
        self._engine = engine
        self._path = path
        self._target = target
        self._feed: list[Row] = []
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
            left = expected(step, self._target, self._reference)
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
            self._feed += left.changes

    def feed_mismatches(self) -> tuple[Mismatch, ...]:
        """Compare the change rows of all versions together; each merge's own were compared when it was made (P-2)."""
        if not self._target.change_data_feed:
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
        case = Case(id="step", target=self._target, source=step.source, sql=step.sql, conf=step.conf)
        version = newest_version(self._path)
        report = check_case(case, _On(self._engine, self._path), reference=self._reference.evaluate)
        if report.verdict is Verdict.MISMATCH:
            raise _StopError(Ending.MISMATCH, report=report)
        if report.verdict is Verdict.ENGINE_ERROR:
            raise _StopError(Ending.ENGINE_ERROR, report=report, reason=report.reason)
        if report.verdict is Verdict.UNSUPPORTED:
            raise _StopError(Ending.UNSUPPORTED, reason=report.reason)
        state = self._look()
        answer = report.reference.answer
        if state.version > version and isinstance(answer, Prediction):
            self._feed += answer.cdf or ()

    def _look(self) -> TableState:
        """Read the table: the next step starts from what is really there."""
        state = read_table(self._path)
        files = tuple(file.rows for file in state.files)
        # which of the files have statistics is the engine's choice; with them R-322 leaves most open
        layout = replace(self._target.layout, statistics=Statistics.ALL)
        self._target = replace(self._target, schema=state.schema, files=files, layout=layout)
        return state


class _On:
    """An engine bound to one table."""

    def __init__(self, engine: LivingEngine, path: Path) -> None:
        self.name, self.version, self.capabilities = engine.name, engine.version, engine.capabilities
        self._engine = engine
        self._path = path
        if isinstance(engine, InterruptibleEngine):
            self.interrupt = engine.interrupt

    def run(self, case: Case) -> EngineResult:
        """Merge into the table."""
        return self._engine.run_on(case, self._path)

    def close(self) -> None:
        """Leave the engine open: the next step needs it."""
