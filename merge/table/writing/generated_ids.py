"""Values of identity columns, generated in the tasks that write (R-226)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from mergecheck.merge.table.writing.row_records import FURTHEST_ID, RowAction

if TYPE_CHECKING:
    from collections.abc import Mapping

_GREATEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IdSequence:
    """The values of one identity column: the next one that is free, and the step from it to the others."""

    first: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdPlan:
    """How the tasks of one merge share the sequences, so that no two of them generate one value.

    Task *i* of *n* takes the values *i*, *i + n*, *i + 2n* and so on of each sequence.

    Attributes:
        sequences: by position of the column.
        num_tasks: *n*; there may be fewer tasks.
    """

    sequences: Mapping[int, IdSequence]
    num_tasks: int = 1


@dataclass(slots=True)
class GeneratedIds:
    """Generates the values of one task, and keeps the furthest that it has seen.

    Attributes:
        task: the number of the task.
    """

    plan: IdPlan
    task: int
    _given: int = 0
    _furthest: dict[int, int] = field(default_factory=dict)

    def fill(self, rows: pa.Table, actions: pa.ChunkedArray) -> pa.Table | None:
        """Give each inserted row that lacks its values the next ones; None if BIGINT has no more of them."""
        mask = pc.equal(actions, int(RowAction.INSERT_WITH_IDS)).combine_chunks()
        num_wanted = pc.sum(mask).as_py() or 0
        if not num_wanted:
            return rows
        if self.task >= self.plan.num_tasks:
            raise RuntimeError(f"task {self.task} inserts, but there are identity values for {self.plan.num_tasks}")
        for position, sequence in self.plan.sequences.items():
            step = sequence.step * self.plan.num_tasks
            first = sequence.first + sequence.step * self.task
            last = first + step * (self._given + num_wanted - 1)
            if not all(-_GREATEST - 1 <= value <= _GREATEST for value in (first, last)):
                return None
            next_value = first + step * self._given
            values = pa.array(range(next_value, next_value + step * num_wanted, step), pa.int64())
            column = rows.column(position).combine_chunks()
            rows = rows.set_column(position, rows.schema[position], pc.replace_with_mask(column, mask, values))
        self._given += num_wanted
        return rows

    def look_at(self, rows: pa.Table) -> None:
        """Remember the furthest values of rows that go to data files."""
        for position, sequence in self.plan.sequences.items():
            furthest = pc.max if sequence.step > 0 else pc.min
            seen = [furthest(rows.column(position)).as_py(), self._furthest.get(position)]
            values = [value for value in seen if value is not None]
            if values:
                self._furthest[position] = max(values) if sequence.step > 0 else min(values)

    def records(self) -> list[dict[str, object]]:
        """Report the furthest values, by position of the column."""
        found = self._furthest.items()
        return [{"kind": FURTHEST_ID, "name": str(place), "stats": str(value)} for place, value in found]
