"""Candidates for a smaller statement and for tables without the columns that it does not need."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.statement_text import cut_merge, split_outer, words_of
from reference.types import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.statement_text import ClauseText
    from reference.case import Case, Row

_UPDATE = "UPDATE SET"


def with_clauses(case: Case, clauses: tuple[ClauseText, ...]) -> Case:
    """Give the case with these clauses only."""
    return replace(case, sql=replace(cut_merge(case.sql), clauses=clauses).sql())


def condition_candidates(sql: str) -> Iterator[str]:
    """Yield statements with a condition, a conjunct or an assignment less."""
    text = cut_merge(sql)
    if text.condition is not None:
        for condition in _less(text.condition, "AND"):
            yield replace(text, condition=condition).sql()
    for i, clause in enumerate(text.clauses):
        for smaller in _smaller_clauses(clause):
            yield replace(text, clauses=(*text.clauses[:i], smaller, *text.clauses[i + 1 :])).sql()


def without_columns(case: Case) -> Iterator[Case]:
    """Yield cases without one column: in both tables, in the target only, in the source only."""
    mentioned = words_of(case.sql)
    source = case.source.schema.names if case.source is not None else ()
    for name in dict.fromkeys((*case.target.schema.names, *source)):
        if name.lower() in mentioned or name in case.target.partition_by:
            continue
        in_source = _without_source_column(case, name)
        yield _without_target_column(in_source, name)
        yield _without_target_column(case, name)
        yield in_source


def _smaller_clauses(clause: ClauseText) -> Iterator[ClauseText]:
    if clause.condition is not None:
        yield replace(clause, condition=None)
        for condition in _less(clause.condition, "AND"):
            yield replace(clause, condition=condition)
    if clause.action.upper().startswith(_UPDATE):
        for assignments in _less(clause.action[len(_UPDATE) :].strip(), ","):
            yield replace(clause, action=f"{_UPDATE} {assignments}")


def _less(text: str, separator: str) -> Iterator[str]:
    """Yield a list without each of its items, as long as it has two."""
    items = split_outer(text, separator)
    joint = f" {separator} " if separator.isalpha() else f"{separator} "
    if len(items) > 1:
        for i in range(len(items)):
            yield joint.join(items[:i] + items[i + 1 :])


def _without_target_column(case: Case, name: str) -> Case:
    schema = case.target.schema
    if name not in schema.names or len(schema.columns) == 1:
        return case
    i = schema.names.index(name)
    files = tuple(_without_cell(rows, i) for rows in case.target.files)
    return replace(case, target=replace(case.target, schema=_without_field(schema, i), files=files))


def _without_source_column(case: Case, name: str) -> Case:
    if case.source is None or name not in case.source.schema.names or len(case.source.schema.columns) == 1:
        return case
    i = case.source.schema.names.index(name)
    source = replace(case.source, schema=_without_field(case.source.schema, i), rows=_without_cell(case.source.rows, i))
    return replace(case, source=source)


def _without_field(schema: Schema, i: int) -> Schema:
    return Schema(schema.columns[:i] + schema.columns[i + 1 :])


def _without_cell(rows: tuple[Row, ...], i: int) -> tuple[Row, ...]:
    return tuple(row[:i] + row[i + 1 :] for row in rows)
