"""Damaged tables: a merge names the fault and commits nothing."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable as Reader
from merge_tables import UPSERT, Table

from mergecheck.merge import command
from mergecheck.merge.errors import ExecutionError, UnsupportedTableError
from mergecheck.merge.sql import merge_sql
from mergecheck.merge.table.snapshot.reading import read_snapshot
from mergecheck.merge.table.storage import storage
from mergecheck.merge.table.storage.log_store import log_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-8])


@pytest.mark.spark
@pytest.mark.parametrize("damage", [emptied, cut, Path.unlink])
@pytest.mark.parametrize("reads", ["target", "source"])
def test_a_damaged_file_is_no_file_of_fewer_rows(
    spark: SparkSession, table: Table, tmp_path: Path, damage: Callable[[Path], None], reads: str
) -> None:
    """Spark reads an empty file as one without rows; an upsert would insert its rows again."""
    other = shutil.copytree(table.path, tmp_path / "other")
    damaged = Path(table.path) if reads == "target" else other
    for name in Reader(damaged).file_uris():
        damage(Path(name.removeprefix("file://")))
    with pytest.raises(ExecutionError, match="FAILED_READ_FILE"):
        merge_sql(spark, UPSERT, tables={"target": table.path, "source": str(other)})
    assert table.version() == 1


@pytest.mark.spark
def test_a_log_that_vanishes_is_noticed(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit does not make a new table out of one version."""
    execute = command.execute

    def removing(run: Any) -> Any:
        result = execute(run)
        shutil.rmtree(Path(table.path) / "_delta_log")
        return result

    monkeypatch.setattr(command, "execute", removing)
    with pytest.raises(ExecutionError, match="was removed while the MERGE ran"):
        table.merge(UPSERT, [(1, "x")])
    assert not (Path(table.path) / "_delta_log").exists()


@pytest.mark.spark
def test_what_is_committed_is_on_disk(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry of the log is flushed, and its directory, before the merge returns."""
    flushed: list[str] = []
    fsync = os.fsync

    def recorded(descriptor: int) -> None:
        flushed.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)
    version = table.merge(UPSERT, [(1, "x")]).version
    assert version is not None
    entry = str(Path(table.path) / log_file(version))
    assert flushed == [entry, str(Path(entry).parent)]


def test_data_files_are_flushed_when_they_are_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is on disk before the driver hears of it."""
    flushed: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: flushed.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    file = storage.open_storage(str(tmp_path), None).new_file("p=1/part")
    Path(file.begin()).write_bytes(b"x")
    assert file.finish() == 1
    assert flushed == [str(tmp_path / "p=1/part"), str(tmp_path / "p=1")]


@pytest.mark.parametrize(
    ("change", "feature"),
    [
        ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 8}}, "writer version 8"),
        ({"configuration": {"delta.enableRowTracking": "true"}}, "rowTracking"),
        ({"configuration": {"delta.isolationLevel": "SnapshotIsolation"}}, "delta.isolationLevel = SnapshotIsolation"),
        ({"configuration": {"delta.enableIcebergCompatV3": "true"}}, "icebergCompatV3"),
        ({"configuration": {"delta.universalFormat.enabledFormats": "iceberg"}}, "enabledFormats = iceberg"),
    ],
)
def test_what_a_table_asks_for_and_a_merge_does_not_do_is_refused(
    tmp_path: Path, change: dict[str, Any], feature: str
) -> None:
    """By name, before anything is read."""
    schema = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
    metadata = {
        "id": "t",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": change.get("configuration", {}),
    }
    protocol = change.get("protocol", {"minReaderVersion": 1, "minWriterVersion": 2})
    file = tmp_path / log_file(0)
    file.parent.mkdir()
    file.write_text("\n".join(json.dumps(action) for action in ({"protocol": protocol}, {"metaData": metadata})))
    with pytest.raises(UnsupportedTableError) as caught:
        read_snapshot(str(tmp_path))
    assert any(feature in name for name in caught.value.features)
