"""Predicates over the statement of a drawn case: its ON condition, its clauses and their assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import BOOLEAN
from mergecheck.strategies.syntax.expressions import And, Literal, MergeTable, Reference, nodes
from mergecheck.strategies.syntax.statement import Action, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.strategies import DrawnCase
    from mergecheck.strategies.syntax.expressions import Expression

    Predicate = Callable[[DrawnCase], bool]


def on_without_partition(drawn: DrawnCase) -> bool:
    """Return whether ON leaves all partition columns out."""
    used = {node.name.lower() for node in nodes(drawn.merge.statement.condition) if isinstance(node, Reference)}
    names = {name.lower() for name in drawn.merge.schemas.partition_by}
    return bool(names) and names.isdisjoint(used)


def conjunct(side: MergeTable, *shapes: str) -> Predicate:
    """Return whether ON has a part over one side only, in any of some shapes, beside a part over both."""

    def holds(drawn: DrawnCase) -> bool:
        parts = list(_conjuncts(drawn.merge.statement.condition))
        sides = [{n.side for n in nodes(part) if isinstance(n, Reference)} for part in parts]
        return any(len(found) > 1 for found in sides) and any(
            found == {side} and _shape(part) in shapes for part, found in zip(parts, sides, strict=True)
        )

    return holds


def other_zero(drawn: DrawnCase) -> bool:
    """Return whether a part of ON over the target alone has 0.0 where a row has -0.0, or the other way round."""
    target = drawn.case.target
    for part in _conjuncts(drawn.merge.statement.condition):
        references = [node for node in nodes(part) if isinstance(node, Reference)]
        zeros = {repr(n.value) for n in nodes(part) if isinstance(n, Literal) and isinstance(n.value, float)}
        if len(references) == 1 and references[0].side is MergeTable.TARGET:
            name = references[0].name.lower()
            places = [place for place, column in enumerate(target.schema.columns) if column.name.lower() == name]
            cells = {repr(-row[place]) for row in target.rows for place in places if isinstance(row[place], float)}
            if zeros & cells & {"0.0", "-0.0"}:
                return True
    return False


def _shape(part: Expression) -> str:
    return type(part).__name__


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def constant_condition(value: bool | None) -> Predicate:  # noqa: FBT001 - a truth value of SQL
    """Return whether ON is, or has as a part, a constant."""
    return lambda drawn: any(
        isinstance(part, Literal) and part.type == BOOLEAN and part.value is value
        for part in _conjuncts(drawn.merge.statement.condition)
    )


def actions_in_order(*wanted: Action) -> Predicate:
    """Return whether MATCHED clauses stand in such an order of actions."""

    def holds(drawn: DrawnCase) -> bool:
        actions = [clause.action for clause in drawn.merge.statement.of_kind(ClauseKind.MATCHED)]
        return any(tuple(actions[i : i + len(wanted)]) == wanted for i in range(len(actions)))

    return holds


def swapped(drawn: DrawnCase) -> bool:
    """Return whether two columns are assigned to each other."""
    for clause in drawn.merge.statement.clauses:
        given = {
            a.column.lower(): a.value.name.lower()
            for a in clause.assignments
            if isinstance(a.value, Reference) and a.value.side is MergeTable.TARGET
        }
        if any(given.get(other) == column and other != column for column, other in given.items()):
            return True
    return False


def mixed_lists(drawn: DrawnCase) -> bool:
    """Return whether star actions and lists stand side by side, and a list omits a column."""
    clauses = [clause for clause in drawn.merge.statement.clauses if clause.action is not Action.DELETE]
    num_columns = len(drawn.merge.schemas.target)
    return any(c.star for c in clauses) and any(0 < len(c.assignments) < num_columns for c in clauses)


def both_sides_in_value(drawn: DrawnCase) -> bool:
    """Return whether one assigned value reads both tables."""
    return any(
        len({n.side for n in nodes(a.value) if isinstance(n, Reference)}) > 1
        for clause in drawn.merge.statement.clauses
        for a in clause.assignments
    )


def key_update(drawn: DrawnCase) -> bool:
    """Return whether an UPDATE assigns a column of the join key."""
    keys = {name.lower() for name, _ in drawn.merge.schemas.keys}
    return any(
        clause.action is Action.UPDATE and keys.intersection(a.column.lower() for a in clause.assignments)
        for clause in drawn.merge.statement.clauses
    )
