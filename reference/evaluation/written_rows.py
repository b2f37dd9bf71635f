"""The rows that a merge writes: do they fulfil the table's constraints, can they be computed, where do they go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from mergecheck.reference.case.layout import partition_indexes
from mergecheck.reference.evaluation.evaluation import FIRED_IN, Evaluation
from mergecheck.reference.evaluation.failures import rejection_of
from mergecheck.reference.outcome import Bound
from mergecheck.reference.syntax.statement import Action, Kind
from mergecheck.reference.types.data_types import STRING

if TYPE_CHECKING:
    from mergecheck.reference.analysis.constraints import RowCheck
    from mergecheck.reference.analysis.resolution import ResolvedClause
    from mergecheck.reference.types.data_types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """Looks at the rows that an evaluation writes.

    Attributes:
        checks: what must hold for every one of them (R-740).
    """

    evaluation: Evaluation
    checks: tuple[RowCheck, ...] = ()

    def row_failures(self) -> frozenset[str]:
        """Name the error classes of all rows whose new values cannot be computed or break a constraint.

        Called where ``act`` has failed: several rows and values may be at fault, and no rule says which one an
        executor meets first.
        """
        found: set[str] = set()
        for action in (Action.UPDATE, Action.INSERT):
            for clause, index in self.evaluation.numbered(action):
                fired = f"{FIRED_IN[clause.kind]} WHERE clause = {index}"
                key = "sid" if clause.kind is Kind.NOT_MATCHED else "rid"
                for (row,) in self.evaluation.connection.execute(f"SELECT {key} FROM {fired}").fetchall():
                    one = f"{fired} AND {key} = {row}"
                    found.update(self._failures_of(clause, one))
        return frozenset(found)

    def _failures_of(self, clause: ResolvedClause, fired: str) -> frozenset[str]:
        new_row = self.evaluation.new_rows(clause, fired)
        try:
            self.evaluation.connection.sql(new_row).to_arrow_table()
            return self._violations(f"({new_row})")
        except duckdb.Error:
            return frozenset(
                failure
                for index in range(len(clause.values))
                if (failure := self._failure(f"SELECT c{index} FROM ({new_row})")) is not None
            )

    def _failure(self, query: str) -> str | None:
        try:
            self.evaluation.connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            return rejection_of(error).error_class
        return None

    def violations(self, *, rewrites: bool) -> frozenset[str]:
        """Name the error classes of the constraints that a written row breaks (R-740); copied rows are written too."""
        new, old = self.evaluation.columns(), self.evaluation.old_columns()
        written = [f"SELECT {new} FROM {table}" for table in self.evaluation.filled("updated", "inserted")]
        if rewrites:
            written.append(f"SELECT {old} FROM {self.evaluation.copied()}")
        if rewrites and self.evaluation.target.change_data_feed:
            images = self.evaluation.filled("updated", "deleted")
            written.extend(f"SELECT {old} FROM target SEMI JOIN {table} USING (rid)" for table in images)
        return self._violations(f"({' UNION ALL '.join(written)})") if written else frozenset()

    def _violations(self, rows: str) -> frozenset[str]:
        if not self.checks:
            return frozenset()
        broken = ", ".join(f"count(*) FILTER (WHERE NOT ({check.sql}))" for check in self.checks)
        (counts,) = self.evaluation.ask(f"SELECT {broken} FROM {rows}")
        return frozenset(check.error_class for check, count in zip(self.checks, counts, strict=True) if count)

    def num_written_tuples(self, *, rewrites: bool) -> Bound:
        """Count the partition tuples of the rows that are written (R-543) to a table that has partitions."""
        new, old = self.evaluation.columns(self._partition), self.evaluation.old_columns(self._partition)
        parts = [f"SELECT {new} FROM {table}" for table in self.evaluation.filled("inserted", *["updated"] * rewrites)]
        if rewrites:
            parts.append(f"SELECT {old} FROM {self.evaluation.copied()}")
        return self._num_tuples(" UNION ALL ".join(parts)) if parts else Bound(0, 0)

    def num_change_tuples(self) -> Bound:
        """Count the partition tuples of the change rows (R-543) of a table that has partitions."""
        return self._num_tuples(self.evaluation.change_query(self._partition))

    def _num_tuples(self, rows: str) -> Bound:
        """Count distinct tuples; an empty text, stored as NULL (R-744), may have been a tuple of its own before."""
        names = self.evaluation.columns(self._partition)
        texts = [index for index in self._partition if self._column_type(index) == STRING]
        ways = " * ".join(f"(CASE WHEN c{i} IS NULL THEN 2 ELSE 1 END)" for i in texts) or "1"
        counts = f"SELECT count(*), coalesce(sum({ways}), 0) FROM (SELECT DISTINCT {names} FROM ({rows}))"
        ((low, high),) = self.evaluation.ask(counts)
        return Bound(int(low), int(high))

    @property
    def _partition(self) -> tuple[int, ...]:
        return partition_indexes(self.evaluation.target)

    def _column_type(self, index: int) -> DataType:
        return self.evaluation.target.schema.columns[index].type
