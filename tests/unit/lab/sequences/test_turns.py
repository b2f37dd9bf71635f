"""Writers in turn: every ordered pair is drawn, and a table that one writes and another misreads names the pair."""

from __future__ import annotations

import itertools
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable, write_deltalake

from mergecheck.harness.delta.read import newest_version, read_table
from mergecheck.harness.engine import Capabilities, UnreadableByEngineError
from mergecheck.harness.lab.sequences.draw import sequences
from mergecheck.harness.lab.sequences.report import Ending
from mergecheck.harness.lab.sequences.sequence_file import dump_sequence, parse_sequence
from mergecheck.harness.lab.sequences.sequence_run import run_sequence
from mergecheck.harness.lab.sequences.steps import Alter, Append, ChangeType, Checkpoint, Merge, Purge, Sequence
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.model.arrow import rows_to_table, table_to_rows
from mergecheck.model.case import Source, Target
from mergecheck.model.outcome import Outcome, Prediction, Unsupported
from mergecheck.model.storage import Vectors
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.engine import Engine
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema

SCHEMA = parse_schema("id INT, v STRING")
UPSERT = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)

REFERENCE = MergeReference()


class Right:
    """Merges as the reference does, by writing the table anew, and reads it."""

    version = "1"
    capabilities = Capabilities(metrics=False, cdf=False)

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, case: Case) -> EngineResult:
        answer = REFERENCE.evaluate(case).answer
        assert isinstance(answer, Prediction)
        return Outcome(schema=answer.schema, rows=answer.rows)

    def run_on(self, case: Case, table: Path) -> EngineResult:
        found = self.run(case)
        if isinstance(found, Outcome):
            write_deltalake(table, rows_to_table(found.rows, found.schema), mode="overwrite")
        return found

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:  # noqa: ARG002 - the protocol's signature
        return read_table(table).rows

    def close(self) -> None:
        """Hold nothing."""


class MisreadsLaterVersions(Right):
    """Misses a row of every table that was written more than once."""

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:
        rows = super().rows_of(table, schema)
        return rows[1:] if newest_version(table) > 1 else rows


class HangsAtItsMerge(Right):
    """Takes a minute for every merge."""

    def run_on(self, case: Case, table: Path) -> EngineResult:
        time.sleep(60)
        return super().run_on(case, table)


class HangsAtReading(Right):
    """Takes a minute to read a table."""

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:
        time.sleep(60)
        return super().rows_of(table, schema)


class CannotRead(Right):
    """Reads nothing at all."""

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:  # noqa: ARG002 - the protocol's signature
        raise UnreadableByEngineError("no reader")


class IsInterruptedWhileItReads(Right):
    """Makes an error of its own of Ctrl+C, as py4j may."""

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:  # noqa: ARG002 - the protocol's signature
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise UnreadableByEngineError("the job was cancelled") from error
        return ()


class LosesARow(Right):
    """Loses a row in every merge, wherever the table comes from."""

    def run(self, case: Case) -> EngineResult:
        found = super().run(case)
        return Outcome(schema=found.schema, rows=found.rows[1:]) if isinstance(found, Outcome) else found


class LosesARowOfItsFiles(LosesARow):
    """Loses a row in every merge, and reads the version before."""

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:  # noqa: ARG002 - the protocol's signature
        table_before = DeltaTable(table, version=max(0, newest_version(table) - 1))
        return table_to_rows(table_before.to_pyarrow_table(), SCHEMA)


class MergesItsOwnTablesOnly(Right):
    """Loses a row of tables that others have written."""

    def run_on(self, case: Case, table: Path) -> EngineResult:  # noqa: ARG002 - the protocol's signature
        found = self.run(case)
        return Outcome(schema=found.schema, rows=found.rows[1:]) if isinstance(found, Outcome) else found


class TakesNothing(Right):
    """Takes no merge."""

    def run(self, case: Case) -> EngineResult:  # noqa: ARG002 - the protocol's signature
        return Unsupported("anything")


def sequence_of(*writers: str) -> Sequence:
    steps = [
        Merge(source=Source(schema=SCHEMA, rows=((number, writer),)), sql=UPSERT, conf={}, writer=writer)
        for number, writer in enumerate(writers)
    ]
    return Sequence(id="turns", target=Target(schema=SCHEMA, files=(((0, "a"), (7, None)),)), steps=tuple(steps))


def run(sequence: Sequence, *writers: Engine) -> Any:
    return run_sequence(sequence, writers[0], {writer.name: writer for writer in writers})


@pytest.mark.parametrize(("second", "num_steps"), [(HangsAtItsMerge("two"), 2), (HangsAtReading("two"), 1)])
def test_an_engine_that_takes_too_long_is_a_failure_of_the_engine(second: Engine, num_steps: int) -> None:
    """At a merge, and when it reads what another has written."""
    writers = {"one": Right("one"), "two": second}
    begun = time.monotonic()
    report = run_sequence(sequence_of("one", "two"), writers["one"], writers, limit=TimeLimit(seconds=0.5))
    assert (report.ending, report.num_steps) == (Ending.ENGINE_ERROR, num_steps)
    assert "had no answer within 0.5 s (--case-timeout)" in report.reason
    assert time.monotonic() - begun < 30


def test_pairs_and_reads_are_counted() -> None:
    report = run(sequence_of("one", "two", "one"), Right("one"), Right("two"))
    assert (report.ending, report.num_steps) == (Ending.AGREES, 3)
    assert report.turns.pairs == {("the harness", "one"): 1, ("one", "two"): 1, ("two", "one"): 1}
    assert report.turns.reads == {("one", "one"): 2, ("one", "two"): 2, ("two", "one"): 1, ("two", "two"): 1}


def test_other_steps_count_for_delta_rs() -> None:
    plain = sequence_of("one", "two")
    steps = (plain.steps[0], Append(((9, "more"),)), plain.steps[1])
    report = run(Sequence(id="turns", target=plain.target, steps=steps), Right("one"), Right("two"))
    assert report.ending is Ending.AGREES
    assert report.turns.pairs == {("the harness", "one"): 1, ("one", "delta-rs"): 1, ("delta-rs", "two"): 1}


def test_a_misreading_names_the_pair() -> None:
    report = run(sequence_of("one", "two", "one"), Right("one"), MisreadsLaterVersions("two"))
    assert (report.ending, report.pair, report.num_steps) == (Ending.MISMATCH, ("two", "two"), 2)
    assert report.mismatches[0].kind == "missing_rows"


def test_a_merge_that_misreads_names_the_pair() -> None:
    report = run(sequence_of("one", "two"), Right("one"), MergesItsOwnTablesOnly("two"))
    assert (report.ending, report.pair, report.num_steps) == (Ending.MISMATCH, ("one", "two"), 2)


def test_a_difference_on_any_table_is_no_matter_of_the_pair() -> None:
    report = run(sequence_of("one", "two", "one"), Right("one"), LosesARow("two"))
    assert (report.ending, report.num_steps) == (Ending.AGREES, 3)
    assert report.turns.own == {"two": 1}


def test_a_reader_of_a_merge_that_is_wrong_on_any_table_is_no_matter_of_the_pair() -> None:
    report = run(sequence_of("two", "one"), Right("one"), LosesARowOfItsFiles("two"))
    assert (report.ending, report.num_steps) == (Ending.UNSUPPORTED, 1)
    assert report.reason == "two misreads what a merge leaves that is wrong alone"
    reading = run(sequence_of("one", "two"), Right("one"), LosesARowOfItsFiles("two"))
    assert (reading.ending, reading.pair) == (Ending.MISMATCH, ("one", "two"))


def test_a_reader_that_reads_nothing_is_no_matter_of_the_pair() -> None:
    report = run(sequence_of("one", "two"), Right("one"), CannotRead("two"))
    assert report.ending is Ending.AGREES
    assert report.turns.own == {"two as reader": 2}


def test_an_interrupted_reader_misreads_nothing() -> None:
    """Ctrl+C is no finding: the run ends."""
    with pytest.raises(KeyboardInterrupt):
        run(sequence_of("one", "two"), Right("one"), IsInterruptedWhileItReads("two"))


def test_a_merge_that_its_writer_does_not_take_is_skipped() -> None:
    report = run(sequence_of("one", "two", "one"), Right("one"), TakesNothing("two"))
    assert report.ending is Ending.AGREES
    assert sum(report.turns.skipped.values()) == 1
    assert ("one", "one") in report.turns.pairs


def test_every_ordered_pair_is_drawn() -> None:
    """In the first two steps; a number gives the same sequence wherever the stream begins, and a file gives it back."""
    writers = {name: Capabilities(cdf=name != "c") for name in "abc"}
    numbered = list(itertools.islice(sequences(1, num_steps=3, writers=writers), 30))
    drawn = [one for _, one in numbered]
    first = [tuple(step.writer for step in one.steps[:2] if isinstance(step, Merge)) for one in drawn]
    assert set(first) == set(itertools.permutations("abc", 2))
    assert not any(one.target.change_data_feed for one in drawn)
    number, last = numbered[-1]
    assert repr(next(sequences(1, num_steps=3, writers=writers, start=number))) == repr((number, last))
    for one in drawn[:6]:
        assert repr(parse_sequence(dump_sequence(one), name="test")) == repr(one)


def test_tables_have_features_if_all_writers_take_them_and_delta_lake_maintains_them() -> None:
    able = Capabilities(table_features=True)
    both = [one for _, one in itertools.islice(sequences(1, num_steps=6, writers={"a": able, "delta-spark": able}), 40)]
    assert {one.maintainer for one in both} == {"delta-spark"}
    assert any(one.target.layout.vectors is not Vectors.NONE for one in both)
    kinds = {type(step) for one in both for step in one.steps}
    assert {Alter, Purge, ChangeType} <= kinds
    assert Checkpoint not in kinds  # Delta Lake has no statement for it
    for others in ({"a": able, "b": able}, {"a": Capabilities(), "delta-spark": able}):
        plain = [one for _, one in itertools.islice(sequences(1, num_steps=6, writers=others), 40)]
        assert {one.maintainer for one in plain} == {""}
        assert not any(isinstance(step, Alter | Purge | ChangeType) for one in plain for step in one.steps)
        assert all(one.target.layout.vectors is Vectors.NONE for one in plain)


def test_steps_of_delta_lake_need_its_session() -> None:
    plain = sequence_of("one", "two")
    steps = (plain.steps[0], Purge(), plain.steps[1])
    given = Sequence(id="turns", target=plain.target, steps=steps, maintainer="two")
    report = run(given, Right("one"), Right("two"))
    assert (report.ending, report.reason) == (
        Ending.UNSUPPORTED,
        "two: has no session on Spark with Delta Lake",
    )
