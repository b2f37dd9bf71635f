"""The optimisations for large tables in Spark's workers, and when conditions cannot fail."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from pyspark.sql import types as t

from mergecheck.merge.conf import LARGE_TABLE_BYTES, MergeConf
from mergecheck.merge.errors import InvalidConfigurationError
from mergecheck.merge.executors.optimizations.safe_conditions import cannot_fail
from mergecheck.merge.expressions.resolved import ResolvedExpression
from mergecheck.merge.table.reading.key_ranges import KeyRanges, hit_positions
from mergecheck.merge.table.writing.copied_rows import FileToCopy, copy_groups
from mergecheck.merge.table.writing.modified_rows import pack, unpack
from mergecheck.merge.table.writing.row_records import DATA_FILE, ROW_COUNT, routes
from mergecheck.merge.table.writing.writer import WriteTask

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {
    "target_0": t.IntegerType(),
    "target_1": t.StringType(),
    "target_2": t.DecimalType(7, 2),
    "target_3": t.BooleanType(),
    "source_0": t.LongType(),
    "source_1": t.StringType(),
    "source_2": t.DoubleType(),
}


def hits(keys: list[KeyRanges], *batches: pa.RecordBatch) -> list[int]:
    return [p for found in hit_positions(keys, batches) for p in found.column(0).to_pylist()]


def batch(*columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), names=[f"key_{i}" for i in range(len(columns))])


def test_hit_positions_finds_the_files_whose_ranges_hold_a_key() -> None:
    """Both ends belong to a range; a key in a gap hits nothing; a range that ends before it begins holds nothing."""
    ranges = KeyRanges(lows=(0, 10, 20, 1, -(2**63)), highs=(9, 19, 29, 0, 2**63 - 1))
    assert hits([ranges], batch(pa.array([9, None, 30])), batch(pa.array([20]))) == [0, 2, 4]
    assert hits([ranges], batch(pa.array([None], pa.int64()))) == []
    assert hits([ranges]) == []


def test_hit_positions_wants_every_key_column_in_range() -> None:
    ranges = [KeyRanges(lows=(0, 10), highs=(9, 19)), KeyRanges(lows=(0, 0), highs=(5, 5))]
    assert hits(ranges, batch(pa.array([3, 12]), pa.array([5, 5]))) == [0, 1]
    assert hits(ranges, batch(pa.array([3, 12]), pa.array([6, 7]))) == []


def test_hit_positions_compares_doubles_as_doubles() -> None:
    """NaN equals no whole number, and a whole number that no double can hold meets its nearest one."""
    near = 2**53 + 1
    ranges = KeyRanges(lows=(1.0, float(near), -math.inf), highs=(1.0, float(near), math.inf), is_double=True)
    assert hits([ranges], batch(pa.array([math.nan, 0.5]))) == [2]
    assert hits([ranges], batch(pa.array([math.nan, 1.0, float(2**53)]))) == [0, 1, 2]


def test_positions_survive_packing() -> None:
    positions = np.array([5, 0, 2**40, 7])
    assert unpack([pack(positions), pack(np.array([6]))]).tolist() == [0, 5, 6, 7, 2**40]
    assert unpack([]).tolist() == []


def test_copied_rows_keep_their_order_and_get_null_in_new_columns(tmp_path: Path) -> None:
    """A column that is new to the table is NULL, even where the file holds something under its name (R-241)."""
    rows = pa.table({"ID": pa.array(range(10), pa.int32()), "v": pa.array(list("abcdefghij")), "new": ["stale"] * 10})
    pq.write_table(rows, tmp_path / "old.parquet", row_group_size=4)
    schema = pa.schema([("id", pa.int64()), ("v", pa.string()), ("new", pa.string())])
    task = WriteTask(
        location=str(tmp_path), write_id="w", schema=schema, partition_columns=(), routes=routes(change_data=False)
    )
    file = FileToCopy(location=str(tmp_path / "old.parquet"), left_out=(pack(np.array([0, 5])), pack(np.array([4, 9]))))
    groups = ((), (file,))
    (result,) = copy_groups(task, frozenset({"id", "v"}), groups, [pa.record_batch([pa.array([1])], names=["id"])])
    records = {record["kind"]: record for record in result.to_pylist()}
    assert records[ROW_COUNT]["num_records"] == records[DATA_FILE]["num_records"] == 6
    written = pq.read_table(tmp_path / records[DATA_FILE]["name"])
    assert written["id"].to_pylist() == [1, 2, 3, 6, 7, 8]
    assert written["v"].to_pylist() == list("bcdghi")
    assert written["new"].null_count == 6


@pytest.mark.parametrize(
    ("stored", "plain", "values"),
    [
        (pa.string_view(), pa.string(), ["a", None, "longer than an inlined text", ""]),
        (pa.large_string(), pa.string(), ["a", None, "b", ""]),
        (pa.dictionary(pa.int8(), pa.string()), pa.string(), ["a", None, "a", ""]),
        (pa.binary_view(), pa.binary(), [b"a", None, b"b", b""]),
        (pa.list_(pa.string_view()), pa.list_(pa.field("element", pa.string())), [["a"], None, [None], []]),
        (pa.struct([("x", pa.string_view())]), pa.struct([("x", pa.string())]), [{"x": "a"}, None, {"x": None}, None]),
    ],
    ids=str,
)
def test_rows_are_left_out_of_whatever_arrow_types_a_file_asks_for(
    tmp_path: Path, stored: pa.DataType, plain: pa.DataType, values: list[Any]
) -> None:
    """A file may ask for its texts as views, of which Arrow cannot choose rows."""
    pq.write_table(pa.table({"v": pa.array(values, stored)}), tmp_path / "old.parquet")
    task = WriteTask(
        location=str(tmp_path),
        write_id="w",
        schema=pa.schema([("v", plain)]),
        partition_columns=(),
        routes=routes(change_data=False),
    )
    groups = ((FileToCopy(location=str(tmp_path / "old.parquet"), left_out=(pack(np.array([0])),)),),)
    (result,) = copy_groups(task, frozenset({"v"}), groups, [pa.record_batch([pa.array([0])], names=["id"])])
    (record,) = [record for record in result.to_pylist() if record["kind"] == DATA_FILE]
    with pq.ParquetFile(tmp_path / record["name"]) as written:
        assert written.schema_arrow.field("v").type == plain
        assert written.read()["v"].to_pylist() == values[1:]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("target_0 = source_0 AND (target_1 = source_1 OR NOT target_1 IS NULL)", True),
        ("source_0 % 2 = 0", True),
        ("target_0 BETWEEN 1 AND 5", True),
        ("target_2 = target_2", True),
        ("target_1 = 'x'", True),
        ("target_0 = -1", True),
        ("target_1 = 5", False),
        ("target_0 = source_1", False),
        ("target_2 > source_0", False),
        ("1 / target_0 > 2", False),
        ("source_0 % target_0 = 0", False),
        ("source_0 % 0 = 0", False),
        ("CAST(target_1 AS INT) = 1", False),
        ("raise_error(target_1) IS NULL", False),
        ("target_0 + 1 = 2", False),
        ("target_9 = 1", False),
        ("target_0 IN (1, source_0, 3)", True),
        ("target_0 IN (1, 'x')", False),
        ("target_0 IN (SELECT 1)", False),
        ("target_3 AND NOT target_3", True),
        ("target_0 OR TRUE", False),
        ("target_3 OR TRUE", True),
        ("target_0 = 1 AND NULL", True),
    ],
)
def test_cannot_fail(sql: str, *, expected: bool) -> None:
    """Only comparisons of columns and constants of one kind are safe on every row."""
    condition = ResolvedExpression(
        sql=sql,
        tree=sqlglot.parse_one(sql, dialect="databricks"),
        target_columns=frozenset(),
        source_columns=frozenset(),
        text=sql,
    )
    assert cannot_fail(condition, TYPES) is expected


def test_the_size_of_large_tables_is_a_number_of_bytes() -> None:
    assert MergeConf.from_settings({LARGE_TABLE_BYTES: "0"}).large_table_bytes == 0
    with pytest.raises(InvalidConfigurationError, match="a number of bytes"):
        MergeConf.from_settings({LARGE_TABLE_BYTES: "-1"})


def test_decimals_are_written_as_integers(tmp_path: Path) -> None:
    """Spark writes them so, and their bounds and values stay."""
    values = [Decimal("-1.50"), None, Decimal("99999.99")]
    pq.write_table(pa.table({"d": pa.array(values, pa.decimal128(7, 2))}), tmp_path / "old.parquet")
    schema = pa.schema([("d", pa.decimal128(7, 2))])
    task = WriteTask(
        location=str(tmp_path), write_id="w", schema=schema, partition_columns=(), routes=routes(change_data=False)
    )
    groups = ((FileToCopy(location=str(tmp_path / "old.parquet")),),)
    (result,) = copy_groups(task, frozenset({"d"}), groups, [pa.record_batch([pa.array([0])], names=["id"])])
    (record,) = [record for record in result.to_pylist() if record["kind"] == DATA_FILE]
    with pq.ParquetFile(tmp_path / record["name"]) as written:
        assert written.schema.column(0).physical_type == "INT32"
        assert written.read()["d"].to_pylist() == values
    assert json.loads(record["stats"])["maxValues"] == {"d": 99999.99}
