"""Three-valued evaluation of drawn expressions.

For steering only: to keep ambiguous matches rare (R-320) and to estimate the results of conditions. No verdict
ever depends on it; a mistake here shifts frequencies and nothing else.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
from typing import TYPE_CHECKING, TypeAlias, assert_never

from mergecheck.model.types.data_types import STRING
from mergecheck.strategies.syntax import expressions as e

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.strategies.syntax.columns import Column

Evaluator: TypeAlias = "Callable[[Row, Row], Value]"
Places: TypeAlias = "Mapping[tuple[e.MergeTable, str], int]"

_RANKS: Mapping[bool | None, int] = {False: 0, None: 1, True: 2}
"""AND is the least of its operands in this order, OR the greatest."""
_COMPARES: Mapping[e.Operator, Callable[[Value, Value], bool]] = {
    e.Operator.EQUAL: operator.eq,
    e.Operator.NULL_SAFE_EQUAL: operator.eq,
    e.Operator.NOT_EQUAL: operator.ne,
    e.Operator.LESS: operator.lt,
    e.Operator.LESS_OR_EQUAL: operator.le,
    e.Operator.GREATER: operator.gt,
    e.Operator.GREATER_OR_EQUAL: operator.ge,
}


def places(target: tuple[Column, ...], source: tuple[Column, ...]) -> Places:
    """Map each column, by side and lower-cased name, to its place in a row."""
    sides = ((e.MergeTable.TARGET, target), (e.MergeTable.SOURCE, source))
    return {(side, column.name.lower()): place for side, columns in sides for place, column in enumerate(columns)}


def evaluator(expression: e.Expression, found: Places) -> Evaluator:
    """Turn an expression into a function of a target row and a source row; NULL is None."""
    match expression:
        case e.Literal(value, _):
            return lambda _target, _source: value
        case e.Reference():
            place = found[expression.side, expression.name.lower()]
            if expression.side is e.MergeTable.TARGET:
                return lambda target, _source: target[place]
            return lambda _target, source: source[place]
        case e.FieldAccess(base, _, position):
            struct = evaluator(base, found)
            return lambda target, source: _field(struct(target, source), position)
        case e.Cast(operand, data_type):
            # between integers nothing changes; of casts of text only the cast of an integer's text is needed
            return _strict(str if data_type == STRING else lambda value: value, [operand], found)
        case e.NamedStruct(_, values):
            parts = [evaluator(value, found) for value in values]
            return lambda target, source: tuple(part(target, source) for part in parts)
        case e.Verbatim(_, told):
            return lambda _target, _source: told
        case e.ArrayCall() | e.LibraryCall():
            return lambda _target, _source: None
        case e.Sum(left=left, right=right, minus=minus):
            return _strict(operator.sub if minus else operator.add, [left, right], found)
        case e.Quotient(left, right):
            return _strict(_divided, [left, right], found)
        case e.CaseWhen(condition, value, otherwise):
            holds, then, other = (evaluator(part, found) for part in (condition, value, otherwise))
            return lambda target, source: (then if holds(target, source) is True else other)(target, source)
        case e.Coalesce(first, second):
            one, two = evaluator(first, found), evaluator(second, found)
            return lambda target, source: two(target, source) if (v := one(target, source)) is None else v
        case e.IsNull(operand=operand, negated=negated):
            tested = evaluator(operand, found)
            return lambda target, source: (tested(target, source) is None) != negated
        case e.Comparison(compared, left, right):
            one, two = evaluator(left, found), evaluator(right, found)
            return lambda target, source: _compare(compared, one(target, source), two(target, source))
        case e.In(item, options):
            tests = [evaluator(e.Comparison(e.Operator.EQUAL, item, option), found) for option in options]
            return lambda target, source: max((test(target, source) for test in tests), key=_RANKS.__getitem__)
        case e.Between(item, low, high):
            above = e.Comparison(e.Operator.GREATER_OR_EQUAL, item, low)
            return evaluator(e.And(above, e.Comparison(e.Operator.LESS_OR_EQUAL, item, high)), found)
        case e.Not(operand):
            return _strict(operator.not_, [operand], found)
        case e.And(left, right) | e.Or(left, right):
            combine = min if isinstance(expression, e.And) else max
            one, two = evaluator(left, found), evaluator(right, found)
            return lambda target, source: combine(one(target, source), two(target, source), key=_RANKS.__getitem__)
        case _:
            assert_never(expression)


def _strict(function: Callable[..., Value], operands: Sequence[e.Expression], found: Places) -> Evaluator:
    """Evaluate a function that is NULL if an operand is."""
    parts = [evaluator(operand, found) for operand in operands]

    def evaluate(target: Row, source: Row) -> Value:
        values = [part(target, source) for part in parts]
        return None if any(value is None for value in values) else function(*values)

    return evaluate


def _divided(one: int, other: int) -> int | None:
    """Divide towards zero; by zero NULL."""
    if other == 0:
        return None
    size = abs(one) // abs(other)
    return size if (one < 0) == (other < 0) else -size


def _field(struct: tuple[Value, ...] | None, position: int) -> Value:
    return None if struct is None else struct[position]


def _compare(compared: e.Operator, left: Value, right: Value) -> bool | None:
    if left is None or right is None:
        return left is right if compared is e.Operator.NULL_SAFE_EQUAL else None
    if isinstance(left, float) and isinstance(right, float):
        # NaN equals itself and is the greatest number
        left, right = ((math.isnan(value), 0 if math.isnan(value) else value) for value in (left, right))
    left, right = _beside(left, right), _beside(right, left)
    return _COMPARES[compared](left, right)


def _beside(value: Value, other: Value) -> Value:
    """Read the text of a number or a date where it is compared with one (R-312)."""
    if not isinstance(value, str) or isinstance(other, str):
        return value
    return dt.date.fromisoformat(value) if isinstance(other, dt.date) else type(other)(value)
