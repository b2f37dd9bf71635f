"""Who matches whom under ON, and how ambiguous matches are kept rare (R-320, techniques P6)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.tables.tables import visible_source

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Row
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.tables.tables import Tables


def match_matrix(
    condition: Expression, schemas: Schemas, target: tuple[Row, ...], source: tuple[Row, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return, for each source row, the places of the target rows for which ON is TRUE (R-003)."""
    holds = evaluator(condition, places(schemas.target, schemas.source))
    return tuple(
        tuple(place for place, row in enumerate(target) if holds(row, source_row) is True) for source_row in source
    )


def is_multi_matched(matrix: tuple[tuple[int, ...], ...]) -> bool:
    """Tell whether some target row has two or more matching source rows (R-004)."""
    seen: set[int] = set()
    for matched in matrix:
        if not seen.isdisjoint(matched):
            return True
        seen.update(matched)
    return False


def disambiguated(condition: Expression, schemas: Schemas, tables: Tables) -> Tables:
    """Drop the rows that make a match ambiguous: source rows, or target rows of a self-merge.

    Rows that come first stay, so that shrinking the tables does not bring others back.
    """
    if schemas.self_merge:
        return _distinct_self(condition, schemas, tables)
    matrix = match_matrix(condition, schemas, tables.target, tables.source)
    taken: set[int] = set()
    kept = []
    for row, matched in zip(tables.source, matrix, strict=True):
        if taken.isdisjoint(matched):
            taken.update(matched)
            kept.append(row)
    return replace(tables, source=tuple(kept))


def _distinct_self(condition: Expression, schemas: Schemas, tables: Tables) -> Tables:
    rows = tables.target
    merged = set(map(id, visible_source(schemas, tables)))
    matrix = match_matrix(condition, schemas, rows, rows)
    matrix = tuple(found if id(row) in merged else () for row, found in zip(rows, matrix, strict=True))
    kept: list[int] = []
    for place in range(len(rows)):
        tried = [*kept, place]
        among = tuple(tuple(i for i in matrix[source] if i in tried) for source in tried)
        if not is_multi_matched(among):
            kept = tried
    remaining = iter(range(len(rows)))
    files = tuple(tuple(row for row in file if next(remaining) in kept) for file in tables.files)
    return replace(tables, files=tuple(file for file in files if file))
