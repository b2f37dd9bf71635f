"""Deletion vectors of the tables of cases: written into files or the log, and read back (R-463)."""

from __future__ import annotations

import uuid
import zlib
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyroaring import BitMap64

from mergecheck.model.storage import Vectors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Descriptor = dict[str, Any]

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_FORMAT = b"\x01"
_MAGIC = (1681511377).to_bytes(4, "little")
_UUID_LENGTH = 20
_PREFIX = "dv"
"""The directory of the vectors that have files of their own."""


def write_vectors(path: Path, storage: Vectors, vectors: Sequence[Sequence[int]]) -> list[Descriptor]:
    """Write vectors for the files of a table, and return the location of each.

    Args:
        path: the table.
        storage: how they are kept.
        vectors: the positions that each deletes.
    """
    data = [_MAGIC + bytes(BitMap64(rows).serialize()) for rows in vectors]
    if storage is Vectors.INLINE:
        return [_descriptor("i", _encode(_padded(each)), each, rows) for each, rows in zip(data, vectors, strict=True)]
    if storage is Vectors.SHARED_FILE:
        number = uuid.uuid4()
        offsets = _write_file(path / _name(number), data)
        return [
            _descriptor("u", _encode(number.bytes), each, rows, offset)
            for each, rows, offset in zip(data, vectors, offsets, strict=True)
        ]
    return [_own_file(path, storage, each, rows) for each, rows in zip(data, vectors, strict=True)]


def deleted_rows(path: Path, said: Descriptor | None) -> frozenset[int]:
    """Read the positions that a vector deletes; none without a vector.

    Raises:
        ValueError: it differs from its entry in the log, or its checksum is wrong.
    """
    if said is None:
        return frozenset()
    data = _content(path, said)
    if data[:4] != _MAGIC:
        raise ValueError(f"the deletion vector {said} begins with {data[:4]!r}")
    rows = frozenset(BitMap64.deserialize(data[4:]))
    if len(rows) != said["cardinality"]:
        raise ValueError(f"the deletion vector {said} deletes {len(rows)} rows")
    return rows


def key_of(file: dict[str, Any]) -> tuple[str, str]:
    """Name a logical file of the log: a data file together with its vector."""
    said = file.get("deletionVector")
    return file["path"], "" if said is None else f"{said['storageType']}{said['pathOrInlineDv']}@{said.get('offset')}"


def _own_file(path: Path, storage: Vectors, data: bytes, rows: Sequence[int]) -> Descriptor:
    number = uuid.uuid4()
    file = path / _PREFIX / _name(number)
    file.parent.mkdir(exist_ok=True)
    (offset,) = _write_file(file, [data])
    if storage is Vectors.ABSOLUTE:
        return _descriptor("p", file.resolve().as_uri(), data, rows, offset)
    return _descriptor("u", _PREFIX + _encode(number.bytes), data, rows, offset)


def _name(number: uuid.UUID) -> str:
    return f"deletion_vector_{number}.bin"


def _write_file(file: Path, data: Sequence[bytes]) -> list[int]:
    content, offsets = bytearray(_FORMAT), []
    for each in data:
        offsets.append(len(content))
        content += len(each).to_bytes(4, "big") + each + zlib.crc32(each).to_bytes(4, "big")
    file.write_bytes(content)
    return offsets


def _descriptor(
    storage: str, path_or_inline: str, data: bytes, rows: Sequence[int], offset: int | None = None
) -> Descriptor:
    said = {
        "storageType": storage,
        "pathOrInlineDv": path_or_inline,
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }
    return said if offset is None else {**said, "offset": offset}


def vector_file(path: Path, said: Descriptor | None) -> Path | None:
    """Return the file that a vector is in; None without a vector, or if it is in the log.

    Args:
        path: the table.
        said: the vector's entry in the log.
    """
    if said is None or said["storageType"] == "i":
        return None
    text = str(said["pathOrInlineDv"])
    if said["storageType"] == "u":
        return path / text[:-_UUID_LENGTH] / _name(uuid.UUID(bytes=_decode(text[-_UUID_LENGTH:])))
    return path / unquote(text).removeprefix("file://")


def _content(path: Path, said: Descriptor) -> bytes:
    size, file = int(said["sizeInBytes"]), vector_file(path, said)
    if file is None:
        data = _decode(str(said["pathOrInlineDv"]))
        if len(data) != len(_padded(bytes(size))):
            raise ValueError(f"the deletion vector {said} has {len(data)} bytes")
        return data[:size]
    content, start = file.read_bytes(), said.get("offset") or 0
    if content[:1] != _FORMAT:
        raise ValueError(f"{file} has vectors of the format {content[:1]!r}")
    data = content[start + 4 : start + 4 + size]
    if int.from_bytes(content[start : start + 4], "big") != size:
        raise ValueError(f"{file} has no deletion vector of {size} bytes at {start}")
    if int.from_bytes(content[start + 4 + size : start + 8 + size], "big") != zlib.crc32(data):
        raise ValueError(f"the checksum of the deletion vector at {start} of {file} is wrong")
    return data


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _encode(data: bytes) -> str:
    """Write bytes in Z85: five digits for four bytes."""
    text = ""
    for start in range(0, len(data), 4):
        number, digits = int.from_bytes(data[start : start + 4], "big"), ""
        for _ in range(5):
            number, digit = divmod(number, 85)
            digits = _DIGITS[digit] + digits
        text += digits
    return text


def _decode(text: str) -> bytes:
    data = bytearray()
    for start in range(0, len(text), 5):
        number = 0
        for digit in text[start : start + 5]:
            number = number * 85 + _DIGITS.index(digit)
        data += number.to_bytes(4, "big")
    return bytes(data)
