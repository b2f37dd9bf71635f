"""Which rows match under ON and on which of them clauses fire; keeps ambiguous and idle merges rare (R-320)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.conditions import conditions_over
from mergecheck.strategies.expression.scopes import clause_scope
from mergecheck.strategies.expression.slots import guarded
from mergecheck.strategies.syntax.expressions import TRUE, And
from mergecheck.strategies.syntax.statement import ClauseKind
from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.table.rows import visible_source

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Row
    from mergecheck.strategies.expression.scopes import Scope
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.syntax.statement import Statement
    from mergecheck.strategies.table.rows import Tables

_MEETING_PERCENT = 88
_SELECTIVE_PERCENT = 75
_NUM_TRIES = 4


def match_matrix(
    condition: Expression, schemas: Schemas, target: tuple[Row, ...], source: tuple[Row, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return, for each source row, the positions of the target rows for which ON is TRUE (R-003)."""
    holds = evaluator(condition, places(schemas.target, schemas.source))
    return tuple(
        tuple(place for place, row in enumerate(target) if holds(row, source_row) is True) for source_row in source
    )


def is_multi_matched(matrix: tuple[tuple[int, ...], ...]) -> bool:
    """Return whether some target row has two or more matching source rows (R-004)."""
    matched = [place for row in matrix for place in row]
    return len(set(matched)) < len(matched)


def disambiguated(condition: Expression, schemas: Schemas, tables: Tables) -> Tables:
    """Drop the rows that make a match ambiguous: source rows, or target rows of a self-merge.

    Earlier rows stay, so that shrinking the tables does not bring others back.
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


def only_matched(condition: Expression, schemas: Schemas, tables: Tables) -> Tables:
    """Drop the rows of both tables that match nothing; a merge of a table with itself keeps its rows."""
    if schemas.self_merge:
        return tables
    matrix = match_matrix(condition, schemas, tables.target, tables.source)
    matched = {place for row in matrix for place in row}
    places = iter(range(len(tables.target)))
    files = tuple(tuple(row for row in file if next(places) in matched) for file in tables.files)
    source = tuple(row for row, found in zip(tables.source, matrix, strict=True) if found)
    return replace(tables, files=tuple(file for file in files if file), source=source)


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


def units(
    target: tuple[Row, ...], source: tuple[Row, ...], matrix: tuple[tuple[int, ...], ...]
) -> dict[ClauseKind, list[tuple[Row, Row]]]:
    """Return the rows that reach each kind of clause, as (target row, source row); () for no row (R-004)."""
    matched = {place for row in matrix for place in row}
    return {
        ClauseKind.MATCHED: [(target[t], source[s]) for s, row in enumerate(matrix) for t in row],
        ClauseKind.NOT_MATCHED: [((), row) for row, hit in zip(source, matrix, strict=True) if not hit],
        ClauseKind.NOT_MATCHED_BY_SOURCE: [(row, ()) for t, row in enumerate(target) if t not in matched],
    }


def meeting(
    draw: DrawFn, condition: Expression, schemas: Schemas, *, target: tuple[Row, ...], source: tuple[Row, ...]
) -> Expression:
    """Remove the last conjuncts of an ON condition until rows match; mostly, and whether or not it helps."""
    # drawn before looking at the rows, so that shrinking rows moves no later choice
    wanted = chance(draw, _MEETING_PERCENT)
    while wanted and isinstance(condition, And) and not any(match_matrix(condition, schemas, target, source)):
        condition = condition.left
    return condition


def roused(statement: Statement, schemas: Schemas, *, target: tuple[Row, ...], source: tuple[Row, ...]) -> Statement:
    """Remove the condition of the last clause of each kind if no clause would fire.

    A merge that changes nothing tests little; those that are to are drawn as such (``Feature.NEVER_TRUE``).
    """
    rows = units(target, source, match_matrix(statement.condition, schemas, target, source))
    found = places(schemas.target, schemas.source)
    for clause in statement.clauses:
        test = evaluator(clause.condition or TRUE, found)
        if any(test(*pair) is True for pair in rows[clause.kind]):
            return statement
    last = {clause.kind: place for place, clause in enumerate(statement.clauses)}
    clauses = tuple(
        guarded(replace(clause, condition=None)) if last[clause.kind] == place else clause
        for place, clause in enumerate(statement.clauses)
    )
    return replace(statement, clauses=clauses)


def selective(
    draw: DrawFn,
    statement: Statement,
    scope: Scope,
    schemas: Schemas,
    *,
    target: tuple[Row, ...],
    source: tuple[Row, ...],
) -> Statement:
    """Give a single clause a condition that holds on some of the rows that reach it, and not on others; mostly.

    Conditions that are drawn before the matches are known come out alike on the few rows that reach the clause.
    """
    (clause,) = statement.clauses
    wanted = chance(draw, _SELECTIVE_PERCENT)
    tried = [draw(conditions_over(clause_scope(scope, clause.kind), depth=1)) for _ in range(_NUM_TRIES)]
    if not wanted:
        return statement
    rows = units(target, source, match_matrix(statement.condition, schemas, target, source))[clause.kind]
    for condition in (*((clause.condition,) if clause.condition else ()), *tried):
        found = guarded(replace(clause, condition=condition))
        test = evaluator(found.condition or TRUE, places(schemas.target, schemas.source))
        if len({test(*pair) is True for pair in rows}) > 1:
            return replace(statement, clauses=(found,))
    return statement
