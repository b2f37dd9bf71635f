"""Candidates for a case with plainer types: INT columns, their values numbered so that equal ones stay equal."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import INT, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.types.data_types import Field

_RANGE = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Positions of columns in the target and in the source."""

    target: frozenset[int] = frozenset()
    source: frozenset[int] = frozenset()


def plainer_types(case: Case) -> Iterator[Case]:
    """Yield cases with INT for other types: of all columns, all of one type, all of one name, of one column alone.

    Columns that change together share one numbering. Defaults, generation expressions and literals stay as they are;
    if they do not fit, the case no longer shows its finding, and is not taken.
    """
    for places in dict.fromkeys(_groups(case)):
        plainer = _with_integers(case, places)
        if plainer != case:
            yield plainer


def _groups(case: Case) -> Iterator[_Places]:
    target = case.target.schema.columns
    source = case.source.schema.columns if case.source is not None else ()
    yield _Places(target=frozenset(range(len(target))), source=frozenset(range(len(source))))
    for kind in dict.fromkeys(column.type for column in (*target, *source)):
        yield _Places(
            target=frozenset(i for i, column in enumerate(target) if column.type == kind),
            source=frozenset(i for i, column in enumerate(source) if column.type == kind),
        )
    for name in dict.fromkeys(column.name.casefold() for column in (*target, *source)):
        yield _Places(target=_named(target, name), source=_named(source, name))
    for i in range(len(target)):
        yield _Places(target=frozenset({i}))
    for i in range(len(source)):
        yield _Places(source=frozenset({i}))


def _named(columns: Sequence[Field], name: str) -> frozenset[int]:
    return frozenset(i for i, column in enumerate(columns) if column.name.casefold() == name)


def _with_integers(case: Case, places: _Places) -> Case:
    source_rows = case.source.rows if case.source is not None else ()
    cells = [
        *(row[i] for row in case.target.rows for i in sorted(places.target)),
        *(row[i] for row in source_rows for i in sorted(places.source)),
    ]
    numbers = _numbered([cell for cell in cells if cell is not None])
    files = tuple(_changed_rows(rows, places.target, numbers) for rows in case.target.files)
    target = replace(case.target, schema=_changed_schema(case.target.schema, places.target), files=files)
    source = case.source
    if source is not None:
        rows = _changed_rows(source.rows, places.source, numbers)
        source = replace(source, schema=_changed_schema(source.schema, places.source), rows=rows)
    return replace(case, target=target, source=source)


def _numbered(cells: Sequence[Value]) -> dict[str, int]:
    """Give every value its number: the value itself if all are integers, else its place in order."""
    distinct = {_key(cell): cell for cell in cells}
    if all(_is_integer(cell) for cell in distinct.values()):
        return {key: int(cell) for key, cell in distinct.items()}
    try:
        ordered = sorted(distinct, key=distinct.__getitem__)
    except TypeError:  # values of several types, or with NULL inside
        ordered = list(distinct)
    return {key: number for number, key in enumerate(ordered)}


def _is_integer(cell: Value) -> bool:
    return isinstance(cell, int | float | Decimal) and math.isfinite(cell) and cell == int(cell) and int(cell) in _RANGE


def _key(cell: Value) -> str:
    """Distinguish values as SQL does: zeros of both signs are one number, NaN equals itself (R-801)."""
    return repr(abs(cell) if cell == 0 else cell)


def _changed_schema(schema: Schema, places: frozenset[int]) -> Schema:
    """Make columns INT; an identity column and one with lengths have other types, so they become plain ones."""
    columns = enumerate(schema.columns)
    return Schema(tuple(replace(c, type=INT, identity=None, limits=()) if i in places else c for i, c in columns))


def _changed_rows(rows: tuple[Row, ...], places: frozenset[int], numbers: dict[str, int]) -> tuple[Row, ...]:
    return tuple(
        tuple(numbers[_key(cell)] if i in places and cell is not None else cell for i, cell in enumerate(row))
        for row in rows
    )
