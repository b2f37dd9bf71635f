"""Tables with features, as the harness writes them: they are read back, and read by delta-rs if it can.

R-706 to R-709, R-716.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

from mergecheck.harness.delta.check_table import table_faults
from mergecheck.harness.delta.commit_record import commit_record
from mergecheck.harness.delta.observe import faults_of_files
from mergecheck.harness.delta.read import read_actions, read_table
from mergecheck.harness.delta.table_files import TableFiles
from mergecheck.harness.delta.write import write_target
from mergecheck.model.arrow import arrow_type
from mergecheck.model.case import Target
from mergecheck.model.storage import Checkpoint, ColumnNames, TargetLayout
from mergecheck.model.types.ddl import parse_schema, parse_type

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = parse_schema("k INT, v STRING, s STRUCT<a: INT, b: ARRAY<STRUCT<c: INT>>>")
ROWS = ((1, "a", (5, ((6,),))), (2, None, None), (3, "c", (None, ())))
MAPPED = {"delta.columnMapping.mode": "id"}


def target(properties: dict[str, str] | None = None, **layout: Any) -> Target:
    return Target(schema=SCHEMA, files=(ROWS[:1], ROWS[1:]), properties=properties or {}, layout=TargetLayout(**layout))


def actions(path: Path, kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in read_actions(path, 0) if kind in action]


@pytest.mark.parametrize("names", list(ColumnNames))
@pytest.mark.parametrize("partition_by", [(), ("v",)])
def test_mapped_columns_are_read_back(tmp_path: Path, names: ColumnNames, partition_by: tuple[str, ...]) -> None:
    """By the harness and by delta-rs, under the names that the table has for them; dropped columns stay unseen."""
    path = tmp_path / "t"
    given = target(MAPPED, column_names=names, dropped_columns=("x",), added_columns=("s",))
    write_target(replace(given, partition_by=partition_by), path)
    state = read_table(path)
    assert state.schema == SCHEMA
    assert state.stored.names != SCHEMA.names
    assert sorted(state.rows) == sorted(ROWS)
    assert faults_of_files(path, state, state.files) == ()
    read = pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("SELECT k, v, s.a AS a FROM t"))
    by_delta_rs = sorted(tuple(row.values()) for row in read.to_pylist())
    assert by_delta_rs == [(1, "a", 5), (2, None, None), (3, "c", None)]
    (metadata,) = actions(path, "metaData")
    assert metadata["configuration"]["delta.columnMapping.maxColumnId"] == "7"


def test_a_file_with_wrong_ids_is_a_fault(tmp_path: Path) -> None:
    write_target(target(MAPPED), tmp_path / "t")
    state = read_table(tmp_path / "t")
    file = tmp_path / "t" / state.files[0].add["path"]
    schema = pq.read_schema(file)
    pq.write_table(pq.read_table(file).cast(schema.set(0, schema.field(0).remove_metadata())), file)
    faults = [
        text
        for rule, text in table_faults(tmp_path / "t", state, before=TableFiles(-1, {}), conf={})
        if rule == "R-719"
    ]
    assert faults == ["field id none of k, whose column id is 1"]


@pytest.mark.parametrize("checkpoint", [Checkpoint.CLASSIC, Checkpoint.V2])
def test_checkpoints_hold_the_table(tmp_path: Path, checkpoint: Checkpoint) -> None:
    """Without the commit, which a reader of checkpoints does not need, the table is the same."""
    write_target(target(checkpoint=checkpoint), tmp_path / "t")
    before = read_table(tmp_path / "t")
    log = tmp_path / "t" / "_delta_log"
    commit = log / f"{1:020}.json"
    commit.write_text(json.dumps({"commitInfo": {}}))
    (log / f"{0:020}.json").unlink()
    read = pa.table(QueryBuilder().register("t", DeltaTable(tmp_path / "t")).execute("SELECT k FROM t"))
    assert sorted(read["k"].to_pylist()) == [row[0] for row in sorted(before.rows)]


def test_features_domains_and_timestamps(tmp_path: Path) -> None:
    """Names that are no properties of a table are in the protocol only; each feature that is used is named there."""
    properties = {"delta.enableInCommitTimestamps": "true", "delta.feature.vacuumProtocolCheck": "supported"}
    write_target(target(properties, cluster_by=("k", "v"), checkpoint=Checkpoint.V2), tmp_path / "t")
    (protocol,) = actions(tmp_path / "t", "protocol")
    assert protocol["readerFeatures"] == ["v2Checkpoint", "vacuumProtocolCheck"]
    assert {"clustering", "domainMetadata", "inCommitTimestamp"} < set(protocol["writerFeatures"])
    (metadata,) = actions(tmp_path / "t", "metaData")
    assert metadata["configuration"] == {"delta.enableInCommitTimestamps": "true"}
    record = commit_record(tmp_path / "t", since=0)
    assert json.loads(record.definition["domain delta.clustering"])["clusteringColumns"] == [["k"], ["v"]]
    assert record.timestamp_before == actions(tmp_path / "t", "commitInfo")[0]["inCommitTimestamp"]


WIDE = parse_schema(
    "a INT, b DOUBLE, c DOUBLE, d TIMESTAMP_NTZ, e DECIMAL(12,2), f DECIMAL(10,4), g ARRAY<BIGINT>, h MAP<INT, DOUBLE>"
)
EARLIER = {
    name: parse_type(text)
    for name, text in (
        *(("a", "TINYINT"), ("b", "INT"), ("c", "FLOAT"), ("d", "DATE"), ("e", "INT"), ("f", "DECIMAL(6,2)")),
        *(("g", "ARRAY<INT>"), ("h", "MAP<SMALLINT, FLOAT>")),
    )
}
SMALL = (1, 2.0, 0.5, dt.datetime(2020, 1, 2), Decimal("3.00"), Decimal("4.2500"), (5, None), ((6, 1.5),))  # noqa: DTZ001 - TIMESTAMP_NTZ
NOTHING = (None,) * 8
LARGE = (300, *SMALL[1:])


def test_files_of_before_a_column_was_widened(tmp_path: Path) -> None:
    """R-716: every second file has the earlier types, unless a value does not fit; the rows are read back."""
    files = ((SMALL, NOTHING), (SMALL,), (LARGE,))
    given = Target(schema=WIDE, files=files, layout=TargetLayout(widened_columns=EARLIER))
    write_target(given, tmp_path / "t")
    state = read_table(tmp_path / "t")
    assert [file.rows for file in state.files] == list(files)
    assert faults_of_files(tmp_path / "t", state, state.files) == ()
    old, *new = (pq.read_schema(tmp_path / "t" / file.add["path"]) for file in state.files)
    assert [str(kind) for kind in old.types[:6]] == [
        *("int8", "int32", "float", "date32[day]", "int32", "decimal128(6, 2)"),
    ]
    assert [schema.field("b").type for schema in new] == [pa.float64()] * 2
    changes = {
        field["name"]: field["metadata"]["delta.typeChanges"] for field in json.loads(state.schema_json)["fields"]
    }
    assert changes["a"] == [{"fromType": "byte", "toType": "integer"}]
    assert [entry.get("fieldPath") for entry in (*changes["g"], *changes["h"])] == ["element", "key", "value"]
    (protocol,) = actions(tmp_path / "t", "protocol")
    assert protocol["readerFeatures"] == ["timestampNtz", "typeWidening"]


@pytest.mark.parametrize(
    ("column", "value"),
    [("b", -0.0), ("b", 2.5), ("c", 1e300), ("d", dt.datetime(2020, 1, 2, 1)), ("e", Decimal("3.50"))],  # noqa: DTZ001 - the same
)
def test_values_that_no_earlier_type_holds(tmp_path: Path, column: str, value: object) -> None:
    row = tuple(value if name == column else cell for name, cell in zip(WIDE.names, SMALL, strict=True))
    layout = TargetLayout(widened_columns={column: EARLIER[column]})
    write_target(Target(schema=WIDE, files=((row,),), layout=layout), tmp_path / "t")
    state = read_table(tmp_path / "t")
    assert repr(state.rows) == repr((row,))
    stored = pq.read_schema(tmp_path / "t" / state.files[0].add["path"])
    assert stored.field(column).type == arrow_type(WIDE.columns[WIDE.names.index(column)].type)
