"""Sequences that Delta Lake maintains: a table gets features while both engines merge into it and read it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.lab.sequences.report import Ending
from mergecheck.harness.lab.sequences.sequence_run import run_sequence
from mergecheck.harness.lab.sequences.steps import (
    AddColumn,
    Alter,
    Append,
    Change,
    ChangeType,
    Checkpoint,
    Delete,
    Merge,
    Purge,
    Restore,
    Rewrite,
    Sequence,
)
from mergecheck.model.case import CDF_PROPERTY, Source, Target
from mergecheck.model.storage import RowIds, TargetLayout, Vectors
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.lab.sequences.report import SequenceReport
    from mergecheck.harness.lab.sequences.steps import Step
    from mergecheck.model.case import Row

pytestmark = pytest.mark.spark

SCHEMA = parse_schema("id INT, v STRING")
UPSERT = (
    "MERGE INTO target t USING source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
)
PLAIN = Target(
    schema=SCHEMA, files=(((1, "a"), (2, "b"), (3, None)), ((4, "d"), (5, "e"))), properties={CDF_PROPERTY: "true"}
)
MARKED = Target(
    schema=SCHEMA,
    files=PLAIN.files,
    properties={**PLAIN.properties, "delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"},
    layout=TargetLayout(vectors=Vectors.SHARED_FILE, row_ids=RowIds.STORED),
)


@pytest.fixture(scope="module")
def writers() -> Iterator[dict[str, Engine]]:
    delta = DeltaSparkEngine(start_session())
    yield {"delta-spark": delta, "pyspark": PySparkEngine(start_session())}
    delta.close()


def merging(writer: str, *rows: Row) -> Merge:
    return Merge(source=Source(schema=SCHEMA, rows=rows), sql=UPSERT, conf={}, writer=writer)


def run(writers: dict[str, Engine], target: Target, *steps: Step) -> SequenceReport:
    sequence = Sequence(id="features", target=target, steps=steps, maintainer="delta-spark")
    return run_sequence(sequence, writers["delta-spark"], writers)


def test_a_table_gets_every_feature_while_it_is_in_use(writers: dict[str, Engine]) -> None:
    altered = tuple(Alter(change) for change in Change if change is not Change.NO_VECTORS)
    report = run(
        writers,
        PLAIN,
        merging("delta-spark", (1, "x"), (9, "y")),
        *altered,
        merging("pyspark", (2, "z"), (10, None)),  # the first vectors
        Append(((20, "appended"),)),
        ChangeType("id", types.BIGINT),
        Delete("id", 4),
        merging("delta-spark", (3, "late"), (20, "w")),
        AddColumn(Field("more", types.INT)),
        Alter(Change.NO_VECTORS),
        merging("pyspark", (5, "f"), (30, None)),
        Purge(),
        Rewrite(),
        merging("delta-spark", (1, "last")),
    )
    assert (report.ending, report.reason, report.mismatches) == (Ending.AGREES, "", ())
    assert report.turns.own == {}
    assert report.turns.skipped == {}
    assert report.turns.pairs["delta-spark", "pyspark"] == 2


def test_a_table_with_features_is_restored(writers: dict[str, Engine]) -> None:
    """Versions from before the sequence are left alone: of a table with stored ids there are some."""
    report = run(
        writers, MARKED, merging("pyspark", (1, "x")), Delete("id", 2), Restore(1), Restore(9), merging("pyspark")
    )
    assert (report.ending, report.reason, report.mismatches) == (Ending.AGREES, "", ())


def test_char_columns_stay_as_they_are_stored(writers: dict[str, Engine]) -> None:
    """Whoever reads them, and puts files together (R-822)."""
    target = Target(schema=parse_schema("id INT, v CHAR(3)"), files=(((1, "a"),), ((3, None),)))
    report = run(writers, target, merging("pyspark", (2, "b")), Append(((4, "d"),)), Rewrite(), Delete("id", 3))
    assert (report.ending, report.reason, report.mismatches) == (Ending.AGREES, "", ())
    assert report.turns.own == {}


def test_a_step_that_delta_lake_refuses_ends_the_sequence(writers: dict[str, Engine]) -> None:
    report = run(writers, PLAIN, merging("pyspark", (1, "x")), ChangeType("v", types.INT))
    assert report.ending is Ending.UNSUPPORTED
    assert report.reason.startswith("delta-spark: changetype: ")
    other = run(writers, PLAIN, merging("pyspark", (1, "x")), Checkpoint())
    assert other.reason == "delta-spark: Delta Lake has no statement that writes a checkpoint"


def test_change_rows_are_read_in_the_types_of_today(writers: dict[str, Engine]) -> None:
    """Rows that a first merge deleted are in the feed, and a second merge widens their columns (R-237)."""
    numbers = parse_schema("id INT, v INT")
    table = Target(
        schema=numbers,
        files=(((1, 1), (2, 2)),),
        properties={CDF_PROPERTY: "true", "delta.enableTypeWidening": "true"},
    )
    tables = "INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN"
    deleting, widening = f"MERGE {tables} DELETE", f"MERGE WITH SCHEMA EVOLUTION {tables} UPDATE SET *"
    wide = parse_schema("id DOUBLE, v DECIMAL(12,1)")
    report = run(
        writers,
        table,
        Merge(source=Source(schema=numbers, rows=((1, 0),)), sql=deleting, conf={}, writer="pyspark"),
        Merge(source=Source(schema=wide, rows=((2.0, Decimal("7.5")),)), sql=widening, conf={}, writer="delta-spark"),
    )
    assert (report.ending, report.reason) == (Ending.AGREES, "")
