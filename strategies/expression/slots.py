"""A column or field to be assigned, and what in scope fits it (R-250, R-251, R-254, R-744)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import BIGINT, INT, StructType
from mergecheck.strategies.choices import chance
from mergecheck.strategies.expression.scopes import draw_reference
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax import expressions as e
from mergecheck.strategies.syntax.columns import Column, Domain, assignable
from mergecheck.strategies.table.casts import is_up_cast
from mergecheck.strategies.table.nested import fields_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.expression.scopes import Candidate, Scope
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.statement import Clause
    from mergecheck.strategies.table.nested import Leaf

_ZERO = e.Literal(0, INT)
_NULLS_PERCENT = 40
_DIVIDENDS = st.sampled_from((12, 7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A column, or a field below one, to be assigned.

    Attributes:
        column: the assigned column.
        scope: the columns that the value may refer to; if NULL must not be assigned, only columns without NULL.
        to_partition: whether it is a partition column.
        namesake: the column meant for it, None without one.
        fitting: all columns whose values fit.
        nullable: whether NULL may be assigned.
    """

    column: Column
    scope: Scope
    to_partition: bool
    namesake: Candidate | None
    fitting: tuple[Candidate, ...]
    nullable: bool = True


def draw_slot(draw: DrawFn, scope: Scope, schemas: Schemas, column: Column) -> Slot:
    """Draw the slot of a target column, or of a source column that evolution adds."""
    may_violate = Feature.VIOLATIONS in scope.features and chance(draw, 65)
    required = column.required and not may_violate
    if required:
        full = tuple(found for found in scope.candidates if None not in found.cells)
        scope = replace(scope, candidates=full)
    elif column.required and chance(draw, _NULLS_PERCENT):
        with_nulls = tuple(found for found in scope.candidates if None in found.cells)
        scope = replace(scope, candidates=with_nulls or scope.candidates)
    to_partition = column.name in schemas.partition_by
    fitting = tuple(found for found in scope.candidates if _fits(found.column, column, scope, to_partition))
    meant = schemas.namesake(column.name) or column
    sources = [found for found in fitting if found.side is e.MergeTable.SOURCE and found.column == meant]
    own = [found for found in fitting if found.side is e.MergeTable.TARGET and found.column == column]
    return Slot(
        column=column,
        scope=scope,
        to_partition=to_partition,
        namesake=next(iter((*sources, *own)), None),
        fitting=fitting,
        nullable=not required,
    )


def field_slot(scope: Scope, leaf: Column) -> Slot:
    """Return the slot of a field below a struct column."""
    fitting = tuple(found for found in scope.candidates if _fits(found.column, leaf, scope, to_partition=False))
    return Slot(column=leaf, scope=scope, to_partition=False, namesake=None, fitting=fitting)


def _fits(origin: Column, column: Column, scope: Scope, to_partition: bool) -> bool:  # noqa: FBT001 - passed on by name
    if not assignable(origin, column, to_partition=to_partition):
        return False
    # nested types are equal here, or were drawn for the column
    strict = Feature.STRICT_POLICY in scope.features and not column.nested
    return not strict or is_up_cast(origin.type, column.type)


def fitting_fields(slot: Slot) -> Iterator[Leaf]:
    """Yield the fields of structs whose values fit a slot; they may hold any value of their types."""
    if not slot.nullable:
        return
    for candidate in slot.scope.candidates:
        if isinstance(candidate.column.type, StructType) and candidate.column.feeds is None:
            # always qualified: an unqualified ``column.field`` could be read as ``alias.column``
            base = e.Reference(side=candidate.side, name=candidate.column.name)
            for leaf in fields_below(base, candidate.column.type):
                origin = Column(name=leaf.path[-1], type=leaf.type, domain=Domain.WIDE)
                if _fits(origin, slot.column, slot.scope, slot.to_partition):
                    yield leaf


def divisors(slot: Slot) -> tuple[Candidate, ...]:
    """Return the columns that a slot's value may be divided by: small numbers with zero among them."""
    fits = slot.column.is_integer and (slot.column.type == BIGINT or Feature.STRICT_POLICY not in slot.scope.features)
    return tuple(found for found in slot.scope.candidates if found.column.summable and 0 in found.cells) if fits else ()


def draw_partial(draw: DrawFn, slot: Slot, otherwise: e.Expression) -> e.Expression:
    """Draw a quotient, alone or in a CASE that has another value if the divisor is zero or NULL (R-254).

    An engine that computes a clause's values for other rows than those on which it fires, or both branches of a CASE,
    fails here without a reason. The slot must have ``divisors``.
    """
    divisor = draw_reference(draw, slot.scope, draw(st.sampled_from(divisors(slot))))
    numbers = [found for found in slot.scope.candidates if found.column.summable]
    dividend: e.Expression = e.Literal(draw(_DIVIDENDS), INT)
    if draw(st.booleans()):
        dividend = draw_reference(draw, slot.scope, draw(st.sampled_from(numbers)))
    quotient = e.Quotient(dividend, divisor)
    # a quotient is a BIGINT: in a narrower column the cast could fail too
    if slot.column.type != BIGINT or draw(st.booleans()):
        return e.CaseWhen(_is_not_zero(divisor), quotient, otherwise)
    return quotient


def guarded(clause: Clause) -> Clause:
    """Let a clause fire only on rows for which no quotient divides by zero."""
    condition = clause.condition
    for assignment in clause.assignments:
        if isinstance(assignment.value, e.Quotient):
            condition = e.conjunction(condition, _is_not_zero(assignment.value.right))
    return replace(clause, condition=condition)


def _is_not_zero(divisor: e.Reference) -> e.Expression:
    return e.Comparison(e.Operator.NOT_EQUAL, divisor, _ZERO)
