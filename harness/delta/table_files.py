"""The files of a table before a merge: afterwards they are as they were, and the log names every new one (R-723)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from mergecheck.harness.delta.read import newest_version, read_actions
from mergecheck.harness.delta.tables.vectors import vector_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_LOG = "_delta_log/"
_CHANGES = "_change_data/"
_REWRITTEN = re.compile(rf"{_LOG}(_last_checkpoint|\._last_checkpoint\.crc)|_symlink_format_manifest/.*")
"""Files that a writer may overwrite: the name of the newest checkpoint, with Hadoop's checksum of it, and manifests."""
_BESIDE_COMMITS = re.compile(r"\d{20}(\.crc|\.checkpoint[.0-9a-f-]*\.(parquet|json)|\.\d{20}\.compacted\.json)")
"""Files that a log's folder may have besides commits: checkpoints, checksums and compacted commits."""
_VECTOR = re.compile(r"deletion_vector_[0-9a-f-]+\.bin")


@dataclass(frozen=True, slots=True)
class TableFiles:
    """A table's folder at one moment.

    Attributes:
        version: the newest version of the table.
        digests: of the content of each file, by its path in the folder.
    """

    version: int
    digests: Mapping[str, bytes]


def files_of(path: Path) -> TableFiles:
    """Look at all files of a table; it reads them, so they should be small."""
    files = (file for file in path.rglob("*") if file.is_file())
    digests = {file.relative_to(path).as_posix(): blake2b(file.read_bytes()).digest() for file in files}
    return TableFiles(newest_version(path), digests)


def changed_files(path: Path, before: TableFiles) -> Iterator[str]:
    """List files that existed before and now have other content, or are gone."""
    now = files_of(path).digests
    for name, digest in sorted(before.digests.items()):
        if name not in now:
            yield f"{name} was there before the merge, and is gone"
        elif now[name] != digest and not _REWRITTEN.fullmatch(name):
            yield f"{name} was there before the merge, and has another content"


def leftovers(path: Path, before: TableFiles) -> Iterator[str]:
    """List new files that no commit of the merge names; readers do not look at hidden ones.

    Delta Lake 4.4 writes vectors that it then does not need, and data files without a row; those are left out.
    """
    versions = range(before.version + 1, newest_version(path) + 1)
    named = {f"{_LOG}{version:020}.json" for version in versions}
    named.update(name for version in versions for name in _named_files(path, version))
    for name in sorted(files_of(path).digests.keys() - before.digests.keys() - named):
        known = _BESIDE_COMMITS if name.startswith(_LOG) else _VECTOR
        if not known.fullmatch(name.rpartition("/")[2]) and not _is_hidden(name) and not _is_empty(path / name):
            yield f"{name} is new, but no action of the commit names it"


def _named_files(path: Path, version: int) -> Iterator[str]:
    for action in read_actions(path, version):
        for kind in ("add", "cdc"):
            if (file := action.get(kind)) is not None:
                yield unquote(file["path"])
                if (vector := vector_file(path, file.get("deletionVector"))) is not None:
                    yield vector.relative_to(path).as_posix() if vector.is_relative_to(path) else str(vector)


def _is_empty(file: Path) -> bool:
    """Return whether it is a data file without rows."""
    try:
        return bool(pq.read_metadata(file).num_rows == 0)
    except pa.ArrowException:
        return False


def _is_hidden(name: str) -> bool:
    """Return whether a name begins with a dot or an underscore, but for the folders that Delta itself has."""
    parts = name.removeprefix(_LOG).removeprefix(_CHANGES).split("/")
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)
