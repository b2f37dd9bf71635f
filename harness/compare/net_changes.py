"""A change feed without what stayed: the rows that are gone, and those that are new."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.feed_balance import REMOVING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema


def net_changes(feed: Sequence[Row], schema: Schema) -> tuple[Row, ...]:
    """Reduce a change feed to ``delete`` and ``insert``; equal deleted and inserted rows cancel out.

    Args:
        feed: rows of the table, each followed by its change type.
        schema: the table's columns.
    """
    keyed = [(row_identity(row[:-1], schema), row) for row in feed]
    gone = Counter(key for key, row in keyed if row[-1] in REMOVING)
    new = Counter(key for key, row in keyed if row[-1] not in REMOVING)
    left = {"delete": gone - new, "insert": new - gone}
    found: list[Row] = []
    for key, row in keyed:
        change = "delete" if row[-1] in REMOVING else "insert"
        if left[change][key] > 0:
            left[change][key] -= 1
            found.append((*row[:-1], change))
    return tuple(found)
