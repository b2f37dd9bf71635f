"""Tables of a case for an HTML report: what went in, and the rows of both sides beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.page import Cell, Column, Table, Tone
from mergecheck.harness.compare.cell_identity import cell_identity
from mergecheck.harness.compare.rows import difference, in_columns_of
from mergecheck.model.formatting import cell_text, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.types.data_types import Field, Schema

MAX_ROWS = 50
"""Rows of one table; the others are counted."""

DIFFERS = "≠"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one side, with their columns."""

    owner: str
    rows: tuple[Row, ...]
    schema: Schema


def input_tables(case: Case) -> tuple[Table, ...]:
    """Show the target, file by file, the source and the other tables."""
    schema = case.target.schema
    numbered = [(f"file {number}", row) for number, file in enumerate(case.target.files, start=1) for row in file]
    target = _plain("Target", schema, numbered)
    others = ({} if case.source is None else {"Source": case.source}) | {
        f"Table {n}": t for n, t in case.tables.items()
    }
    return (target, *(one_side(name, Rows(name, table.rows, table.schema)) for name, table in others.items()))


def one_side(caption: str, side: Rows) -> Table:
    """Show the rows of one side, if the other has none."""
    return _plain(caption, side.schema, [(f"row {number}", row) for number, row in enumerate(side.rows, start=1)])


def side_by_side(caption: str, wanted: Rows, found: Rows) -> Table:
    """Show both sides' rows beside each other, those that differ first, every differing cell marked.

    Args:
        caption: a caption of the rows.
        wanted: the rows that must be there.
        found: the engine's.
    """
    rows, schema = in_columns_of(wanted.schema, found.rows, found.schema)
    ours, theirs = wanted.schema.columns, schema.columns
    of = difference(wanted.rows, rows, wanted_schema=wanted.schema, found_schema=schema)
    lines = [(_label(DIFFERS, "differs"), *_changed(left, right, ours, theirs)) for left, right in of.changed]
    nothing = "no such row"
    lines += [
        (_label("-", "missing"), *_marked(row, ours), Cell(text=nothing, tone=Tone.BAD, span=max(1, len(theirs))))
        for row in of.missing
    ]
    lines += [
        (_label("+", "extra"), Cell(text=nothing, tone=Tone.BAD, span=max(1, len(ours))), *_marked(row, theirs))
        for row in of.extra
    ]
    same = _without(wanted.rows, [*of.missing, *(left for left, _ in of.changed)])
    lines += [(Cell(text="same", glyph="="), *_cells(row, ours), *_cells(row, theirs)) for row in same]
    return Table(
        caption=caption,
        columns=(Column(name="Row"), *_columns(ours), *_columns(theirs)),
        groups=(
            ("", 1),
            *((owner, max(1, len(columns))) for owner, columns in ((wanted.owner, ours), (found.owner, theirs))),
        ),
        rows=tuple(lines[:MAX_ROWS]),
        is_data=True,
        foot=_rest(len(lines)),
    )


def _without(rows: Sequence[Row], taken: Sequence[Row]) -> list[Row]:
    """Leave out these very occurrences; the comparator hands on the rows that it was given."""
    left = {id(row): 0 for row in taken}
    for row in taken:
        left[id(row)] += 1
    kept = []
    for row in rows:
        if left.get(id(row), 0):
            left[id(row)] -= 1
        else:
            kept.append(row)
    return kept


def _plain(caption: str, schema: Schema, rows: Sequence[tuple[str, Row]]) -> Table:
    return Table(
        caption=caption,
        columns=(Column(name="Row"), *_columns(schema.columns)),
        rows=tuple((Cell(text=label), *_cells(row, schema.columns)) for label, row in rows[:MAX_ROWS]),
        is_data=True,
        foot=_rest(len(rows)) or ("no rows" if not rows else ""),
    )


def _columns(fields: Sequence[Field]) -> tuple[Column, ...]:
    if not fields:
        return (Column(name="no columns"),)
    return tuple(Column(name=field.name, detail=_detail(field)) for field in fields)


def _detail(field: Field) -> str:
    return field.type.ddl() + ("" if field.nullable else " NOT NULL")


def _changed(left: Row, right: Row, ours: Sequence[Field], theirs: Sequence[Field]) -> Iterable[Cell]:
    differs = [
        cell_identity(a, one.type) != cell_identity(b, other.type)
        for a, b, one, other in zip(left, right, ours, theirs, strict=True)
    ]
    for row, fields in ((left, ours), (right, theirs)):
        yield from (
            _mark(_text(value, field)) if marked else Cell(text=_text(value, field))
            for value, field, marked in zip(row, fields, differs, strict=True)
        )


def _cells(row: Row, fields: Sequence[Field]) -> tuple[Cell, ...]:
    return tuple(Cell(text=text) for text in _texts(row, fields))


def _marked(row: Row, fields: Sequence[Field]) -> tuple[Cell, ...]:
    return tuple(_mark(text) for text in _texts(row, fields))


def _texts(row: Row, fields: Sequence[Field]) -> list[str]:
    """Format the cells; a row of a broken engine may have more or fewer cells than there are columns."""
    texts = [
        repr(value) if field is None else _text(value, field)
        for value, field in zip_longest(row[: len(fields)], fields, fillvalue=None)
    ]
    beyond = row[len(fields) :]
    if beyond and texts:
        texts[-1] += f" and {len(beyond)} cells too many: {', '.join(map(repr, beyond))}"
    return texts or [repr(row)]


def _text(value: Value, field: Field) -> str:
    return cell_text(value, field.type)


def _mark(text: str) -> Cell:
    return Cell(text=text, glyph=DIFFERS, note="differs", is_marked=True)


def _label(glyph: str, word: str) -> Cell:
    return Cell(text=word, glyph=glyph, tone=Tone.BAD)


def _rest(total: int) -> str:
    num_more = total - MAX_ROWS
    verb = "is" if num_more == 1 else "are"
    return f"{counted(num_more, 'more row')} {verb} not shown" if num_more > 0 else ""
