"""Cells and rows as short text for a person. Cells that differ in a way that the comparator sees look different."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

LINE_WIDTH = 100
"""Columns that a line of a mismatch may have."""
LONGEST_CELL = 300
"""Characters of a cell on a page of text."""


def cell_text(value: Value, data_type: DataType) -> str:
    """Format a cell much as Spark's literals: ``NULL``, ``'text'``, ``1.50BD``, ``X'00FF'``, ``{a: 1}``, ``[1, 2]``."""
    if value is None:
        return "NULL"
    if isinstance(value, tuple):
        return _nested_text(value, data_type)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(sep=" ")
        return text if value.tzinfo is None else text + "Z"
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), repr(value))
    return str(value)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun, such as ``1 row`` or ``1,200 rows``.

    Args:
        number: how many.
        one: the noun.
        many: its plural, if that is not made with an s.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def row_text(row: Row, schema: Schema) -> str:
    """Format a row as ``(1, 'a', NULL)``."""
    return _row(row, schema, _cell)


def shown_row(row: Row, schema: Schema) -> str:
    """Format a row for a page of text, with cells of at most ``LONGEST_CELL`` characters."""
    return _row(row, schema, shown_cell)


def _row(row: Row, schema: Schema, cell: Callable[[Value, DataType | None], str]) -> str:
    types: list[DataType | None] = [column.type for column in schema.columns]
    types += [None] * (len(row) - len(types))
    return "(" + ", ".join(cell(value, kind) for value, kind in zip(row, types, strict=False)) + ")"


def shown_cell(value: Value, data_type: DataType | None) -> str:
    """Format a cell for a page of text; of a long one its first characters and their number are shown."""
    is_plain = isinstance(value, str | bytes)
    text = _cell(value[:LONGEST_CELL] if is_plain else value, data_type)
    number = len(value) if is_plain else len(text)
    if number <= LONGEST_CELL:
        return text
    unit = "byte" if isinstance(value, bytes) else "character"
    return f"{text[:LONGEST_CELL]}… ({counted(number, unit)})"


def fit(line: str) -> str:
    """Cut a line to ``LINE_WIDTH`` columns, showing that it was cut."""
    return line if len(line) <= LINE_WIDTH else line[: LINE_WIDTH - 1] + "…"


def _cell(value: Value, data_type: DataType | None) -> str:
    return repr(value) if data_type is None else cell_text(value, data_type)


def _quoted(text: str) -> str:
    """Quote a text with every character visible, on one line."""
    escaped = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped)
    return f"'{escaped}'"


def _nested_text(value: Row, data_type: DataType) -> str:
    if isinstance(data_type, StructType) and len(value) == len(data_type.fields):
        members = (f"{f.name}: {cell_text(v, f.type)}" for f, v in zip(data_type.fields, value, strict=True))
        return "{" + ", ".join(members) + "}"
    if isinstance(data_type, ArrayType):
        return "[" + ", ".join(cell_text(item, data_type.element) for item in value) + "]"
    if isinstance(data_type, MapType) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):  # noqa: PLR2004 - a pair
        pairs = (f"{cell_text(k, data_type.key)} -> {cell_text(v, data_type.value)}" for k, v in value)
        return "map(" + ", ".join(pairs) + ")"
    return repr(value)
