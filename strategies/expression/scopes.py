"""The columns that an expression may refer to, and constants that occur in the data (R-115)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import INTEGER_BITS
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax.expressions import Literal, MergeTable, Reference
from mergecheck.strategies.syntax.literals import writable
from mergecheck.strategies.syntax.statement import ClauseKind
from mergecheck.strategies.table.domains import domain
from mergecheck.strategies.table.names import in_other_case
from mergecheck.strategies.table.rows import visible_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies.syntax.columns import Column, Schemas
    from mergecheck.strategies.table.rows import Tables


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # Hypothesis hashes the values that it samples from
class Candidate:
    """A column in scope with the values that its rows hold.

    Attributes:
        side: its table.
        column: the column.
        cells: the value of each row.
    """

    side: MergeTable
    column: Column
    cells: tuple[Value, ...]

    @property
    def observed(self) -> tuple[Value, ...]:
        """The values without NULL, each once. They are compared by their text: NaN is one value, -0.0 is not 0.0."""
        return tuple({repr(cell): cell for cell in self.cells if cell is not None}.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The columns that one expression may refer to, and the features it may use.

    Attributes:
        candidates: the columns to draw from.
        visible: lower-cased names of all columns that the engine sees there; in a one-sided part of a two-sided
            condition these are more than the candidates.
        features: the features that the case may use.
    """

    candidates: tuple[Candidate, ...]
    visible: tuple[str, ...]
    features: frozenset[Feature]

    def of_side(self, side: MergeTable) -> Scope:
        """Return the scope with the columns of one table only, though both tables are visible."""
        some = tuple(candidate for candidate in self.candidates if candidate.side is side)
        return replace(self, candidates=some)

    @property
    def comparable(self) -> tuple[Candidate, ...]:
        """The columns that have comparisons (R-807)."""
        return tuple(candidate for candidate in self.candidates if not candidate.column.nested)

    def is_unique(self, name: str) -> bool:
        """Return whether one column only has a name, so that it needs no qualifier (R-118)."""
        return self.visible.count(name.lower()) == 1


def whole_scope(features: frozenset[Feature], schemas: Schemas, tables: Tables) -> Scope:
    """Return the scope of ON and of MATCHED clauses: both tables."""
    sides = (
        (MergeTable.TARGET, schemas.target, tables.target),
        (MergeTable.SOURCE, schemas.source, visible_source(schemas, tables)),
    )
    candidates = tuple(
        Candidate(side=side, column=column, cells=tuple(row[place] for row in rows))
        for side, columns, rows in sides
        for place, column in enumerate(columns)
    )
    return Scope(candidates=candidates, visible=_visible(candidates), features=features)


def clause_scope(scope: Scope, kind: ClauseKind) -> Scope:
    """Reduce the whole scope to the columns that a clause of a kind may use (R-115)."""
    if kind is ClauseKind.MATCHED:
        return scope
    only = scope.of_side(MergeTable.SOURCE if kind is ClauseKind.NOT_MATCHED else MergeTable.TARGET)
    return replace(only, visible=_visible(only.candidates))


def _visible(candidates: tuple[Candidate, ...]) -> tuple[str, ...]:
    return tuple(candidate.column.name.lower() for candidate in candidates)


def draw_reference(draw: DrawFn, scope: Scope, candidate: Candidate) -> Reference:
    """Draw how a column is written: qualified or not, in its own case or another (R-118, R-120)."""
    name = in_other_case(draw, candidate.column.name, scope.features, percent=30)
    bare = Feature.UNQUALIFIED_NAMES in scope.features and scope.is_unique(name)
    qualified = not (bare and chance(draw, 50))
    return Reference(side=candidate.side, name=name, qualified=qualified)


def draw_constant(draw: DrawFn, scope: Scope, candidate: Candidate) -> Literal:
    """Draw a constant to compare a column with: mostly a value of the data, of either side.

    Raises:
        ValueError: for a nested column, which has no constants.
    """
    column = candidate.column
    observed = [value for value in candidate.observed if writable(value)]
    if not observed or chance(draw, 15):
        observed = constants_of(scope.candidates, column.type) or list(domain(column.type)[:5])
    return Literal(draw(st.sampled_from(observed)), column.type)


def constants_of(candidates: Iterable[Candidate], data_type: DataType) -> list[Value]:
    """Return the values that columns of a type hold, as far as they can be written."""
    alike = (candidate for candidate in candidates if candidate.column.type == data_type)
    return [value for candidate in alike for value in candidate.observed if writable(value)]


def same_class(one: Column, other: Column) -> bool:
    """Return whether two columns compare without a cast on which engines could differ."""
    return one.type == other.type or (one.type in INTEGER_BITS and other.type in INTEGER_BITS)
