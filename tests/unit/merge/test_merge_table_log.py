"""Snapshots, refusals, commits and conflicts on hand-written logs, without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest
import sqlglot
from pyspark.sql import types as t

from mergecheck.merge.errors import (
    AnalysisError,
    ConcurrentModificationError,
    ConflictKind,
    DamagedLogError,
    ExecutionError,
    UnsupportedTableError,
)
from mergecheck.merge.expressions.resolved import ResolvedExpression, ResolvedMerge
from mergecheck.merge.table.commit.actions import Transaction, now_millis
from mergecheck.merge.table.commit.commit import PendingCommit, commit, validate_record_counts
from mergecheck.merge.table.commit.conflicts import ReadSet
from mergecheck.merge.table.snapshot.reading import read_snapshot
from mergecheck.merge.table.storage.log_store import LogStore, log_file
from mergecheck.merge.table.writing.write import WriteResult, WrittenFile

if TYPE_CHECKING:
    from pathlib import Path

    from sqlglot import exp

LONG = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
PART = {"name": "p", "type": "string", "nullable": True, "metadata": {}}
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}


def write_log(path: Path, version: int, *actions: dict[str, Any]) -> None:
    file = path / log_file(version)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(action) for action in actions))


def metadata(
    *fields: dict[str, Any], partition_by: tuple[str, ...] = (), properties: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "metaData": {
            "id": "t",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": list(fields)}),
            "partitionColumns": list(partition_by),
            "configuration": properties or {},
            "createdTime": 0,
        }
    }


def add(path: str, **partition_values: str | None) -> dict[str, Any]:
    stats = json.dumps({"numRecords": 2, "minValues": {"id": 1}, "maxValues": {"id": 5}, "nullCount": {"id": 0}})
    return {
        "add": {
            "path": path,
            "partitionValues": partition_values,
            "size": 7,
            "modificationTime": 0,
            "dataChange": True,
            "stats": stats,
        }
    }


def table(path: Path, *actions: dict[str, Any], properties: dict[str, str] | None = None) -> Path:
    write_log(
        path,
        0,
        {"protocol": PROTOCOL},
        metadata(LONG, PART, partition_by=("p",), properties=properties),
        *(actions or (add("p=a%2520b/f", p="a b"), add("p=c/f", p="c"))),
    )
    return path


def test_snapshot_holds_what_the_log_says(tmp_path: Path) -> None:
    """Files keep the log's spelling of their path beside the decoded location, typed values and statistics."""
    snapshot = read_snapshot(str(table(tmp_path)))
    files = {file.path: file for file in snapshot.files}
    file = files["p=a%2520b/f"]
    assert file.location == f"{tmp_path}/p=a%20b/f"
    assert file.partition_values == {"p": "a b"}
    assert (file.statistics.num_records, file.statistics.max_values["id"], file.size) == (2, 5, 7)
    assert snapshot.partition_positions == (1,)
    assert read_snapshot(f"file://{tmp_path}").files == snapshot.files


def test_missing_table_is_named(tmp_path: Path) -> None:
    """A directory without a log is no table."""
    with pytest.raises(AnalysisError, match="is not a Delta table"):
        read_snapshot(str(tmp_path))


@pytest.mark.parametrize(
    ("properties", "field", "feature"),
    [
        ({"delta.columnMapping.mode": "name"}, {}, "columnMapping without its feature in the protocol"),
        ({"delta.enableRowTracking": "true"}, {}, "rowTracking without its feature in the protocol"),
        ({"delta.enableTypeWidening": "true"}, {}, "typeWidening without its feature in the protocol"),
        (
            {},
            {"delta.typeChanges": [{"fromType": "long", "toType": "integer"}]},
            "a change of type from long to integer",
        ),
        ({}, {"delta.identity.start": 1}, "identity columns with incomplete metadata"),
        ({}, {"__CHAR_VARCHAR_TYPE_STRING": "array<char(3)>"}, "CHAR inside of columns"),
        ({}, {"__CHAR_VARCHAR_TYPE_STRING": "struct<a"}, "the declared type struct<a"),
        ({}, {"delta.invariants": '{"other": 1}'}, 'the invariant {"other": 1}'),
    ],
)
def test_unsupported_tables_are_refused_by_name(
    tmp_path: Path, properties: dict[str, str], field: dict[str, Any], feature: str
) -> None:
    """A table with a feature that a merge would damage is refused, and the feature is named.

    This is the merge's part of R-727 (row tracking) and R-822 (CHAR).
    """
    write_log(tmp_path, 0, {"protocol": PROTOCOL}, metadata({**LONG, "metadata": field}, properties=properties))
    with pytest.raises(UnsupportedTableError) as caught:
        read_snapshot(str(tmp_path))
    assert caught.value.features == (feature,)


def test_other_storage_is_refused() -> None:
    """A table in a store that is not supported is refused before anything is read."""
    with pytest.raises(UnsupportedTableError, match="storage by gs://"):
        read_snapshot("gs://bucket/table")


def condition(text: str) -> ResolvedExpression:
    return ResolvedExpression(
        sql=text,
        tree=cast("exp.Expression", sqlglot.parse_one(text, dialect="databricks")),
        target_columns=frozenset(),
        source_columns=frozenset(),
        text=text,
    )


def pending(path: Path, predicate: str = "TRUE", **changes: Any) -> PendingCommit:
    snapshot = read_snapshot(str(path))
    schema = t.StructType()
    merge = ResolvedMerge(
        target_schema=schema,
        source_schema=schema,
        final_schema=schema,
        condition=condition(predicate),
        matched=(),
        not_matched=(),
        not_matched_by_source=(),
    )
    read = ReadSet(
        snapshot=snapshot, predicate=condition(predicate).tree, files=snapshot.files[:1], removed=snapshot.files[:1]
    )
    new = WrittenFile(path="p=a b/n é", size=3, num_records=2, partition_values={"p": "a b"}, stats="{}")
    given: dict[str, Any] = {
        "merge": merge,
        "read": read,
        "written": WriteResult(data_files=(new,)),
        "metrics": {"numSourceRows": 2},
    }
    return PendingCommit(**{**given, **changes})


def test_commit_writes_one_version(tmp_path: Path) -> None:
    """A commit is one file: commitInfo first, metrics as strings, paths percent-encoded, removes with the old path."""
    todo = pending(table(tmp_path))
    assert commit(todo, skip_empty=True) == 1
    actions = LogStore(str(tmp_path)).read(1)
    assert [next(iter(action)) for action in actions] == ["commitInfo", "remove", "add"]
    info = actions[0]["commitInfo"]
    assert info["operation"] == "MERGE"
    assert info["isBlindAppend"] is False
    assert info["dataChange"] is True
    assert info["operationMetrics"] == {"numSourceRows": "2"}
    assert info["operationParameters"]["predicate"] == '["TRUE"]'
    assert actions[1]["remove"]["path"] == todo.read.removed[0].path
    assert actions[2]["add"]["path"] == "p=a%20b/n%20%C3%A9"
    assert read_snapshot(str(tmp_path)).version == 1


def test_nothing_to_commit(tmp_path: Path) -> None:
    """Without any action no version is made, unless empty commits are recorded or a transaction is (R-731)."""
    todo = pending(table(tmp_path))
    read = ReadSet(snapshot=todo.read.snapshot, predicate=todo.read.predicate, files=(), removed=())
    empty = pending(tmp_path, read=read, written=WriteResult())
    assert commit(empty, skip_empty=True) is None
    assert commit(empty, skip_empty=False) == 1
    transaction = Transaction(app_id="app", version=3)
    assert commit(pending(tmp_path, read=read, written=WriteResult(), transaction=transaction), skip_empty=True) == 2
    assert read_snapshot(str(tmp_path), app_id="app").transactions == {"app": 3}


def test_a_merge_without_actions_conflicts_with_nothing(tmp_path: Path) -> None:
    """R-751: what has nothing to commit cannot lose a race; a commit that changes data is serializable."""
    todo = pending(table(tmp_path))
    read = ReadSet(
        snapshot=todo.read.snapshot, predicate=todo.read.predicate, files=todo.read.snapshot.files, removed=()
    )
    write_log(tmp_path, 1, {"commitInfo": {}}, add("p=z/n", p="z"))
    assert commit(pending(tmp_path, read=read, written=WriteResult()), skip_empty=True) is None
    with pytest.raises(ConcurrentModificationError):
        commit(todo, skip_empty=True)
    (tmp_path / log_file(1)).unlink()
    assert commit(todo, skip_empty=True) == 1
    assert LogStore(str(tmp_path)).read(1)[0]["commitInfo"]["isolationLevel"] == "Serializable"


def test_append_only_tables_lose_nothing(tmp_path: Path) -> None:
    """A merge that removes a file of an append-only table fails, and one that only adds succeeds (R-743)."""
    todo = pending(table(tmp_path, properties={"delta.appendOnly": "true"}))
    with pytest.raises(ExecutionError, match="DELTA_CANNOT_MODIFY_APPEND_ONLY"):
        commit(todo, skip_empty=True)
    read = ReadSet(snapshot=todo.read.snapshot, predicate=todo.read.predicate, files=(), removed=())
    assert commit(pending(tmp_path, read=read), skip_empty=True) == 1


TIMESTAMPS = {"delta.enableInCommitTimestamps": "true"}


def timestamp_of(path: Path, version: int) -> int:
    return int(LogStore(str(path)).read(version)[0]["commitInfo"]["inCommitTimestamp"])


def test_in_commit_timestamps_increase(tmp_path: Path) -> None:
    """R-707: a commit is later than the one before, at any time of the clock, and than commits that win over it."""
    ahead = now_millis() + 3_600_000
    todo = pending(
        table(tmp_path, {"commitInfo": {"inCommitTimestamp": ahead}}, add("p=a/f", p="a"), properties=TIMESTAMPS),
        "target_1 = 'a'",
    )
    write_log(tmp_path, 1, {"commitInfo": {"inCommitTimestamp": ahead + 500}}, add("p=z/n", p="z"))
    write_log(tmp_path, 2, {"commitInfo": {"inCommitTimestamp": ahead + 400}}, add("p=y/n", p="y"))
    assert commit(todo, skip_empty=True) == 3
    assert timestamp_of(tmp_path, 3) == ahead + 501


def test_in_commit_timestamps_are_those_of_the_clock(tmp_path: Path) -> None:
    """R-707: if the commit before is past, the time of the attempt counts; a table without the property has none."""
    start = now_millis()
    old = table(tmp_path / "with", {"commitInfo": {"inCommitTimestamp": 5}}, add("p=a/f", p="a"), properties=TIMESTAMPS)
    commit(pending(old), skip_empty=True)
    assert start <= timestamp_of(old, 1) <= now_millis()
    commit(pending(table(tmp_path / "without")), skip_empty=True)
    assert "inCommitTimestamp" not in LogStore(str(tmp_path / "without")).read(1)[0]["commitInfo"]


def test_a_log_without_its_timestamps_is_damaged(tmp_path: Path) -> None:
    """R-707: the commit before must have one; nothing is committed."""
    todo = pending(table(tmp_path, properties=TIMESTAMPS))
    with pytest.raises(DamagedLogError, match="version 0 has no inCommitTimestamp"):
        commit(todo, skip_empty=True)
    assert not (tmp_path / log_file(1)).exists()


REMOVED = {"remove": {"path": "p=a%2520b/f", "dataChange": True}}


@pytest.mark.parametrize(
    ("predicate", "winner", "kind"),
    [
        ("TRUE", add("p=z/n", p="z"), ConflictKind.CONCURRENT_APPEND),
        ("target_1 = 'z' AND target_0 = 1", add("p=z/n", p="z"), ConflictKind.CONCURRENT_APPEND),
        ("TRUE", REMOVED, ConflictKind.CONCURRENT_DELETE_READ),
        ("TRUE", {"protocol": PROTOCOL}, ConflictKind.PROTOCOL_CHANGED),
        ("TRUE", metadata(LONG, PART, partition_by=("p",)), ConflictKind.METADATA_CHANGED),
    ],
)
def test_lost_races_are_told_apart(tmp_path: Path, predicate: str, winner: dict[str, Any], kind: ConflictKind) -> None:
    """A commit that touches what was read is a conflict of its kind, and the table keeps the winner only (R-750).

    Analysis and execution read one snapshot, so a schema that changes meanwhile (R-142) is such a conflict too.
    """
    todo = pending(table(tmp_path), predicate)
    write_log(tmp_path, 1, {"commitInfo": {}}, winner)
    with pytest.raises(ConcurrentModificationError) as caught:
        commit(todo, skip_empty=True)
    assert caught.value.kind is kind
    assert not (tmp_path / log_file(2)).exists()


def test_harmless_winners_are_followed(tmp_path: Path) -> None:
    """Commits to partitions that were not read, or without data, let the merge come after them (R-750)."""
    todo = pending(table(tmp_path), "target_1 = 'a b'")
    write_log(tmp_path, 1, {"commitInfo": {}}, add("p=z/n", p="z"))
    write_log(tmp_path, 2, {"commitInfo": {}}, {"txn": {"appId": "other", "version": 1}})
    assert commit(todo, skip_empty=True) == 3


def test_same_application_conflicts(tmp_path: Path) -> None:
    """Two transactions of one application cannot both be committed from the same snapshot."""
    todo = pending(table(tmp_path), "target_1 = 'a b'")
    mine = ReadSet(
        snapshot=todo.read.snapshot,
        predicate=todo.read.predicate,
        files=todo.read.files,
        removed=todo.read.removed,
        app_id="app",
    )
    write_log(tmp_path, 1, {"txn": {"appId": "app", "version": 9}})
    with pytest.raises(ConcurrentModificationError) as caught:
        commit(pending(tmp_path, read=mine), skip_empty=True)
    assert caught.value.kind is ConflictKind.CONCURRENT_TRANSACTION


def test_record_counts_are_validated(tmp_path: Path) -> None:
    """Rows may appear through inserts and vanish through deletes only (R-720)."""
    grown = WriteResult(data_files=(WrittenFile(path="n", size=1, num_records=3),))
    todo = pending(table(tmp_path), written=grown)
    validate_record_counts(todo, has_inserts=True, has_deletes=False, enabled=True)
    validate_record_counts(todo, has_inserts=False, has_deletes=True, enabled=False)
    with pytest.raises(ExecutionError, match=r"MERGE without INSERT clauses\. Added 3 records and removed 2"):
        validate_record_counts(todo, has_inserts=False, has_deletes=True, enabled=True)
    with pytest.raises(ExecutionError, match="MERGE without DELETE clauses"):
        validate_record_counts(
            pending(tmp_path, written=WriteResult()), has_inserts=True, has_deletes=False, enabled=True
        )
