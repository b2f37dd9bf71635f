"""A place to be assigned, and what in scope fits it (R-250, R-251, R-744)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import StructType
from mergecheck.strategies.choices.chance import chance
from mergecheck.strategies.choices.features import Feature
from mergecheck.strategies.syntax.columns import Column, Domain, assignable
from mergecheck.strategies.syntax.expressions import Reference, Side
from mergecheck.strategies.tables.casts import is_up_cast
from mergecheck.strategies.tables.nested import fields_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.expressions.scopes import Candidate, Scope
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.tables.nested import Leaf

_BROKEN_PERCENT = 65


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A column, or a field below one, to be assigned.

    Attributes:
        scope: what may be referred to: where NULL is not wanted, only the columns without one.
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
    """Return what fits a target column, or a source column that evolution adds."""
    required = column.required and not (Feature.VIOLATIONS in scope.features and chance(draw, _BROKEN_PERCENT))
    if required:
        full = tuple(found for found in scope.candidates if None not in found.cells)
        scope = replace(scope, candidates=full)
    to_partition = column.name in schemas.partition_by
    fitting = tuple(found for found in scope.candidates if _fits(found.column, column, scope, to_partition))
    meant = schemas.namesake(column.name) or column
    sources = [found for found in fitting if found.side is Side.SOURCE and found.column == meant]
    own = [found for found in fitting if found.side is Side.TARGET and found.column == column]
    return Slot(
        column=column,
        scope=scope,
        to_partition=to_partition,
        namesake=next(iter((*sources, *own)), None),
        fitting=fitting,
        nullable=not required,
    )


def field_slot(scope: Scope, leaf: Column) -> Slot:
    """Return what fits a field below a struct column."""
    fitting = tuple(found for found in scope.candidates if _fits(found.column, leaf, scope, to_partition=False))
    return Slot(column=leaf, scope=scope, to_partition=False, namesake=None, fitting=fitting)


def _fits(origin: Column, column: Column, scope: Scope, to_partition: bool) -> bool:  # noqa: FBT001 - passed on by name
    if not assignable(origin, column, to_partition=to_partition):
        return False
    # nested types have passed by being equal, or by being drawn for the column
    strict = Feature.STRICT_POLICY in scope.features and not column.nested
    return not strict or is_up_cast(origin.type, column.type)


def fitting_fields(slot: Slot) -> Iterator[Leaf]:
    """Yield the struct fields whose values fit a slot; they are of the wide domain."""
    if not slot.nullable:
        return
    for candidate in slot.scope.candidates:
        if isinstance(candidate.column.type, StructType) and candidate.column.feeds is None:
            # always qualified, see strategies.nested_conditions
            base = Reference(side=candidate.side, name=candidate.column.name)
            for leaf in fields_below(base, candidate.column.type):
                origin = Column(name=leaf.path[-1], type=leaf.type, domain=Domain.WIDE)
                if _fits(origin, slot.column, slot.scope, slot.to_partition):
                    yield leaf
