"""Rows of an earlier schema in a later one, at every depth."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from mergecheck.harness.compare.evolution import evolution_faults, row_converter
from mergecheck.model.types.ddl import parse_schema


@pytest.mark.parametrize(
    ("old", "new", "row", "converted"),
    [
        ("a INT", "a INT, b STRING", (1,), (1, None)),
        ("a INT", "b STRING, a INT", (1,), (None, 1)),
        ("s STRUCT<x: INT>", "s STRUCT<x: INT, y: INT>", ((1,),), ((1, None),)),
        ("s STRUCT<x: INT>", "s STRUCT<x: INT, y: INT>", (None,), (None,)),
        ("s STRUCT<x: INT>", "s STRUCT<x: INT, y: STRUCT<z: INT>>", ((None,),), ((None, None),)),
        (
            "l ARRAY<STRUCT<x: INT>>",
            "l ARRAY<STRUCT<x: INT, y: INT>>",
            (((1,), None),),
            (((1, None), None),),
        ),
        (
            "m MAP<STRUCT<k: INT>, STRUCT<x: INT>>",
            "m MAP<STRUCT<k: INT, l: INT>, STRUCT<x: INT, y: INT>>",
            ((((1,), (2,)), ((3,), None)),),
            ((((1, None), (2, None)), ((3, None), None)),),
        ),
        ("i TINYINT, j INT", "i INT, j BIGINT", (1, None), (1, None)),
        ("f FLOAT, d INT", "f DOUBLE, d DOUBLE", (0.5, 3), (0.5, 3.0)),
        ("d DECIMAL(5,1)", "d DECIMAL(38,2)", (Decimal("1.5"),), (Decimal("1.50"),)),
        ("d DATE", "d TIMESTAMP_NTZ", (dt.date(2020, 1, 2),), (dt.datetime(2020, 1, 2),)),  # noqa: DTZ001 - no zone
    ],
)
def test_old_rows_in_a_new_schema(old: str, new: str, row: Any, converted: Any) -> None:
    """R-610, R-241: new is NULL, NULL stays NULL, the rest keeps its value."""
    convert = row_converter(parse_schema(old), parse_schema(new))
    assert convert is not None
    assert repr(convert(row)) == repr(converted)


@pytest.mark.parametrize(
    ("old", "new"),
    [("a INT, b INT", "a INT"), ("a BIGINT", "a INT"), ("s STRUCT<x: INT, y: INT>", "s STRUCT<x: INT>"),
     ("l ARRAY<STRING>", "l ARRAY<INT>"), ("m MAP<STRING, STRING>", "m MAP<STRING, INT>"), ("a STRING", "a INT")],
)  # fmt: skip
def test_no_evolution_leads_there(old: str, new: str) -> None:
    """A column that is lost or narrowed has no rows in the new schema."""
    assert row_converter(parse_schema(old), parse_schema(new)) is None


def test_types_widen_only_where_the_table_says_so() -> None:
    """R-237: the property decides; it never lets a type become narrower."""
    small, wide = parse_schema("a INT, s STRUCT<x: TINYINT>"), parse_schema("a BIGINT, s STRUCT<x: INT>")
    assert list(evolution_faults(small, wide, widens=True)) == []
    assert len(list(evolution_faults(small, wide, widens=False))) == 2
    assert len(list(evolution_faults(wide, small, widens=True))) == 2
