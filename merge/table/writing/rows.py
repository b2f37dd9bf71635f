"""Actions of rows that reach the writer: an action decides to which files a row goes and in which metric it counts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

ACTION = "_action_"


class RowAction(IntEnum):
    """Why a row is in the output; the number is the value of the column ``_action_``."""

    COPY = 0
    MATCHED_UPDATE = 1
    MATCHED_DELETE = 2
    INSERT = 3
    NOT_MATCHED_BY_SOURCE_UPDATE = 4
    NOT_MATCHED_BY_SOURCE_DELETE = 5
    UPDATE_PREIMAGE = 6


UPDATES = (RowAction.MATCHED_UPDATE, RowAction.NOT_MATCHED_BY_SOURCE_UPDATE)
DELETES = (RowAction.MATCHED_DELETE, RowAction.NOT_MATCHED_BY_SOURCE_DELETE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The files that rows of one action are written to.

    Attributes:
        table: whether they go to a data file of the table.
        change_type: their ``_change_type`` in the change data files (R-603); None keeps them out.
    """

    table: bool
    change_type: str | None = None


def routes(*, change_data: bool) -> dict[int, Route]:
    """Route every action (R-610); with change data, updated and inserted rows go to both places at once.

    Writing one row twice, instead of sending two copies of it, also gives table and change feed the same value of a
    non-deterministic expression (R-330).
    """
    table: dict[int, Route] = {int(RowAction.COPY): Route(table=True)}
    for action in UPDATES:
        table[action] = Route(table=True, change_type="update_postimage" if change_data else None)
    for action in DELETES:
        table[action] = Route(table=False, change_type="delete" if change_data else None)
    table[RowAction.INSERT] = Route(table=True, change_type="insert" if change_data else None)
    table[RowAction.UPDATE_PREIMAGE] = Route(table=False, change_type="update_preimage")
    return table
