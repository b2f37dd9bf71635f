"""Deletion vectors: which rows of a data file are deleted (R-460, R-463).

The bitmaps are pyroaring's, whose serialised form of 64 bits is the portable one that Delta's protocol asks for.
"""

from __future__ import annotations

import base64
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyroaring import BitMap64

from mergecheck.merge.errors import ExecutionError, brief
from mergecheck.merge.table.storage.paths import file_location
from mergecheck.merge.table.storage.storage import open_storage

if TYPE_CHECKING:
    from mergecheck.merge.table.storage.store_access import StoreAccess

INLINE, RELATIVE, ABSOLUTE = "i", "u", "p"
_MAGIC: Final = 1681511377
_FILE_VERSION: Final = b"\x01"
_UUID_LENGTH: Final = 20  # characters of an encoded UUID; a directory may precede it
# The digits of Z85, which the log has, and of Python's base 85: the encodings differ in nothing else.
_Z85: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVector:
    """The location of a file's vector, as the log has it.

    Attributes:
        storage: ``i`` for inline, ``u`` for a file in the table's directory, ``p`` for an absolute path.
        path_or_inline: the encoded bytes, the encoded UUID of the file after a prefix, or the path.
        offset: of the vector in its file; None for the first.
        size: bytes of the vector.
        cardinality: rows that it deletes.
    """

    storage: str
    path_or_inline: str
    offset: int | None = None
    size: int
    cardinality: int

    @classmethod
    def of_action(cls, said: Mapping[str, Any]) -> DeletionVector:
        """Read the vector of an ``add`` or ``remove``."""
        return cls(
            storage=said["storageType"],
            path_or_inline=said["pathOrInlineDv"],
            offset=said.get("offset"),
            size=said["sizeInBytes"],
            cardinality=said["cardinality"],
        )

    def to_action(self) -> dict[str, Any]:
        """Write it into an ``add`` or ``remove``."""
        offset = {} if self.offset is None else {"offset": self.offset}
        return {
            "storageType": self.storage,
            "pathOrInlineDv": self.path_or_inline,
            **offset,
            "sizeInBytes": self.size,
            "cardinality": self.cardinality,
        }

    @property
    def path(self) -> str | None:
        """The path of its file as the log writes paths, relative to the table unless absolute; None if it is inline."""
        if self.storage == RELATIVE:
            prefix, encoded = self.path_or_inline[:-_UUID_LENGTH], self.path_or_inline[-_UUID_LENGTH:]
            name = vector_file(uuid.UUID(bytes=decoded(encoded)))
            return f"{prefix}/{name}" if prefix else name
        return self.path_or_inline if self.storage == ABSOLUTE else None


def vector_file(number: uuid.UUID) -> str:
    """Name a file of vectors."""
    return f"deletion_vector_{number}.bin"


def encoded(data: bytes) -> str:
    """Encode bytes, whose number is a multiple of four, in Z85."""
    return base64.b85encode(data).translate(bytes.maketrans(_B85, _Z85)).decode("ascii")


def decoded(text: str) -> bytes:
    """Decode Z85.

    Raises:
        ValueError: the text is none.
    """
    return base64.b85decode(text.encode("ascii").translate(bytes.maketrans(_Z85, _B85)))


def to_bytes(rows: BitMap64) -> bytes:
    """Serialise a vector."""
    return struct.pack("<I", _MAGIC) + bytes(rows.serialize())


def from_bytes(data: bytes, vector: DeletionVector) -> BitMap64:
    """Read a vector.

    Raises:
        ValueError: the bytes are no vector, or have another number of rows.
    """
    if len(data) < struct.calcsize("<I") or struct.unpack_from("<I", data)[0] != _MAGIC:
        raise ValueError("a deletion vector does not begin with its magic number")
    rows = BitMap64.deserialize(data[4:])
    if len(rows) != vector.cardinality:
        raise ValueError(f"a deletion vector has {len(rows)} rows, but {vector.cardinality} by the log")
    return rows


def deleted_rows(vector: DeletionVector, *, of: str, location: str, access: StoreAccess | None) -> BitMap64:
    """Read the positions of the deleted rows of a file.

    Args:
        vector: the file's.
        of: the location of the file, for messages.
        location: the table.
        access: how its store is reached.

    Raises:
        ExecutionError: the vector cannot be read, or is damaged.
    """
    try:
        if vector.path is None:
            return inline_rows(vector)
        place = file_location(location, vector.path)
        with open_storage(location, access).local_copy(place) as path:
            return file_rows(Path(path).read_bytes(), vector)
    except (OSError, ValueError) as error:
        raise ExecutionError(
            "DELTA_CANNOT_LOAD_DELETION_VECTOR",
            f"The deletion vector of the data file {of} cannot be read: {brief(error)}. So it is not known which rows "
            "the file has. Restore the file of vectors, or an earlier version of the table.",
        ) from error


def inline_rows(vector: DeletionVector) -> BitMap64:
    """Read a vector that is in the log itself; raises as ``from_bytes`` does."""
    return from_bytes(decoded(vector.path_or_inline)[: vector.size], vector)


def file_rows(content: bytes, vector: DeletionVector) -> BitMap64:
    """Read a vector from the content of its file; raises as ``from_bytes`` does."""
    start = vector.offset or 0
    size, end = content[start : start + 4], start + 4 + vector.size
    data, checksum = content[start + 4 : end], content[end : end + 4]
    if size != struct.pack(">I", vector.size) or len(checksum) != len(size):
        raise ValueError("a file of deletion vectors has another vector where the log says, or ends too early")
    if checksum != struct.pack(">I", zlib.crc32(data)):
        raise ValueError("the checksum of a deletion vector is wrong")
    return from_bytes(data, vector)


def paths_of_vectors(actions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Give the paths, as the log writes them, of the files of vectors that ``add`` actions name."""
    for action in actions:
        said = action.get("add", {}).get("deletionVector")
        path = None if said is None else DeletionVector.of_action(said).path
        if path is not None:
            yield path


def vectors_file(vectors: Sequence[BitMap64], number: uuid.UUID) -> tuple[bytes, tuple[DeletionVector, ...]]:
    """Write vectors into one file, and return the location of each."""
    content, found = bytearray(_FILE_VERSION), []
    for rows in vectors:
        data = to_bytes(rows)
        found.append(
            DeletionVector(
                storage=RELATIVE,
                path_or_inline=encoded(number.bytes),
                offset=len(content),
                size=len(data),
                cardinality=len(rows),
            )
        )
        content += struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    return bytes(content), tuple(found)
