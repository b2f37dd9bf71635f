"""A source that is written out in the statement: ``SELECT 1 AS id UNION ALL ...``, ``SELECT * FROM VALUES ...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import quote
from mergecheck.strategies.choices.chance import chance
from mergecheck.strategies.syntax.literals import literal, writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Row
    from mergecheck.strategies.syntax.columns import Column

_MAX_ROWS = 4
_VALUES_PERCENT = 50


def can_be_written(columns: Sequence[Column], rows: Sequence[Row]) -> bool:
    """Tell whether there are few rows, at least one, and a constant for each cell."""
    few = 0 < len(rows) <= _MAX_ROWS
    return few and not any(c.nested for c in columns) and all(writable(cell) for row in rows for cell in row)


def draw_constant_query(draw: DrawFn, columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Draw a query of constants that gives these rows; they ``can_be_written``."""
    written = [[literal(cell, column.type) for cell, column in zip(row, columns, strict=True)] for row in rows]
    names = [quote(column.name) for column in columns]
    if chance(draw, _VALUES_PERCENT):
        listed = ", ".join(f"({', '.join(row)})" for row in written)
        return f"SELECT * FROM VALUES {listed} AS q({', '.join(names)})"
    named = ", ".join(f"{cell} AS {name}" for cell, name in zip(written[0], names, strict=True))
    return " UNION ALL ".join(f"SELECT {part}" for part in (named, *(", ".join(row) for row in written[1:])))
