"""The ON condition: equality, null-safe, several keys, non-equi, one-sided, constant (R-003, R-813 to R-815)."""

from __future__ import annotations

from enum import Enum
from functools import reduce
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import INT
from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.conditions import TRUTH_VALUES, conditions_over
from mergecheck.strategies.expression.file_predicates import draw_file_predicate
from mergecheck.strategies.expression.scopes import draw_constant, draw_reference, same_class
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses
from mergecheck.strategies.syntax import expressions as e

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.expression.scopes import Candidate, Scope
    from mergecheck.strategies.syntax.columns import Schemas


class OnForm(Enum):
    """The main form of an ON condition; the value is its name in reports."""

    EQUALITY = "equality"
    NULL_SAFE = "null-safe"
    KEY_EXPRESSION = "key-expression"
    NON_EQUI = "non-equi"
    EITHER = "or"
    TARGET_SIDE = "target-side-only"
    SOURCE_SIDE = "source-side-only"
    CONSTANT = "constant"


_UNEQUAL = st.sampled_from([e.Operator(sign) for sign in ("<=", ">=", "<", ">", "<>")])
_ONE = e.Literal(1, INT)


def draw_on_condition(draw: DrawFn, scope: Scope, schemas: Schemas) -> tuple[OnForm, e.Expression]:
    """Draw an ON condition and its form; it shrinks to ``t.id = s.id``."""
    keys = [
        (_candidate(scope, e.MergeTable.TARGET, target), _candidate(scope, e.MergeTable.SOURCE, source))
        for target, source in schemas.keys
    ]
    form = draw(st.sampled_from(_forms(scope.features)))
    condition = _main(draw, scope, keys, form)
    if uses(draw, scope.features, Feature.TARGET_ONLY_ON):
        condition = e.And(condition, draw(conditions_over(scope.of_side(e.MergeTable.TARGET), depth=1)))
    if uses(draw, scope.features, Feature.FILE_PRUNING, percent=60):
        condition = e.And(condition, draw_file_predicate(draw, scope))
    if uses(draw, scope.features, Feature.SOURCE_ONLY_ON):
        condition = e.And(condition, draw(conditions_over(scope.of_side(e.MergeTable.SOURCE), depth=1)))
    return form, condition


def _forms(features: frozenset[Feature]) -> list[OnForm]:
    forms = {
        Feature.NULL_SAFE_ON: (OnForm.NULL_SAFE, OnForm.NULL_SAFE),
        Feature.KEY_EXPRESSION_ON: (OnForm.KEY_EXPRESSION, OnForm.KEY_EXPRESSION),
        Feature.NON_EQUI_ON: (OnForm.NON_EQUI, OnForm.NON_EQUI, OnForm.EITHER),
        Feature.KEY_RANGES: (OnForm.NULL_SAFE, OnForm.NULL_SAFE, OnForm.EITHER),
        Feature.ONE_SIDED_ON: (OnForm.TARGET_SIDE, OnForm.SOURCE_SIDE),
        Feature.CONSTANT_ON: (OnForm.CONSTANT, OnForm.CONSTANT),
    }
    return [OnForm.EQUALITY, *(form for feature, some in forms.items() if feature in features for form in some)]


def _main(draw: DrawFn, scope: Scope, keys: list[tuple[Candidate, Candidate]], form: OnForm) -> e.Expression:
    if form is OnForm.CONSTANT:
        return draw(TRUTH_VALUES)
    if form is OnForm.TARGET_SIDE:
        return draw(conditions_over(scope.of_side(e.MergeTable.TARGET), depth=1))
    if form is OnForm.SOURCE_SIDE:
        return draw(conditions_over(scope.of_side(e.MergeTable.SOURCE), depth=1))
    first, rest = keys[0], keys[1:]
    if form is OnForm.KEY_EXPRESSION:
        computed = _shifted if _summable([first]) and chance(draw, 60) else _filled
        return _joined(computed(draw, scope, first), [_equality(draw, scope, pair) for pair in rest])
    if form is OnForm.NON_EQUI:
        return _joined(_unequal(draw, scope, first), [_equality(draw, scope, pair) for pair in rest])
    if form is OnForm.EITHER:
        return e.Or(_equality(draw, scope, first), _second(draw, scope, rest))
    main = _equality(draw, scope, first, operator=_operator(draw, form))
    return _joined(main, [_equality(draw, scope, pair, operator=_operator(draw, form)) for pair in rest])


def _operator(draw: DrawFn, form: OnForm) -> e.Operator:
    if form is OnForm.NULL_SAFE and chance(draw, 80):
        return e.Operator.NULL_SAFE_EQUAL
    return e.Operator.EQUAL


def _joined(condition: e.Expression, others: list[e.Expression]) -> e.Expression:
    return reduce(e.And, others, condition)


def _second(draw: DrawFn, scope: Scope, rest: list[tuple[Candidate, Candidate]]) -> e.Expression:
    if rest:
        return _equality(draw, scope, rest[0])
    pairs = [
        (one, other)
        for one in scope.of_side(e.MergeTable.TARGET).comparable
        for other in scope.of_side(e.MergeTable.SOURCE).comparable
        if same_class(one.column, other.column)
    ]
    # rows that only the second part of OR matches show whether an engine looks for their keys
    matching = [(one, other) for one, other in pairs if _share_value(one, other)]
    return _equality(draw, scope, draw(st.sampled_from(matching or pairs))) if pairs else e.FALSE


def _share_value(one: Candidate, other: Candidate) -> bool:
    values = {repr(value) for value in one.cells if value is not None}
    return any(repr(value) in values for value in other.cells)


def _equality(
    draw: DrawFn, scope: Scope, pair: tuple[Candidate, Candidate], *, operator: e.Operator = e.Operator.EQUAL
) -> e.Expression:
    left, right = (draw_reference(draw, scope, candidate) for candidate in pair)
    if chance(draw, 25):
        left, right = right, left
    return e.Comparison(operator, left, right)


def _shifted(draw: DrawFn, scope: Scope, pair: tuple[Candidate, Candidate]) -> e.Expression:
    target, source = (draw_reference(draw, scope, candidate) for candidate in pair)
    shifted = e.Sum(left=source, right=_ONE, minus=draw(st.booleans()))
    return e.Comparison(e.Operator.EQUAL, target, shifted)


def _filled(draw: DrawFn, scope: Scope, pair: tuple[Candidate, Candidate]) -> e.Expression:
    """Draw ``COALESCE(t.id, 7) = COALESCE(s.id, 7)``, which lets NULL match NULL without ``<=>``."""
    left, right = (
        e.Coalesce(draw_reference(draw, scope, candidate), draw_constant(draw, scope, candidate)) for candidate in pair
    )
    return e.Comparison(e.Operator.EQUAL, left, right)


def _unequal(draw: DrawFn, scope: Scope, pair: tuple[Candidate, Candidate]) -> e.Expression:
    target, source = (draw_reference(draw, scope, candidate) for candidate in pair)
    if _summable([pair]) and chance(draw, 40):
        near = e.Sum(left=source, right=_ONE)
        if draw(st.booleans()):
            return e.In(target, (source, near))
        return e.Between(target, source, near)
    return e.Comparison(draw(_UNEQUAL), target, source)


def _summable(keys: list[tuple[Candidate, Candidate]]) -> bool:
    return any(target.column.summable and source.column.summable for target, source in keys)


def _candidate(scope: Scope, side: e.MergeTable, name: str) -> Candidate:
    return next(found for found in scope.candidates if found.side is side and found.column.name == name)
