"""Conditions that file statistics can decide: one target column against constants or NULL (R-420, R-421).

Each is written around the values of one target row, so that it keeps the file of that row. A merge that skips this file
loses the row, whereas a condition that no row satisfies would hide the fault.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.expressions.conditions import compared, draw_condition
from mergecheck.strategies.expressions.scopes import draw_constant, draw_reference
from mergecheck.strategies.syntax.expressions import Between, Comparison, In, IsNull, Literal, Operator, Side
from mergecheck.strategies.syntax.literals import writable

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Value
    from mergecheck.strategies.expressions.scopes import Candidate, Scope
    from mergecheck.strategies.syntax.expressions import Expression

_ANY_CONDITION_PERCENT = 15
_NULL_PERCENT = 40
_HARD_PERCENT = 65
_KEPT_CHARACTERS = 32
_OPERATORS = (Operator.EQUAL, Operator.LESS_OR_EQUAL, Operator.GREATER_OR_EQUAL, Operator.NULL_SAFE_EQUAL)
_FORMS = (*_OPERATORS, In, In, Between, IsNull)


def draw_file_predicate(draw: DrawFn, scope: Scope) -> Expression:
    """Draw a condition over one target column that is TRUE on some target row, if there is one."""
    scope = scope.of_side(Side.TARGET)
    columns = scope.comparable
    num_rows = len(columns[0].cells) if columns else 0
    if num_rows == 0 or chance(draw, _ANY_CONDITION_PERCENT):
        return draw_condition(draw, scope, depth=1)
    with_nulls = [column for column in columns if None in column.cells]
    if with_nulls and chance(draw, _NULL_PERCENT):
        return _of_null(draw, scope, pick(draw, with_nulls))
    hard = [(column, row) for column in columns for row in range(num_rows) if _is_hard(column.cells[row])]
    if hard and chance(draw, _HARD_PERCENT):
        return _holding(draw, scope, *pick(draw, hard))
    row = pick(draw, range(num_rows))
    usable = [column for column in columns if column.cells[row] is not None and writable(column.cells[row])]
    if not usable:
        return IsNull(operand=draw_reference(draw, scope, pick(draw, columns)), negated=chance(draw, 50))
    return _holding(draw, scope, pick(draw, usable), row)


def _is_hard(value: Value) -> bool:
    """Tell whether statistics leave a value out, as they do NaN (R-801), or cut it (R-804)."""
    if isinstance(value, str):
        return len(value) > _KEPT_CHARACTERS
    return isinstance(value, float) and math.isnan(value)


def _of_null(draw: DrawFn, scope: Scope, column: Candidate) -> Expression:
    reference = draw_reference(draw, scope, column)
    if chance(draw, 40):
        return Comparison(Operator.NULL_SAFE_EQUAL, reference, Literal(None, column.column.type))
    return IsNull(operand=reference)


def _holding(draw: DrawFn, scope: Scope, column: Candidate, row: int) -> Expression:
    reference = draw_reference(draw, scope, column)
    value = Literal(column.cells[row], column.column.type)
    form = pick(draw, _FORMS)
    if isinstance(form, Operator):
        return compared(draw, form, reference, value)
    if form is IsNull:
        return IsNull(operand=reference, negated=True)
    other = draw_constant(draw, scope, column)
    # any of the values may be the one that holds; and of the two orders of a range one is empty, which is a case too
    first, last = (other, value) if chance(draw, 50) else (value, other)
    return In(reference, (first, last)) if form is In else Between(reference, first, last)
