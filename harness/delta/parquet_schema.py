"""The schema in the footer of a Parquet file as it is stored, which Arrow's own does not show: read by DuckDB."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

_INTEGER = re.compile(r"IntType\(bitWidth=(.), isSigned=([01])\)", re.DOTALL)
_TIMESTAMP = re.compile(r"TimestampType\(isAdjustedToUTC=([01]), unit=TimeUnit\(.*?(MILLIS|MICROS|NANOS)=[A-Z].*\)\)")
_LOGICAL: Mapping[str, str] = {
    "StringType()": "STRING",
    "DateType()": "DATE",
    "ListType()": "LIST",
    "MapType()": "MAP",
}
_CONVERTED: Mapping[str, str] = {
    "UTF8": "STRING",
    "MAP_KEY_VALUE": "MAP",
    "TIMESTAMP_MICROS": "TIMESTAMP(MICROS, UTC)",
    "TIMESTAMP_MILLIS": "TIMESTAMP(MILLIS, UTC)",
}
_COLUMNS = "name, type, type_length, repetition_type, num_children, converted_type, scale, precision, field_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """A column, or an element inside of one.

    Attributes:
        physical: the type of its values in the file, such as ``INT32``; empty for a group.
        annotation: their meaning, such as ``DECIMAL(10, 2)`` or ``TIMESTAMP(MICROS, UTC)``; empty if there is no
            annotation.
        repetition: ``REQUIRED``, ``OPTIONAL`` or ``REPEATED``.
        length: bytes of a value, of type ``FIXED_LEN_BYTE_ARRAY`` only.
    """

    name: str
    physical: str
    annotation: str
    repetition: str
    field_id: int | None
    length: int
    children: tuple[Element, ...]

    @property
    def form(self) -> str:
        """The type in words."""
        physical = self.physical or "a group"
        return f"{physical}, {self.annotation}" if self.annotation else physical


def parquet_columns(files: Sequence[Path], database: DuckDBPyConnection) -> Iterator[tuple[Element, ...]]:
    """Read the columns of Parquet files, file by file.

    Raises:
        duckdb.Error: one is none, or damaged.
    """
    if not files:
        return
    query = f"SELECT {_COLUMNS}, logical_type FROM parquet_schema(?)"
    rows = iter(database.execute(query, [[str(file) for file in files]]).fetchall())
    for _ in files:
        yield _element(next(rows), rows).children


def _element(row: Sequence[Any], rest: Iterator[Sequence[Any]]) -> Element:
    """Make an element of its row and of the rows behind it, in which its children stand from the outside to inside."""
    name, physical, length, repetition, num_children, converted, scale, precision, field_id, logical = row
    return Element(
        name=name,
        physical="" if num_children else physical or "",
        annotation=_annotation(logical, converted, scale, precision),
        repetition=repetition,
        field_id=field_id,
        length=int(length or 0),
        children=tuple(_element(next(rest), rest) for _ in range(num_children or 0)),
    )


def _annotation(logical: str | None, converted: str | None, scale: int | None, precision: int | None) -> str:
    """Name the logical type; files of older writers have a converted type only."""
    if (logical or "").startswith("DecimalType") or (logical is None and converted == "DECIMAL"):
        return f"DECIMAL({precision}, {scale or 0})"
    if logical is None:
        return _CONVERTED.get(converted or "", converted or "")
    if (integer := _INTEGER.fullmatch(logical)) is not None:
        return f"{'' if integer[2] == '1' else 'U'}INT_{ord(integer[1])}"
    if (moment := _TIMESTAMP.fullmatch(logical)) is not None:
        return f"TIMESTAMP({moment[2]}, {'UTC' if moment[1] == '1' else 'LOCAL'})"
    return _LOGICAL.get(logical, logical)
