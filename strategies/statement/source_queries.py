"""A query in place of the source: renamed and derived columns, filters, unions, constants, the target itself (R-101).

The drawn rows are those that the statement sees. The table behind the query is computed from them backwards, with
further rows that the query filters out. So everything else is drawn as without a query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import INT, quote
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses
from mergecheck.strategies.syntax.columns import Column, Schemas
from mergecheck.strategies.syntax.literals import literal, writable
from mergecheck.strategies.syntax.spark_sql import expression_text
from mergecheck.strategies.syntax.statement import Aliases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Row
    from mergecheck.strategies.table.rows import Tables

_MARKER = Column(name="part", type=INT)
_LEFT_OUT = st.sampled_from((0, None))
_MAX_LEFT_OUT = 2
_MAX_CONSTANT_ROWS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuery:
    """A query and the table that it reads; of a self-merge it reads the target, and columns and rows are empty."""

    text: str
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class _Output:
    """A column of the query: its name, the stored column's name, and the number added to the stored one."""

    name: str
    stored: str
    added: int

    @property
    def text(self) -> str:
        value = quote(self.stored) if self.added == 0 else f"{quote(self.stored)} + {self.added}"
        return value if value == quote(self.name) else f"{value} AS {quote(self.name)}"


def draw_source_query(
    draw: DrawFn, features: frozenset[Feature], schemas: Schemas, tables: Tables, *, max_rows: int
) -> SourceQuery | None:
    """Draw a query whose result is the drawn source; None if the statement names the table itself."""
    if not uses(draw, features, Feature.SUBQUERY_SOURCE) and schemas.self_filter is None:
        return None
    if schemas.self_merge:
        names = [quote(column.name) for column in schemas.source]
        listed = "*" if draw(st.booleans()) else ", ".join(reversed(names))
        where = "" if schemas.self_filter is None else f" WHERE {expression_text(schemas.self_filter, Aliases())}"
        return SourceQuery(text=f"SELECT {listed} FROM target{where}")
    if _can_be_written(tables.source) and chance(draw, 50):
        # the query reads no table; the source has the columns and no rows
        return SourceQuery(text=_constant_query(draw, schemas.source, tables.source), columns=schemas.source)
    outputs = [_output(draw, number, column) for number, column in enumerate(schemas.source)]
    stored = [Column(name=out.stored, type=column.type) for out, column in zip(outputs, schemas.source, strict=True)]
    rows = [_behind(row, outputs) for row in tables.source]
    listed = ", ".join(out.text for out in outputs)
    if not chance(draw, 50):
        unchanged = all(out.text == quote(out.name) for out in outputs)
        text = f"SELECT {'*' if unchanged and draw(st.booleans()) else listed} FROM source"
        return SourceQuery(text=text, columns=tuple(stored), rows=tuple(rows))
    union = chance(draw, 50)
    parts = [[*row, 2 if union and draw(st.booleans()) else 1] for row in rows]
    parts += [[*row, draw(_LEFT_OUT)] for row in rows[: min(_MAX_LEFT_OUT, max_rows - len(rows))]]
    select = f"SELECT {listed} FROM source WHERE part"
    text = f"{select} = 1 UNION ALL {select} = 2" if union else f"{select} >= 1"
    return SourceQuery(text=text, columns=(*stored, _MARKER), rows=tuple(map(tuple, parts)))


def _output(draw: DrawFn, number: int, column: Column) -> _Output:
    derived = chance(draw, 30) and column.summable
    # a derived column is named differently from the stored one, so that a name means only one column
    stored = f"c{number}" if derived or chance(draw, 30) else column.name
    return _Output(name=column.name, stored=stored, added=1 if derived else 0)


def _behind(row: Sequence[object], outputs: Sequence[_Output]) -> Row:
    return tuple(
        cell - out.added if isinstance(cell, int) and out.added else cell
        for cell, out in zip(row, outputs, strict=True)
    )


def _can_be_written(rows: Sequence[Row]) -> bool:
    """Return whether there are few rows, at least one, with a constant for each cell."""
    few = 0 < len(rows) <= _MAX_CONSTANT_ROWS
    return few and all(writable(cell) for row in rows for cell in row)


def _constant_query(draw: DrawFn, columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Draw a query of constants whose result is these rows: ``SELECT 1 AS id UNION ALL ...`` or ``FROM VALUES``."""
    written = [[literal(cell, column.type) for cell, column in zip(row, columns, strict=True)] for row in rows]
    names = [quote(column.name) for column in columns]
    if draw(st.booleans()):
        listed = ", ".join(f"({', '.join(row)})" for row in written)
        return f"SELECT * FROM VALUES {listed} AS q({', '.join(names)})"
    named = ", ".join(f"{cell} AS {name}" for cell, name in zip(written[0], names, strict=True))
    return " UNION ALL ".join(f"SELECT {part}" for part in (named, *(", ".join(row) for row in written[1:])))
