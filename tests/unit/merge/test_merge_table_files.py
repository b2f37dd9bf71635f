"""The writer's files, without Spark: routing, partition directories, statistics, NOT NULL, clean-up."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import types as t

from mergecheck.merge.errors import InvalidConfigurationError
from mergecheck.merge.table.log.indexed_columns import IndexedColumns
from mergecheck.merge.table.log.partition_values import directory, serialize, sql_literal, sql_string
from mergecheck.merge.table.log.properties import indexed_columns
from mergecheck.merge.table.log.statistics import StatisticsCollector, truncated_maximum
from mergecheck.merge.table.writing import writer as writer_module
from mergecheck.merge.table.writing.arrow_schema import arrow_schema
from mergecheck.merge.table.writing.constraints import first_violation, not_null_paths
from mergecheck.merge.table.writing.row_records import ACTION, RowAction, routes
from mergecheck.merge.table.writing.writer import (
    CHANGE_FILE,
    CHECK_VIOLATION,
    DATA_FILE,
    NULL_VIOLATION,
    ROW_COUNT,
    WriteTask,
    write_partition,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("p", pa.string())])


def task(path: Path, **changes: Any) -> WriteTask:
    given: dict[str, Any] = {
        "location": str(path),
        "write_id": "w",
        "schema": SCHEMA,
        "partition_columns": (),
        "routes": routes(change_data=True),
    }
    return WriteTask(**{**given, **changes})


def batch(rows: Sequence[tuple[RowAction, int | None, str | None]]) -> pa.RecordBatch:
    actions, ids, texts = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array([int(a) for a in actions], pa.int32()), pa.array(ids, pa.int64()), pa.array(texts, pa.string())],
        names=[ACTION, "output_0", "output_1"],
    )


def written(task: WriteTask, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    return [record for out in write_partition(task, batches) for record in out.to_pylist()]


def test_rows_go_where_their_action_says(tmp_path: Path) -> None:
    """Updates and inserts go to table and feed, pre-images and deletes to the feed only, copies to the table only."""
    rows = [(action, int(action), "x") for action in RowAction]
    records = written(task(tmp_path), batch(rows), batch(rows))
    files = {record["kind"]: tmp_path / record["name"] for record in records if record["kind"] != ROW_COUNT}
    table = sorted(pq.read_table(files[DATA_FILE]).column("id").to_pylist())
    feed = pq.read_table(files[CHANGE_FILE]).to_pylist()
    assert table == [0, 0, 1, 1, 3, 3, 4, 4, 7, 7]
    assert sorted({(row["id"], row["_change_type"]) for row in feed}) == [
        (1, "update_postimage"),
        (2, "delete"),
        (3, "insert"),
        (4, "update_postimage"),
        (5, "delete"),
        (6, "update_preimage"),
        (7, "insert"),
    ]
    counts = {int(record["name"]): record["num_records"] for record in records if record["kind"] == ROW_COUNT}
    assert counts == {int(action): 2 for action in RowAction}


def test_no_file_without_rows(tmp_path: Path) -> None:
    """Rows that are only counted leave no file behind (R-701)."""
    plain = task(tmp_path, routes=routes(change_data=False))
    records = written(plain, batch([(RowAction.MATCHED_DELETE, None, None)]))
    assert [(r["kind"], r["num_records"]) for r in records] == [(ROW_COUNT, 1)]
    assert list(tmp_path.iterdir()) == []


def test_one_file_per_partition_value(tmp_path: Path) -> None:
    """Rows are split by serialised value, NULL and the empty string together, and the column is left out."""
    rows = [(RowAction.COPY, 1, "a/b"), (RowAction.COPY, 2, None), (RowAction.COPY, 3, "a/b"), (RowAction.COPY, 4, "")]
    records = written(task(tmp_path, partition_columns=("p",)), batch(rows))
    found = {
        dict(r["partition_values"])["p"]: pq.ParquetFile(tmp_path / r["name"]).read()
        for r in records
        if r["kind"] == DATA_FILE
    }
    assert {value: table.column("id").to_pylist() for value, table in found.items()} == {"a/b": [1, 3], None: [2, 4]}
    assert found["a/b"].column_names == ["id"]
    assert {Path(r["name"]).parent.name for r in records if r["kind"] == DATA_FILE} == {
        "p=a%2Fb",
        "p=__HIVE_DEFAULT_PARTITION__",
    }


def test_violation_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    """A NULL in a NOT NULL column is named in a record, and files of the attempt are deleted (R-741)."""
    rows = [(RowAction.COPY, 1, "x"), (RowAction.INSERT, None, "x")]
    records = written(task(tmp_path, not_null={("id",): "id"}), batch(rows[:1]), batch(rows))
    assert [(r["kind"], r["name"]) for r in records] == [(NULL_VIOLATION, "id")]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_removed_rows_need_not_satisfy_constraints(tmp_path: Path) -> None:
    """A deleted row reaches the writer without data when CDF is off, which violates nothing (R-740)."""
    plain = task(tmp_path, not_null={("id",): "id"}, routes=routes(change_data=False))
    assert [r["kind"] for r in written(plain, batch([(RowAction.MATCHED_DELETE, None, None)]))] == [ROW_COUNT]


def checked_batch(*rows: tuple[RowAction, int, str | None]) -> pa.RecordBatch:
    actions, ids, violations = zip(*rows, strict=True)
    plain = batch([(action, number, "x") for action, number in zip(actions, ids, strict=True)])
    return plain.append_column("_violation_", pa.array(violations, pa.string()))


def test_a_violated_check_is_reported_in_its_own_words(tmp_path: Path) -> None:
    """The first row that may not be written ends the attempt, and its files are deleted (R-742)."""
    records = written(
        task(tmp_path, checked=True, not_null={("id",): "id"}),
        checked_batch((RowAction.COPY, 1, None)),
        checked_batch((RowAction.COPY, 1, None), (RowAction.INSERT, 2, "CHECK a"), (RowAction.INSERT, 3, "CHECK b")),
    )
    assert [(r["kind"], r["name"]) for r in records] == [(CHECK_VIOLATION, "CHECK a")]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(("change_data", "kinds"), [(False, {ROW_COUNT}), (True, {CHECK_VIOLATION})])
def test_checks_hold_for_rows_that_are_written(tmp_path: Path, *, change_data: bool, kinds: set[str]) -> None:
    """R-740: a removed row need not comply, unless the change feed shows it."""
    plain = task(tmp_path, checked=True, routes=routes(change_data=change_data))
    records = written(plain, checked_batch((RowAction.MATCHED_DELETE, 1, "CHECK a")))
    assert {record["kind"] for record in records} == kinds


def test_checked_rows_are_stored_without_the_check(tmp_path: Path) -> None:
    """The column with the fault is none of the table's."""
    records = written(task(tmp_path, checked=True), checked_batch((RowAction.COPY, 1, None)))
    name = next(record["name"] for record in records if record["kind"] == DATA_FILE)
    assert pq.read_table(tmp_path / name).to_pylist() == [{"id": 1, "p": "x"}]


def test_void_columns_are_in_no_file(tmp_path: Path) -> None:
    """R-144: a VOID column stands in the schema only."""
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("v", pa.null())])
    rows = pa.RecordBatch.from_arrays(
        [pa.array([int(RowAction.INSERT)], pa.int32()), pa.array([1], pa.int64()), pa.nulls(1)],
        names=[ACTION, "output_0", "output_1"],
    )
    records = written(task(tmp_path, schema=schema), rows)
    stored = {r["kind"]: pq.ParquetFile(tmp_path / r["name"]).read().column_names for r in records if r["size"]}
    assert stored == {DATA_FILE: ["id"], CHANGE_FILE: ["id", "_change_type"]}


def test_failed_attempt_deletes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in the middle of a task removes the task's files."""
    monkeypatch.setattr(writer_module, "ROWS_PER_ROW_GROUP", 1)

    def batches() -> Any:
        yield batch([(RowAction.COPY, 1, "x")])
        raise RuntimeError("the input broke")

    with pytest.raises(RuntimeError, match="the input broke"):
        list(write_partition(task(tmp_path), batches()))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_row_groups_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of several row groups all arrive, and the statistics cover them together."""
    monkeypatch.setattr(writer_module, "ROWS_PER_ROW_GROUP", 2)
    records = written(task(tmp_path), *(batch([(RowAction.COPY, i, "x")]) for i in range(5)))
    record = next(r for r in records if r["kind"] == DATA_FILE)
    assert pq.ParquetFile(tmp_path / record["name"]).num_row_groups == 3
    stats = json.loads(record["stats"])
    assert (stats["numRecords"], stats["minValues"]["id"], stats["maxValues"]["id"]) == (5, 0, 4)
    assert record["size"] == (tmp_path / record["name"]).stat().st_size


def stats_of(values: list[Any], data_type: pa.DataType) -> dict[str, Any]:
    schema = pa.schema([pa.field("c", data_type)])
    collector = StatisticsCollector(schema, IndexedColumns())
    collector.add(pa.table({"c": pa.array(values, data_type)}, schema=schema))
    stats: dict[str, Any] = json.loads(collector.to_json())
    return stats


@pytest.mark.parametrize(
    ("values", "data_type", "low", "high"),
    [
        ([3, None, 1], pa.int32(), 1, 3),
        (["b", "a"], pa.string(), "a", "b"),
        ([0.5, -1.5], pa.float64(), -1.5, 0.5),
        ([0.0], pa.float64(), -0.0, 0.0),
        ([0.1], pa.float32(), 0.1, 0.1),
        ([Decimal("1.50"), Decimal("-2.25")], pa.decimal128(5, 2), -2.25, 1.5),
        ([dt.date(2020, 1, 2)], pa.date32(), "2020-01-02", "2020-01-02"),
        (
            [dt.datetime(2020, 1, 1, 0, 0, 0, 123456)],  # noqa: DTZ001 - a TIMESTAMP_NTZ
            pa.timestamp("us"),
            "2020-01-01T00:00:00.123",
            "2020-01-01T00:00:00.124",
        ),
        (
            [dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)],
            pa.timestamp("us", "UTC"),
            "1969-12-31T23:59:59.999Z",
            "1970-01-01T00:00:00.000Z",
        ),
    ],
)
def test_bounds(values: list[Any], data_type: pa.DataType, low: Any, high: Any) -> None:
    """Bounds contain every value, in the form of Delta's protocol."""
    stats = stats_of(values, data_type)
    assert (stats["minValues"]["c"], stats["maxValues"]["c"]) == (low, high)
    assert stats["nullCount"]["c"] == values.count(None)
    if low == 0.0 and isinstance(low, float):
        assert math.copysign(1, stats["minValues"]["c"]) == -1


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        ([None], pa.int32()),
        ([1.0, math.nan], pa.float64()),
        ([math.inf, -math.inf], pa.float64()),
        ([b"x"], pa.binary()),
        ([True], pa.bool_()),
        ([[1]], pa.list_(pa.int32())),
        ([Decimal("12345678901234567.8")], pa.decimal128(38, 1)),
    ],
)
def test_no_bounds(values: list[Any], data_type: pa.DataType) -> None:
    """Where a bound would be wrong, inexact or of no use there is none, but NULLs are counted."""
    stats = stats_of(values, data_type)
    assert stats["minValues"] == {}
    assert stats["maxValues"] == {}
    assert stats["nullCount"]["c"] == values.count(None)


def test_statistics_of_structs() -> None:
    """Fields of structs have their own statistics; a NULL struct counts as NULL in each."""
    stats = stats_of([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.int64())]))
    assert stats["nullCount"] == {"c": {"a": 2}}
    assert stats["minValues"] == {"c": {"a": 1}}


def test_indexed_columns_are_limited() -> None:
    """Only the first leaf columns have statistics; a negative number means all."""
    schema = pa.schema([pa.field("a", pa.int32()), pa.field("b", pa.int32())])
    for limit, names in ((1, {"a"}), (0, set()), (-1, {"a", "b"})):
        collector = StatisticsCollector(schema, IndexedColumns(number=limit))
        collector.add(pa.table({"a": [1], "b": [2]}, schema=schema))
        assert set(json.loads(collector.to_json())["nullCount"]) == names


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        ("b", {"b"}),
        ("B, a", {"a", "b"}),
        ("s", {"s.x", "s.y.z"}),
        ("s.y", {"s.y.z"}),
        ("s.`y`.z,b", {"s.y.z", "b"}),
        ("", set()),
    ],
)
def test_indexed_columns_are_listed(listed: str, names: set[str]) -> None:
    """R-708: a list of columns and fields goes before a number; of a struct all leaves have statistics."""
    properties = {"delta.dataSkippingStatsColumns": listed, "delta.dataSkippingNumIndexedCols": "0"}
    leaves = [("a",), ("b",), ("s", "x"), ("s", "y", "z")]
    indexed = indexed_columns(properties)
    assert {".".join(leaf) for place, leaf in enumerate(leaves) if indexed.holds(place, leaf)} == names


@pytest.mark.parametrize("listed", ["a b", "a,,b", "`a", "a.", ","])
def test_lists_of_columns_are_read_strictly(listed: str) -> None:
    with pytest.raises(InvalidConfigurationError, match="dataSkippingStatsColumns"):
        indexed_columns({"delta.dataSkippingStatsColumns": listed})


def test_cut_maximum_stays_above() -> None:
    """A cut string is followed by a character that puts it above the whole; where none exists there is no bound."""
    text = "x" * 32 + "yz"
    assert truncated_maximum("short") == "short"
    assert truncated_maximum(text) == "x" * 32 + "\ufffd"
    beyond = "x" * 32 + "\U0001f600"
    bound = truncated_maximum(beyond)
    assert bound is not None
    assert bound.encode() > beyond.encode()
    assert truncated_maximum("x" * 32 + "\U0010ffff") is None


def test_not_null_paths_look_into_structs() -> None:
    """NOT NULL fields are found inside structs, and a NULL struct violates them."""
    schema = t.StructType(
        [
            t.StructField("k", t.LongType(), nullable=False),
            t.StructField("s", t.StructType([t.StructField("a", t.LongType(), nullable=False)])),
        ]
    )
    paths = {path: ".".join(path) for path in not_null_paths(schema)}
    assert list(paths) == [("k",), ("s", "a")]
    types = arrow_schema(schema)
    assert first_violation(pa.table({"k": [1], "s": [None]}, schema=types), paths) == "s.a"
    assert first_violation(pa.table({"k": [1], "s": [{"a": 1}]}, schema=types), paths) is None
    assert first_violation(pa.table({"k": [1], "s": [{"a": None}]}, schema=types), paths) == "s.a"
    assert first_violation(pa.table({"k": [None], "s": [{"a": 1}]}, schema=types), paths) == "k"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("", None),
        (True, "true"),
        (-3, "-3"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        (dt.date(5, 1, 2), "0005-01-02"),
        (dt.datetime(2020, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), "2020-01-01T00:00:00.000000Z"),
        (dt.datetime(2020, 1, 1, 1), "2020-01-01 01:00:00.000000"),  # noqa: DTZ001 - a TIMESTAMP_NTZ
    ],
)
def test_partition_values_as_text(value: Any, text: str | None) -> None:
    """Partition values are serialised by Delta's protocol."""
    assert serialize(value) == text


def test_names_that_need_care() -> None:
    """Directories escape what file systems and globs would misread; SQL strings escape quotes and substitutions."""
    assert directory("p q", "a/b=%*é") == "p q=a%2Fb%3D%25%2Aé"
    assert sql_string("it's ${env:HOME} \\") == "'it\\'s \\u0024{env:HOME} \\\\'"
    assert sql_literal(None, "DATE") == "CAST(NULL AS DATE)"
