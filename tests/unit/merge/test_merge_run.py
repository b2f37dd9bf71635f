"""Decisions of a merge that follow from sizes: which work fits in one task, and what counts as large."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import types as t

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.executors.joins import Join
from mergecheck.merge.executors.merge_run import MergeRun
from mergecheck.merge.executors.optimizations.low_shuffle import uses_low_shuffle
from mergecheck.merge.executors.optimizations.one_task import (
    DEFAULT_SPLIT_BYTES,
    OPEN_COST_BYTES,
    SMALL_BYTES,
    SMALL_SOURCE_ROWS,
    OneTaskJoins,
    fit_in_one_task,
    split_bytes,
)
from mergecheck.merge.executors.optimizations.single_scan import MAX_BYTES, uses_single_scan

MIB = 2**20


def session(split: str | None = None) -> Any:
    return SimpleNamespace(conf=SimpleNamespace(get=lambda _name, _default: split))


def run(*, num_rows: int | None = 5, **fields: Any) -> MergeRun:
    given: Any = {
        "spark": session(),
        "conf": MergeConf(),
        "merge": None,
        "snapshot": SimpleNamespace(partition_columns=("p", "n")),
        "candidates": (),
        "source": SimpleNamespace(num_rows=num_rows),
        "joins": None,
        "writer": None,
        "stopwatch": None,
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
    assert split_bytes(session(text)) == expected


class Frame:
    """A frame that remembers its calls."""

    def __init__(self, *steps: str) -> None:
        self.steps = steps

    def coalesce(self, number: int) -> Frame:
        return Frame(*self.steps, f"coalesce {number}")

    def where(self, condition: str) -> Frame:
        return Frame(*self.steps, condition)


def one_task(*, num_rows: int | None = 5, shuffles_to_one_task: bool = True) -> OneTaskJoins:
    source: Any = SimpleNamespace(num_rows=num_rows)
    return OneTaskJoins(source=source, shuffles_to_one_task=shuffles_to_one_task, split_bytes=100 * MIB)


def joined(joins: OneTaskJoins, read: Any, join_type: str = "inner") -> Any:
    frame: Any = Frame()
    join: Any = joins.arrange(Join(source=frame, target=frame, type=join_type, files=read, source_columns=()))
    return join.source.steps, join.target.steps, join.type


def test_few_rows_and_few_bytes_are_written_in_one_task() -> None:
    """In any session; where joins run in one task, more bytes are."""
    session_of_many = one_task(shuffles_to_one_task=False)
    for joins, num_source_rows, sizes, expected in (
        (session_of_many, SMALL_SOURCE_ROWS, (SMALL_BYTES - 1, 1), True),
        (session_of_many, SMALL_SOURCE_ROWS + 1, (), False),
        (session_of_many, None, (), False),
        (session_of_many, 0, (), True),
        (session_of_many, 0, (SMALL_BYTES, 1), False),
        (one_task(), 0, (SMALL_BYTES, 1), True),
    ):
        assert joins.writes(files(*sizes), num_source_rows) is expected


def test_files_fit_in_one_task_with_the_cost_of_opening_them() -> None:
    """As Spark packs them: a file counts with its bytes and the cost of opening it."""
    size = 50 * MIB - OPEN_COST_BYTES
    assert fit_in_one_task(files(size, size), 100 * MIB)
    assert not fit_in_one_task(files(size, size + 1), 100 * MIB)
    assert fit_in_one_task((), 0)


def test_one_task_joins_if_all_is_small_and_spark_would_gather_it_anyway() -> None:
    small = files(1, 1)
    both = (("coalesce 1",), ("coalesce 1",), "inner")
    assert joined(one_task(), small) == both
    assert joined(one_task(num_rows=SMALL_SOURCE_ROWS), small) == both
    for joins, read in (
        (one_task(num_rows=SMALL_SOURCE_ROWS + 1), small),
        (one_task(num_rows=None), small),
        (one_task(shuffles_to_one_task=False), small),
        (one_task(), files(200 * MIB)),
    ):
        assert joined(joins, read) == ((), (), "inner")
    source, target, _ = joined(one_task(), small, "left_anti")
    assert source == ("coalesce 1", "spark_partition_id() >= 0")
    assert target == ("coalesce 1",)


def test_a_table_is_large_from_the_setting_on() -> None:
    limit = MergeConf().large_table_bytes
    assert MergeConf().is_large(limit)
    assert not MergeConf().is_large(limit - 1)


@pytest.mark.parametrize(
    ("sizes", "changes", "expected"),
    [
        ((MAX_BYTES - 1, 1), {}, True),
        ((MAX_BYTES, 1), {}, False),
        ((), {}, False),
        ((1,), {"conf": MergeConf(large_table_bytes=1)}, False),
        ((1,), {"conf": MergeConf(large_table_bytes=2)}, True),
        ((1,), {"num_rows": None}, False),
        ((1,), {"num_rows": SMALL_SOURCE_ROWS}, True),
        ((1,), {"num_rows": SMALL_SOURCE_ROWS + 1}, False),
    ],
)
def test_what_is_merged_in_a_single_scan(sizes: tuple[int, ...], changes: dict[str, Any], *, expected: bool) -> None:
    """One task must get everything, and hold it; what counts as large is merged as large tables are."""
    assert uses_single_scan(run(candidates=files(*sizes), **changes)) is expected


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
