"""Column mapping: names in files, ids of new columns, files that disagree with the log (R-709)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import types as t

from mergecheck.merge.errors import DamagedLogError, UnsupportedTableError
from mergecheck.merge.table.log.column_mapping import (
    COLUMN_ID,
    PHYSICAL_NAME,
    MappingMode,
    logical_statistics,
    mapping_mode,
    max_column_id,
    stored_path,
    stored_schema,
    with_new_ids,
)
from mergecheck.merge.table.log.protocol import Protocol
from mergecheck.merge.table.reading.field_ids import check_field_ids
from mergecheck.merge.table.snapshot.data_files import DataFile
from mergecheck.merge.table.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path


def field(name: str, number: int, kind: t.DataType | None = None) -> t.StructField:
    return t.StructField(name, kind or t.IntegerType(), metadata={COLUMN_ID: number, PHYSICAL_NAME: f"p{number}"})


SCHEMA = t.StructType([field("k", 1), field("s", 2, t.StructType([field("a", 3)]))])
BY_NAME = {"delta.columnMapping.mode": "name"}


@pytest.mark.parametrize(
    ("protocol", "mode"),
    [
        (Protocol(min_reader_version=1, min_writer_version=4), MappingMode.NONE),
        (Protocol(min_reader_version=2, min_writer_version=5), MappingMode.NAME),
        (Protocol(min_reader_version=2, min_writer_version=7), MappingMode.NONE),
        (
            Protocol(min_reader_version=2, min_writer_version=7, writer_features=frozenset({"columnMapping"})),
            MappingMode.NAME,
        ),
    ],
)
def test_the_property_counts_if_the_protocol_has_the_feature(protocol: Protocol, mode: MappingMode) -> None:
    assert mapping_mode(BY_NAME, protocol) is mode
    assert mapping_mode({}, protocol) is MappingMode.NONE


def test_names_in_files() -> None:
    """Names change at every depth, positions do not; statistics are read back by the table's names."""
    stored = stored_schema(SCHEMA, MappingMode.ID, where="t")
    assert stored.simpleString() == "struct<p1:int,p2:struct<p3:int>>"
    assert stored_path(("S", "a"), SCHEMA, stored) == ("p2", "p3")
    assert stored_path(("x",), SCHEMA, stored) == ("x",)
    statistics = {"p1": 4, "p2": {"p3": 5}, "k": 6, "gone": 7}
    assert logical_statistics(statistics, SCHEMA, stored) == {"k": 4, "s": {"a": 5}}
    assert stored_schema(SCHEMA, MappingMode.NONE, where="t") is SCHEMA


def test_a_column_without_a_physical_name_is_damage() -> None:
    broken = t.StructType([field("s", 1, t.StructType([t.StructField("b", t.IntegerType())]))])
    with pytest.raises(DamagedLogError, match=r"the column s\.b has no id or no physical name"):
        stored_schema(broken, MappingMode.NAME, where="t")


def test_new_columns_get_the_next_ids() -> None:
    """Ids go on after the ids of columns that are gone, the outer ones first, and old columns keep theirs.

    Ids and names that a new column brings from its own table mean nothing.
    """
    inner = t.StructType([field("a", 3), t.StructField("b", t.ArrayType(t.StructType([field("c", 1)])))])
    evolved = t.StructType([field("k", 1), field("s", 2, inner), field("n", 1)])
    found = with_new_ids(evolved, SCHEMA, {"delta.columnMapping.maxColumnId": "7"})
    ids: dict[str, Any] = {}
    names: set[str] = set()
    for struct in (found, found["s"].dataType, found["s"].dataType["b"].dataType.elementType):
        ids |= {each.name: each.metadata[COLUMN_ID] for each in struct}
        names |= {each.metadata[PHYSICAL_NAME] for each in struct}
    assert ids == {"k": 1, "s": 2, "a": 3, "b": 8, "c": 9, "n": 10}
    assert len(names) == 6
    assert {"p1", "p2", "p3"} < names
    assert max_column_id(found, {}) == 10


@pytest.mark.parametrize(
    ("names", "ids", "fits"),
    [
        (("p1", "p2"), (1, 2), True),
        (("p1", "gone"), (1, 9), True),
        (("k", "p2"), (1, 2), False),
        (("p1", "p2"), (2, 1), False),
        (("p1", "p2"), (1, None), False),
    ],
)
def test_files_must_agree_with_the_ids(
    tmp_path: Path, names: tuple[str, ...], ids: tuple[int | None, ...], *, fits: bool
) -> None:
    """By id, a column of another name could be any of the table's."""
    schema = pa.schema(
        [
            pa.field(name, pa.int32(), metadata=None if number is None else {"PARQUET:field_id": str(number)})
            for name, number in zip(names, ids, strict=True)
        ]
    )
    pq.write_table(pa.table([[1], [2]], schema=schema), tmp_path / "f")
    file = DataFile(path="f", location=str(tmp_path / "f"), size=0)
    snapshot = Snapshot(
        location=str(tmp_path),
        version=0,
        schema=t.StructType([field("k", 1), field("v", 2)]),
        partition_columns=(),
        properties={},
        files=(file,),
        mapping=MappingMode.ID,
    )
    if fits:
        check_field_ids(snapshot, snapshot.files)
    else:
        with pytest.raises(UnsupportedTableError, match="another name or id"):
            check_field_ids(snapshot, snapshot.files)
