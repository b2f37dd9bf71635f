"""A query in the place of the source: renamed and derived columns, filters, unions, the target itself (R-101).

The statement sees the rows that were drawn; the table behind the query is made from them backwards, with rows added
that the query leaves out. So everything that steers the drawing keeps seeing what the merge will see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import INT, quote
from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import Feature, uses
from mergecheck.strategies.statements.constant_queries import can_be_written, draw_constant_query
from mergecheck.strategies.syntax.columns import Column, Schemas
from mergecheck.strategies.syntax.expressions import Comparison, Literal, Operator, Reference, Side
from mergecheck.strategies.syntax.spark_sql import expression_text
from mergecheck.strategies.syntax.statement import Aliases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Row
    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.tables.tables import Tables

_RENAMED_PERCENT = 30
_DERIVED_PERCENT = 30
_FILTERED_PERCENT = 50
_UNION_PERCENT = 35
_CONSTANT_PERCENT = 50
_MARKER = Column(name="part", type=INT)
_LEFT_OUT = (0, None)
_MAX_LEFT_OUT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuery:
    """The query's text, and the table that it reads; of a self-merge the target is read and both are empty."""

    text: str
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class _Output:
    """A column of the query: its name, the stored column's name, and what is added to the stored number."""

    name: str
    stored: str
    added: int

    @property
    def text(self) -> str:
        value = quote(self.stored) if self.added == 0 else f"{quote(self.stored)} + {self.added}"
        return value if value == quote(self.name) else f"{value} AS {quote(self.name)}"


def draw_self_filter(draw: DrawFn, features: frozenset[Feature], key: Column) -> Expression | None:
    """Draw which of its own rows a target is merged with; None for all of them."""
    drawn = uses(draw, features, Feature.SUBQUERY_SOURCE, percent=60)
    if not drawn or not key.summable:
        return None
    return Comparison(
        Operator.GREATER,
        Reference(side=Side.SOURCE, name=key.name, qualified=False),
        Literal(pick(draw, (0, 1, 2)), key.type),
    )


def draw_source_query(
    draw: DrawFn, features: frozenset[Feature], schemas: Schemas, tables: Tables, *, max_rows: int
) -> SourceQuery | None:
    """Draw a query whose result is the drawn source; None where the statement names the table itself.

    Args:
        draw: Hypothesis' draw function.
        features: what the case may use.
        schemas: the columns that the statement sees.
        tables: the rows that it sees.
        max_rows: most rows of the table behind the query.
    """
    if not uses(draw, features, Feature.SUBQUERY_SOURCE) and schemas.self_filter is None:
        return None
    if schemas.self_merge:
        names = [quote(column.name) for column in schemas.source]
        listed = "*" if chance(draw, 50) else ", ".join(reversed(names))
        where = "" if schemas.self_filter is None else f" WHERE {expression_text(schemas.self_filter, Aliases())}"
        return SourceQuery(text=f"SELECT {listed} FROM target{where}")
    if can_be_written(schemas.source, tables.source) and chance(draw, _CONSTANT_PERCENT):
        # nothing is read: the table has the columns and no rows
        return SourceQuery(text=draw_constant_query(draw, schemas.source, tables.source), columns=schemas.source)
    outputs = [_output(draw, number, column) for number, column in enumerate(schemas.source)]
    stored = [Column(name=out.stored, type=column.type) for out, column in zip(outputs, schemas.source, strict=True)]
    rows = [_behind(row, outputs) for row in tables.source]
    listed = ", ".join(out.text for out in outputs)
    if not chance(draw, _FILTERED_PERCENT):
        unchanged = all(out.text == quote(out.name) for out in outputs)
        text = f"SELECT {'*' if unchanged and chance(draw, 50) else listed} FROM source"
        return SourceQuery(text=text, columns=tuple(stored), rows=tuple(rows))
    union = chance(draw, _UNION_PERCENT)
    parts = [[*row, 2 if union and chance(draw, 50) else 1] for row in rows]
    parts += [[*row, pick(draw, _LEFT_OUT)] for row in rows[: min(_MAX_LEFT_OUT, max_rows - len(rows))]]
    select = f"SELECT {listed} FROM source WHERE part"
    text = f"{select} = 1 UNION ALL {select} = 2" if union else f"{select} >= 1"
    return SourceQuery(text=text, columns=(*stored, _MARKER), rows=tuple(map(tuple, parts)))


def _output(draw: DrawFn, number: int, column: Column) -> _Output:
    derived = chance(draw, _DERIVED_PERCENT) and column.summable
    # derived columns have another name too: nobody should wonder which of the two a name means
    stored = f"c{number}" if derived or chance(draw, _RENAMED_PERCENT) else column.name
    return _Output(name=column.name, stored=stored, added=1 if derived else 0)


def _behind(row: Sequence[object], outputs: Sequence[_Output]) -> Row:
    return tuple(
        cell - out.added if isinstance(cell, int) and out.added else cell
        for cell, out in zip(row, outputs, strict=True)
    )
