"""A merge and the table's schema: checks, metadata and protocol actions, and tables without columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import types as t
from sqlglot import exp

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError, UnsupportedTableError
from mergecheck.merge.expressions.resolved import ResolvedExpression, ResolvedMerge
from mergecheck.merge.table.commit.commit import PendingCommit, commit
from mergecheck.merge.table.commit.conflicts import ReadSet
from mergecheck.merge.table.commit.new_schema import check_new_schema, check_void_columns, schema_actions
from mergecheck.merge.table.log.columnless import read_columnless
from mergecheck.merge.table.snapshot.reading import read_snapshot
from mergecheck.merge.table.storage.log_store import LogStore, log_file
from mergecheck.merge.table.writing.write import WriteResult

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.merge.table.snapshot.snapshot import Snapshot

KEY = {"name": "id", "type": "long", "nullable": False, "metadata": {"CURRENT_DEFAULT": "7", "comment": "the key"}}
DOUBLED = {"name": "d", "type": "long", "nullable": True, "metadata": {"delta.generationExpression": "id * 2"}}
PROPERTIES = {"delta.constraints.pos": "id > 0"}
NTZ = t.StructField("at", t.TimestampNTZType())


def table(
    path: Path,
    *fields: dict[str, Any],
    properties: dict[str, str] | None = None,
    protocol: dict[str, Any] | None = None,
    versions: tuple[dict[str, Any], ...] = (),
    partition_by: tuple[str, ...] = (),
) -> Snapshot:
    meta = {
        "id": "t",
        "name": "orders",
        "description": "all of them",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": list(fields)}),
        "partitionColumns": list(partition_by),
        "configuration": PROPERTIES if properties is None else properties,
        "createdTime": 5,
    }
    first = [{"protocol": protocol or {"minReaderVersion": 1, "minWriterVersion": 4}}, {"metaData": meta}]
    (path / log_file(0)).parent.mkdir()
    for version, actions in enumerate([first, *([action] for action in versions)]):
        (path / log_file(version)).write_text("\n".join(json.dumps(action) for action in actions))
    return read_snapshot(str(path))


def evolved(schema: t.StructType, *fields: t.StructField) -> t.StructType:
    return t.StructType([*schema.fields, *fields])


def pending(snapshot: Snapshot, schema: t.StructType) -> PendingCommit:
    condition = ResolvedExpression(
        sql="TRUE",
        tree=exp.Expression(),
        target_columns=frozenset(),
        source_columns=frozenset(),
        text="TRUE",
    )
    merge = ResolvedMerge(
        target_schema=snapshot.schema,
        source_schema=schema,
        final_schema=schema,
        condition=condition,
        matched=(),
        not_matched=(),
        not_matched_by_source=(),
    )
    read = ReadSet(snapshot=snapshot, predicate=exp.true(), files=(), removed=())
    return PendingCommit(merge=merge, read=read, written=WriteResult(), metrics=None)


def test_a_new_column_alone_makes_a_commit(tmp_path: Path) -> None:
    """R-239, R-732, R-743: metadata only, Serializable, no data change, also in an append-only table."""
    snapshot = table(tmp_path, KEY, DOUBLED, properties={**PROPERTIES, "delta.appendOnly": "true"})
    schema = evolved(snapshot.schema, t.StructField("n", t.ArrayType(t.IntegerType())))
    assert commit(pending(snapshot, schema), skip_empty=True) == 1
    info, metadata = LogStore(str(tmp_path)).read(1)
    assert (info["commitInfo"]["isolationLevel"], info["commitInfo"]["dataChange"]) == ("Serializable", False)
    old = LogStore(str(tmp_path)).read(0)[1]["metaData"]
    new = metadata["metaData"]
    assert {key for key in old if old[key] != new[key]} == {"schemaString"}
    array = {"type": "array", "elementType": "integer", "containsNull": True}
    added = {"name": "n", "type": array, "nullable": True, "metadata": {}}
    assert json.loads(new["schemaString"])["fields"] == [KEY, DOUBLED, added]
    assert read_snapshot(str(tmp_path)).schema == schema


def test_an_old_schema_makes_no_metadata(tmp_path: Path) -> None:
    """R-239: without a difference there is no action and, without other actions, no commit."""
    snapshot = table(tmp_path, KEY)
    assert schema_actions(snapshot, snapshot.schema) == ()
    assert commit(pending(snapshot, snapshot.schema), skip_empty=True) is None


@pytest.mark.parametrize(
    ("protocol", "allowed"),
    [
        ({"minReaderVersion": 1, "minWriterVersion": 4}, False),
        ({"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["checkConstraints"]}, False),
        (
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["timestampNtz"],
                "writerFeatures": ["timestampNtz"],
            },
            True,
        ),
    ],
)
def test_a_timestamp_without_zone_needs_its_feature(tmp_path: Path, protocol: dict[str, Any], *, allowed: bool) -> None:
    """R-704: a merge does not enable it, at whatever depth the type is."""
    snapshot = table(tmp_path, KEY, properties={}, protocol=protocol)
    nested = t.StructField("s", t.MapType(t.StringType(), t.ArrayType(t.StructType([NTZ]))))
    schema = evolved(snapshot.schema, nested)
    if allowed:
        check_new_schema(snapshot, schema)
        return
    with pytest.raises(AnalysisError) as raised:
        check_new_schema(snapshot, schema)
    assert raised.value.error_class == "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"


@pytest.mark.parametrize("change_feed", ["true", "false"])
def test_names_of_the_change_feed_are_reserved(tmp_path: Path, change_feed: str) -> None:
    """R-632: only where the feed is on."""
    snapshot = table(tmp_path, KEY, properties={"delta.enableChangeDataFeed": change_feed})
    schema = evolved(snapshot.schema, t.StructField("_commit_version", t.LongType()))
    if change_feed == "false":
        check_new_schema(snapshot, schema)
        return
    with pytest.raises(AnalysisError, match=r"RESERVED_CDC_COLUMNS_ON_WRITE.*_commit_version"):
        check_new_schema(snapshot, schema)


VOID = t.StructField("v", t.NullType())


@pytest.mark.parametrize(
    ("field", "path"),
    [
        (VOID, "v"),
        (t.StructField("s", t.StructType([VOID])), "s.v"),
        (t.StructField("a", t.ArrayType(t.NullType())), "a.element"),
        (t.StructField("m", t.MapType(t.StringType(), t.NullType())), "m.value"),
    ],
)
def test_void_columns_can_be_forbidden(tmp_path: Path, field: t.StructField, path: str) -> None:
    """R-144, at every depth."""
    snapshot = table(tmp_path, KEY)
    with pytest.raises(AnalysisError, match=rf"DELTA_MERGE_ADD_VOID_COLUMN.*`{path}`"):
        check_void_columns(evolved(snapshot.schema, field))


@pytest.mark.parametrize("name", ["a b", "a,b", "a=b"])
def test_new_columns_need_names_that_parquet_can_hold(tmp_path: Path, name: str) -> None:
    """R-709: at every depth."""
    snapshot = table(tmp_path, KEY)
    field = t.StructField(name, t.IntegerType())
    for new in (field, t.StructField("s", t.StructType([field]))):
        with pytest.raises(AnalysisError, match=rf"DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES.*{name}"):
            check_new_schema(snapshot, evolved(snapshot.schema, new))


def test_names_of_partition_columns_are_looked_at_last(tmp_path: Path) -> None:
    """R-239: such a partition column can be there, but the schema of its table cannot change."""
    day = {"name": "p,q", "type": "integer", "nullable": True, "metadata": {}}
    snapshot = table(tmp_path, KEY, day, partition_by=("p,q",))
    for name, error_class in (("more", "DELTA_INVALID_PARTITION_COLUMN_NAME"), ("a b", "DELTA_INVALID_CHARACTERS")):
        with pytest.raises(AnalysisError, match=error_class):
            check_new_schema(snapshot, evolved(snapshot.schema, t.StructField(name, t.IntegerType())))


def test_void_columns_are_allowed_at_the_top(tmp_path: Path) -> None:
    """R-144 by default; inside another column nothing could store one."""
    snapshot = table(tmp_path, KEY)
    schema = evolved(snapshot.schema, VOID)
    check_new_schema(snapshot, schema)
    assert commit(pending(snapshot, schema), skip_empty=True) == 1
    assert read_snapshot(str(tmp_path)).schema == schema
    with pytest.raises(UnsupportedStatementError, match="columns of type void"):
        check_new_schema(snapshot, evolved(snapshot.schema, t.StructField("s", t.StructType([VOID]))))


def test_a_table_without_columns_is_read_from_its_log(tmp_path: Path) -> None:
    """R-141: it has a version, metadata and transactions, and can get columns."""
    snapshot = table(tmp_path, properties={}, versions=({"txn": {"appId": "app", "version": 3}},))
    assert (snapshot.version, snapshot.schema.fields, snapshot.files) == (1, [], ())
    assert (snapshot.transactions, snapshot.metadata["name"], snapshot.protocol.min_writer_version) == (
        {"app": 3},
        "orders",
        4,
    )
    schema = t.StructType([t.StructField("id", t.LongType())])
    assert commit(pending(snapshot, schema), skip_empty=True) == 2
    assert read_snapshot(str(tmp_path)).schema == schema


def test_a_table_without_columns_and_first_version_is_refused(tmp_path: Path) -> None:
    """Its log is read from the beginning or not at all, so that nothing is missed."""
    table(tmp_path, properties={})
    (tmp_path / log_file(0)).rename(tmp_path / log_file(1))
    with pytest.raises(UnsupportedTableError, match="a log without its first versions"):
        read_columnless(str(tmp_path))
