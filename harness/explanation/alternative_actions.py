"""Alternatives to one clause's action: another action, an assignment left out, another value assigned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.clause_action import UPDATE, assignments, cut_assignment, insert_action, insert_lists

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.properties.merge_text import ClauseText


def action_alternatives(clause: ClauseText, number: int) -> Iterator[tuple[str, ClauseText]]:
    """Yield a reading and the clause that means it.

    Args:
        clause: the clause.
        number: its number in the report.
    """
    items = assignments(clause.action)
    if items or clause.action.upper() == f"{UPDATE} *":
        yield f"as if clause {number} deleted the row", replace(clause, action="DELETE")
    for i, item in enumerate(items):
        cut = cut_assignment(item)
        if cut is None:
            continue
        name, _ = cut
        others = items[:i] + items[i + 1 :]
        for reading, kept in (
            (f"as if clause {number} set {name} to NULL", (*others, f"{name} = NULL")),
            (f"as if clause {number} left {name} as it is", others or (f"{name} = {name}",)),
        ):
            yield reading, replace(clause, action=f"{UPDATE} {', '.join(kept)}")
    lists = insert_lists(clause.action)
    for i, name in enumerate(lists[0] if lists is not None else ()):
        assert lists is not None  # noqa: S101 - there would be no name
        columns, cells = lists
        action = insert_action(columns, (*cells[:i], "NULL", *cells[i + 1 :]))
        yield f"as if clause {number} inserted NULL for {name}", replace(clause, action=action)
