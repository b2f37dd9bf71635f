"""Alternatives to one clause's action: another action, an assignment left out, another value assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.properties.merge_text import ClauseText


def action_alternatives(clause: ClauseText, number: int) -> Iterator[tuple[str, ClauseText]]:
    """Yield a hypothesis and the clause that means it.

    Args:
        clause: the clause.
        number: its number in the report.
    """
    if clause.action is Action.UPDATE:
        yield f"as if clause {number} deleted the row", clause.deleting()
    for i, name in enumerate(clause.columns[: len(clause.values)]):
        with_null = clause.with_value(i, "NULL")
        if clause.action is Action.INSERT:
            yield f"as if clause {number} inserted NULL for {name}", with_null
            continue
        yield f"as if clause {number} set {name} to NULL", with_null
        columns, values = (items[:i] + items[i + 1 :] for items in (clause.columns, clause.values))
        kept = clause.assigning(columns, values) if columns else clause.with_value(i, name)
        yield f"as if clause {number} left {name} as it is", kept
