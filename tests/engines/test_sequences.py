"""Stateful mode on the PySpark merge: sequences agree, and a fault that only a second merge shows is found."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.delta.write import write_target
from mergecheck.harness.engine import UnreadableByEngineError
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.lab.sequences.draw import sequences
from mergecheck.harness.lab.sequences.report import Ending
from mergecheck.harness.lab.sequences.sequence_file import dump_sequence, parse_sequence
from mergecheck.harness.lab.sequences.sequence_run import run_sequence
from mergecheck.harness.lab.sequences.steps import (
    AddColumn,
    Append,
    Checkpoint,
    Delete,
    Merge,
    Restore,
    Rewrite,
    Sequence,
)
from mergecheck.model.case import CDF_PROPERTY, Source, Target
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.spark

SCHEMA = parse_schema("id INT, v STRING")
UPSERT = (
    "MERGE INTO target t USING source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
)


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    """Start the merge once."""
    engine = PySparkEngine()
    yield engine
    engine.close()


def merging(*rows: Any) -> Merge:
    return Merge(source=Source(schema=SCHEMA, rows=rows), sql=UPSERT, conf={})


EVERY_STEP = Sequence(
    id="every-step",
    target=Target(schema=SCHEMA, files=(((1, "a"), (2, "b")), ((3, None),)), properties={CDF_PROPERTY: "true"}),
    steps=(
        merging((1, "x"), (9, "y")),
        Append(((20, "appended"),)),
        Delete("id", 2),
        Rewrite(),
        Checkpoint(),
        AddColumn(Field("more", types.INT)),
        merging((20, "z"), (30, None)),
    ),
)


def test_every_kind_of_step(engine: PySparkEngine) -> None:
    """And the whole feed at the end."""
    report = run_sequence(EVERY_STEP, engine)
    assert (report.ending, report.reason, report.num_steps) == (Ending.AGREES, "", len(EVERY_STEP.steps))


@pytest.mark.parametrize("back", [1, 2, 9])
def test_a_merge_after_a_restore(engine: PySparkEngine, back: int) -> None:
    """More versions than there are lead to the first one."""
    steps = (merging((1, "x"), (9, "y")), Delete("id", 2), Restore(back), Checkpoint(), merging((2, "z"), (9, "again")))
    sequence = replace(EVERY_STEP, id="restored", steps=steps)
    assert parse_sequence(dump_sequence(sequence), name="test") == sequence
    report = run_sequence(sequence, engine)
    assert (report.ending, report.reason, report.num_steps) == (Ending.AGREES, "", len(steps))


def test_no_columns_come_back(engine: PySparkEngine) -> None:
    steps = (merging((1, "x")), AddColumn(Field("more", types.INT)), Restore(1), merging((2, "z")))
    report = run_sequence(replace(EVERY_STEP, steps=steps), engine)
    assert (report.ending, report.reason) == (Ending.UNSUPPORTED, "restore: the table had other columns then")


def test_the_merge_reads_what_was_written(engine: PySparkEngine) -> None:
    """After every step, files rewritten by delta-rs and the new column included."""
    steps = tuple(replace(step, writer="pyspark") if isinstance(step, Merge) else step for step in EVERY_STEP.steps)
    report = run_sequence(replace(EVERY_STEP, steps=steps), engine, {"pyspark": engine})
    assert (report.ending, report.reason) == (Ending.AGREES, "")
    assert report.turns.reads == {("pyspark", "pyspark"): 2, ("delta-rs", "pyspark"): 4}


def test_a_table_without_its_file_is_unreadable(engine: PySparkEngine, tmp_path: Path) -> None:
    write_target(EVERY_STEP.target, tmp_path / "target")
    assert len(engine.rows_of(tmp_path / "target", SCHEMA)) == 3
    for path in (tmp_path / "target").glob("*.parquet"):
        path.unlink()
    with pytest.raises(UnreadableByEngineError):
        engine.rows_of(tmp_path / "target", SCHEMA)


def test_drawn_sequences(engine: PySparkEngine) -> None:
    """They can be written and read, and agree."""
    endings = []
    for _, sequence in itertools.islice(sequences(1, num_steps=4), 4):
        read = parse_sequence(dump_sequence(sequence), name="test")
        assert repr(read) == repr(sequence)  # NaN equals nothing, but is spelled alike
        report = run_sequence(sequence, engine)
        assert report.ending is not Ending.MISMATCH, [line for m in report.mismatches for line in m.lines]
        endings.append(report.ending)
    assert Ending.AGREES in endings


def test_a_fault_that_shows_in_the_second_merge(engine: PySparkEngine) -> None:
    """Files without statistics of NULLs are read rightly by whoever wrote them, and wrongly by the next merge."""
    from tools.selfcheck.catalogue import chosen  # noqa: PLC0415 - only this test plants a fault
    from tools.selfcheck.fault import Mutant  # noqa: PLC0415 - the same

    (fault,) = chosen(["all-null-if-any"])
    condition = "t.id = s.id AND t.v >= 'a'"
    steps = (
        merging((1, "x"), (9, None)),
        Rewrite(),
        Merge(
            source=Source(schema=SCHEMA, rows=((1, "late"),)),
            sql=f"MERGE INTO target t USING source s ON {condition} WHEN MATCHED THEN UPDATE SET v = s.v",
            conf={},
        ),
    )
    sequence = Sequence(id="second", target=Target(schema=SCHEMA, files=(((1, "a"),),)), steps=steps)
    with Mutant.of(fault).switched_on():
        report = run_sequence(sequence, engine)
    assert (report.ending, report.num_steps) == (Ending.MISMATCH, 3)
