"""Faults that other readers would stumble over after a merge: each one of log and files is reported, and no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from mergecheck.harness.delta.check_partitions import partition_faults
from mergecheck.harness.delta.check_table import table_faults
from mergecheck.harness.delta.read import read_actions, table_at
from mergecheck.harness.delta.table_files import files_of
from mergecheck.harness.delta.write import write_target
from mergecheck.model.case import Target
from mergecheck.model.types.data_types import STRING
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.values import decode_row

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.delta.table_files import TableFiles

SCHEMA = parse_schema(
    "k INT, b TINYINT, n DECIMAL(10,2), t TIMESTAMP, l TIMESTAMP_NTZ, s STRING, x BINARY, a ARRAY<INT>, "
    "m MAP<STRING, INT>, r STRUCT<f: INT, g: STRING>, p INT"
)
MOMENT = "2020-01-02 03:04:05.000006"
ROW = decode_row(
    [1, 2, "3.25", MOMENT, MOMENT, "é", None, [5, None], None, {"f": 1, "g": "z"}, 7],
    SCHEMA,
    "row",
)


class Merged:
    """A table whose only file was replaced by a copy, as a merge does; faults are put into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        write_target(Target(schema=SCHEMA, files=((ROW,),), partition_by=("p",)), path)
        self.before: TableFiles = files_of(path)
        (self.old,) = [action["add"] for action in read_actions(path, 0) if "add" in action]
        self.new = {**self.old, "path": "p=7/part-1.parquet"}
        self.remove = {
            **{name: self.old[name] for name in ("path", "partitionValues", "size", "dataChange")},
            "deletionTimestamp": self.old["modificationTime"] + 5,
            "extendedFileMetadata": True,
        }
        self.table = pq.read_table(path / self.old["path"], partitioning=None)

    def commit(self, **parquet: Any) -> list[tuple[str, str]]:
        """Write the file and the commit, and give the faults."""
        file = self.path / self.new["path"]
        file.parent.mkdir(exist_ok=True)
        options = {"store_schema": False, "store_decimal_as_integer": True} | parquet
        pq.write_table(self.table, file, **options)
        actions = [
            {"commitInfo": {"timestamp": self.old["modificationTime"] + 9}},
            {"add": self.new},
            {"remove": self.remove},
        ]
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (self.path / "_delta_log" / f"{1:020}.json").write_text(text, encoding="utf-8")
        return list(table_faults(self.path, table_at(self.path, 1), before=self.before, conf={}))

    def cast(self, column: str, kind: pa.DataType) -> None:
        place = self.table.schema.get_field_index(column)
        self.table = self.table.set_column(place, column, self.table.column(column).cast(kind))


@pytest.fixture
def merged(tmp_path: Path) -> Merged:
    return Merged(tmp_path / "t")


def test_a_right_table_has_no_faults(merged: Merged) -> None:
    """R-717 to R-719, R-722, R-723, and their liberties: INT96, bytes for numbers, another order, no NULL columns."""
    assert merged.commit() == []
    assert merged.commit(use_deprecated_int96_timestamps=True) == []
    assert merged.commit(store_decimal_as_integer=False) == []
    merged.table = merged.table.select(merged.table.column_names[::-1]).drop_columns(["x", "m"])
    merged.table = merged.table.append_column("p", pa.array([7], pa.int32()))
    assert merged.commit(compression="zstd", version="1.0") == []


FIELDS = [
    *(("new", name, None) for name in ("partitionValues", "size", "modificationTime", "dataChange")),
    *(("remove", name, None) for name in ("deletionTimestamp", "partitionValues", "size", "extendedFileMetadata")),
    ("new", "size", "12"),
    ("new", "modificationTime", 1_600_000_000),
    ("new", "tags", {"a": 1}),
    ("remove", "deletionTimestamp", 5),
    ("remove", "deletionTimestamp", 9_999_999_999_999),
    ("remove", "extendedFileMetadata", False),
    ("remove", "dataChange", "true"),
]


@pytest.mark.parametrize(("action", "name", "value"), FIELDS, ids=str)
def test_fields_that_are_missing_or_wrong(merged: Merged, action: str, name: str, value: Any) -> None:
    """R-717."""
    getattr(merged, action)[name] = value
    assert {rule for rule, _ in merged.commit()} - {"R-718", "R-719", "R-701"} == {"R-717"}


@pytest.mark.parametrize("text", ["07", "+7", " 7", None])
def test_partition_values_have_one_spelling(merged: Merged, text: str | None) -> None:
    """R-718; NULL is another value, which the folder does not name."""
    merged.new["partitionValues"] = {"p": text}
    assert {rule for rule, _ in merged.commit()} == {"R-718"}


@pytest.mark.parametrize("path", ["p=8/part-1.parquet", "p=__HIVE_DEFAULT_PARTITION__/part-1.parquet"])
def test_a_file_lies_in_the_folder_of_its_partition(merged: Merged, path: str) -> None:
    """R-718."""
    merged.new["path"] = path
    (found,) = merged.commit()
    assert found[0] == "R-718"
    assert "lies in a folder of p" in found[1]


@pytest.mark.parametrize(("value", "is_fault"), [("__HIVE_DEFAULT_PARTITION__", False), (None, False), ("x", True)])
def test_hives_word_for_null_may_be_a_text(value: str | None, *, is_fault: bool) -> None:
    """R-718: its folder is named like NULL's."""
    add = {"path": "p=__HIVE_DEFAULT_PARTITION__/part-1.parquet", "partitionValues": {"p": value}}
    assert bool(list(partition_faults([{"add": add}], [], {"p": STRING}, time_zone="UTC"))) is is_fault


@pytest.mark.parametrize(
    ("folder", "value", "is_fault"),
    [
        ("a_b", "a b", False),
        ("a_20b", "a b", False),
        ("a_C3_A4", "aä", False),
        ("_5F_HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__", False),
        ("a_21b", "a b", True),
        ("a_b", "a-b", True),
        ("ab", "a b", True),
    ],
)
def test_a_folder_may_have_low_lines_for_escapes(folder: str, value: str, *, is_fault: bool) -> None:
    """R-718: delta-rs does not find change files in folders with escapes."""
    cdc = {"path": f"_change_data/p={folder}/cdc-1.parquet", "partitionValues": {"p": value}}
    assert bool(list(partition_faults([{"cdc": cdc}], [], {"p": STRING}, time_zone="UTC"))) is is_fault


CASTS = [
    ("k", pa.int64()),
    ("b", pa.int32()),
    ("b", pa.int16()),
    ("n", pa.decimal128(11, 2)),
    ("n", pa.decimal128(12, 3)),
    ("t", pa.timestamp("us")),
    ("t", pa.timestamp("ns", "UTC")),
    ("l", pa.timestamp("us", "UTC")),
    ("s", pa.binary()),
    ("x", pa.string()),
    ("a", pa.list_(pa.field("element", pa.int64()))),
    ("a", pa.list_(pa.field("item", pa.int32()))),
    ("m", pa.map_(pa.string(), pa.int64())),
    ("r", pa.struct([pa.field("f", pa.int64()), pa.field("g", pa.string())])),
]


@pytest.mark.parametrize(("column", "kind"), CASTS, ids=str)
def test_columns_have_the_form_of_their_type(merged: Merged, column: str, kind: pa.DataType) -> None:
    """R-719, where the harness itself would read the file."""
    merged.cast(column, kind)
    assert {rule for rule, _ in merged.commit(use_compliant_nested_type=kind != CASTS[11][1])} == {"R-719"}


@pytest.mark.parametrize(
    ("column", "value"), [("helper", 1), ("_change_type", 1), ("K", 1), ("p", 8), ("p", None), ("__is_cdc", 1)]
)
def test_columns_that_the_table_has_not(merged: Merged, column: str, value: int | None) -> None:
    """R-719; a partition column must have the log's value."""
    merged.table = merged.table.append_column(column, pa.array([value], pa.int32()))
    assert {rule for rule, _ in merged.commit()} == {"R-719"}


STATISTICS = [
    ((), None),
    (("numRecords",), None),
    (("nullCount", "k"), None),
    (("minValues", "s"), None),
    (("maxValues", "r", "f"), None),
    (("minValues", "k"), 0),
    (("maxValues", "s"), "ê"),
    (("maxValues", "t"), "2020-01-02T03:04:06.000Z"),
]


@pytest.mark.parametrize(("path", "value"), STATISTICS, ids=str)
def test_statistics_of_new_files(merged: Merged, path: tuple[str, ...], value: Any) -> None:
    """R-722: they are there, and bounds are values of the file."""
    said = json.loads(merged.new["stats"])
    place = said
    for name in path[:-1]:
        place = place[name]
    if path:
        place[path[-1]] = value
    merged.new["stats"] = json.dumps(said) if path else None
    assert [rule for rule, _ in merged.commit()] == ["R-722"]


def test_files_of_before_stay_and_new_ones_have_names(merged: Merged) -> None:
    """R-723."""
    assert merged.commit() == []
    log = merged.path / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text() + "\n")
    (merged.path / merged.old["path"]).write_bytes(b"x")
    pq.write_table(merged.table, merged.path / "orphan.parquet")
    pq.write_table(merged.table.slice(0, 0), merged.path / "empty.parquet")
    (merged.path / "_delta_log" / f"{1:020}.crc").write_text("{}")
    (merged.path / "_temporary").mkdir()
    (merged.path / "_temporary" / "x.parquet").write_bytes(b"x")
    found = list(table_faults(merged.path, table_at(merged.path, 1), before=merged.before, conf={}))
    assert [(rule, text.partition(" ")[0]) for rule, text in found] == [
        ("R-723", f"_delta_log/{0:020}.json"),
        ("R-723", merged.old["path"]),
        ("R-723", "orphan.parquet"),
    ]


def test_a_removed_file_was_there(merged: Merged) -> None:
    """R-717: another spelling of its path is another file."""
    merged.remove["path"] = merged.remove["path"].replace("part", "%70art")
    assert {text.partition(",")[1] for rule, text in merged.commit() if rule == "R-717"} == {","}


def test_the_other_reader_sees_the_same(merged: Merged) -> None:
    """R-719: Arrow takes the types of a file from its own schema in the footer, and nobody else does."""
    moved = pc.add(merged.table.column("k"), pa.scalar(1, pa.int32()))
    assert merged.commit(store_schema=True) == []
    merged.table = merged.table.set_column(0, "k", moved)
    assert {rule for rule, _ in merged.commit()} == {"R-722"}
