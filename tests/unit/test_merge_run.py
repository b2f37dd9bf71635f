"""Decisions of a merge that follow from sizes: which work fits in one task, and what counts as large."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import types as t

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.executors.optimizations.low_shuffle import uses_low_shuffle
from mergecheck.merge.executors.optimizations.single_scan import MAX_BYTES, uses_single_scan
from mergecheck.merge.executors.run import (
    DEFAULT_SPLIT_BYTES,
    OPEN_COST_BYTES,
    SMALL_BYTES,
    SMALL_SOURCE_ROWS,
    MergeRun,
    fit_in_one_task,
    is_small,
    runs_in_one_task,
    source_for,
    split_bytes,
)

MIB = 2**20


class Frame:
    """A frame that knows into how many partitions it was coalesced."""

    num_partitions: int | None = None

    def coalesce(self, number: int) -> Frame:
        changed = Frame()
        changed.num_partitions = number
        return changed


def run(*, num_rows: int | None = 5, one_task: bool = True, **fields: Any) -> MergeRun:
    given: Any = {
        "spark": None,
        "conf": MergeConf(),
        "merge": None,
        "snapshot": SimpleNamespace(partition_columns=("p", "n")),
        "source": SimpleNamespace(num_rows=num_rows, frame=Frame()),
        "writer": None,
        "stopwatch": None,
        "shuffles_to_one_task": one_task,
        "split_bytes": 100 * MIB,
    }
    return MergeRun(**{**given, **fields})


def files(*sizes: int) -> Any:
    return [SimpleNamespace(size=size) for size in sizes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("134217728", 128 * MIB),
        ("1000b", 1000),
        ("64k", 64 * 2**10),
        (" 3MB ", 3 * MIB),
        ("2g", 2 * 2**30),
        ("1T", 2**40),
        (None, DEFAULT_SPLIT_BYTES),
        ("half a file", DEFAULT_SPLIT_BYTES),
    ],
)
def test_split_bytes_read_sparks_sizes(text: str | None, expected: int) -> None:
    session: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda _name, _default: text))
    assert split_bytes(session) == expected


def test_small_output_is_few_rows_and_few_bytes() -> None:
    assert is_small(num_source_rows=SMALL_SOURCE_ROWS, rewritten=files(SMALL_BYTES - 1, 1))
    assert not is_small(num_source_rows=SMALL_SOURCE_ROWS + 1)
    assert is_small(num_source_rows=0)
    assert not is_small(num_source_rows=0, rewritten=files(SMALL_BYTES, 1))


def test_files_fit_in_one_task_with_the_cost_of_opening_them() -> None:
    """As Spark packs them: a file counts with its bytes and the cost of opening it."""
    size = 50 * MIB - OPEN_COST_BYTES
    assert fit_in_one_task(run(), files(size, size))
    assert not fit_in_one_task(run(), files(size, size + 1))
    assert fit_in_one_task(run(), files())


def test_one_task_does_where_all_is_small_and_spark_would_gather_it_anyway() -> None:
    small = files(1, 1)
    assert runs_in_one_task(run(), small)
    assert runs_in_one_task(run(num_rows=SMALL_SOURCE_ROWS), small)
    assert not runs_in_one_task(run(num_rows=SMALL_SOURCE_ROWS + 1), small)
    assert not runs_in_one_task(run(num_rows=None), small)
    assert not runs_in_one_task(run(one_task=False), small)
    assert not runs_in_one_task(run(), files(200 * MIB))


def test_the_source_is_gathered_for_one_task_only() -> None:
    together: Any = source_for(run(), files(1))
    apart: Any = source_for(run(num_rows=None), files(1))
    assert (together.num_partitions, apart.num_partitions) == (1, None)


def test_a_table_is_large_from_the_setting_on() -> None:
    limit = MergeConf().large_table_bytes
    assert run().is_large(files(limit - 1, 1))
    assert not run().is_large(files(limit - 1))


@pytest.mark.parametrize(
    ("sizes", "changes", "expected"),
    [
        ((MAX_BYTES - 1, 1), {}, True),
        ((MAX_BYTES, 1), {}, False),
        ((), {}, False),
        ((1,), {"conf": MergeConf(single_scan=False)}, False),
        ((1,), {"conf": MergeConf(large_table_bytes=1)}, False),
        ((1,), {"conf": MergeConf(large_table_bytes=2)}, True),
        ((1,), {"one_task": False}, True),
        ((1,), {"num_rows": None}, False),
        ((1,), {"num_rows": SMALL_SOURCE_ROWS}, True),
        ((1,), {"num_rows": SMALL_SOURCE_ROWS + 1}, False),
    ],
)
def test_what_is_merged_in_a_single_scan(sizes: tuple[int, ...], changes: dict[str, Any], *, expected: bool) -> None:
    """One task must get everything, and hold it; what counts as large is merged as large tables are."""
    assert uses_single_scan(run(**changes), files(*sizes)) is expected


def test_only_string_partition_columns_store_the_empty_string_as_null() -> None:
    """R-744, by position in the final schema."""
    fields = (("v", t.StringType()), ("p", t.StringType()), ("n", t.IntegerType()))
    schema = t.StructType([t.StructField(name, kind) for name, kind in fields])
    assert run(merge=SimpleNamespace(final_schema=schema)).string_partitions == {1}


def schema(*fields: tuple[str, t.DataType]) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in fields])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((("a", t.IntegerType()),), (("a", t.IntegerType()), ("b", t.StringType())), True),
        ((("a", t.IntegerType()),), (("a", t.LongType()),), False),
        ((("a", t.IntegerType()),), (("A", t.IntegerType()),), False),
        ((("a", t.ArrayType(t.LongType())),), (("a", t.ArrayType(t.LongType())),), False),
        ((("a", t.IntegerType()),), (("a", t.IntegerType()), ("b", t.ArrayType(t.LongType()))), False),
    ],
)
def test_files_are_copied_where_columns_are_atomic_and_keep_their_types(
    monkeypatch: pytest.MonkeyPatch,
    old: tuple[tuple[str, t.DataType], ...],
    new: tuple[tuple[str, t.DataType], ...],
    *,
    expected: bool,
) -> None:
    """Row groups are copied as they are, so a column that changes its type or is nested needs the other way."""
    monkeypatch.setattr(
        "mergecheck.merge.executors.optimizations.low_shuffle.conditions_cannot_fail", lambda _merge: True
    )
    merge: Any = SimpleNamespace(
        not_matched_by_source=(), target_schema=schema(*old), final_schema=schema(*new), clauses=()
    )
    file = SimpleNamespace(size=2**40, statistics=SimpleNamespace(num_records=None))
    touched: Any = SimpleNamespace(files=[file], num_multiple_matches=0)
    merging = run(merge=merge, snapshot=SimpleNamespace(partition_columns=()), writer=SimpleNamespace(checks=()))
    assert uses_low_shuffle(merging, touched) is expected
