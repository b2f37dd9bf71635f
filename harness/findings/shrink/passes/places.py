"""The expressions of a statement by their places: ON, the conditions of clauses, the values that clauses assign."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.properties.clause_action import UPDATE, assignments, cut_assignment, insert_action, insert_lists
from mergecheck.harness.properties.merge_text import split_outer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.properties.merge_text import ClauseText, MergeText


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
    with_text: Callable[[str], MergeText] = field(repr=False)
    column: tuple[str, ...] = ()


def places_of(text: MergeText) -> list[Place]:
    """List the expressions of a statement in the order of the text."""
    found: list[Place] = []
    if text.condition is not None:
        found.append(Place(kind=PlaceKind.ON, text=text.condition, with_text=lambda new: replace(text, condition=new)))
    for i, clause in enumerate(text.clauses):
        found += _places_of_clause(clause, _putting(text, i))
    return found


def _putting(text: MergeText, i: int) -> Callable[[ClauseText], MergeText]:
    return lambda clause: replace(text, clauses=(*text.clauses[:i], clause, *text.clauses[i + 1 :]))


def _places_of_clause(clause: ClauseText, put: Callable[[ClauseText], MergeText]) -> list[Place]:
    found: list[Place] = []
    if clause.condition is not None:
        found.append(
            Place(
                kind=PlaceKind.CONDITION,
                text=clause.condition,
                with_text=lambda new: put(replace(clause, condition=new)),
            )
        )
    items = assignments(clause.action)
    for i, item in enumerate(items):
        if (cut := cut_assignment(item)) is not None:
            found.append(_assigned(clause, put, items, i, cut))
    lists = insert_lists(clause.action)
    if lists is not None:
        found += [_inserted(clause, put, lists, i) for i in range(len(lists[0]))]
    return found


def _assigned(
    clause: ClauseText, put: Callable[[ClauseText], MergeText], items: tuple[str, ...], i: int, cut: tuple[str, str]
) -> Place:
    name, value = cut

    def with_text(new: str) -> MergeText:
        changed = (*items[:i], f"{name} = {new}", *items[i + 1 :])
        return put(replace(clause, action=f"{UPDATE} {', '.join(changed)}"))

    parts = _name_parts(name)
    column = parts[1:] if len(parts) > 1 else parts
    return Place(kind=PlaceKind.VALUE, text=value, with_text=with_text, column=column)


def _inserted(
    clause: ClauseText, put: Callable[[ClauseText], MergeText], lists: tuple[tuple[str, ...], tuple[str, ...]], i: int
) -> Place:
    columns, cells = lists

    def with_text(new: str) -> MergeText:
        return put(replace(clause, action=insert_action(columns, (*cells[:i], new, *cells[i + 1 :]))))

    return Place(kind=PlaceKind.VALUE, text=cells[i], with_text=with_text, column=_name_parts(columns[i])[-1:])


def _name_parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("`") for part in split_outer(name, "."))
