"""The log's record of a commit: change rows, metrics, removed files, the newest version."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_logs import (
    FEED,
    commit,
    feed_of_deltalake,
    merge_commit,
    rewrite,
)

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.delta.change_feed import change_rows
from mergecheck.harness.delta.check_commit import commit_faults, removed_file_faults
from mergecheck.harness.delta.read import newest_version, operation_metrics, read_actions, read_table
from mergecheck.harness.delta.write import write_target
from mergecheck.model.case import Target
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import (
    STRING,
    TIMESTAMP,
    Field,
    Schema,
)

NOTHING = {"numTargetRowsInserted": "0", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"}


PARTITIONED = Target(
    schema=Schema((Field("p", types.STRING), Field("id", types.INT))),
    partition_by=("p",),
    files=((("ab", 1), ("cd", 2), (None, 3)),),
    properties=FEED,
)


def test_changes_of_the_first_version_are_inserts(tmp_path: Any) -> None:
    """Without change files the rows of added files are inserts (R-604); delta-rs agrees."""
    path = tmp_path / "t"
    write_target(PARTITIONED, path)
    changes = change_rows(path, version=0, state=read_table(path))
    theirs, schema = feed_of_deltalake(path, PARTITIONED.schema, 0)
    assert same_rows([(*row, "insert") for row in PARTITIONED.rows], changes, schema)
    assert same_rows(changes, theirs, schema)


@pytest.mark.parametrize("keep_partition_values", [True, False])
def test_changes_of_removed_files_are_deletes(tmp_path: Any, keep_partition_values: Any) -> None:
    """A ``remove`` need not repeat the partition values: the ``add`` has them."""
    path = tmp_path / "t"
    write_target(PARTITIONED, path)
    adds = [action["add"] for action in read_actions(path, 0) if "add" in action]
    removes = [rewrite(add, keep_partition_values=keep_partition_values) for add in adds[:2]]
    commit(path, 1, [merge_commit(**NOTHING | {"numTargetRowsDeleted": "2"}), *removes])
    state = read_table(path)
    assert (state.version, state.rows) == (1, ((None, 3),))
    assert set(change_rows(path, version=1, state=state)) == {("ab", 1, "delete"), ("cd", 2, "delete")}


def test_a_merge_that_changed_nothing_has_no_changes(tmp_path: Any) -> None:
    """R-605: its three metrics are "0", so the rewritten files are ignored; without metrics they are served."""
    path = tmp_path / "t"
    write_target(Target(schema=PARTITIONED.schema, files=(PARTITIONED.rows,), properties=FEED), path)
    (add,) = [action["add"] for action in read_actions(path, 0) if "add" in action]
    copied = {**add, "path": "copy.parquet"}
    (path / "copy.parquet").write_bytes((path / add["path"]).read_bytes())
    commit(path, 1, [merge_commit(**NOTHING), rewrite(add), {"add": copied}])
    state = read_table(path)
    assert change_rows(path, version=1, state=state) == ()
    commit(path, 1, [merge_commit(), rewrite(add), {"add": copied}])
    assert len(change_rows(path, version=1, state=state)) == 2 * len(PARTITIONED.rows)


def test_change_files_win_over_data_files(tmp_path: Any) -> None:
    """R-604: with change files, added and removed files are ignored; delta-rs agrees."""
    path = tmp_path / "t"
    write_target(PARTITIONED, path)
    (path / "_change_data").mkdir()
    file = path / "_change_data" / "c.parquet"
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "_change_type": ["delete"]}), file)
    adds = [action["add"] for action in read_actions(path, 0) if "add" in action]
    change = {
        "path": "_change_data/c.parquet",
        "partitionValues": {"p": "ab"},
        "size": file.stat().st_size,
        "dataChange": False,
    }
    commit(path, 1, [merge_commit(numTargetRowsDeleted="1"), *map(rewrite, adds), {"cdc": change}])
    changes = change_rows(path, version=1, state=read_table(path))
    theirs, schema = feed_of_deltalake(path, PARTITIONED.schema, 1)
    assert changes == (("ab", 1, "delete"),)
    assert same_rows(changes, theirs, schema)


def test_operation_metrics_are_whole_numbers() -> None:
    """R-501: decimal strings, never negative; other writers have numbers, which are read and are a fault."""
    assert operation_metrics((merge_commit(numOutputRows="12"),)) == {"numOutputRows": 12}
    assert operation_metrics(()) == {}
    assert operation_metrics((merge_commit(numOutputRows=12),)) == {"numOutputRows": 12}
    assert list(commit_faults((merge_commit(numOutputRows=12),), {})) == [
        ("R-501", "operationMetrics has numbers instead of texts: numOutputRows")
    ]
    assert list(commit_faults((merge_commit(numOutputRows="12"),), {})) == []
    for wrong in ("-1", "", "1.0", 3.5, -3, True):
        with pytest.raises(ValueError, match="whole numbers"):
            operation_metrics((merge_commit(numOutputRows=wrong),))


def test_a_removed_file_is_described_as_it_was() -> None:
    """R-701: a ``remove`` may leave out fields, or NULL, or write a moment differently, but change nothing."""
    text, stamp = "2020-01-01 00:00:00.001000", "2020-01-01T00:00:00.001Z"
    added = {"path": "a", "partitionValues": {"p": text, "q": None}, "size": 9}
    for said, faults in (
        ({"partitionValues": {"q": None, "p": stamp}, "size": 9}, []),
        ({}, []),
        ({"partitionValues": None, "size": None}, []),
        ({"partitionValues": {"p": text}}, []),
        ({"partitionValues": {"p": text, "r": "1"}}, [f"partitionValues {{'p': '{text}', 'r': '1'}}"]),
        ({"partitionValues": {"r": text}}, [f"partitionValues {{'r': '{text}'}}"]),
        ({"partitionValues": {"p": None, "q": None}}, ["partitionValues {'p': None, 'q': None}"]),
        ({"size": 8}, ["size 8"]),
    ):
        actions = ({"remove": {"path": "a", **said}}, {"add": {"path": "b", "partitionValues": {}, "size": 1}})
        found = list(removed_file_faults(actions, [added], {"p": TIMESTAMP, "q": STRING}))
        assert [rule for rule, _ in found] == ["R-701"] * len(faults)
        assert all(f"remove of a says {fault}, but" in text for fault, (_, text) in zip(faults, found, strict=True))
    unknown = ({"remove": {"path": "c", "size": 8}},)
    assert list(removed_file_faults(unknown, [added], {})) == []


def test_the_newest_version_comes_from_the_log_alone(tmp_path: Any) -> None:
    """Also where the table cannot be read any more."""
    assert newest_version(tmp_path) == -1
    write_target(PARTITIONED, tmp_path / "t")
    commit(tmp_path / "t", 1, [])
    assert newest_version(tmp_path / "t") == 1
