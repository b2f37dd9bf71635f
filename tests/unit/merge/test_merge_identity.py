"""Identity columns: values that tasks generate, and where the high-water mark moves (R-226)."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from mergecheck.merge.table.writing.generated_ids import GeneratedIds, IdPlan, IdSequence
from mergecheck.merge.table.writing.row_records import RowAction
from mergecheck.merge.types.identity import Identity, identities, with_marks

COPY, INSERT, WITH_IDS = (int(a) for a in (RowAction.COPY, RowAction.INSERT, RowAction.INSERT_WITH_IDS))


def filled(ids: GeneratedIds, *actions: int) -> list[int | None]:
    """Fill a batch of rows whose values are NULL."""
    rows = pa.table({"k": pa.array([1] * len(actions)), "id": pa.nulls(len(actions), pa.int64())})
    found = ids.fill(rows, pa.chunked_array([pa.array(actions, pa.int32())]))
    assert found is not None
    return list(found.column("id").to_pylist())


def test_tasks_and_batches_share_a_sequence() -> None:
    """R-226: no value twice; explicit and copied rows stay as they are."""
    plan = IdPlan(sequences={1: IdSequence(first=10, step=3)}, num_tasks=2)
    one, other = GeneratedIds(plan, 0), GeneratedIds(plan, 1)
    assert filled(one, WITH_IDS, INSERT, WITH_IDS) == [10, None, 16]
    assert filled(one, COPY, WITH_IDS) == [None, 22]
    assert filled(other, WITH_IDS, WITH_IDS) == [13, 19]


def test_a_task_beyond_the_plan_generates_nothing() -> None:
    """It would take another one's values. It may copy."""
    ids = GeneratedIds(IdPlan(sequences={1: IdSequence(first=1, step=1)}), 1)
    assert filled(ids, COPY) == [None]
    with pytest.raises(RuntimeError, match="task 1 inserts"):
        filled(ids, WITH_IDS)


@pytest.mark.parametrize(("first", "step"), [(2**63 - 2, 1), (-(2**63) + 1, -1), (2**63, 1)])
def test_values_end_with_bigint(first: int, step: int) -> None:
    """R-226: without values for all rows, none is generated."""
    ids = GeneratedIds(IdPlan(sequences={0: IdSequence(first=first, step=step)}), 0)
    rows = pa.table({"id": pa.nulls(3, pa.int64())})
    assert ids.fill(rows, pa.chunked_array([pa.array([WITH_IDS] * 3, pa.int32())])) is None


@pytest.mark.parametrize(("step", "furthest"), [(2, "9"), (-2, "-4")])
def test_the_furthest_value_is_reported(step: int, furthest: str) -> None:
    """Also for explicit and copied rows, and over several batches."""
    ids = GeneratedIds(IdPlan(sequences={0: IdSequence(first=1, step=step)}), 0)
    for values in ([3, 9], [None, -4], [None, None]):
        ids.look_at(pa.table({"id": pa.array(values, pa.int64())}))
    assert [(record["name"], record["stats"]) for record in ids.records()] == [("0", furthest)]


@pytest.mark.parametrize(
    ("start", "step", "mark", "furthest", "moved"),
    [
        (10, 3, None, 16, 16),
        (10, 3, None, 15, 16),
        (10, 3, None, 9, None),
        (10, 3, 19, 13, 19),
        (10, 3, 4, 5, 7),
        (10, -3, None, 8, 7),
        (10, -3, 4, 7, 4),
    ],
)
def test_marks_move(start: int, step: int, mark: int | None, furthest: int, moved: int | None) -> None:
    """To the next value of the sequence, never back, and not by values before the start."""
    identity = Identity(start=start, step=step, by_default=True, mark=mark)
    assert identity.moved_by(furthest) == moved


def test_new_marks_leave_the_rest_of_a_schema_alone() -> None:
    """Only columns whose values were written get one."""
    said = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
    column = StructField("id", LongType(), nullable=False, metadata={**said, "comment": "c"})
    schema = StructType([StructField("k", LongType()), column])
    moved = with_marks(schema, {1: 7})
    assert identities(moved)[1].mark == 7
    assert moved["id"].metadata == {**said, "comment": "c", "delta.identity.highWaterMark": 7}
    assert with_marks(schema, {}) == schema
