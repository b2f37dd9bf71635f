"""docs/specification/algorithm.md made runnable: one merge as a few DuckDB queries that read like the specification.

Tables of one evaluation (rows are identified by ``rid`` and ``sid``, never by value, R-002):

================  ====================================================================================
``target``        rid, file, t0, t1, ..., and o0, ...: every row before the merge, the file that holds it, and
                  those columns that are otherwise in the final schema (R-610)
``source``        sid, s0, s1, ...
``matched``       sid, rid, the columns of both rows: ON is TRUE (R-003); clause: the first MATCHED clause that holds,
                  else NULL (R-301); undecided where the tables are small: a condition is NULL
``not_matched``   rows of SU (R-004), clause and undecided
``by_source``     rows of TU, clause and undecided; these two where there are clauses of the kind
``updated``       rid, kind, c0, c1, ...: new values of updated rows, in the final schema
``deleted``       rid, kind: distinct rows (R-303, R-530)
``inserted``      c0, c1, ...; these three where a clause may fill them, see ``filled``
``touched``       file: files that a rewriting merge must rewrite (R-410)
================  ====================================================================================
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mergecheck.reference.case.arrow import numbered_rows, table_to_rows
from mergecheck.reference.case.case_file import change_schema
from mergecheck.reference.case.layout import physical_files
from mergecheck.reference.casts.cast_sql import is_short
from mergecheck.reference.syntax.statement import Action, Kind
from mergecheck.reference.types.data_types import STRING, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.reference.analysis.resolution import Resolved, ResolvedClause
    from mergecheck.reference.case.model import Row, Target
    from mergecheck.reference.types.typed import Typed

FIRED_IN = {
    Kind.MATCHED: "matched",
    Kind.NOT_MATCHED: "not_matched",
    Kind.NOT_MATCHED_BY_SOURCE: "by_source",
}
"""The rows on which the clauses of a kind are tried; ``clause`` is the one that fired."""
_FILLED_BY = {"updated": Action.UPDATE, "deleted": Action.DELETE, "inserted": Action.INSERT}
_PLAINLY_JOINED = 100_000  # pairs of rows
_NUMBERS = {Kind.MATCHED: ("sid", "rid"), Kind.NOT_MATCHED: ("sid",), Kind.NOT_MATCHED_BY_SOURCE: ("rid",)}
_TABLE_OF = {"sid": "source", "rid": "target"}
_NUM_FILES = "SELECT count(DISTINCT file) FROM target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The queries of one merge; call the methods in the order in which they stand.

    Attributes:
        is_large: whole rows are too many to be kept; they are read again by their numbers wherever they are needed.
    """

    connection: DuckDBPyConnection
    target: Target
    merge: Resolved
    is_large: bool = False
    _answers: dict[str, list[tuple[Any, ...]]] = field(init=False, default_factory=dict, repr=False)
    _fired: list[tuple[Kind, int]] = field(init=False, default_factory=list, repr=False)

    def load(self, source_rows: Sequence[Row], source_schema: Schema) -> None:
        """Create ``target`` and ``source``."""
        files = physical_files(self.target)
        rows = [row for _, file in files for row in file]
        if len(rows) * len(source_rows) > _PLAINLY_JOINED:
            self.connection.execute("PRAGMA enable_optimizer")
        numbers = [number for number, (_, file) in enumerate(files) for _ in file]
        table = numbered_rows(rows, self.target.schema, prefix="t", number="rid")
        files_of = pa.array(numbers, type=pa.int64())
        self._load("target", table.append_column("file", files_of), select=self._with_old())
        self._load("source", numbered_rows(source_rows, source_schema, prefix="s", number="sid"))
        self._answers[_NUM_FILES] = [(len(set(numbers)),)]

    def load_relations(self, target: str, source: str) -> None:
        """Create ``target`` and ``source`` of queries: rid, file, t0, t1, ... and sid, s0, s1, ...

        The queries must give the same numbers to the same rows whenever they are read.
        """
        self._create_view("target", f"SELECT {self._with_old()} FROM ({target})")
        self._create_view("source", source)

    def match(self) -> None:
        """Create ``matched``: a NULL condition of ON is no match (R-003)."""
        columns = "*" if self.merge.of(Kind.MATCHED) else "sid, rid, file"  # without clauses nobody reads the others
        self._try(Kind.MATCHED, f"source, target WHERE {self.merge.on.sql}", columns)

    def check_conditions(self) -> None:
        """Evaluate every condition that may fail on every joined row, as R-312 allows an executor to do.

        Raises:
            duckdb.Error: where one fails; then the outcome depends on the layout and the executor.
        """
        partial = [c.condition.sql for c in self.merge.clauses if c.condition is not None and c.condition.partial]
        if partial or self.merge.on.partial:
            counts = ", ".join(f"count({sql})" for sql in (*partial, self.merge.on.sql))
            self.connection.execute(f"SELECT {counts} FROM source, target").fetchall()
            counts = ", ".join(f"count({sql})" for sql in (*partial, "1"))
            joined = f"source FULL JOIN target ON {self.merge.on.sql}"
            self.connection.execute(f"SELECT {counts} FROM {joined}").fetchall()

    def has_multi_matched(self) -> bool:
        """Tell whether a target row has two or more matching source rows (R-320)."""
        if not self.is_large:
            return max(Counter(rid for _, rid in self.pairs()).values(), default=0) > 1
        return self.has_rows(f"{self._pairs} GROUP BY rid HAVING count(*) > 1")

    def multi_matched_may_be_pruned(self) -> bool:
        """Tell whether every multi-matched row makes all target-only clause predicates other than TRUE (R-322)."""
        allowed = " OR ".join(_conjunction(clause.target_only) for clause in self.merge.of(Kind.MATCHED))
        multi = f"SELECT rid FROM {self._pairs} GROUP BY rid HAVING count(*) > 1"
        return self.count(f"SELECT count(*) FROM ({multi}) JOIN target USING (rid) WHERE {allowed}") == 0

    def fire(self) -> None:
        """Create ``not_matched`` and ``by_source``, unless nothing is done to their rows, which nobody reads then."""
        if self.merge.of(Kind.NOT_MATCHED):
            self._try(Kind.NOT_MATCHED, f"source ANTI JOIN {self._pairs} USING (sid)")
        if self.merge.of(Kind.NOT_MATCHED_BY_SOURCE):
            self._try(Kind.NOT_MATCHED_BY_SOURCE, f"target ANTI JOIN {self._pairs} USING (rid)")
        if not self.is_large:
            for kind in FIRED_IN:
                tried = self.tried(kind) if self.merge.of(kind) else []
                self._fired.extend((kind, index) for index in sorted({i for i in tried if i is not None}))

    def _try(self, kind: Kind, rows: str, columns: str = "*") -> None:
        """Say of rows which is the first clause of a kind whose condition is TRUE (R-301)."""
        name, clause = FIRED_IN[kind], f"{self._first(kind)} AS clause"
        if not self.is_large:
            self._create(name, f"SELECT {columns}, {clause}, {self._undecided(kind)} AS undecided FROM {rows}")
            return
        self._create(f"{name}_numbers", f"SELECT {', '.join(_NUMBERS[kind])}, {clause} FROM {rows}")
        again = " ".join(f"JOIN {_TABLE_OF[number]} USING ({number})" for number in _NUMBERS[kind])
        self._create_view(name, f"SELECT * FROM {name}_numbers {again}")

    @property
    def _pairs(self) -> str:
        """The table that has the numbers of the rows that match, sid and rid."""
        return f"{FIRED_IN[Kind.MATCHED]}{'_numbers' * self.is_large}"

    def act(self) -> None:
        """Create ``updated``, ``deleted`` and ``inserted``: values are computed where their clause fires (R-254)."""
        new = self.columns()
        updates = [
            f"SELECT rid, '{clause.kind.value}' AS kind, {new} FROM ({rows})"
            for clause, rows in self._new(Action.UPDATE)
        ]
        self._fill("updated", updates)
        deletes = [
            f"SELECT DISTINCT rid, '{clause.kind.value}' AS kind FROM {FIRED_IN[clause.kind]} WHERE clause = {index}"
            for clause, index in self._fired_of(Action.DELETE)
        ]
        self._fill("deleted", deletes)
        self._fill("inserted", [f"SELECT {new} FROM ({rows})" for _, rows in self._new(Action.INSERT)])

    def _fill(self, name: str, queries: Sequence[str]) -> None:
        if queries:
            self._create(name, " UNION ALL ".join(queries))

    def touch(self, *, rewrites: bool) -> None:
        """Create ``touched`` (R-410); empty where the path rewrites nothing by its kind (path A)."""
        if not rewrites:
            files = "SELECT file FROM target WHERE FALSE"
        elif self.merge.of(Kind.NOT_MATCHED_BY_SOURCE):
            files = "SELECT DISTINCT file FROM target"
        elif self.merge.of(Kind.NOT_MATCHED):
            files = "SELECT DISTINCT file FROM matched"
        else:
            files = "SELECT DISTINCT file FROM matched WHERE clause IS NOT NULL"
        self._create("touched", files)

    def counts(self) -> dict[str, int]:
        """Count what metrics are made of: touched_files, touched_rows, source, inserted, matched_updated and so on."""
        touched = self.num_rows("touched")
        all_touched = touched == self.count(_NUM_FILES)
        counts = {
            "touched_files": touched,
            "touched_rows": self.num_rows("target" if all_touched else "target SEMI JOIN touched USING (file)"),
            "source": self.num_rows("source"),
            "inserted": self.num_rows("inserted") if self.filled("inserted") else 0,
        }
        for table in ("updated", "deleted"):
            kinds = {clause.kind for clause, _ in self._fired_of(_FILLED_BY[table])}
            for kind in (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE):
                of_kind = table if kinds == {kind} else f"{table} WHERE kind = '{kind.value}'"
                counts[f"{FIRED_IN[kind]}_{table}"] = self.num_rows(of_kind) if kind in kinds else 0
        return counts

    def pairs(self) -> list[tuple[int, int]]:
        """Read the matches: sid and rid; counted in Python, which is cheaper than windows are on small tables."""
        return [(sid, rid) for sid, rid, _, _ in self._tried(Kind.MATCHED)]

    def tried(self, kind: Kind) -> list[int | None]:
        """Read the rows on which the clauses of a kind are tried: which of them fired on each, None for none.

        There must be clauses of the kind.
        """
        return [clause for *_, clause, _ in self._tried(kind)]

    def has_undecided(self, kind: Kind) -> bool:
        """Tell whether a condition is NULL on one of the rows on which the clauses of a kind, if any, are tried."""
        return bool(self.merge.of(kind)) and any(undecided for *_, undecided in self._tried(kind))

    def _tried(self, kind: Kind) -> list[tuple[Any, ...]]:
        return self.ask(f"SELECT {', '.join(_NUMBERS[kind])}, clause, undecided FROM {FIRED_IN[kind]}")

    def fired(self) -> tuple[tuple[Kind, int], ...]:
        """List the clauses that fired on some row: their kind, and their position among those of their kind."""
        return tuple(self._fired)

    def result(self) -> tuple[Row, ...]:
        """Read the table after the merge (R-304)."""
        return self._rows(self.result_query(), self.merge.final_schema)

    def result_query(self) -> str:
        """Write the query of the rows after the merge: columns c0, c1, ..."""
        new = "".join(
            f" UNION ALL SELECT {self.columns()} FROM {table}" for table in self.filled("updated", "inserted")
        )
        return f"SELECT {self.old_columns()} FROM {self._without_changed('target')}{new}"

    def copied(self) -> str:
        """Write the rows of rewritten files that are written as they are (R-412), for a FROM clause."""
        return self._without_changed("target SEMI JOIN touched USING (file)")

    def _without_changed(self, rows: str) -> str:
        return rows + "".join(f" ANTI JOIN {table} USING (rid)" for table in self.filled("updated", "deleted"))

    def changes(self) -> tuple[Row, ...]:
        """Read the change feed of the merge (R-610): one row or pair of images per affected row (R-611)."""
        return self._rows(self.change_query(), change_schema(self.merge.final_schema))

    def change_query(self, indexes: Sequence[int] | None = None) -> str:
        """Write the query of the change rows: columns c0, c1, ..., or some of them, and the type of the change."""
        old, new = self.old_columns(indexes), self.columns(indexes)
        parts = {
            "updated": f"""
                SELECT {old}, 'update_preimage' AS change FROM target SEMI JOIN updated USING (rid)
                UNION ALL SELECT {new}, 'update_postimage' AS change FROM updated
            """,
            "deleted": f"SELECT {old}, 'delete' AS change FROM target SEMI JOIN deleted USING (rid)",
            "inserted": f"SELECT {new}, 'insert' AS change FROM inserted",
        }
        none = f"SELECT {old}, '' AS change FROM target WHERE FALSE"
        return " UNION ALL ".join(parts[table] for table in self.filled(*parts)) or none

    def filled(self, *tables: str) -> list[str]:
        """Leave out the tables that no clause fills, which are not made: planning costs more than running."""
        return [table for table in tables if self._fired_of(_FILLED_BY[table])]

    def _first(self, kind: Kind) -> str:
        whens = [f"WHEN {_condition(clause)} THEN {index}" for index, clause in enumerate(self.merge.of(kind))]
        return f"CASE {' '.join(whens)} END" if whens else "CAST(NULL AS INTEGER)"

    def _undecided(self, kind: Kind) -> str:
        conditions = [clause.condition.sql for clause in self.merge.of(kind) if clause.condition is not None]
        return " OR ".join(f"({condition}) IS NULL" for condition in conditions) or "FALSE"

    def numbered(self, action: Action) -> list[tuple[ResolvedClause, int]]:
        """List the clauses of an action with their positions among those of their kind."""
        return [
            (clause, index)
            for kind in Kind
            for index, clause in enumerate(self.merge.of(kind))
            if clause.action is action
        ]

    def _new(self, action: Action) -> list[tuple[ResolvedClause, str]]:
        return [
            (clause, self.new_rows(clause, f"{FIRED_IN[clause.kind]} WHERE clause = {index}"))
            for clause, index in self._fired_of(action)
        ]

    def _fired_of(self, action: Action) -> list[tuple[ResolvedClause, int]]:
        """List the clauses of an action, without those that fired on no row where it is cheap to know."""
        fired = None if self.is_large else self.fired()
        return [(c, index) for c, index in self.numbered(action) if fired is None or (c.kind, index) in fired]

    def new_rows(self, clause: ResolvedClause, fired: str) -> str:
        """Write the query of a clause's new rows: the columns of both sides, then c0, c1, ... in some order.

        Generated columns use the others by their names, so they are computed around them (R-222, R-223).
        """
        columns = self.merge.final_schema.columns
        named = [f"{self._stored(index, value)} AS c{index}" for index, value in enumerate(clause.values)]
        plain = [sql for sql, column in zip(named, columns, strict=True) if column.generated is None]
        generated = [sql for sql, column in zip(named, columns, strict=True) if column.generated is not None]
        rows = f"SELECT {', '.join(['*', *plain])} FROM {fired}"
        return f"SELECT {', '.join(['*', *generated])} FROM ({rows})" if generated else rows

    def _stored(self, index: int, value: Typed) -> str:
        """Store an empty string in a partition column as NULL (R-744)."""
        column = self.merge.final_schema.columns[index]
        if column.name in self.target.partition_by and column.type == STRING:
            return f"NULLIF({value.sql}, '')"
        return value.sql

    def columns(self, indexes: Sequence[int] | None = None) -> str:
        """List the columns of a new row, or some of them, for a SELECT."""
        return ", ".join(f"c{index}" for index in self._all(indexes))

    def old_columns(self, indexes: Sequence[int] | None = None) -> str:
        """List the columns of an old row in the final schema for a SELECT, named as those of new rows."""
        return ", ".join(f"{self.old(index)} AS c{index}" for index in self._all(indexes))

    def _all(self, indexes: Sequence[int] | None) -> Sequence[int]:
        return range(len(self.merge.final_schema.columns)) if indexes is None else indexes

    def old(self, index: int) -> str:
        """Name the column of ``target`` that holds a column of the final schema before the merge."""
        sql = self.merge.old[index].sql
        return sql if is_short(sql) else f"o{index}"

    def _with_old(self) -> str:
        others = [(index, value) for index, value in enumerate(self.merge.old) if not is_short(value.sql)]
        return "*" + "".join(f", {value.sql} AS o{index}" for index, value in others)

    def _load(self, name: str, incoming: pa.Table, *, select: str = "*") -> None:
        # DuckDB looks names up among the variables of the function that calls it: half of what registering takes.
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {select} FROM incoming")
        self._answers[_counting(name)] = [(len(incoming),)]

    def _create(self, name: str, query: str) -> None:
        made = self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        self._answers[_counting(name)] = made.fetchall()  # how many rows it has got

    def _create_view(self, name: str, query: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query of a few rows. Its answer is remembered, since no table changes once it is made."""
        if query not in self._answers:
            self._answers[query] = self.connection.execute(query).fetchall()
        return self._answers[query]

    def has_rows(self, rows: str) -> bool:
        """Tell whether there are rows in what may follow FROM."""
        return bool(self.ask(f"SELECT 1 FROM {rows} LIMIT 1"))

    def count(self, query: str) -> int:
        """Run a query that gives one number."""
        return int(self.ask(query)[0][0])

    def num_rows(self, rows: str) -> int:
        """Count the rows of what may follow FROM; of a table that was made here it is known."""
        return self.count(_counting(rows))

    def _rows(self, query: str, schema: Schema) -> tuple[Row, ...]:
        return table_to_rows(self.connection.sql(query).to_arrow_table(), schema)


def _counting(rows: str) -> str:
    return f"SELECT count(*) FROM {rows}"


def _condition(clause: ResolvedClause) -> str:
    return "TRUE" if clause.condition is None else clause.condition.sql


def _conjunction(parts: tuple[Typed, ...]) -> str:
    return "(" + (" AND ".join(part.sql for part in parts) or "TRUE") + ")"
