"""Conditions over the columns in scope: total functions that come out TRUE, FALSE and NULL (R-312, pitfall P22)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.reference.types.data_types import BOOLEAN
from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import DEFAULT_PROFILE, Profile, draw_features
from mergecheck.strategies.expressions.nested_conditions import compare_field, compare_nested, equatable, structs
from mergecheck.strategies.expressions.scopes import (
    Candidate,
    Scope,
    clause_scope,
    draw_constant,
    draw_reference,
    same_class,
    whole_scope,
)
from mergecheck.strategies.syntax.expressions import (
    FALSE,
    TRUE,
    UNKNOWN,
    And,
    Between,
    CaseWhen,
    Coalesce,
    Comparison,
    In,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
    Sum,
)
from mergecheck.strategies.syntax.statement import ClauseKind
from mergecheck.strategies.tables.schemas import draw_schemas
from mergecheck.strategies.tables.tables import draw_tables

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.expressions import Expression

_DEPTH = 2
_NULL_OPTION_PERCENT = 15
_NEGATED_PERCENT = 50
_CONSTANT_FIRST_PERCENT = 35
_MAX_OPTIONS = 3
_SUM_LIMITS = (2, 0, 1, 3, 5)
_OPERATORS = (
    Operator.EQUAL,
    Operator.GREATER,
    Operator.LESS_OR_EQUAL,
    Operator.LESS,
    Operator.GREATER_OR_EQUAL,
    Operator.NOT_EQUAL,
    Operator.NULL_SAFE_EQUAL,
)


class _Form(Enum):
    """The shapes of a condition, simplest first."""

    CONSTANT = "constant"
    COMPARE = "compare with a constant"
    COLUMNS = "compare two columns"
    IS_NULL = "is null"
    IN = "in"
    BETWEEN = "between"
    BARE = "boolean column"
    SUM = "compare a sum"
    FIELD = "compare a field of a struct"
    NESTED = "compare a struct or an array"
    NOT = "not"
    AND = "and"
    OR = "or"
    COALESCE = "coalesce"
    CASE = "case"


_LEAVES = (_Form.CONSTANT, *[_Form.COMPARE] * 4, *[_Form.COLUMNS] * 2, _Form.IS_NULL, _Form.IN, _Form.BETWEEN)
_BRANCHES = (_Form.NOT, _Form.AND, _Form.OR, _Form.COALESCE, _Form.CASE)


def draw_condition(draw: DrawFn, scope: Scope, *, depth: int = _DEPTH) -> Expression:
    """Draw a condition over the columns of a scope; shrinks to TRUE."""
    match pick(draw, _forms(scope, depth)):
        case _Form.CONSTANT:
            return pick(draw, (TRUE, FALSE, UNKNOWN))
        case _Form.NOT:
            return Not(draw_condition(draw, scope, depth=depth - 1))
        case _Form.AND:
            return And(draw_condition(draw, scope, depth=depth - 1), draw_condition(draw, scope, depth=depth - 1))
        case _Form.OR:
            return Or(draw_condition(draw, scope, depth=depth - 1), draw_condition(draw, scope, depth=depth - 1))
        case _Form.COALESCE:
            return Coalesce(draw_condition(draw, scope, depth=depth - 1), pick(draw, (TRUE, FALSE)))
        case _Form.CASE:
            return _case(draw, scope, depth)
        case form:
            return _leaf(draw, scope, form)


def _forms(scope: Scope, depth: int) -> tuple[_Form, ...]:
    if not scope.comparable:
        return (_Form.CONSTANT, _Form.IS_NULL) if scope.candidates else (_Form.CONSTANT,)
    forms = _LEAVES
    if _booleans(scope):
        forms = (*forms, _Form.BARE)
    if _summable(scope):
        forms = (*forms, _Form.SUM)
    if structs(scope):
        forms = (*forms, _Form.FIELD)
    if equatable(scope):
        forms = (*forms, _Form.NESTED)
    return (*forms, *_BRANCHES) if depth > 0 else forms


def _case(draw: DrawFn, scope: Scope, depth: int) -> Expression:
    condition = draw_condition(draw, scope, depth=depth - 1)
    return CaseWhen(condition, pick(draw, (TRUE, FALSE)), draw_condition(draw, scope, depth=0))


def _leaf(draw: DrawFn, scope: Scope, form: _Form) -> Expression:
    if form is _Form.IS_NULL:
        operand = draw_reference(draw, scope, pick(draw, scope.candidates))
        return IsNull(operand=operand, negated=chance(draw, _NEGATED_PERCENT))
    if form is _Form.BARE:
        return draw_reference(draw, scope, pick(draw, _booleans(scope)))
    if form is _Form.SUM:
        return _compare_sum(draw, scope)
    if form is _Form.FIELD:
        return compare_field(draw, scope, _OPERATORS)
    if form is _Form.NESTED:
        return compare_nested(draw, scope)
    candidate = pick(draw, scope.comparable)
    reference = draw_reference(draw, scope, candidate)
    if form is _Form.IN:
        return In(reference, _options(draw, scope, candidate))
    if form is _Form.BETWEEN:
        low, high = draw_constant(draw, scope, candidate), draw_constant(draw, scope, candidate)
        return Between(reference, low, high)
    operator = pick(draw, _OPERATORS)
    others = _partners(scope, candidate)
    if form is _Form.COLUMNS and others:
        return Comparison(operator, reference, draw_reference(draw, scope, pick(draw, others)))
    return compared(draw, operator, reference, draw_constant(draw, scope, candidate))


def compared(draw: DrawFn, operator: Operator, reference: Expression, constant: Expression) -> Comparison:
    """Compare with a constant, which now and then stands on the left."""
    if chance(draw, _CONSTANT_FIRST_PERCENT):
        return Comparison(operator.mirrored, constant, reference)
    return Comparison(operator, reference, constant)


def _options(draw: DrawFn, scope: Scope, candidate: Candidate) -> tuple[Expression, ...]:
    size = pick(draw, range(1, _MAX_OPTIONS + 1))
    options: tuple[Expression, ...] = tuple(draw_constant(draw, scope, candidate) for _ in range(size))
    if chance(draw, _NULL_OPTION_PERCENT):
        return (*options, Literal(None, candidate.column.type))
    return options


def _partners(scope: Scope, candidate: Candidate) -> tuple[Candidate, ...]:
    alike = [other for other in scope.comparable if other is not candidate]
    alike = [other for other in alike if same_class(other.column, candidate.column)]
    across = [other for other in alike if other.side is not candidate.side]
    # twice: a condition that mixes the sides says more than one that does not
    return (*across, *alike)


def _compare_sum(draw: DrawFn, scope: Scope) -> Expression:
    found = _summable(scope)
    left, right = (draw_reference(draw, scope, pick(draw, found)) for _ in range(2))
    total = Sum(left=left, right=right, minus=chance(draw, 50))
    return Comparison(pick(draw, _OPERATORS), total, Literal(pick(draw, _SUM_LIMITS), found[0].column.type))


def _booleans(scope: Scope) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in scope.candidates if candidate.column.type == BOOLEAN)


def _summable(scope: Scope) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in scope.candidates if candidate.column.summable)


@st.composite
def conditions(
    draw: DrawFn, *, kind: ClauseKind = ClauseKind.MATCHED, profile: Profile = DEFAULT_PROFILE
) -> Expression:
    """Draw conditions as a clause of a kind may have them, over drawn tables."""
    features = draw_features(draw, profile)
    schemas = draw_schemas(draw, features)
    drawn = draw_tables(draw, features, schemas, profile)
    return draw_condition(draw, clause_scope(whole_scope(features, schemas, drawn), kind))
