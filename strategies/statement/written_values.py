"""Values as people write them: texts beside numbers and dates, ``uuid()`` and ``rand()``, defaults with a time.

Drawn after everything else, as ``written_sources`` is, and with the same meaning as the plain form.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types import data_types as t
from mergecheck.model.types.data_types import Field, Schema
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import written_percent
from mergecheck.strategies.syntax import expressions as e
from mergecheck.strategies.syntax.statement import Action
from mergecheck.strategies.table_features.widening import used_names

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Target
    from mergecheck.strategies.profile import Profile
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.statement import Statement

_BESIDE_TEXTS = (t.INT, t.BIGINT, t.DATE)
_TEXT_PERCENT = 60
_MOST_ROWS = 100
_RANDOM: dict[t.DataType, tuple[str, ...]] = {t.STRING: ("uuid()",), t.DOUBLE: ("rand()", "random()")}
_CLOCKS: dict[t.DataType, tuple[str, ...]] = {
    t.TIMESTAMP: ("current_timestamp()", "now()"),
    t.DATE: ("current_date()",),
}


def draw_written_values(
    draw: DrawFn, profile: Profile, schemas: Schemas, target: Target, statement: Statement
) -> tuple[Target, Statement]:
    """Draw other forms of some values of a statement, and defaults of the target; shrinks to both as they are."""
    drawn = {feature for feature in _IN_ORDER if chance(draw, written_percent(profile, feature))}
    # a text may be no number, so that the reference compares each row with each
    if Feature.TEXT_OPERANDS in drawn and len(target.rows) <= _MOST_ROWS:
        statement = replace(statement, condition=_beside_texts(draw, schemas, statement.condition))
        for place, clause in enumerate(statement.clauses):
            if clause.condition is not None:
                told = replace(clause, condition=_beside_texts(draw, schemas, clause.condition))
                statement = statement.with_clause(place, told)
    if Feature.RANDOM_VALUES in drawn:
        statement = _with_random_value(draw, target, statement)
    if Feature.TIME_DEFAULTS in drawn and Feature.COLUMN_DEFAULTS not in profile.disabled:
        target = _with_time_default(draw, target)
    return target, statement


_IN_ORDER = (Feature.TEXT_OPERANDS, Feature.RANDOM_VALUES, Feature.TIME_DEFAULTS)


def _beside_texts(draw: DrawFn, schemas: Schemas, condition: e.Expression) -> e.Expression:
    """Write the operands that are compared with a number or a date, constants or either of two columns, as texts."""
    match condition:
        case e.And(left, right) | e.Or(left, right):
            return type(condition)(_beside_texts(draw, schemas, left), _beside_texts(draw, schemas, right))
        case e.Not(operand):
            return e.Not(_beside_texts(draw, schemas, operand))
        case e.Comparison(operator, e.Reference() as left, right) if _is_fit(schemas, left):
            return e.Comparison(operator, left, _as_text(draw, schemas, left, right))
        case e.Between(e.Reference() as operand, low, high) if _is_fit(schemas, operand):
            return e.Between(operand, _as_text(draw, schemas, operand, low), _as_text(draw, schemas, operand, high))
        case _:
            return condition


def _as_text(draw: DrawFn, schemas: Schemas, beside: e.Reference, operand: e.Expression) -> e.Expression:
    if not chance(draw, _TEXT_PERCENT):
        return operand
    match operand:
        case e.Literal(value, data_type) if value is not None and data_type == _type_of(schemas, beside):
            return e.Verbatim(f"'{value}'", value)
        case e.Reference() if _type_of(schemas, operand) == _type_of(schemas, beside):
            return e.Cast(operand, t.STRING)
        case _:
            return operand


def _is_fit(schemas: Schemas, reference: e.Reference) -> bool:
    return _type_of(schemas, reference) in _BESIDE_TEXTS


def _type_of(schemas: Schemas, reference: e.Reference) -> t.DataType | None:
    columns = schemas.target if reference.side is e.MergeTable.TARGET else schemas.source
    found = (column.type for column in columns if schemas.folded(column.name) == schemas.folded(reference.name))
    return next(found, None)


def _with_random_value(draw: DrawFn, target: Target, statement: Statement) -> Statement:
    """Assign ``uuid()`` or ``rand()`` to a column that nothing else depends on."""
    columns = {column.name.lower(): column for column in target.schema.columns if _is_free(target, column)}
    found = [
        (number, place, columns[assignment.column.lower()])
        for number, clause in enumerate(statement.clauses)
        if clause.action is not Action.DELETE
        for place, assignment in enumerate(clause.assignments)
        if assignment.column.lower() in columns and not assignment.path and not assignment.by_source
    ]
    if not found:
        return statement
    number, place, column = draw(st.sampled_from(found))
    clause = statement.clauses[number]
    value = e.Verbatim(draw(st.sampled_from(_RANDOM[column.type])))
    changed = replace(clause.assignments[place], value=value)
    assignments = (*clause.assignments[:place], changed, *clause.assignments[place + 1 :])
    return statement.with_clause(number, replace(clause, assignments=assignments))


def _is_free(target: Target, column: Field) -> bool:
    """Return whether a column may hold any text or number."""
    return (
        column.type in _RANDOM
        and not column.limits
        and column.generated is None
        and column.identity is None
        and column.invariant is None
        and column.name not in (*target.partition_by, *target.layout.cluster_by)
        and column.name.lower() not in used_names(target)
    )


def _with_time_default(draw: DrawFn, target: Target) -> Target:
    """Give a column the time of the statement as its default."""
    places = [
        place
        for place, column in enumerate(target.schema.columns)
        if column.type in _CLOCKS
        and column.default is None
        and column.generated is None
        and column.name.lower() not in used_names(target)
    ]
    if not places:
        return target
    place = draw(st.sampled_from(places))
    columns = list(target.schema.columns)
    columns[place] = replace(columns[place], default=draw(st.sampled_from(_CLOCKS[columns[place].type])))
    return replace(target, schema=Schema(tuple(columns)))
