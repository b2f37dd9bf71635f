"""Conditions that file statistics can decide: one target column compared with constants or NULL (R-420, R-421).

Each is TRUE for one target row at least. A merge that wrongly skips the file of this row loses it; with a condition
that no row satisfies, the loss would go unnoticed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.conditions import compared, conditions_over
from mergecheck.strategies.expression.scopes import draw_constant, draw_reference
from mergecheck.strategies.syntax.expressions import Between, Comparison, In, IsNull, Literal, MergeTable, Operator
from mergecheck.strategies.syntax.literals import writable

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Value
    from mergecheck.strategies.expression.scopes import Candidate, Scope
    from mergecheck.strategies.syntax.expressions import Expression

_KEPT_CHARACTERS = 32
_OPERATORS = (Operator.EQUAL, Operator.LESS_OR_EQUAL, Operator.GREATER_OR_EQUAL, Operator.NULL_SAFE_EQUAL)
_FORMS = st.sampled_from((*_OPERATORS, In, In, Between, IsNull))


def draw_file_predicate(draw: DrawFn, scope: Scope) -> Expression:
    """Draw a condition over one target column that is TRUE for some target row, if the target has rows.

    It shrinks to an equality with a value of the first row.
    """
    scope = scope.of_side(MergeTable.TARGET)
    columns = scope.comparable
    num_rows = len(columns[0].cells) if columns else 0
    if num_rows == 0 or chance(draw, 15):
        return draw(conditions_over(scope, depth=1))
    with_nulls = [column for column in columns if None in column.cells]
    if with_nulls and chance(draw, 40):
        return _of_null(draw, scope, draw(st.sampled_from(with_nulls)))
    hard = [(column, row) for column in columns for row in range(num_rows) if _is_hard(column.cells[row])]
    if hard and chance(draw, 65):
        return _holding(draw, scope, *draw(st.sampled_from(hard)))
    row = draw(st.sampled_from(range(num_rows)))
    usable = [column for column in columns if column.cells[row] is not None and writable(column.cells[row])]
    if not usable:
        return IsNull(operand=draw_reference(draw, scope, draw(st.sampled_from(columns))), negated=draw(st.booleans()))
    return _holding(draw, scope, draw(st.sampled_from(usable)), row)


def _is_hard(value: Value) -> bool:
    """Return whether statistics do not bound a value: it is NaN (R-801), a zero (R-802), or too long (R-804)."""
    if isinstance(value, str):
        return len(value) > _KEPT_CHARACTERS
    return isinstance(value, float) and (math.isnan(value) or value == 0)


def _equal(draw: DrawFn, value: Value) -> Value:
    """Draw a value that is equal: for a zero also the zero of the other sign (R-802)."""
    is_zero = isinstance(value, float) and value == 0
    return -value if is_zero and chance(draw, 50) else value


def _of_null(draw: DrawFn, scope: Scope, column: Candidate) -> Expression:
    reference = draw_reference(draw, scope, column)
    if chance(draw, 40):
        return Comparison(Operator.NULL_SAFE_EQUAL, reference, Literal(None, column.column.type))
    return IsNull(operand=reference)


def _holding(draw: DrawFn, scope: Scope, column: Candidate, row: int) -> Expression:
    reference = draw_reference(draw, scope, column)
    value = Literal(_equal(draw, column.cells[row]), column.column.type)
    form = draw(_FORMS)
    if isinstance(form, Operator):
        return compared(draw, form, reference, value)
    if form is IsNull:
        return IsNull(operand=reference, negated=True)
    other = draw_constant(draw, scope, column)
    # either option may be the one that holds; a range of the wrong order is empty, which is a case too
    first, last = (other, value) if draw(st.booleans()) else (value, other)
    return In(reference, (first, last)) if form is In else Between(reference, first, last)
