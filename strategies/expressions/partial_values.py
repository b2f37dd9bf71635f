"""Assigned values that fail for some rows, and the conditions that keep those rows away (R-254).

A clause's values are computed only where the clause fires, and a CASE computes only the branch that it takes. An
engine that computes them for every row fails where nothing is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import BIGINT, INT
from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import Feature
from mergecheck.strategies.expressions.scopes import draw_reference
from mergecheck.strategies.syntax.expressions import And, CaseWhen, Comparison, Literal, Operator, Quotient

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.expressions.scopes import Candidate
    from mergecheck.strategies.expressions.slots import Slot
    from mergecheck.strategies.syntax.expressions import Expression, Reference
    from mergecheck.strategies.syntax.statement import Clause

_ZERO = Literal(0, INT)
_BY_CASE_PERCENT = 50
_DIVIDENDS = (12, 7)


def divisors(slot: Slot) -> tuple[Candidate, ...]:
    """Return the columns that a slot's value can be divided by: small numbers, and zero among them."""
    fits = slot.column.is_integer and (slot.column.type == BIGINT or Feature.STRICT_POLICY not in slot.scope.features)
    return tuple(found for found in slot.scope.candidates if found.column.summable and 0 in found.cells) if fits else ()


def draw_partial(draw: DrawFn, slot: Slot, otherwise: Expression) -> Expression:
    """Draw a quotient, alone or in a CASE that divides by nothing but other numbers than zero.

    Args:
        draw: Hypothesis' draw function.
        slot: what is assigned; it has ``divisors``.
        otherwise: the value of the CASE where the divisor is zero or NULL.
    """
    divisor = draw_reference(draw, slot.scope, pick(draw, divisors(slot)))
    numbers = [found for found in slot.scope.candidates if found.column.summable]
    dividend: Expression = Literal(pick(draw, _DIVIDENDS), INT)
    if chance(draw, 50):
        dividend = draw_reference(draw, slot.scope, pick(draw, numbers))
    quotient = Quotient(dividend, divisor)
    # a quotient is a BIGINT: only there its failure is not also one of the cast to a narrower column
    if slot.column.type != BIGINT or chance(draw, _BY_CASE_PERCENT):
        return CaseWhen(_is_not_zero(divisor), quotient, otherwise)
    return quotient


def guarded(clause: Clause) -> Clause:
    """Let a clause fire only on rows for which its quotients have a divisor."""
    condition = clause.condition
    for assignment in clause.assignments:
        if isinstance(assignment.value, Quotient):
            guard = _is_not_zero(assignment.value.right)
            condition = guard if condition is None else And(condition, guard)
    return replace(clause, condition=condition)


def _is_not_zero(divisor: Reference) -> Expression:
    return Comparison(Operator.NOT_EQUAL, divisor, _ZERO)
