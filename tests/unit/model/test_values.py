"""Cells of an engine's answer in a report: a value of another type than its column's is no right value there."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pytest

from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.values import decode_row, describe_row, encode_row

_MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
_RIGHT: dict[str, Any] = {
    "BOOLEAN": True,
    "INT": 1,
    "DOUBLE": math.inf,
    "STRING": "x",
    "BINARY": b"x",
    "DATE": dt.date(2020, 1, 2),
    "TIMESTAMP": _MOMENT,
    "TIMESTAMP_NTZ": _MOMENT.replace(tzinfo=None),
    "DECIMAL(3,1)": Decimal("1.5"),
    "STRUCT<a: INT, b: STRING>": (1, "x"),
    "ARRAY<INT>": (1, 2, None),
    "MAP<STRING, INT>": (("k", 1), ("n", None)),
    "VOID": None,
}


@pytest.mark.parametrize("ddl", _RIGHT)
def test_a_value_of_its_column_is_written_as_in_a_case_file(ddl: str) -> None:
    schema = parse_schema(f"c {ddl}")
    for row in ((_RIGHT[ddl],), (None,)):
        described = describe_row(row, schema)
        assert described == encode_row(row, schema)
        assert decode_row(json.loads(json.dumps(described)), schema, "row") == row


@pytest.mark.parametrize("ddl", _RIGHT)
def test_a_value_of_another_type_shows_its_type(ddl: str) -> None:
    """Whatever an engine answers in a column, the report is JSON and looks like no right value."""
    schema = parse_schema(f"c {ddl}")
    others = [value for other, value in _RIGHT.items() if other != ddl and value is not None]
    for value in (*others, Decimal("NaN"), (((1,),),)):
        (cell,) = describe_row((value,), schema)
        if type(value) is dt.datetime and ddl.startswith("TIMESTAMP"):
            continue  # with a zone or without one, as its text shows
        assert cell == {"python_type": type(value).__name__, "text": cell["text"]}
        json.dumps(cell)
