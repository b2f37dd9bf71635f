"""Values from Spark's function library, which the reference knows from Spark only (docs/expressions.md).

The calls are deterministic and fail on few values. They are written with a place for each operand, named by its type:
``left({STRING}, 2)``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from mergecheck.model.types import data_types as t
from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.scopes import clause_scope, draw_reference, whole_scope
from mergecheck.strategies.syntax import expressions as e
from mergecheck.strategies.table.domains import domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies.expression.scopes import Scope
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.statement import Clause, Statement
    from mergecheck.strategies.table.rows import Tables

_TYPES = {each.ddl(): each for each in (t.STRING, t.INT, t.BIGINT, t.DOUBLE, t.BOOLEAN, t.DATE, t.TIMESTAMP, t.BINARY)}
_OPERAND = re.compile(r"\{([A-Z]+)\}")
_COLUMN_PERCENT = 85


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call with a place for each operand.

    Attributes:
        text: as it is written, with the operands' types in braces.
        result: its type.
    """

    text: str
    result: DataType

    @property
    def operand_types(self) -> tuple[DataType, ...]:
        """The types of the operands, in order."""
        return tuple(_TYPES[name] for name in _OPERAND.findall(self.text))

    def over(self, operands: tuple[e.Expression, ...]) -> e.LibraryCall:
        """Return the call over some operands."""
        return e.LibraryCall(tuple(_OPERAND.split(self.text)[::2]), operands)


def _library() -> tuple[FunctionCall, ...]:
    text = resources.files("mergecheck.strategies.expression").joinpath("function_calls.toml").read_text("utf-8")
    return tuple(FunctionCall(call, _TYPES[result]) for result, calls in tomllib.loads(text).items() for call in calls)


FUNCTION_CALLS: Final = _library()
"""The calls of ``function_calls.toml``. A test asks Spark for the type of each."""
_RESULTS = frozenset(call.result for call in FUNCTION_CALLS)


def draw_function_calls(
    draw: DrawFn, statement: Statement, schemas: Schemas, tables: Tables, *, percent: float
) -> Statement:
    """Draw for a case whether a clause gets a call as a value or as a part of its condition.

    Args:
        draw: given by Hypothesis.
        statement: a valid statement.
        schemas: of the tables that it was drawn over.
        tables: their rows.
        percent: how many of a hundred cases may get one. It is drawn after everything else, so that a case of a seed is
            the same one without calls.

    Returns:
        The statement, which shrinks to the one without calls.
    """
    if not chance(draw, percent):
        return statement
    scope = whole_scope(frozenset(), schemas, tables)
    changed = [
        (place, change)
        for place, clause in enumerate(statement.clauses)
        for change in _changes(clause, clause_scope(scope, clause.kind), schemas)
    ]
    if not changed:
        return statement
    place, change = draw(st.sampled_from(changed))
    return statement.with_clause(place, change(draw))


def _changes(clause: Clause, scope: Scope, schemas: Schemas) -> Iterator[Callable[[DrawFn], Clause]]:
    """Yield what may become a call: the values of atomic columns of the table, and a part of the condition.

    Partition columns keep their values, which become names of directories, and so do columns from which others are
    computed.
    """
    if clause.condition is not None:
        yield partial(_with_condition, clause, clause.condition, scope)
    columns = {column.name: column for column in schemas.target if not (column.computed or column.bounded)}
    for index, assignment in enumerate(clause.assignments):
        column = columns.get(assignment.column)
        if column is None or assignment.path or column.name in schemas.partition_by or column.type not in _RESULTS:
            continue
        yield partial(_with_value, clause, index, scope, column.type)


def _with_condition(clause: Clause, condition: e.Expression, scope: Scope, draw: DrawFn) -> Clause:
    return replace(clause, condition=e.And(condition, _call(draw, scope, t.BOOLEAN)))


def _with_value(clause: Clause, index: int, scope: Scope, data_type: DataType, draw: DrawFn) -> Clause:
    assignments = list(clause.assignments)
    assignments[index] = replace(assignments[index], value=_call(draw, scope, data_type))
    return replace(clause, assignments=tuple(assignments))


def _call(draw: DrawFn, scope: Scope, data_type: DataType) -> e.LibraryCall:
    """Draw a call with a result of a type."""
    call = draw(st.sampled_from([each for each in FUNCTION_CALLS if each.result == data_type]))
    return call.over(tuple(_operand(draw, scope, each) for each in call.operand_types))


def _operand(draw: DrawFn, scope: Scope, data_type: DataType) -> e.Expression:
    """Draw a column of a type, or a constant; it shrinks to the constant."""
    columns = [each for each in scope.candidates if each.column.type == data_type]
    if columns and chance(draw, _COLUMN_PERCENT):
        return draw_reference(draw, scope, draw(st.sampled_from(columns)))
    return e.Literal(draw(st.sampled_from(domain(data_type)[:3])), data_type)
