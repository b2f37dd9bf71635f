"""Tables of many types, commits that are written by hand, and what delta-rs reads."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from mergecheck.model.arrow import table_to_rows
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import (
    ArrayType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
)

FEED = {CDF_PROPERTY: "true"}
WIDE = Schema(
    (
        Field("b", types.BOOLEAN),
        Field("tiny", types.TINYINT),
        Field("small", types.SMALLINT),
        Field("int", types.INT),
        Field("big", types.BIGINT),
        Field("f", types.FLOAT),
        Field("d", types.DOUBLE),
        Field("dec", DecimalType(38, 10)),
        Field("s", types.STRING),
        Field("bin", types.BINARY),
        Field("date", types.DATE),
        Field("ts", types.TIMESTAMP),
        Field("ntz", types.TIMESTAMP_NTZ),
        Field("a b.c`d", StructType((Field("x y", types.INT), Field("z", types.STRING)))),
        Field("list", ArrayType(types.INT)),
        Field("map", MapType(types.STRING, types.DOUBLE)),
    )
)


FIRST_INSTANT = dt.datetime(1, 1, 1)  # noqa: DTZ001 - a TIMESTAMP_NTZ has no zone
LAST_INSTANT = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001 - the same
LOWEST = (
    False, -128, -(2**15), -(2**31), -(2**63), -math.inf, -0.0, Decimal("-0.0000000001"), "", b"", dt.date.min,
    FIRST_INSTANT.replace(tzinfo=dt.UTC), FIRST_INSTANT, (None, None), (), (),
)  # fmt: skip


HIGHEST = (
    True, 127, 2**15 - 1, 2**31 - 1, 2**63 - 1, math.nan, math.inf, Decimal("9" * 28 + "." + "9" * 10),
    "é/=%?#+ '\n\U0001f600" * 3, b"\x00\xff", dt.date.max, LAST_INSTANT.replace(tzinfo=dt.UTC), LAST_INSTANT,
    (1, ""), (1, None), (("k", math.nan), ("", None)),
)  # fmt: skip


def deltalake_rows(path: Any, schema: Any) -> Any:
    return table_to_rows(DeltaTable(path).to_pyarrow_table(), schema)


def feed_of_deltalake(path: Any, schema: Any, version: Any) -> Any:
    table = DeltaTable(path).load_cdf(starting_version=version, ending_version=version).read_all()
    names = [*schema.names, "_change_type"]
    typed = Schema((*schema.columns, Field("_change_type", types.STRING)))
    return table_to_rows(pa.table(table).select(names), typed), typed


def commit(path: Any, version: Any, actions: Any) -> None:
    log = path / "_delta_log" / f"{version:020}.json"
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


def merge_commit(**metrics: Any) -> Any:
    return {"commitInfo": {"timestamp": 0, "operation": "MERGE", "operationMetrics": metrics}}


def rewrite(add: Any, *, keep_partition_values: Any = True) -> Any:
    removed = {"path": add["path"], "deletionTimestamp": 0, "dataChange": True, "size": add["size"]}
    if keep_partition_values:
        removed |= {"extendedFileMetadata": True, "partitionValues": add["partitionValues"]}
    return {"remove": removed}
