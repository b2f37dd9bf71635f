"""What an expression may refer to, and the constants that the data suggests for it (R-115, techniques T23)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.reference.types.data_types import INTEGER_BITS
from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import Feature
from mergecheck.strategies.syntax.expressions import Literal, Reference, Side
from mergecheck.strategies.syntax.literals import writable
from mergecheck.strategies.syntax.statement import ClauseKind
from mergecheck.strategies.tables.domains import domain
from mergecheck.strategies.tables.names import in_other_case
from mergecheck.strategies.tables.tables import visible_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import DrawFn

    from mergecheck.reference.case.model import Value
    from mergecheck.strategies.syntax.columns import Column, Schemas
    from mergecheck.strategies.tables.tables import Tables

_OTHER_CASE_PERCENT = 30
_UNQUALIFIED_PERCENT = 50
_FOREIGN_CONSTANT_PERCENT = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A column in scope with the values that its rows hold.

    Attributes:
        observed: the distinct values, NULL left out.
        cells: the value in each row, NULL included.
    """

    side: Side
    column: Column
    observed: tuple[Value, ...]
    cells: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The columns that one expression may refer to, and the features it may use.

    Attributes:
        candidates: the columns to draw from.
        visible: lower-cased names of all columns that the engine sees there; more than the candidates in a one-sided
            part of a two-sided condition.
    """

    candidates: tuple[Candidate, ...]
    visible: tuple[str, ...]
    features: frozenset[Feature]

    def of_side(self, side: Side) -> Scope:
        """Draw from one table only, in a place where both are visible."""
        some = tuple(candidate for candidate in self.candidates if candidate.side is side)
        return replace(self, candidates=some)

    @property
    def comparable(self) -> tuple[Candidate, ...]:
        """The columns that have comparisons (R-807)."""
        return tuple(candidate for candidate in self.candidates if not candidate.column.nested)

    def is_unique(self, name: str) -> bool:
        """Tell whether a name stands for one column in scope, so that it needs no qualifier (R-118)."""
        return self.visible.count(name.lower()) == 1


def whole_scope(features: frozenset[Feature], schemas: Schemas, tables: Tables) -> Scope:
    """Return the scope of ON and of MATCHED clauses: both tables."""
    sides = (
        (Side.TARGET, schemas.target, tables.target),
        (Side.SOURCE, schemas.source, visible_source(schemas, tables)),
    )
    candidates = tuple(
        _candidate(side, column, tuple(row[place] for row in rows))
        for side, columns, rows in sides
        for place, column in enumerate(columns)
    )
    return Scope(candidates=candidates, visible=_visible(candidates), features=features)


def _candidate(side: Side, column: Column, cells: tuple[Value, ...]) -> Candidate:
    return Candidate(side=side, column=column, observed=_distinct(cells), cells=cells)


def clause_scope(scope: Scope, kind: ClauseKind) -> Scope:
    """Cut the whole scope down to what a clause of a kind may use (R-115)."""
    if kind is ClauseKind.MATCHED:
        return scope
    only = scope.of_side(Side.SOURCE if kind is ClauseKind.NOT_MATCHED else Side.TARGET)
    return replace(only, visible=_visible(only.candidates))


def _visible(candidates: tuple[Candidate, ...]) -> tuple[str, ...]:
    return tuple(candidate.column.name.lower() for candidate in candidates)


def draw_reference(draw: DrawFn, scope: Scope, candidate: Candidate) -> Reference:
    """Draw how a column is written: qualified or not, in its own or in another case (R-118, R-120)."""
    name = in_other_case(draw, candidate.column.name, scope.features, percent=_OTHER_CASE_PERCENT)
    bare = Feature.UNQUALIFIED_NAMES in scope.features and scope.is_unique(name)
    qualified = not (bare and chance(draw, _UNQUALIFIED_PERCENT))
    return Reference(side=candidate.side, name=name, qualified=qualified)


def draw_constant(draw: DrawFn, scope: Scope, candidate: Candidate) -> Literal:
    """Draw a constant to compare a column with: mostly a value that is in the data, on either side.

    Raises:
        ValueError: for a nested column, which has no constants.
    """
    column = candidate.column
    observed = [value for value in candidate.observed if writable(value)]
    if not observed or chance(draw, _FOREIGN_CONSTANT_PERCENT):
        observed = _others(scope, column) or list(domain(column.type)[:5])
    return Literal(pick(draw, observed), column.type)


def _others(scope: Scope, column: Column) -> list[Value]:
    return [
        value
        for candidate in scope.candidates
        if candidate.column.type == column.type
        for value in candidate.observed
        if writable(value)
    ]


def _distinct(cells: Iterable[Value]) -> tuple[Value, ...]:
    """Return the different values in order of appearance, told apart by text: NaN is one, -0.0 is not 0.0."""
    found = {repr(cell): cell for cell in cells if cell is not None}
    return tuple(found.values())


def same_class(one: Column, other: Column) -> bool:
    """Tell whether two columns compare without a cast that engines could see differently (pitfall P5)."""
    return one.type == other.type or (one.type in INTEGER_BITS and other.type in INTEGER_BITS)
