"""Data skipping is right when no skipped file holds a row for which the predicate is TRUE."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

from mergecheck.merge.table.reading.bounds import column_bounds
from mergecheck.merge.table.reading.data_skipping import (
    Truth,
    conjunction,
    file_may_match,
    skip_files,
    target_only_conjuncts,
)
from mergecheck.merge.table.snapshot.data_files import DataFile, FileStatistics
from mergecheck.merge.table.snapshot.snapshot import Snapshot

COLUMN = "column"
NEGATIONS = {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE, Truth.NULL: Truth.NULL}


def snapshot_of(data_type: t.DataType, *files: DataFile, partitioned: bool = False) -> Snapshot:
    return Snapshot(
        location="/table",
        version=0,
        schema=t.StructType([t.StructField(COLUMN, data_type)]),
        partition_columns=(COLUMN,) if partitioned else (),
        properties={},
        files=files,
    )


def file_with(low: Any, high: Any, *, nulls: int | None = 0, rows: int | None = 10) -> DataFile:
    return DataFile(
        path="f",
        location="/table/f",
        size=1,
        statistics=FileStatistics(
            num_records=rows,
            null_count={} if nulls is None else {COLUMN: nulls},
            min_values={COLUMN: low},
            max_values={COLUMN: high},
        ),
    )


def keeps(predicate: str, data_type: t.DataType, file: DataFile) -> bool:
    tree = sqlglot.parse_one(predicate, dialect="databricks")
    return file_may_match(snapshot_of(data_type, file), file, tree)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("target_0 = 5", True),
        ("target_0 = 2", False),
        ("target_0 = 8", False),
        ("5 = target_0", True),
        ("2 > target_0", False),
        ("target_0 < 3", False),
        ("target_0 <= 3", True),
        ("target_0 > 7", False),
        ("target_0 >= 7", True),
        ("target_0 > 6.5", True),
        ("target_0 > 7L", False),
        ("target_0 = -5", False),
        ("target_0 <> 5", True),
        ("target_0 <=> 9", False),
        ("target_0 <=> NULL", False),
        ("target_0 IS NULL", False),
        ("target_0 IS NOT NULL", True),
        ("target_0 IN (1, 2)", False),
        ("target_0 IN (1, 4)", True),
        ("target_0 IN (1, NULL)", False),
        ("target_0 NOT IN (1, 2)", True),
        ("target_0 BETWEEN 8 AND 9", False),
        ("target_0 BETWEEN 1 AND 3", True),
        ("NOT (target_0 >= 3)", False),
        ("NOT (target_0 > 3)", True),
        ("target_0 > 7 OR target_0 = 4", True),
        ("target_0 > 3 AND target_0 > 7", False),
        ("TRUE", True),
        ("FALSE", False),
        ("NULL", False),
        ("target_0 = NULL", False),
        ("target_0 > 7 IS NOT TRUE", True),
        ("abs(target_0) = 100", True),
        ("target_0 = '100'", True),
        ("target_0 = 100D", True),
        ("target_0 + 1 = 100", True),
    ],
)
def test_bounds_of_integers(predicate: str, *, expected: bool) -> None:
    """A file with values from 3 to 7 and without NULLs is kept or skipped by the bounds."""
    assert keeps(predicate, t.LongType(), file_with(3, 7)) is expected


def test_nulls_are_counted() -> None:
    """NULL counts decide the NULL tests, and a file of NULLs satisfies no comparison."""
    assert keeps("target_0 IS NULL", t.LongType(), file_with(3, 7, nulls=1))
    assert not keeps("target_0 IS NOT NULL", t.LongType(), file_with(None, None, nulls=10))
    assert not keeps("target_0 = 3 OR target_0 <> 3", t.LongType(), file_with(None, None, nulls=10))
    assert keeps("target_0 <=> NULL", t.LongType(), file_with(3, 7, nulls=None))


def test_missing_statistics_keep_the_file() -> None:
    """Nothing is known of a file without statistics."""
    unknown = DataFile(path="f", location="/table/f", size=1)
    for predicate in ("target_0 = 1", "target_0 IS NULL", "target_0 IS NOT NULL", "target_0 <> 1"):
        assert keeps(predicate, t.LongType(), unknown)


def test_nan_is_above_every_bound() -> None:
    """NaN, which statistics leave out, satisfies > and >= and violates < (R-801)."""
    file = file_with(1.0, 2.0)
    assert keeps("target_0 > 5", t.DoubleType(), file)
    assert keeps("target_0 >= 5", t.DoubleType(), file)
    assert keeps("NOT (target_0 < 5)", t.DoubleType(), file)
    assert not keeps("target_0 < 1", t.DoubleType(), file)
    assert not keeps("target_0 = 5", t.DoubleType(), file)
    assert keeps("target_0 > 5", t.DoubleType(), file_with(math.nan, math.nan))


def test_negative_zero_equals_zero() -> None:
    """-0.0 = 0.0 is TRUE, so neither bound excludes the other (R-802)."""
    assert keeps("target_0 = 0", t.DoubleType(), file_with(-0.0, -0.0))
    assert keeps("target_0 >= 0", t.DoubleType(), file_with(-1.0, -0.0))


def test_floats_are_compared_as_stored() -> None:
    """A FLOAT's statistic 0.7 stands for 0.699999988, which is less than the double 0.7."""
    assert keeps("target_0 < 0.7", t.FloatType(), file_with(0.7, 0.7))


def test_long_strings_have_no_upper_bound() -> None:
    """A maximum that may be cut excludes nothing above it; a minimum still does below."""
    file = file_with("b" * 32, "c" * 32)
    assert keeps("target_0 = 'd'", t.StringType(), file)
    assert not keeps("target_0 = 'a'", t.StringType(), file)
    assert not keeps("target_0 > 'd'", t.StringType(), file_with("b", "c"))


def test_strings_do_not_meet_numbers() -> None:
    """A string column beside a number is coerced by Spark, so it keeps its file."""
    assert keeps("target_0 = 5", t.StringType(), file_with("a", "b"))


def test_timestamps_are_kept_in_milliseconds() -> None:
    """Bounds of timestamps are widened by the millisecond that writers cut off, at either end (R-804)."""
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    bounds = column_bounds(file_with(moment, moment), t.StructField(COLUMN, t.TimestampType()), is_partition=False)
    assert bounds.lower == moment - dt.timedelta(milliseconds=1)
    assert bounds.upper == moment + dt.timedelta(milliseconds=1)


def test_dates_and_decimals_and_booleans() -> None:
    """Dates, narrow decimals and booleans prune; wide decimals, which JSON may have rounded, do not."""
    assert not keeps("target_0 = DATE '2020-01-02'", t.DateType(), file_with(dt.date(2020, 1, 1), dt.date(2020, 1, 1)))
    assert keeps("target_0 = '2020-01-02'", t.DateType(), file_with(dt.date(2020, 1, 1), dt.date(2020, 1, 1)))
    narrow, wide = Decimal("1.50"), Decimal("1.5000000000")
    assert not keeps("target_0 > 1.5", t.DecimalType(5, 2), file_with(narrow, narrow))
    assert keeps("target_0 > 1.5", t.DecimalType(30, 10), file_with(wide, wide))
    true_only, false_only = True, False
    assert not keeps("NOT target_0", t.BooleanType(), file_with(true_only, true_only))
    assert not keeps("target_0", t.BooleanType(), file_with(false_only, false_only))


def test_partition_values_are_exact() -> None:
    """A partition value is both bounds; a NULL partition holds NULLs only."""
    files = [
        DataFile(path=str(value), location=f"/table/{value}", size=1, partition_values={COLUMN: value})
        for value in (1, 2, None)
    ]
    snapshot = snapshot_of(t.IntegerType(), *files, partitioned=True)

    def kept(predicate: str) -> list[str]:
        return [f.path for f in skip_files(snapshot, sqlglot.parse_one(predicate, dialect="databricks"))]

    assert kept("target_0 = 2") == ["2"]
    assert kept("target_0 <> 2") == ["1"]
    assert kept("target_0 IS NULL") == ["None"]
    assert kept("target_0 IS NOT NULL") == ["1", "2"]


def test_target_only_conjuncts() -> None:
    """Conjuncts over target columns, or over none, are taken; an OR with a source column is not (R-420)."""
    tree = sqlglot.parse_one(
        "target_0 = source_0 AND (target_1 > 1 AND FALSE) AND (target_0 = 1 OR source_1 = 2)", dialect="databricks"
    )
    assert [part.sql() for part in target_only_conjuncts(tree)] == ["target_1 > 1", "FALSE"]
    assert conjunction([]).sql() == "TRUE"


VALUES = st.one_of(st.none(), st.integers(-3, 3))
LITERALS = st.one_of(st.none(), st.integers(-4, 4), st.decimals(-4, 4, places=1, allow_nan=False))
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


@st.composite
def predicates(draw: st.DrawFn, depth: int = 2) -> tuple[str, Any]:
    """Draw a predicate as SQL text and as a Python function from a value to a truth."""
    shape = draw(st.sampled_from(["compare", "null", "and", "or", "not"] if depth else ["compare", "null"]))
    if shape == "null":
        return "target_0 IS NULL", lambda v: Truth.TRUE if v is None else Truth.FALSE
    if shape == "compare":
        operator, literal = draw(st.sampled_from(OPERATORS)), draw(LITERALS)
        return f"target_0 {operator} {'NULL' if literal is None else literal}", lambda v: _compare(v, operator, literal)
    left, left_of = draw(predicates(depth=depth - 1))
    if shape == "not":
        return f"NOT ({left})", lambda v: NEGATIONS[left_of(v)]
    right, right_of = draw(predicates(depth=depth - 1))
    decisive = Truth.FALSE if shape == "and" else Truth.TRUE
    return f"({left}) {shape.upper()} ({right})", lambda v: _both({left_of(v), right_of(v)}, decisive)


def _both(truths: set[Truth], decisive: Truth) -> Truth:
    """AND if FALSE is decisive, OR if TRUE is."""
    if decisive in truths:
        return decisive
    return Truth.NULL if Truth.NULL in truths else NEGATIONS[decisive]


def _compare(value: Any, operator: str, literal: Any) -> Truth:
    if operator == "<=>":
        return Truth.TRUE if value == literal else Truth.FALSE
    if value is None or literal is None:
        return Truth.NULL
    holds = {
        "=": value == literal,
        "<>": value != literal,
        "<": value < literal,
        "<=": value <= literal,
        ">": value > literal,
        ">=": value >= literal,
    }[operator]
    return Truth.TRUE if holds else Truth.FALSE


@given(st.lists(VALUES, min_size=1, max_size=4), predicates())
def test_no_file_with_a_true_row_is_skipped(values: list[Any], predicate: tuple[str, Any]) -> None:
    """Whatever the rows and the predicate, a file with a row that satisfies it is kept."""
    text, truth_of = predicate
    present = [value for value in values if value is not None]
    file = file_with(min(present, default=None), max(present, default=None), nulls=values.count(None), rows=len(values))
    if any(truth_of(value) is Truth.TRUE for value in values):
        assert keeps(text, t.LongType(), file)


@given(VALUES, predicates())
def test_one_value_is_decided_exactly_by_its_partition(value: Any, predicate: tuple[str, Any]) -> None:
    """With a partition value the verdict on a comparison is not only safe but exact, so skipping does something."""
    text, truth_of = predicate
    file = DataFile(path="f", location="/table/f", size=1, partition_values={COLUMN: value})
    snapshot = snapshot_of(t.LongType(), file, partitioned=True)
    verdict = file_may_match(snapshot, file, sqlglot.parse_one(text, dialect="databricks"))
    assert verdict is (truth_of(value) is Truth.TRUE)
