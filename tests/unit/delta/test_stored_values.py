"""Values in a table's log: statistics that bound them, and texts of partition values."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pytest
from delta_logs import (
    HIGHEST,
    LOWEST,
    WIDE,
)

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.delta.file_statistics import file_statistics
from mergecheck.harness.delta.tables.partition_values import directory, parse, serialize
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import (
    DecimalType,
    Field,
    Schema,
    StructType,
)
from mergecheck.model.types.ddl import parse_schema


def statistics(data_type: Any, *values: Any) -> Any:
    return json.loads(file_statistics([(v,) for v in values], [Field("c", data_type)]))


@pytest.mark.parametrize(
    ("data_type", "values", "low", "high"),
    [
        (types.INT, (3, None, -1), -1, 3),
        (types.DOUBLE, (1.5, -0.5), -0.5, 1.5),
        (types.DOUBLE, (1.5, math.nan), None, None),
        (types.DOUBLE, (1.5, math.inf), None, None),
        (DecimalType(5, 2), (Decimal("1.50"), Decimal("-0.01")), -0.01, 1.5),
        (types.STRING, ("b", "a", "é"), "a", "é"),
        (types.STRING, ("x" * 40,), "x" * 32, "x" * 32 + "\U0010ffff"),
        (types.STRING, ("x" * 32 + "\U0010ffff",), "x" * 32, None),
        (types.DATE, (dt.date(1, 2, 3),), "0001-02-03", "0001-02-03"),
        (
            types.TIMESTAMP,
            (dt.datetime(2020, 1, 1, microsecond=1999, tzinfo=dt.UTC),),
            "2020-01-01T00:00:00.001Z",
            "2020-01-01T00:00:00.001Z",
        ),
        (types.BOOLEAN, (True,), None, None),
        (types.BINARY, (b"a",), None, None),
        (types.INT, (None,), None, None),
    ],
)
def test_statistics_bound_the_values(data_type: Any, values: Any, low: Any, high: Any) -> None:
    """Bounds are Delta's writer's; a column whose bounds JSON cannot express has none."""
    stats = statistics(data_type, *values)
    assert (stats["minValues"].get("c"), stats["maxValues"].get("c")) == (low, high)
    assert (stats["numRecords"], stats["nullCount"]) == (len(values), {"c": values.count(None)})


def test_statistics_look_into_structs() -> None:
    """Fields of structs have their own counts; a NULL struct counts for each."""
    stats = statistics(StructType((Field("x", types.INT), Field("y", types.STRING))), (1, None), None)
    assert stats == {
        "numRecords": 2,
        "minValues": {"c": {"x": 1}},
        "maxValues": {"c": {"x": 1}},
        "nullCount": {"c": {"x": 1, "y": 2}},
    }


@pytest.mark.parametrize(
    ("value", "data_type"),
    [(row[i], WIDE.columns[i].type) for row in (LOWEST, HIGHEST) for i in range(13) if row[i] != "" and i != 9],
)
def test_partition_values_round_trip(value: Any, data_type: Any) -> None:
    """The text in the log is read back as the same value."""
    schema = Schema((Field("c", data_type),))
    assert same_rows([(value,)], [(parse(serialize(value, data_type), data_type),)], schema)


@pytest.mark.parametrize(
    ("text", "ddl"), [("-1.-25", "DECIMAL(4,2)"), ("1.5", "INT"), ("x", "DOUBLE"), ("2020-13-01", "DATE")]
)
def test_a_partition_value_of_no_type_is_a_wrong_value(text: str, ddl: str) -> None:
    """Tables of other engines hold such texts; a reader distinguishes them from its own mistakes by the class."""
    with pytest.raises(ValueError, match=r".+"):
        parse(text, parse_schema(f"c {ddl}").columns[0].type)


def test_directories_never_outgrow_the_file_system() -> None:
    """A long value is cut in the directory's name, which carries no meaning."""
    assert directory(["p", "q"], ["é" * 200, None]).encode().index(b"/") <= 255
