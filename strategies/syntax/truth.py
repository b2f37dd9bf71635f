"""Three-valued evaluation of drawn expressions.

For steering only: to keep ambiguous matches rare (R-320) and to tell how conditions come out. No verdict
ever depends on it; a mistake here shifts frequencies and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, assert_never

from mergecheck.reference.types.data_types import STRING
from mergecheck.strategies.syntax.expressions import (
    And,
    ArrayCall,
    Between,
    CaseWhen,
    Cast,
    Coalesce,
    Comparison,
    FieldAccess,
    In,
    IsNull,
    Literal,
    NamedStruct,
    Not,
    Operator,
    Or,
    Quotient,
    Reference,
    Side,
    Sum,
    Verbatim,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mergecheck.reference.case.model import Row, Value
    from mergecheck.reference.types.data_types import DataType
    from mergecheck.strategies.syntax.columns import Column
    from mergecheck.strategies.syntax.expressions import Expression

Evaluator: TypeAlias = "Callable[[Row, Row], Value]"
Places: TypeAlias = "Mapping[tuple[Side, str], int]"

_ORDER: dict[Operator, Callable[[Value, Value], bool]] = {
    Operator.EQUAL: lambda left, right: left == right,
    Operator.NOT_EQUAL: lambda left, right: left != right,
    Operator.LESS: lambda left, right: left < right,
    Operator.LESS_OR_EQUAL: lambda left, right: left <= right,
    Operator.GREATER: lambda left, right: left > right,
    Operator.GREATER_OR_EQUAL: lambda left, right: left >= right,
}


def places(target: tuple[Column, ...], source: tuple[Column, ...]) -> Places:
    """Map each column, by side and lower-cased name, to its place in a row."""
    sides = ((Side.TARGET, target), (Side.SOURCE, source))
    return {(side, column.name.lower()): place for side, columns in sides for place, column in enumerate(columns)}


def evaluator(expression: Expression, found: Places) -> Evaluator:
    """Turn an expression into a function of a target row and a source row; NULL is None."""
    match expression:
        case Literal(value, _):
            return lambda _target, _source: value
        case Reference():
            place = found[expression.side, expression.name.lower()]
            if expression.side is Side.TARGET:
                return lambda target, _source: target[place]
            return lambda _target, source: source[place]
        case FieldAccess(base, _, position):
            struct = evaluator(base, found)
            return lambda target, source: _field(struct(target, source), position)
        case Cast(operand, data_type):
            return _cast(evaluator(operand, found), data_type)
        case NamedStruct(_, values):
            parts = [evaluator(value, found) for value in values]
            return lambda target, source: tuple(part(target, source) for part in parts)
        case Verbatim(_, told):
            return lambda _target, _source: told
        case ArrayCall():
            return lambda _target, _source: None
        case Sum():
            return _sum(expression, found)
        case Quotient():
            return _quotient(expression, found)
        case CaseWhen() | Coalesce():
            return _choice(expression, found)
        case Comparison() | In() | Between() | IsNull():
            return _predicate(expression, found)
        case And() | Or() | Not():
            return _logic(expression, found)
        case _:
            assert_never(expression)


def _cast(operand: Evaluator, data_type: DataType) -> Evaluator:
    """Between integers nothing changes; of text only that of an integer is ever asked for."""
    if data_type != STRING:
        return operand

    def text(target: Row, source: Row) -> Value:
        value = operand(target, source)
        return value if value is None else str(value)

    return text


def _sum(expression: Sum, found: Places) -> Evaluator:
    left, right = evaluator(expression.left, found), evaluator(expression.right, found)
    sign = -1 if expression.minus else 1

    def evaluate(target: Row, source: Row) -> Value:
        one, other = left(target, source), right(target, source)
        return None if one is None or other is None else one + sign * other

    return evaluate


def _quotient(expression: Quotient, found: Places) -> Evaluator:
    left, right = evaluator(expression.left, found), evaluator(expression.right, found)

    def evaluate(target: Row, source: Row) -> Value:
        one, other = left(target, source), right(target, source)
        if one is None or not other:
            return None
        size = abs(one) // abs(other)
        return size if (one < 0) == (other < 0) else -size

    return evaluate


def _choice(expression: CaseWhen | Coalesce, found: Places) -> Evaluator:
    if isinstance(expression, Coalesce):
        first, second = evaluator(expression.first, found), evaluator(expression.second, found)

        def coalesce(target: Row, source: Row) -> Value:
            value = first(target, source)
            return second(target, source) if value is None else value

        return coalesce
    condition = evaluator(expression.condition, found)
    value, otherwise = evaluator(expression.value, found), evaluator(expression.otherwise, found)
    return lambda target, source: (value if condition(target, source) is True else otherwise)(target, source)


def _predicate(expression: Comparison | In | Between | IsNull, found: Places) -> Evaluator:
    match expression:
        case Comparison(operator, left, right):
            one, other = evaluator(left, found), evaluator(right, found)
            return lambda target, source: _compare(operator, one(target, source), other(target, source))
        case IsNull():
            operand, negated = evaluator(expression.operand, found), expression.negated
            return lambda target, source: (operand(target, source) is None) != negated
        case In(item, options):
            equalities = [Comparison(Operator.EQUAL, item, option) for option in options]
            tests = [evaluator(equality, found) for equality in equalities]
            return lambda target, source: _any(test(target, source) for test in tests)
        case Between(item, low, high):
            above = Comparison(Operator.GREATER_OR_EQUAL, item, low)
            below = Comparison(Operator.LESS_OR_EQUAL, item, high)
            return evaluator(And(above, below), found)


def _logic(expression: And | Or | Not, found: Places) -> Evaluator:
    if isinstance(expression, Not):
        operand = evaluator(expression.operand, found)
        return lambda target, source: _not(operand(target, source))
    left, right = evaluator(expression.left, found), evaluator(expression.right, found)
    if isinstance(expression, Or):
        return lambda target, source: _any((left(target, source), right(target, source)))
    return lambda target, source: _not(_any((_not(left(target, source)), _not(right(target, source)))))


def _any(results: Iterable[bool | None]) -> bool | None:
    """OR of Kleene's logic."""
    unknown = False
    for result in results:
        if result:
            return True
        unknown = unknown or result is None
    return None if unknown else False


def _not(result: bool | None) -> bool | None:  # noqa: FBT001 - a truth value of SQL, not a switch
    return None if result is None else not result


def _field(struct: tuple[Value, ...] | None, position: int) -> Value:
    return None if struct is None else struct[position]


def _compare(operator: Operator, left: Value, right: Value) -> bool | None:
    if left is None or right is None:
        return left is right if operator is Operator.NULL_SAFE_EQUAL else None
    order = _ORDER[Operator.EQUAL if operator is Operator.NULL_SAFE_EQUAL else operator]
    if isinstance(left, float) and isinstance(right, float):
        # NaN equals itself and is the greatest number
        return order((left != left, 0 if left != left else left), (right != right, 0 if right != right else right))  # noqa: PLR0124 - NaN
    return order(left, right)
