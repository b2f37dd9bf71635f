"""The tables of one merge in DuckDB, which evaluates the expressions of the statement on their rows.

===============  =====================================================================================
``target``       T: rid, t0, t1, ...
``source``       S: sid, s0, s1, ...
``pairs``        sid, rid: ON is TRUE (R-003)
``matched``      the pairs with the columns of both rows, applied, null_condition
``not_matched``  the rows of SU (R-004), applied, null_condition
``by_source``    the rows of TU, applied, null_condition
===============  =====================================================================================

``applied`` is the position of the first clause of the kind whose condition is TRUE, NULL if there is none (R-301).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.reference.case.arrow import numbered_rows, table_to_rows
from mergecheck.reference.case.layout import physical_rows
from mergecheck.reference.syntax.statement import Kind
from mergecheck.reference.trace import Candidate, Matches
from mergecheck.reference.types.data_types import STRING, StructType

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from duckdb import DuckDBPyConnection

    from mergecheck.reference.analysis.resolution import Resolved, ResolvedClause
    from mergecheck.reference.case.model import Row, Target
    from mergecheck.reference.queries.source_query import SourceRelation
    from mergecheck.reference.types.typed import Typed

_TABLE_OF = {Kind.MATCHED: "matched", Kind.NOT_MATCHED: "not_matched", Kind.NOT_MATCHED_BY_SOURCE: "by_source"}
_UNITS = {
    Kind.MATCHED: "pairs JOIN source USING (sid) JOIN target USING (rid)",
    Kind.NOT_MATCHED: "source ANTI JOIN pairs USING (sid)",
    Kind.NOT_MATCHED_BY_SOURCE: "target ANTI JOIN pairs USING (rid)",
}
_NUMBERS = {
    Kind.MATCHED: "sid, rid",
    Kind.NOT_MATCHED: "sid, NULL AS rid",
    Kind.NOT_MATCHED_BY_SOURCE: "NULL AS sid, rid",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables of one merge; call the methods in their order.

    Attributes:
        connection: a DuckDB whose time zone is UTC.
    """

    connection: DuckDBPyConnection
    target: Target
    merge: Resolved

    def load(self, source: SourceRelation) -> None:
        """Create ``target`` and ``source``."""
        rows = physical_rows(self.target)
        self._load("target", numbered_rows(rows, self.target.schema, prefix="t", number="rid"))
        self._load("source", numbered_rows(source.rows, source.schema, prefix="s", number="sid"))

    def check_conditions(self) -> None:
        """Evaluate every condition that may fail on every joined row, as R-312 allows an executor to do.

        Raises:
            duckdb.Error: if one fails; then the outcome depends on the layout of files and on the executor.
        """
        partial = [c.condition.sql for c in self.merge.clauses if c.condition is not None and c.condition.partial]
        if partial or self.merge.on.partial:
            counts = ", ".join(f"count({sql})" for sql in (*partial, self.merge.on.sql))
            self.connection.execute(f"SELECT {counts} FROM source, target").fetchall()
            counts = ", ".join(f"count({sql})" for sql in (*partial, "1"))
            joined = f"source FULL JOIN target ON {self.merge.on.sql}"
            self.connection.execute(f"SELECT {counts} FROM {joined}").fetchall()

    def match(self) -> Matches:
        """Create ``pairs``."""
        on = self.merge.on.sql
        self._create("pairs", f"SELECT sid, rid FROM source, target WHERE {on}")
        multi_matched = self._select("SELECT rid FROM pairs GROUP BY rid HAVING count(*) > 1")
        return Matches(
            pairs=tuple(self._select("SELECT sid, rid FROM pairs")),
            multi_matched=frozenset(rid for (rid,) in multi_matched),
            null_on=bool(self._select(f"SELECT 1 FROM source, target WHERE ({on}) IS NULL LIMIT 1")),
        )

    def multi_matched_may_be_pruned(self) -> bool:
        """Tell if no multi-matched row makes the target-only predicates of a clause TRUE (R-322)."""
        allowed = " OR ".join(_conjunction(clause.target_only) for clause in self.merge.of(Kind.MATCHED))
        multi_matched = "SELECT rid FROM pairs GROUP BY rid HAVING count(*) > 1"
        return not self._select(f"SELECT rid FROM ({multi_matched}) JOIN target USING (rid) WHERE {allowed}")

    def candidates(self, kind: Kind) -> tuple[Candidate, ...]:
        """Create the table of a kind, and read which clause applies to each of its rows."""
        clauses = self.merge.of(kind)
        conditions = [clause.condition.sql for clause in clauses if clause.condition is not None]
        whens = [f"WHEN {_condition(clause)} THEN {index}" for index, clause in enumerate(clauses)]
        applied = f"CASE {' '.join(whens)} END" if whens else "NULL"
        null_condition = " OR ".join(f"({condition}) IS NULL" for condition in conditions) or "FALSE"
        self._create(
            _TABLE_OF[kind], f"SELECT *, {applied} AS applied, {null_condition} AS null_condition FROM {_UNITS[kind]}"
        )
        found = self._select(f"SELECT {_NUMBERS[kind]}, applied, null_condition FROM {_TABLE_OF[kind]}")
        return tuple(
            Candidate(sid=sid, rid=rid, applied=applied, null_condition=is_null) for sid, rid, applied, is_null in found
        )

    def old_rows(self, values: Sequence[Typed]) -> tuple[Row, ...]:
        """Read all rows of the target before the merge, by rid; ``values`` convert them to the final schema (R-610)."""
        cells = "".join(f", {value.sql} AS c{index}" for index, value in enumerate(values))
        return tuple(self._rows(f"SELECT rid{cells} FROM target ORDER BY rid", "rid").values())

    def new_rows(self, clause: ResolvedClause, index: int, only: Candidate | None = None) -> dict[int, Row]:
        """Compute the rows that a clause makes of the rows to which it applies (R-254), by rid, of an INSERT by sid."""
        number = "sid" if clause.kind is Kind.NOT_MATCHED else "rid"
        return self._rows(self.new_rows_query(clause, index, only), number)

    def new_rows_query(self, clause: ResolvedClause, index: int, only: Candidate | None = None) -> str:
        """Write the query of a clause's new rows: the columns of both sides, then c0, c1, ... in some order.

        Generated columns use the others by their names, so they are computed around them (R-222, R-223).
        """
        columns = self.merge.final_schema.columns
        named = [f"{self._stored(i, value)} AS c{i}" for i, value in enumerate(clause.values)]
        plain = [sql for sql, column in zip(named, columns, strict=True) if column.generated is None]
        generated = [sql for sql, column in zip(named, columns, strict=True) if column.generated is not None]
        rows = f"SELECT {', '.join(['*', *plain])} FROM {_TABLE_OF[clause.kind]} WHERE applied = {index}"
        if only is not None:
            rows += f" AND sid = {only.sid}" if only.rid is None else f" AND rid = {only.rid}"
        return f"SELECT {', '.join(['*', *generated])} FROM ({rows})" if generated else rows

    def null_structs(self, clause: ResolvedClause, index: int) -> tuple[int, ...]:
        """List the assignments of a clause whose value is a NULL struct on some row to which the clause applies."""
        structs = [i for i, assigned in enumerate(clause.assigned) if isinstance(assigned.value.type, StructType)]
        if not structs:
            return ()
        nulls = ", ".join(f"count(*) FILTER (WHERE ({clause.assigned[i].value.sql}) IS NULL)" for i in structs)
        (counts,) = self._select(f"SELECT {nulls} FROM {_TABLE_OF[clause.kind]} WHERE applied = {index}")
        return tuple(i for i, count in zip(structs, counts, strict=True) if count)

    def _stored(self, index: int, value: Typed) -> str:
        """Store an empty string in a partition column as NULL (R-744)."""
        column = self.merge.final_schema.columns[index]
        if column.name in self.target.partition_by and column.type == STRING:
            return f"NULLIF({value.sql}, '')"
        return value.sql

    def _load(self, name: str, rows: pa.Table) -> None:
        self.connection.register(f"{name}_rows", rows)
        self._create(name, f"SELECT * FROM {name}_rows")
        self.connection.unregister(f"{name}_rows")

    def _create(self, name: str, query: str) -> None:
        self.connection.execute(f"CREATE TEMP TABLE {name} AS {query}")

    def _select(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()

    def _rows(self, query: str, number: str) -> dict[int, Row]:
        """Read the columns c0, c1, ... of a query, by the numbers of its rows."""
        columns = [f"c{index}" for index in range(len(self.merge.final_schema.columns))]
        found = self.connection.sql(f"SELECT {', '.join([number, *columns])} FROM ({query})").to_arrow_table()
        rows = table_to_rows(found.select(columns), self.merge.final_schema)
        return dict(zip(found.column(number).to_pylist(), rows, strict=True))


def _condition(clause: ResolvedClause) -> str:
    return "TRUE" if clause.condition is None else clause.condition.sql


def _conjunction(parts: tuple[Typed, ...]) -> str:
    return "(" + (" AND ".join(part.sql for part in parts) or "TRUE") + ")"
