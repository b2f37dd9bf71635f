"""Deletion vectors: their form in files and in the log, and the actions of live files (R-460, R-463)."""

from __future__ import annotations

import json
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyroaring import BitMap64

from mergecheck.harness.delta.tables import vectors as of_harness
from mergecheck.harness.delta.write import write_target
from mergecheck.merge.errors import ExecutionError
from mergecheck.merge.table.log.add_actions import read_add_actions
from mergecheck.merge.table.log.deletion_vectors import DeletionVector, decoded, encoded, inline_rows, vectors_file
from mergecheck.merge.table.snapshot.data_files import total_records
from mergecheck.merge.table.snapshot.reading import read_snapshot
from mergecheck.merge.table.storage.log_store import LogStore, log_file
from mergecheck.merge.table.writing.modified_rows import pack
from mergecheck.merge.table.writing.vectors import mark_rows
from mergecheck.model.case import Target
from mergecheck.model.storage import Checkpoint, Statistics, TargetLayout, Vectors
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot

IN_USE = [each for each in Vectors if each is not Vectors.NONE]
ROWS = ((1, "a"), (2, None))
MARKS = {"delta.enableDeletionVectors": "true"}


def written(path: Path, **layout: Any) -> Snapshot:
    """Write a table of two files of two rows; the first has a vector, if any, which deletes rows 0, 2 and 4 of 5."""
    given = TargetLayout(**{"vectors": Vectors.SHARED_FILE, **layout})
    write_target(
        Target(schema=parse_schema("k INT, v STRING"), files=(ROWS, ROWS), properties=MARKS, layout=given), path
    )
    return read_snapshot(str(path))


def with_vector(snapshot: Snapshot) -> DataFile:
    (file,) = (file for file in snapshot.files if file.vector is not None)
    return file


def test_the_examples_of_the_protocol() -> None:
    """Of Delta's PROTOCOL.md: a path with a prefix. The inline vector there has a form that Delta refuses, too."""
    inline = DeletionVector(
        storage="i", path_or_inline="wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", size=40, cardinality=6
    )
    with pytest.raises(ValueError, match="magic number"):
        inline_rows(inline)
    assert decoded(inline.path_or_inline)[-12:] == bytes([3, 0, 4, 0, 7, 0, 11, 0, 18, 0, 29, 0])
    relative = DeletionVector(storage="u", path_or_inline="ab^-aqEH.-t@S}K{vb[*k^", offset=4, size=40, cardinality=6)
    assert relative.path == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert encoded(decoded("^-aqEH.-t@S}K{vb[*k^")) == "^-aqEH.-t@S}K{vb[*k^"


@pytest.mark.parametrize("storage", IN_USE)
@pytest.mark.parametrize("checkpoint", list(Checkpoint))
def test_vectors_of_the_harness_are_read(tmp_path: Path, storage: Vectors, checkpoint: Checkpoint) -> None:
    """From the log or a checkpoint, wherever they are; live rows are counted without the deleted ones (R-513)."""
    snapshot = written(tmp_path / "t", vectors=storage, checkpoint=checkpoint)
    if checkpoint is not Checkpoint.NONE:
        (tmp_path / "t" / log_file(1)).write_text(json.dumps({"commitInfo": {}}))
        (tmp_path / "t" / log_file(0)).unlink()
        snapshot = read_snapshot(str(tmp_path / "t"))
    file = with_vector(snapshot)
    assert list(snapshot.deleted_rows(file)) == [0, 2, 4]
    assert (file.statistics.num_records, file.num_live, total_records(snapshot.files)) == (5, 2, 4)


def test_the_harness_reads_vectors_of_the_merge(tmp_path: Path) -> None:
    """Two codes of one format: bits beyond 32 are kept, and the second vector of a file is found."""
    number = uuid.uuid4()
    rows = [BitMap64([1, 2**33]), BitMap64(range(70_000))]
    content, found = vectors_file(rows, number)
    (tmp_path / f"deletion_vector_{number}.bin").write_bytes(content)
    for wanted, vector in zip(rows, found, strict=True):
        assert of_harness.deleted_rows(tmp_path, vector.to_action()) == frozenset(wanted)


@pytest.mark.parametrize("damage", ["checksum", "length", "magic number", "cardinality", "missing"])
def test_a_damaged_vector_fails_the_merge(tmp_path: Path, damage: str) -> None:
    """R-463: its rows would come back to life, or others be lost."""
    snapshot = written(tmp_path / "t")
    file = with_vector(snapshot)
    (stored,) = (tmp_path / "t").glob("*.bin")
    content = bytearray(stored.read_bytes())
    if damage == "missing":
        stored.unlink()
    elif damage == "cardinality":
        content = bytearray(content)
        actions = [json.loads(line) for line in (tmp_path / "t" / log_file(0)).read_text().splitlines()]
        for action in actions:
            if "deletionVector" in action.get("add", {}):
                action["add"]["deletionVector"]["cardinality"] = 2
        (tmp_path / "t" / log_file(0)).write_text("\n".join(map(json.dumps, actions)))
        snapshot = read_snapshot(str(tmp_path / "t"))
        file = with_vector(snapshot)
    else:
        place = {"checksum": -1, "length": 4, "magic number": 5}[damage]
        content[place] ^= 1
        stored.write_bytes(content)
    with pytest.raises(ExecutionError, match="DELTA_CANNOT_LOAD_DELETION_VECTOR"):
        snapshot.deleted_rows(file)


def marked(snapshot: Snapshot, **rows: list[int]) -> tuple[list[str], dict[str, Any]]:
    """Mark rows of the files with and without a vector; return the paths that end, and the new actions by path."""
    import numpy as np  # noqa: PLC0415 - of this test only

    files = {"old" if file.vector else "new": file for file in snapshot.files}
    packed = {files[name].location: [pack(np.array(positions))] for name, positions in rows.items()}
    removed, kept = mark_rows(snapshot, snapshot.files, packed, str(uuid.uuid4()))
    return [file.path for file in removed], {each.file.path: dict(each.add) for each in kept}


def test_a_file_without_a_live_row_ends(tmp_path: Path) -> None:
    """R-460: then there is no vector; a row that is deleted twice counts once."""
    snapshot = written(tmp_path / "t")
    removed, kept = marked(snapshot, old=[1, 3], new=[0])
    assert removed == [with_vector(snapshot).path]
    (add,) = kept.values()
    statistics = json.loads(add["stats"])
    assert (statistics["numRecords"], statistics["tightBounds"]) == (2, False)
    assert add["deletionVector"]["cardinality"] == 1
    assert add["dataChange"] is True
    assert marked(snapshot, old=[0, 2]) == ([], {})


def test_bounds_of_many_digits_stay(tmp_path: Path) -> None:
    """R-463: a DECIMAL has more digits than a double."""
    value = Decimal("-4353873781006900317.921730549586074157")
    target = Target(schema=parse_schema("x DECIMAL(38,18)"), files=(((value,), (value,)),))
    write_target(target, tmp_path / "t")
    snapshot = read_snapshot(str(tmp_path / "t"))
    _, kept = marked(snapshot, new=[0])
    (add,) = kept.values()
    assert f'"minValues":{{"x":{value}}}' in add["stats"]
    assert json.loads(add["stats"])["tightBounds"] is False


def test_a_file_that_is_not_counted_stays(tmp_path: Path) -> None:
    """R-460: with a vector of all its rows, and from then on it is counted."""
    snapshot = written(tmp_path / "t", statistics=Statistics.NONE, vectors=Vectors.NONE)
    path = snapshot.files[0].path
    removed, kept = marked(snapshot, new=[0, 1])
    assert removed == []
    assert [json.loads(add["stats"]) for add in kept.values()] == [{"numRecords": 2, "tightBounds": False}]
    assert path in {file.path for file in snapshot.files}


def test_rows_of_other_files_are_a_defect(tmp_path: Path) -> None:
    snapshot = written(tmp_path / "t")
    with pytest.raises(RuntimeError, match="not touched"):
        mark_rows(snapshot, snapshot.files[:0], {snapshot.files[0].location: []}, str(uuid.uuid4()))


def test_live_actions_are_those_of_the_last_vector(tmp_path: Path) -> None:
    """A file that is removed with one vector and added with another one is live, whatever the order of the actions."""
    snapshot = written(tmp_path / "t")
    old = read_add_actions(snapshot.location, None, 0, lambda add: "deletionVector" in add)
    (path, add) = next(iter(old.items()))
    new = {**add, "deletionVector": {**add["deletionVector"], "offset": 77}}
    LogStore(snapshot.location).try_create(1, [{"add": new}, {"remove": add}])
    live = read_add_actions(snapshot.location, None, 1, lambda _: True)
    assert live[path]["deletionVector"]["offset"] == 77
    assert len(live) == 2
