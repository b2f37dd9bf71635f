"""The action of a WHEN clause cut into its assignments, or into its columns and values."""

from __future__ import annotations

import re

from mergecheck.harness.properties.merge_text import bracketed, outer_places, split_outer

UPDATE = "UPDATE SET"
_INSERT = re.compile(r"INSERT\s*(?=\()", re.IGNORECASE)


def assignments(action: str) -> tuple[str, ...]:
    """Cut ``UPDATE SET ...`` into its assignments; none if the action is no update or assigns all columns."""
    if not action.upper().startswith(UPDATE):
        return ()
    rest = action[len(UPDATE) :].strip()
    return () if rest == "*" else split_outer(rest, ",")


def cut_assignment(assignment: str) -> tuple[str, str] | None:
    """Cut ``name = value``; None if there is no ``=``."""
    equals = next((start for word, start in outer_places(assignment) if word == "="), None)
    return None if equals is None else (assignment[:equals].strip(), assignment[equals + 1 :].strip())


def insert_lists(action: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Cut ``INSERT (...) VALUES (...)`` into its columns and its values; None if the action is nothing of the kind."""
    if not _INSERT.match(action) or (names := bracketed(action)) is None:
        return None
    values = bracketed(action, start=names[1] + 1)
    if values is None:
        return None
    columns, cells = (split_outer(action[low + 1 : high], ",") for low, high in (names, values))
    return (columns, cells) if len(columns) == len(cells) else None


def insert_action(columns: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """Format an insert."""
    return f"INSERT ({', '.join(columns)}) VALUES ({', '.join(cells)})"
