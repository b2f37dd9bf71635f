"""Identity columns: a new one that no clause assigns, or a column of the table that becomes one (R-226)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import BIGINT, INT, SMALLINT, TINYINT, Field, Identity, Schema
from mergecheck.strategies.choices import chance
from mergecheck.strategies.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Row, Target
    from mergecheck.strategies.syntax.statement import Clause, Statement

NAME = "row_no"
_STARTS_AND_STEPS = st.sampled_from(((1, 1), (10, 3), (5, -2), (-7, 5), (-3, -3), (100, -1), (0, 7)))
_MARKS = st.sampled_from((None, 0, 2, 1000))
"""High-water marks of a column with values of its own, in steps from its start; the last is beyond all values."""
_WHOLE_NUMBERS = (BIGINT, INT, SMALLINT, TINYINT)
_BECOMES_PERCENT = 60
_LEFT_OUT_PERCENT = 70
_BY_DEFAULT_PERCENT = 60
_NOT_NULL_PERCENT = 30
_REFUSED_PERCENT = 16


def draw_identity_column(
    draw: DrawFn, target: Target, source_names: Sequence[str], statement: Statement, *, evolves: bool
) -> tuple[Target, Statement]:
    """Draw an identity column, if the statement lets the table have one; shrinks to the table as it is.

    Most statements neither update the column nor give values to one that takes none. Some do, and must be refused.

    Args:
        draw: Hypothesis'.
        target: the table without the column.
        source_names: the columns that the statement sees of its source.
        statement: determines the assigned columns.
        evolves: a star leaves out the columns that the source has not, by the statement or by the session.

    Returns:
        the table, and the statement, in which an INSERT may leave the column out that others give values.
    """
    if not target.schema.columns:
        return target, statement
    start, step = draw(_STARTS_AND_STEPS)
    identity = Identity(start=start, step=step, by_default=chance(draw, _BY_DEFAULT_PERCENT))
    refused = chance(draw, _REFUSED_PERCENT)
    names = list(_that_can_become(target, source_names, statement, identity, evolves=evolves, refused=refused))
    if names and chance(draw, 100 if refused else _BECOMES_PERCENT):
        name = draw(st.sampled_from(names))
        if identity.by_default and not refused and chance(draw, _LEFT_OUT_PERCENT):
            statement = _leaving_out(statement, name)
        return _turned(draw, target, identity, name), statement
    # a star names all columns, unless the table evolves; a star of a self-merge would always assign the new column
    stars_name_it = any(clause.star for clause in statement.clauses) and (statement.self_merge or not evolves)
    known = (*target.schema.names, *source_names, *target.layout.dropped_columns)
    if stars_name_it or NAME in {name.lower() for name in known}:
        return target, statement
    return _extended(draw, target, identity), statement


def _that_can_become(
    target: Target,
    source_names: Sequence[str],
    statement: Statement,
    identity: Identity,
    *,
    evolves: bool,
    refused: bool,
) -> Iterator[str]:
    """Name the columns that can be identity columns; the statement is to be refused for them, or not."""
    texts = " ".join((*target.properties.values(), *(c.generated or "" for c in target.schema.columns))).lower()
    kept = (*target.partition_by, *target.layout.added_columns, *target.layout.widened_columns)
    # only an INSERT shows which values a column GENERATED ALWAYS refuses: an UPDATE of it is refused anyway
    always = (Action.INSERT,) if refused else (Action.UPDATE, Action.INSERT)
    actions = (Action.UPDATE,) if identity.by_default else always
    for column in target.schema.columns:
        plain = column.default is None and column.generated is None and column.name.lower() not in texts
        if column.type not in _WHOLE_NUMBERS or not plain or column.name in kept:
            continue
        if _is_assigned(column.name, source_names, statement, actions, evolves=evolves) is refused:
            yield column.name


def _is_assigned(
    name: str, source_names: Sequence[str], statement: Statement, actions: Sequence[Action], *, evolves: bool
) -> bool:
    return any(
        _assigns(clause, name, source_names, evolves=evolves)
        for clause in statement.clauses
        if clause.action in actions
    )


def _leaving_out(statement: Statement, name: str) -> Statement:
    """Take a column out of the last of several INSERT clauses, if that names it beside others.

    The mark moves only if an INSERT leaves the column out, but then by the values that others give, too.
    """
    inserts = [place for place, clause in enumerate(statement.clauses) if clause.action is Action.INSERT]
    if not inserts[1:]:
        return statement
    last = statement.clauses[inserts[-1]]
    kept = tuple(each for each in last.assignments if each.column.lower() != name.lower())
    return statement.with_clause(inserts[-1], replace(last, assignments=kept)) if kept else statement


def _assigns(clause: Clause, name: str, source_names: Sequence[str], *, evolves: bool) -> bool:
    in_source = name.lower() in {each.lower() for each in source_names}
    if clause.star:
        return in_source or not evolves
    return any(assignment.column.lower() == name.lower() for assignment in clause.assignments)


def _turned(draw: DrawFn, target: Target, identity: Identity, name: str) -> Target:
    """Make a column an identity column, of BIGINT; its values are explicit ones, before and behind the mark."""
    place = target.schema.names.index(name)
    mark = draw(_MARKS) if any(map(bool, target.files)) else None
    mark = None if mark is None else identity.start + mark * identity.step
    columns = list(target.schema.columns)
    columns[place] = replace(columns[place], type=BIGINT, identity=replace(identity, mark=mark))
    return replace(target, schema=Schema(tuple(columns)))


def _extended(draw: DrawFn, target: Target, identity: Identity) -> Target:
    """Give the table a new column, whose values the table has generated."""
    numbers = iter(range(sum(map(len, target.files))))
    gap = draw(st.sampled_from((1, 2)))
    files = tuple(tuple(_numbered(row, identity, gap * next(numbers)) for row in file) for file in target.files)
    values = [row[-1] for file in files for row in file]
    mark = None
    if values:
        mark = values[-1] + identity.step * draw(st.sampled_from((0, 3)))
    column = Field(NAME, BIGINT, nullable=not chance(draw, _NOT_NULL_PERCENT), identity=replace(identity, mark=mark))
    return replace(target, schema=Schema((*target.schema.columns, column)), files=files)


def _numbered(row: Row, identity: Identity, number: int) -> Row:
    return (*row, identity.start + identity.step * number)
