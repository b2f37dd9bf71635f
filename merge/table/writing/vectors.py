"""New deletion vectors for the files of which rows were changed (R-460, R-463)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyroaring import BitMap64

from mergecheck.merge.table.log.add_actions import read_add_actions
from mergecheck.merge.table.log.deletion_vectors import DeletionVector, vector_file, vectors_file
from mergecheck.merge.table.snapshot.data_files import DataFile  # noqa: TC001 - the same
from mergecheck.merge.table.snapshot.snapshot import Snapshot  # noqa: TC001 - the same
from mergecheck.merge.table.storage.storage import open_storage
from mergecheck.merge.table.writing.modified_rows import unpack

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFile:
    """A file that stays, with another vector.

    Attributes:
        file: as it was.
        vector: the new one.
        add: the action that names the file again, with the new vector and wide bounds.
    """

    file: DataFile
    vector: DeletionVector
    add: Mapping[str, Any]

    @property
    def num_stored(self) -> int:
        """The number of rows of the file, with deleted ones, from the statistics of ``add`` (R-463)."""
        return int(json.loads(self.add["stats"])["numRecords"])

    @property
    def num_live(self) -> int | None:
        """How many rows are left; None if the log did not count the rows before."""
        return replace(self.file, vector=self.vector).num_live


def mark_rows(
    snapshot: Snapshot, files: Sequence[DataFile], packed: Mapping[str, Sequence[str]], write_id: str
) -> tuple[tuple[DataFile, ...], tuple[MarkedFile, ...]]:
    """Write vectors for files whose rows were changed.

    Args:
        snapshot: the table.
        files: the touched files.
        packed: positions of changed rows by the locations of their files, as ``modified_rows.pack`` packs them.
        write_id: becomes the name of the file of vectors.

    Returns:
        The files of which no row is left, and those with a new vector. A file whose rows the log does not count is
        never among the first (R-460).

    Raises:
        RuntimeError: rows of another file were changed.
    """
    by_location = {file.location: file for file in files}
    if strange := packed.keys() - by_location.keys():
        raise RuntimeError(f"rows of files that are not touched were changed: {', '.join(sorted(strange))}")
    removed, kept, vectors = [], [], []
    for location, positions in packed.items():
        file = by_location[location]
        old = snapshot.deleted_rows(file)
        rows = old | BitMap64(unpack(positions).tolist())
        if len(rows) == file.statistics.num_records:
            removed.append(file)
        elif len(rows) > len(old):
            kept.append(file)
            vectors.append(rows)
    if not kept:
        return tuple(removed), ()
    number = uuid.UUID(write_id)
    content, found = vectors_file(vectors, number)
    _write(snapshot, vector_file(number), content)
    paths = {file.path for file in kept}
    adds = read_add_actions(snapshot.location, snapshot.access, snapshot.version, lambda add: add["path"] in paths)
    marked = (
        MarkedFile(file=file, vector=vector, add=_add_again(adds[file.path], vector, snapshot, file))
        for file, vector in zip(kept, found, strict=True)
    )
    return tuple(removed), tuple(marked)


def _write(snapshot: Snapshot, name: str, content: bytes) -> None:
    file = open_storage(snapshot.location, snapshot.access).new_file(name)
    try:
        Path(file.begin()).write_bytes(content)
        file.finish()
    except BaseException:
        file.discard()
        raise


def _add_again(add: Mapping[str, Any], vector: DeletionVector, snapshot: Snapshot, file: DataFile) -> dict[str, Any]:
    statistics = _members(add.get("stats") or "{}")
    if statistics.get("numRecords", "null") == "null":
        statistics["numRecords"] = str(_num_stored(snapshot, file))
    statistics["tightBounds"] = "false"
    stats = ",".join(f'"{name}":{text}' for name, text in statistics.items())
    stats = f"{{{stats}}}"
    return {**add, "dataChange": True, "stats": stats, "deletionVector": vector.to_action()}


def _members(text: str) -> dict[str, str]:
    """Cut statistics into the texts of their members: bounds with more digits than a double has stay as they are."""
    decoder, found = json.JSONDecoder(), {}
    at = _behind(text, text.index("{") + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        start = _behind(text, at)
        _, at = decoder.raw_decode(text, start)
        found[name] = text[start:at]
        at = _behind(text, at)
    return found


def _behind(text: str, at: int) -> int:
    """Find the next place that holds no space, comma or colon."""
    return at + len(text[at:]) - len(text[at:].lstrip(" \t\r\n,:"))


def _num_stored(snapshot: Snapshot, file: DataFile) -> int:
    """Count the rows of a file, deleted ones included: a file with a vector must have their number in the log."""
    if file.statistics.num_records is not None:
        return file.statistics.num_records
    with open_storage(snapshot.location, snapshot.access).local_copy(file.location) as path:
        return int(pq.read_metadata(path).num_rows)
