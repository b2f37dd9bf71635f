"""Ids of rows in the log: the ids that a commit gives, also after another commit, and tables that are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import types as t
from sqlglot import exp

from mergecheck.harness.delta.write import write_target
from mergecheck.merge.errors import (
    AnalysisError,
    DamagedLogError,
    ExecutionError,
    InvalidConfigurationError,
    MergeError,
)
from mergecheck.merge.expressions.resolved import ResolvedExpression, ResolvedMerge
from mergecheck.merge.table.commit.commit import PendingCommit, commit
from mergecheck.merge.table.commit.conflicts import ReadSet
from mergecheck.merge.table.commit.new_schema import check_new_schema
from mergecheck.merge.table.log.properties import check_properties
from mergecheck.merge.table.row_ids.tracking import FileIds
from mergecheck.merge.table.snapshot.reading import read_snapshot
from mergecheck.merge.table.storage.log_store import LogStore, log_file
from mergecheck.merge.table.writing.copied_rows import FileToCopy, copy_groups
from mergecheck.merge.table.writing.modified_rows import pack
from mergecheck.merge.table.writing.write import TableWriter, WriteResult, WrittenFile
from mergecheck.model.case import Target
from mergecheck.model.storage import Checkpoint, RowIds, TargetLayout, Vectors
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.merge.table.snapshot.snapshot import Snapshot

ENABLED = {"delta.enableRowTracking": "true"}
SUPPORTED = {"delta.feature.rowTracking": "supported"}
SUSPENDED = SUPPORTED | {"delta.rowTrackingSuspended": "true"}
ROWS = ((1, "a"), (2, None))
PACKED_ROW_1 = pack(np.array([1]))
NEW = (
    WrittenFile(path="n", size=3, num_records=2, stats="{}"),
    WrittenFile(path="m", size=3, num_records=5, stats="{}"),
)


def written(path: Path, properties: dict[str, str], **layout: Any) -> Snapshot:
    """Write a table of two files of two rows, of which the first is partly marked if there are vectors."""
    schema, given = parse_schema("k INT, v STRING"), TargetLayout(**layout)
    write_target(Target(schema=schema, files=(ROWS, ROWS), properties=properties, layout=given), path)
    return read_snapshot(str(path))


def pending(snapshot: Snapshot, **changes: Any) -> PendingCommit:
    """A merge that has read and removes the first file, and adds two."""
    everything = ResolvedExpression(
        sql="TRUE", tree=exp.true(), target_columns=frozenset(), source_columns=frozenset(), text="TRUE"
    )
    none = t.StructType()
    merge = ResolvedMerge(
        target_schema=none,
        source_schema=none,
        final_schema=none,
        condition=everything,
        matched=(),
        not_matched=(),
        not_matched_by_source=(),
    )
    read = ReadSet(
        snapshot=snapshot, predicate=exp.false(), files=snapshot.files[:1], removed=changes.pop("removed", ())
    )
    given = {"merge": merge, "read": read, "written": WriteResult(data_files=NEW), "metrics": None}
    return PendingCommit(**{**given, **changes})


def committed(path: Path, version: int, kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in LogStore(str(path)).read(version) if kind in action]


def ids(actions: list[dict[str, Any]]) -> list[tuple[int | None, int | None]]:
    return [(action.get("baseRowId"), action.get("defaultRowCommitVersion")) for action in actions]


def marks(path: Path, version: int) -> list[int]:
    domains = [said for said in committed(path, version, "domainMetadata") if said["domain"] == "delta.rowTracking"]
    return [json.loads(said["configuration"])["rowIdHighWaterMark"] for said in domains]


@pytest.mark.parametrize("checkpoint", list(Checkpoint))
def test_ids_are_read_from_log_and_checkpoint(tmp_path: Path, checkpoint: Checkpoint) -> None:
    snapshot = written(tmp_path, ENABLED, checkpoint=checkpoint, row_ids=RowIds.STORED)
    if checkpoint is not Checkpoint.NONE:
        for version in range(snapshot.version):
            (tmp_path / log_file(version)).unlink()
        snapshot = read_snapshot(str(tmp_path))
    found = {file.ids for file in snapshot.files}
    assert found == {FileIds(base_row_id=14, commit_version=1), FileIds(base_row_id=9, commit_version=2)}
    assert snapshot.row_tracking is not None
    assert (snapshot.tracks_rows, snapshot.row_tracking.high_water_mark) == (True, 19)


@pytest.mark.parametrize("properties", [ENABLED, SUPPORTED])
def test_new_files_get_ids(tmp_path: Path, properties: dict[str, str]) -> None:
    """R-724: after the greatest one, which the commit names; a removed file's ids are repeated."""
    snapshot = written(tmp_path, properties)
    assert commit(pending(snapshot, removed=snapshot.files[:1]), skip_empty=True) == 1
    assert ids(committed(tmp_path, 1, "add")) == [(4, 1), (6, 1)]
    assert marks(tmp_path, 1) == [10]
    assert ids(committed(tmp_path, 1, "remove")) == [(snapshot.files[0].ids.base_row_id, 0)]  # type: ignore[union-attr] # has ids
    tags = committed(tmp_path, 1, "commitInfo")[0].get("tags")
    assert tags == ({"delta.rowTracking.preserved": "true"} if properties is ENABLED else None)


def test_without_new_files_there_is_no_new_greatest_id(tmp_path: Path) -> None:
    snapshot = written(tmp_path, ENABLED)
    commit(pending(snapshot, removed=snapshot.files, written=WriteResult()), skip_empty=True)
    assert marks(tmp_path, 1) == []
    assert read_snapshot(str(tmp_path)).row_tracking == snapshot.row_tracking


def test_suspended(tmp_path: Path) -> None:
    """R-724: new files and files with another vector have no ids; removed files keep theirs."""
    snapshot = written(tmp_path, SUSPENDED | {"delta.enableDeletionVectors": "true"}, vectors=Vectors.INLINE)
    file = next(file for file in snapshot.files if file.vector is not None)
    _, marked = TableWriter(snapshot=snapshot, schema=snapshot.schema).mark_rows(
        [file], {file.location: [PACKED_ROW_1]}
    )
    commit(pending(snapshot, removed=(file,), marked=marked), skip_empty=True)
    assert ids(committed(tmp_path, 1, "add")) == [(None, None)] * 3
    assert ids(committed(tmp_path, 1, "remove")) == [(0, 0)]
    assert marks(tmp_path, 1) == []


def test_ids_are_given_anew_after_another_commit(tmp_path: Path) -> None:
    """R-726: they begin after that commit's greatest id; files that it named again have the ids that it gave."""
    snapshot = written(tmp_path, SUPPORTED)
    file = snapshot.files[0]
    said = {"path": file.path, "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": False}
    domain = {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":99}', "removed": False}
    other = [{"add": {**said, "baseRowId": 50, "defaultRowCommitVersion": 1}}, {"domainMetadata": domain}]
    (tmp_path / log_file(1)).write_text("\n".join(map(json.dumps, other)))
    todo = pending(snapshot, removed=(replace(file, ids=None),))
    assert commit(todo, skip_empty=True) == 2
    assert ids(committed(tmp_path, 2, "add")) == [(100, 2), (102, 2)]
    assert ids(committed(tmp_path, 2, "remove")) == [(50, 1)]
    assert marks(tmp_path, 2) == [106]


def test_files_that_nobody_counted(tmp_path: Path) -> None:
    """R-727."""
    snapshot = written(tmp_path, SUPPORTED)
    uncounted = WriteResult(data_files=(replace(NEW[0], stats=None),))
    with pytest.raises(ExecutionError, match="DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS"):
        commit(pending(snapshot, written=uncounted), skip_empty=True)
    assert commit(pending(snapshot, removed=snapshot.files, written=WriteResult()), skip_empty=True) == 1


def test_a_column_with_the_name_of_a_column_for_ids(tmp_path: Path) -> None:
    """R-727."""
    snapshot = written(tmp_path, ENABLED)
    name = snapshot.properties["delta.rowTracking.materializedRowIdColumnName"]
    with pytest.raises(AnalysisError, match="DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED"):
        check_new_schema(snapshot, t.StructType([*snapshot.schema.fields, t.StructField(name, t.LongType())]))


def test_enabled_and_suspended(tmp_path: Path) -> None:
    """R-727."""
    snapshot = written(tmp_path, ENABLED | SUSPENDED)
    with pytest.raises(InvalidConfigurationError, match="DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION"):
        check_properties(snapshot.properties)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"baseRowId": 0, ', "", "a file has no row ids"),
        ("materializedRowIdColumnName", "materialized", "materializedRowIdColumnName is not set"),
        ("rowIdHighWaterMark", "mark", "without a number"),
        ('"rowTracking"', '"domainMetadata"', "rowTracking without its feature in the protocol"),
    ],
)
def test_logs_that_cannot_be_right(tmp_path: Path, old: str, new: str, said: str) -> None:
    """R-727: rows cannot keep ids that the log does not have."""
    written(tmp_path, ENABLED)
    log = tmp_path / log_file(0)
    log.write_text(log.read_text().replace(old, new))
    with pytest.raises(MergeError, match=said) as caught:
        read_snapshot(str(tmp_path))
    assert isinstance(caught.value, DamagedLogError) is ("protocol" not in said)


def test_copied_rows_keep_what_a_file_holds(tmp_path: Path) -> None:
    """R-725: else the ids by position; a file's statistics do not know the ids."""
    snapshot = written(tmp_path / "t", ENABLED)
    columns = snapshot.row_tracking.columns  # type: ignore[union-attr] # enabled
    held = {columns.row_id: [None, 77, None], columns.commit_version: [None, 1, None]}  # type: ignore[union-attr] # enabled
    rows = {"k": [1, 2, 3], "v": ["a", "b", "c"], **{name: pa.array(found, pa.int64()) for name, found in held.items()}}
    pq.write_table(pa.table(rows), tmp_path / "f", row_group_size=2)
    task = TableWriter(snapshot=snapshot, schema=snapshot.schema).task(change_data=False)
    file = FileToCopy(location=str(tmp_path / "f"), ids=FileIds(base_row_id=10, commit_version=4))
    records = copy_groups(task, frozenset({"k", "v"}), ((file,),), [pa.record_batch({"n": [0]})])
    (record,) = (record for batch in records for record in batch.to_pylist() if record["kind"] == "data")
    assert set(json.loads(record["stats"])["nullCount"]) == {"k", "v"}
    found = pq.read_table(tmp_path / "t" / record["name"])
    assert found[columns.row_id].to_pylist() == [10, 77, 12]  # type: ignore[union-attr] # enabled
    assert found[columns.commit_version].to_pylist() == [4, 1, 4]  # type: ignore[union-attr] # enabled
