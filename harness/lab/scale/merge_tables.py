"""A merge of large tables in DuckDB: rows stay queries, only their numbers are stored.

==================  =========================================================================================
``target``          view: rid, file, t0, t1, ..., and o0, ...: the columns that differ in the final schema (R-610)
``source``          view: sid, s0, s1, ...
``matched_n``       sid, rid of the pairs (R-003), applied: the position of the first clause that holds (R-301)
``not_matched_n``   sid of the rows of SU (R-004), applied
``by_source_n``     rid of the rows of TU, applied; these two only if the statement has such clauses
``matched`` etc.    views: the same with the columns of the rows
``updated``         rid, kind, c0, c1, ...: new rows
``deleted``         rid, kind: distinct rows (R-530)
``inserted``        c0, c1, ...; these three only if the statement has such clauses
``touched``         files that a merge that rewrites files must rewrite (R-410)
==================  =========================================================================================

``mergecheck.reference.evaluation`` implements the same rules in the plainest way; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.model.types.data_types import STRING
from mergecheck.reference.casts.cast_sql import is_short
from mergecheck.reference.evaluation.metrics import Counts
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Target
    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.analysis.resolved import Resolved, ResolvedClause, TargetConjunct

_TABLE_OF = {Kind.MATCHED: "matched", Kind.NOT_MATCHED: "not_matched", Kind.NOT_MATCHED_BY_SOURCE: "by_source"}
_NUMBERS = {Kind.MATCHED: ("sid", "rid"), Kind.NOT_MATCHED: ("sid",), Kind.NOT_MATCHED_BY_SOURCE: ("rid",)}
_FILLED_BY = {Action.UPDATE: "updated", Action.DELETE: "deleted", Action.INSERT: "inserted"}
_SIDE_OF = {"sid": "source", "rid": "target"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTables:
    """The tables of one merge; call the methods that create tables in their order.

    Attributes:
        connection: a DuckDB whose time zone is UTC.
    """

    connection: DuckDBPyConnection
    target: Target
    merge: Resolved

    def load(self, target: str, source: str) -> None:
        """Create ``target`` and ``source`` of queries that give a row the same number whenever they are read.

        Args:
            target: query of the columns rid, file, t0, t1, ...
            source: query of the columns sid, s0, s1, ...
        """
        olds = ((index, old) for index, old in enumerate(self.merge.old) if not is_short(old.sql))
        converted = "".join(f", {old.sql} AS o{index}" for index, old in olds)
        self._create("VIEW target", f"SELECT *{converted} FROM ({target})")
        self._create("VIEW source", source)

    def match(self) -> None:
        """Create ``matched`` (R-003)."""
        self._apply(Kind.MATCHED, f"source, target WHERE {self.merge.on.sql}")

    def has_multi_matched(self) -> bool:
        """Return whether a row of the target has two or more matches (R-320)."""
        return bool(self._select("SELECT 1 FROM matched_n GROUP BY rid HAVING count(*) > 1 LIMIT 1"))

    def multi_matched_may_be_pruned(self) -> bool:
        """Return whether no multi-matched row makes the target-only predicates of a clause TRUE (R-322)."""
        allowed = " OR ".join(_conjunction(clause.target_only) for clause in self.merge.of(Kind.MATCHED))
        multi_matched = "SELECT rid FROM matched_n GROUP BY rid HAVING count(*) > 1"
        return not self._select(f"SELECT 1 FROM ({multi_matched}) JOIN target USING (rid) WHERE {allowed} LIMIT 1")

    def apply(self) -> None:
        """Create ``not_matched`` and ``by_source``."""
        if self.merge.of(Kind.NOT_MATCHED):
            self._apply(Kind.NOT_MATCHED, "source ANTI JOIN matched_n USING (sid)")
        if self.merge.of(Kind.NOT_MATCHED_BY_SOURCE):
            self._apply(Kind.NOT_MATCHED_BY_SOURCE, "target ANTI JOIN matched_n USING (rid)")

    def _apply(self, kind: Kind, rows: str) -> None:
        whens = [f"WHEN {_condition(clause)} THEN {index}" for index, clause in enumerate(self.merge.of(kind))]
        applied = f"CASE {' '.join(whens)} END" if whens else "CAST(NULL AS INTEGER)"
        name, numbers = _TABLE_OF[kind], _NUMBERS[kind]
        self._create(f"TABLE {name}_n", f"SELECT {', '.join(numbers)}, {applied} AS applied FROM {rows}")
        again = " ".join(f"JOIN {_SIDE_OF[number]} USING ({number})" for number in numbers)
        self._create(f"VIEW {name}", f"SELECT * FROM {name}_n {again}")

    def compute(self) -> None:
        """Create ``updated``, ``deleted`` and ``inserted``; values are computed if their clause applies (R-254)."""
        queries: dict[str, list[str]] = {}
        for kind in Kind:
            for index, clause in enumerate(self.merge.of(kind)):
                queries.setdefault(_FILLED_BY[clause.action], []).append(self._effect(clause, index))
        for name, parts in queries.items():
            self._create(f"TABLE {name}", " UNION ALL ".join(parts))

    def _effect(self, clause: ResolvedClause, index: int) -> str:
        """Write the query of a clause's effect on the rows to which it applies."""
        table, kind = _TABLE_OF[clause.kind], f"'{clause.kind.value}' AS kind"
        if clause.action is Action.DELETE:
            return f"SELECT DISTINCT rid, {kind} FROM {table}_n WHERE applied = {index}"
        new = f"{self.new_columns()} FROM ({self._new_rows(clause, f'{table} WHERE applied = {index}')})"
        return f"SELECT {new}" if clause.action is Action.INSERT else f"SELECT rid, {kind}, {new}"

    def _new_rows(self, clause: ResolvedClause, rows: str) -> str:
        """Write the query of a clause's new rows; generated columns use the others by name (R-222, R-223)."""
        columns = self.merge.final_schema.columns
        named = [f"{self._stored(index, value)} AS c{index}" for index, value in enumerate(clause.values)]
        plain = [sql for sql, column in zip(named, columns, strict=True) if column.generated is None]
        generated = [sql for sql, column in zip(named, columns, strict=True) if column.generated is not None]
        query = f"SELECT {', '.join(['*', *plain])} FROM {rows}"
        return f"SELECT {', '.join(['*', *generated])} FROM ({query})" if generated else query

    def _stored(self, index: int, value: Typed) -> str:
        """Store an empty string in a partition column as NULL (R-744)."""
        column = self.merge.final_schema.columns[index]
        is_stored_as_null = column.name in self.target.partition_by and column.type == STRING
        return f"NULLIF({value.sql}, '')" if is_stored_as_null else value.sql

    def touch(self, *, path_a: bool) -> None:
        """Create ``touched`` (R-410)."""
        if path_a:
            files = "SELECT file FROM target WHERE FALSE"
        elif self.merge.of(Kind.NOT_MATCHED_BY_SOURCE):
            files = "SELECT DISTINCT file FROM target"
        elif self.merge.of(Kind.NOT_MATCHED):
            files = "SELECT DISTINCT file FROM matched_n JOIN target USING (rid)"
        else:
            files = "SELECT DISTINCT file FROM matched_n JOIN target USING (rid) WHERE applied IS NOT NULL"
        self._create("TABLE touched", files)

    def counts(self) -> Counts:
        """Count what metrics are made of."""
        of_kind = {Kind.MATCHED: "matched", Kind.NOT_MATCHED_BY_SOURCE: "by_source"}
        changed = {
            f"{name}_{table}": self._count(f"{table} WHERE kind = '{kind.value}'") if self.made(table) else 0
            for table in ("updated", "deleted")
            for kind, name in of_kind.items()
        }
        return Counts(
            source=self._count("source"),
            inserted=self._count("inserted") if self.made("inserted") else 0,
            touched_files=self._count("touched"),
            touched_rows=self._count("target SEMI JOIN touched USING (file)"),
            **changed,
        )

    def made(self, *tables: str) -> list[str]:
        """List which of ``updated``, ``deleted`` and ``inserted`` the clauses of the statement fill."""
        filled = {_FILLED_BY[clause.action] for clause in self.merge.clauses}
        return [table for table in tables if table in filled]

    def result(self) -> str:
        """Write the query of the rows after the merge (R-304): c0, c1, ..."""
        new = (f" UNION ALL SELECT {self.new_columns()} FROM {table}" for table in self.made("updated", "inserted"))
        return f"SELECT {self.old_columns()} FROM {self._unchanged('target')}{''.join(new)}"

    def copied(self) -> str:
        """Write the rows of rewritten files that are written as they are (R-412), for a FROM clause."""
        return self._unchanged("target SEMI JOIN touched USING (file)")

    def _unchanged(self, rows: str) -> str:
        return rows + "".join(f" ANTI JOIN {table} USING (rid)" for table in self.made("updated", "deleted"))

    def feed(self, indexes: Sequence[int] | None = None) -> str:
        """Write the query of the change rows (R-610): c0, c1, ..., or some of them, and change."""
        old, new = self.old_columns(indexes), self.new_columns(indexes)
        parts = {
            "updated": f"SELECT {old}, 'update_preimage' AS change FROM target SEMI JOIN updated USING (rid) "
            f"UNION ALL SELECT {new}, 'update_postimage' AS change FROM updated",
            "deleted": f"SELECT {old}, 'delete' AS change FROM target SEMI JOIN deleted USING (rid)",
            "inserted": f"SELECT {new}, 'insert' AS change FROM inserted",
        }
        return " UNION ALL ".join(parts[table] for table in self.made(*parts))

    def new_columns(self, indexes: Sequence[int] | None = None) -> str:
        """List the columns of a new row, or some of them, for a SELECT."""
        return ", ".join(f"c{index}" for index in self._all(indexes))

    def old_columns(self, indexes: Sequence[int] | None = None) -> str:
        """List the columns of an old row in the final schema for a SELECT, under the names of a new row's columns."""
        olds = ((index, self.merge.old[index].sql) for index in self._all(indexes))
        return ", ".join(f"{old if is_short(old) else f'o{index}'} AS c{index}" for index, old in olds)

    def _all(self, indexes: Sequence[int] | None) -> Sequence[int]:
        return range(len(self.merge.final_schema.columns)) if indexes is None else indexes

    def _create(self, what: str, query: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP {what} AS {query}")

    def _select(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()

    def _count(self, rows: str) -> int:
        ((number,),) = self._select(f"SELECT count(*) FROM {rows}")
        return int(number)


def _condition(clause: ResolvedClause) -> str:
    return "TRUE" if clause.condition is None else clause.condition.sql


def _conjunction(parts: tuple[TargetConjunct, ...]) -> str:
    return "(" + (" AND ".join(part.condition.sql for part in parts) or "TRUE") + ")"
