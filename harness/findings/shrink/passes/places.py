"""The expressions of a statement by their places: ON, the conditions of clauses, the values that clauses assign."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import merge_text, name_parts
from mergecheck.reference.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.harness.properties.merge_text import ClauseText, StatementText


class PlaceKind(Enum):
    """The role of an expression in the statement."""

    ON = "on"
    CONDITION = "condition"
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One expression of a statement.

    Attributes:
        text: as it is written.
        with_text: gives the statement with another expression in its place.
        column: of a value, the names of the column or field that it is assigned to, without the table.
    """

    kind: PlaceKind
    text: str
    with_text: Callable[[str], StatementText] = field(repr=False)
    column: tuple[str, ...] = ()


def places_of(sql: str) -> list[Place]:
    """List the expressions of a statement in the order of the text; none if it cannot be read."""
    text = merge_text(sql)
    if text is None:
        return []
    found = [Place(kind=PlaceKind.ON, text=text.on, with_text=lambda new: replace(text, on=new))]
    for i, clause in enumerate(text.clauses):
        found += _places_of_clause(clause, partial(text.with_clause, i))
    return found


def _places_of_clause(clause: ClauseText, put: Callable[[ClauseText], StatementText]) -> Iterator[Place]:
    if clause.condition is not None:
        yield Place(
            kind=PlaceKind.CONDITION, text=clause.condition, with_text=lambda new: put(replace(clause, condition=new))
        )
    for i, (column, value) in enumerate(zip(clause.columns, clause.values, strict=False)):
        parts = name_parts(column)
        is_inserted = clause.action is Action.INSERT
        yield Place(
            kind=PlaceKind.VALUE,
            text=value,
            with_text=lambda new, i=i: put(clause.with_value(i, new)),  # type: ignore[misc] # the place is bound here
            column=parts[-1:] if is_inserted else parts[1:] or parts,
        )
