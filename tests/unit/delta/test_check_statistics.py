"""Statistics in the log against the rows of their file."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pytest

from mergecheck.harness.delta.check_statistics import file_faults
from mergecheck.harness.delta.file_statistics import file_statistics
from mergecheck.harness.delta.read import LiveFile
from mergecheck.model.types.ddl import parse_schema

INSTANT = dt.datetime(2020, 1, 1, microsecond=1999, tzinfo=dt.UTC)


def faults(ddl: str, rows: Any, stats: Any, partition_by: Any = ()) -> list[str]:
    text = stats if isinstance(stats, str) else json.dumps(stats)
    file = LiveFile(add={"path": "f", "stats": text}, rows=tuple(rows))
    return list(file_faults(file, schema=parse_schema(ddl), partition_by=partition_by))


@pytest.mark.parametrize(
    ("ddl", "rows"),
    [
        ("i INT, s STRING", [(1, "x" * 40), (None, "\U0010ffff" * 33), (-5, None)]),
        ("d DOUBLE, f FLOAT", [(0.1, 0.10000000149011612), (-0.0, 1.5)]),
        ("d DOUBLE", [(math.nan,), (1.0,), (math.inf,)]),
        ("d DECIMAL(38,10)", [(Decimal("-0.0000000001"),), (Decimal("9" * 28 + ".0000000001"),)]),
        ("t TIMESTAMP, n TIMESTAMP_NTZ, d DATE", [(INSTANT, INSTANT.replace(tzinfo=None), dt.date.max)]),
        ("t TIMESTAMP", [(dt.datetime.max.replace(tzinfo=dt.UTC),)]),
        ("s STRUCT<x: INT, y: STRUCT<z: STRING>>", [((1, ("a",)),), (None,), ((None, None),)]),
        ("l ARRAY<INT>, m MAP<STRING, INT>, b BINARY, o BOOLEAN", [((1,), (), b"", True), (None,) * 4]),
    ],
)
def test_true_statistics_have_no_fault(ddl: str, rows: Any) -> None:
    """Bounds may be cut, rounded or missing."""
    schema = parse_schema(ddl)
    assert faults(ddl, rows, file_statistics(rows, schema.columns)) == []
    assert faults(ddl, rows, {"numRecords": len(rows)}) == []


def test_the_bound_of_a_float_is_a_number_of_32_bits() -> None:
    """0.1 in the log stands for the float nearest to it, which is greater than the double 0.1."""
    bounds = {"f": 0.1}
    assert faults("f FLOAT", [(0.10000000149011612,)], {"minValues": bounds, "maxValues": bounds}) == []
    assert len(faults("f DOUBLE", [(0.10000000149011612,)], {"minValues": bounds, "maxValues": bounds})) == 1


def test_a_file_without_statistics_has_no_fault() -> None:
    """No reader skips by missing statistics."""
    file = LiveFile(add={"path": "f"}, rows=((1,),))
    assert list(file_faults(file, schema=parse_schema("i INT"), partition_by=())) == []


@pytest.mark.parametrize(
    ("ddl", "rows", "stats", "told"),
    [
        ("i INT", [(1,)], {"numRecords": 2}, "numRecords 2"),
        ("i INT", [(1,)], {"nullCount": {"i": 1}}, "nullCount 1 of i, but 0 values are NULL"),
        ("i INT", [(1,), (3,)], {"minValues": {"i": 2}}, "minValues 2 of i, but the file holds 1"),
        ("i INT", [(1,), (3,)], {"maxValues": {"i": 2}}, "maxValues 2 of i, but the file holds 3"),
        ("d DOUBLE", [(1.0,), (math.nan,)], {"maxValues": {"d": 1.0}}, "holds nan"),
        ("d DECIMAL(20,2)", [(Decimal("1.01"),)], {"maxValues": {"d": 1.0}}, "holds 1.01"),
        ("s STRING", [("b",)], {"maxValues": {"s": "a"}}, "holds b"),
        ("d DATE", [(dt.date(2020, 1, 2),)], {"maxValues": {"d": "2020-01-01"}}, "holds 2020-01-02"),
        ("t TIMESTAMP", [(INSTANT,)], {"maxValues": {"t": "2020-01-01T00:00:00.000Z"}}, "maxValues"),
        ("t TIMESTAMP", [(INSTANT,)], {"minValues": {"t": "2020-01-01T00:00:00.002Z"}}, "minValues"),
        ("s STRUCT<x: INT>", [((5,),)], {"maxValues": {"s": {"x": 4}}}, "maxValues 4 of s.x"),
        ("i INT", [(1,)], "{", "cannot be read"),
        ("i INT", [(1,)], {"minValues": {"i": "one"}}, "cannot be read"),
        ("t TIMESTAMP", [(INSTANT,)], {"minValues": {"t": "long ago"}}, "no year in 'long ago'"),
    ],
)
def test_a_wrong_number_is_told(ddl: str, rows: Any, stats: Any, told: str) -> None:
    """One fault a wrong number, with the value that denies it."""
    (fault,) = faults(ddl, rows, stats)
    assert told in fault


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (dt.datetime.max.replace(tzinfo=dt.UTC), "+10000-01-01T05:29:59.999+05:30"),
        (dt.datetime.min.replace(tzinfo=dt.UTC), "0000-12-31T19:03:58.000-04:56:02"),
        (dt.datetime(2020, 2, 29, 20, tzinfo=dt.UTC), "2020-03-01T01:30:00.000+05:30"),
    ],
    ids=["after-9999", "before-1", "a-day-later"],
)
def test_a_moment_may_be_of_another_year_where_it_was_written(moment: dt.datetime, text: str) -> None:
    """The bound is true, and one a second away from the moment is not."""
    bounds, second = {"t": text}, dt.timedelta(seconds=1)
    assert faults("t TIMESTAMP", [(moment,)], {"minValues": bounds, "maxValues": bounds}) == []
    other = moment - second if moment.year > 1 else moment + second
    assert len(faults("t TIMESTAMP", [(other,)], {"minValues": bounds, "maxValues": bounds})) == 1


def test_partition_columns_are_left_out() -> None:
    """Their values stand in the log, not in the file."""
    assert faults("p INT, i INT", [(None, 1)], {"nullCount": {"p": 0, "i": 0}}, partition_by=("p",)) == []
