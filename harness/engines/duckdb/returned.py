"""The output of RETURNING: how many rows of each action, and, with the tables before and after, the change rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.compare.rows import rows_without

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

INSERTED, UPDATED, DELETED = "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"
METRIC_NAMES = frozenset({INSERTED, UPDATED, DELETED})
_CHANGES = {"INSERT": "insert", "UPDATE": "update_postimage", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The rows that a merge returned: inserted and updated ones as they are afterwards, deleted ones as they were."""

    rows: tuple[tuple[str, Row], ...]

    def metrics(self, changed: int) -> Mapping[str, int]:
        """Count rows by action.

        Args:
            changed: how many rows the same merge without RETURNING reports as changed; the difference of both is
                counted
                as updated rows, so that a wrong number shows up.
        """
        counts = Counter(action for action, _ in self.rows)
        inserted, deleted = counts["INSERT"], counts["DELETE"]
        return {INSERTED: inserted, UPDATED: changed - inserted - deleted, DELETED: deleted}

    def changes(self, before: Sequence[Row], after: Sequence[Row], schema: Schema) -> tuple[Row, ...]:
        """Give the change rows (R-610).

        DuckDB does not return an updated row's previous values. The pre-images follow from the two tables: whatever was
        there or came in, and is neither there any more nor was deleted, was updated. Where RETURNING does not fit the
        tables, these rows do not fit either.
        """
        given = [(_CHANGES.get(action, action), row) for action, row in self.rows]
        images = rows_without(
            [*before, *(row for change, row in given if change in ("insert", "update_postimage"))],
            [*after, *(row for change, row in given if change == "delete")],
            schema,
        )
        return tuple((*row, change) for change, row in (*given, *(("update_preimage", row) for row in images)))


def read_returned(rows: Sequence[Row]) -> Returned:
    """Read the rows of ``RETURNING merge_action, *``."""
    return Returned(rows=tuple((action, tuple(row)) for action, *row in rows))
