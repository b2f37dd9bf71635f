"""Conditions over the columns in scope: they never fail, and are TRUE, FALSE and NULL for some rows (R-312)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import BOOLEAN
from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.nested_conditions import compare_field, compare_nested, equatable, structs
from mergecheck.strategies.expression.scopes import (
    Candidate,
    Scope,
    clause_scope,
    draw_constant,
    draw_reference,
    same_class,
    whole_scope,
)
from mergecheck.strategies.profile import DEFAULT_PROFILE, Profile, feature_sets
from mergecheck.strategies.syntax import expressions as e
from mergecheck.strategies.syntax.statement import ClauseKind
from mergecheck.strategies.table.rows import draw_tables
from mergecheck.strategies.table.schemas import draw_schemas

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


_DEPTH = 2
_MAX_OPTIONS = 3
_TRUE_OR_FALSE = st.sampled_from((e.TRUE, e.FALSE))
TRUTH_VALUES = st.sampled_from((e.TRUE, e.FALSE, e.UNKNOWN))
_SUM_LIMITS = st.sampled_from((2, 0, 1, 3, 5))
_OPERATORS = st.sampled_from([e.Operator(sign) for sign in ("=", ">", "<=", "<", ">=", "<>", "<=>")])


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


@st.composite
def conditions_over(draw: DrawFn, scope: Scope, *, depth: int = _DEPTH) -> e.Expression:
    """Conditions over the columns of a scope; they shrink to TRUE.

    At most ``depth`` AND, OR, NOT, COALESCE and CASE are inside each other.
    """
    form = draw(st.sampled_from(_forms(scope, depth)))
    if form is _Form.CONSTANT:
        return draw(TRUTH_VALUES)
    if form not in _BRANCHES:
        return _leaf(draw, scope, form)
    deeper = conditions_over(scope, depth=depth - 1)
    match form:
        case _Form.NOT:
            return e.Not(draw(deeper))
        case _Form.AND:
            return e.And(draw(deeper), draw(deeper))
        case _Form.OR:
            return e.Or(draw(deeper), draw(deeper))
        case _Form.COALESCE:
            return e.Coalesce(draw(deeper), draw(_TRUE_OR_FALSE))
        case _:
            value = draw(_TRUE_OR_FALSE)
            return e.CaseWhen(draw(deeper), value, draw(conditions_over(scope, depth=0)))


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


def _leaf(draw: DrawFn, scope: Scope, form: _Form) -> e.Expression:
    if form is _Form.IS_NULL:
        operand = draw_reference(draw, scope, draw(st.sampled_from(scope.candidates)))
        return e.IsNull(operand=operand, negated=chance(draw, 50))
    if form is _Form.BARE:
        return draw_reference(draw, scope, draw(st.sampled_from(_booleans(scope))))
    if form is _Form.SUM:
        return _compare_sum(draw, scope)
    if form is _Form.FIELD:
        return compare_field(draw, scope, _OPERATORS)
    if form is _Form.NESTED:
        return compare_nested(draw, scope)
    candidate = draw(st.sampled_from(scope.comparable))
    reference = draw_reference(draw, scope, candidate)
    if form is _Form.IN:
        return e.In(reference, _options(draw, scope, candidate))
    if form is _Form.BETWEEN:
        low, high = draw_constant(draw, scope, candidate), draw_constant(draw, scope, candidate)
        return e.Between(reference, low, high)
    operator = draw(_OPERATORS)
    others = _partners(scope, candidate)
    if form is _Form.COLUMNS and others:
        return e.Comparison(operator, reference, draw_reference(draw, scope, draw(st.sampled_from(others))))
    return compared(draw, operator, reference, draw_constant(draw, scope, candidate))


def compared(draw: DrawFn, operator: e.Operator, reference: e.Expression, constant: e.Expression) -> e.Comparison:
    """Draw a comparison with a constant, which is on the left now and then."""
    if chance(draw, 35):
        return e.Comparison(operator.mirrored, constant, reference)
    return e.Comparison(operator, reference, constant)


def _options(draw: DrawFn, scope: Scope, candidate: Candidate) -> tuple[e.Expression, ...]:
    size = draw(st.integers(1, _MAX_OPTIONS))
    options: tuple[e.Expression, ...] = tuple(draw_constant(draw, scope, candidate) for _ in range(size))
    if chance(draw, 15):
        return (*options, e.Literal(None, candidate.column.type))
    return options


def _partners(scope: Scope, candidate: Candidate) -> tuple[Candidate, ...]:
    alike = [other for other in scope.comparable if other is not candidate]
    alike = [other for other in alike if same_class(other.column, candidate.column)]
    across = [other for other in alike if other.side is not candidate.side]
    # columns of the other side twice: conditions over both sides find more
    return (*across, *alike)


def _compare_sum(draw: DrawFn, scope: Scope) -> e.Expression:
    found = _summable(scope)
    left, right = (draw_reference(draw, scope, draw(st.sampled_from(found))) for _ in range(2))
    total = e.Sum(left=left, right=right, minus=draw(st.booleans()))
    return e.Comparison(draw(_OPERATORS), total, e.Literal(draw(_SUM_LIMITS), found[0].column.type))


def _booleans(scope: Scope) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in scope.candidates if candidate.column.type == BOOLEAN)


def _summable(scope: Scope) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in scope.candidates if candidate.column.summable)


@st.composite
def conditions(
    draw: DrawFn, *, kind: ClauseKind = ClauseKind.MATCHED, profile: Profile = DEFAULT_PROFILE
) -> e.Expression:
    """Conditions as a clause of a kind may have them, over drawn tables."""
    features = draw(feature_sets(profile=profile))
    schemas = draw_schemas(draw, features)
    rows = draw_tables(draw, features, schemas, profile)
    return draw(conditions_over(clause_scope(whole_scope(features, schemas, rows), kind)))
