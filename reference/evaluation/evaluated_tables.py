"""The tables of one merge in DuckDB, which evaluates the expressions of the statement on their rows.

===============  =====================================================================================
``target``       T: rid, t0, t1, ...
``source``       S: sid, s0, s1, ...
``pairs``        sid, rid: ON is TRUE (R-003)
``matched``      the pairs with the columns of both rows, applied, condition0, condition1, ...
``not_matched``  the rows of SU (R-004), applied, condition0, condition1, ...
``by_source``    the rows of TU, applied, condition0, condition1, ...
===============  =====================================================================================

An expression that the other evaluator computes is a column ``x<n>`` with a column ``x<n>_error``: in ``target`` or
``source`` if a condition uses only one, in ``asked_pairs`` if it uses both, in ``asked_<table>_<clause>`` for values
of a clause, and in ``asked_<table>_<clause>_new`` for its generated columns.

``applied`` is the position of the first clause of the kind whose condition is TRUE, NULL if there is none (R-301).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from mergecheck.model.duckdb_rows import create_table, read_rows
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.layout import physical_rows
from mergecheck.model.types.data_types import BIGINT, Field, Schema, StructType
from mergecheck.model.types.typed import TableSide, duckdb_type
from mergecheck.reference.evaluation.asked_values import answers
from mergecheck.reference.evaluation.failures import rejection_of
from mergecheck.reference.syntax.statement import Kind
from mergecheck.reference.trace import Candidate, Matches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Row, Target
    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.analysis.resolved import JoinKey, Resolved, ResolvedClause
    from mergecheck.reference.asked.asker import Asked
    from mergecheck.reference.asked.evaluator import CaseEvaluator
    from mergecheck.reference.expressions.names import Relation
    from mergecheck.reference.queries.source_query import SourceRelation

_TABLE_OF = {Kind.MATCHED: "matched", Kind.NOT_MATCHED: "not_matched", Kind.NOT_MATCHED_BY_SOURCE: "by_source"}
_UNITS = {
    Kind.MATCHED: "pairs JOIN source USING (sid) JOIN target USING (rid)",
    Kind.NOT_MATCHED: "source ANTI JOIN pairs USING (sid)",
    Kind.NOT_MATCHED_BY_SOURCE: "target ANTI JOIN pairs USING (rid)",
}
_NUMBERS_OF = {
    Kind.MATCHED: ("sid", "rid"),
    Kind.NOT_MATCHED: ("sid",),
    Kind.NOT_MATCHED_BY_SOURCE: ("rid",),
}
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_JOIN_ASKED_PAIRS = "JOIN asked_pairs USING (sid, rid)"
_MAX_FAILING_PAIRS = 1_000
_MAX_ASKED_PAIRS = 200_000
_MAX_MATCHED_PAIRS = 1_000_000  # each becomes some objects of Python
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
        evaluator: is asked for what has no translation; None if there is nothing to ask for.
    """

    connection: DuckDBPyConnection
    target: Target
    merge: Resolved
    evaluator: CaseEvaluator | None = None

    def load(self, source: SourceRelation) -> None:
        """Create ``target`` and ``source``."""
        rows = physical_rows(self.target)
        self._load("target", rows, self.target.schema, TableSide.TARGET, "rid")
        self._load("source", source.rows, source.schema, TableSide.SOURCE, "sid")

    def ask_conditions(self) -> None:
        """Ask for the conditions that have no translation: on every row, or every pair of rows.

        Raises:
            UnsupportedByReferenceError: if one fails (R-312), or if there are too many pairs.
        """
        for side, name, number in ((TableSide.TARGET, "target", "rid"), (TableSide.SOURCE, "source", "sid")):
            asked = [one.on(side) for one in self.merge.asked if one.side is side]
            if asked:
                self._ask(f"asked_{name}", name, [number], asked)
                self._create(name, f"SELECT * FROM {name} JOIN asked_{name} USING ({number})")
        if pairs := self._asked_on_pairs:
            ((num_pairs,),) = self._select("SELECT count(*) FROM source, target")
            if num_pairs > _MAX_ASKED_PAIRS:
                raise UnsupportedByReferenceError(
                    f"a condition to be asked for on over {_MAX_ASKED_PAIRS} pairs of rows"
                )
            self._ask("asked_pairs", "source, target", ["sid", "rid"], pairs)
        for one in self.merge.asked:
            table = "asked_pairs" if one.side is None else "target" if one.side is TableSide.TARGET else "source"
            if self._select(f"SELECT 1 FROM {table} WHERE {one.error} IS NOT NULL LIMIT 1"):
                raise UnsupportedByReferenceError("a condition that fails on some row (R-312)")

    def ask_values(self, clause: ResolvedClause, index: int) -> None:
        """Ask for the values of a clause that have no translation, on the rows to which it applies (R-254).

        Raises:
            UnsupportedByReferenceError: if a generated column is asked for, and a value that it may use fails.
        """
        numbers = _NUMBERS_OF[clause.kind]
        name = f"asked_{_TABLE_OF[clause.kind]}_{index}"
        plain = [one for one in clause.asked if not one.is_of_new_row]
        if plain:
            self._ask(name, f"{_TABLE_OF[clause.kind]} WHERE applied = {index}", numbers, plain)
        computed = [one for one in clause.asked if one.is_of_new_row]
        if computed:
            try:
                self._ask(
                    f"{name}_new", f"({self._plain_rows_query(clause, index, self._plain(clause))})", numbers, computed
                )
            except duckdb.Error:
                text = "a generated column to be asked for beside a value that fails"
                raise UnsupportedByReferenceError(text) from None

    def _ask(self, name: str, rows: str, numbers: Sequence[str], asked: Sequence[Asked]) -> None:
        """Create a table with the numbers of some rows and the evaluator's values for them."""
        assert self.evaluator is not None, "nothing is asked for without one"  # noqa: S101 - for mypy
        relations = [relation for one in asked for relation in one.relations]
        cells = {cell.name: cell for relation in relations for cell in self._cells(relation) if cell is not None}
        read = Schema((*(Field(number, BIGINT) for number in numbers), *cells.values()))
        found = read_rows(self.connection, f"SELECT {', '.join(read.names)} FROM {rows}", read)
        places = {name: place for place, name in enumerate(read.names)}

        def inputs(relation: Relation) -> list[Row]:
            wanted = [None if cell is None else places[cell.name] for cell in self._cells(relation)]
            return [tuple(None if place is None else row[place] for place in wanted) for row in found]

        schema, answered = answers(asked, self.evaluator, inputs, len(found))
        numbered = [(*row[: len(numbers)], *more) for row, more in zip(found, answered, strict=True)]
        create_table(self.connection, name, numbered, Schema((*read.columns[: len(numbers)], *schema.columns)))

    def _cells(self, relation: Relation) -> list[Field | None]:
        """List the columns of the evaluation's tables that have a relation's cells.

        A generated column is computed from the new values of a row, and uses no other generated one: None.
        """
        if relation.values is None:
            return [Field(relation.value(i), column.type) for i, column in enumerate(relation.schema.columns)]
        final = self.merge.final_schema.columns
        return [Field(f"c{i}", c.type) if c.generated is None else None for i, c in enumerate(final)]

    @property
    def _asked_on_pairs(self) -> list[Asked]:
        return [one for one in self.merge.asked if one.side is None]

    @property
    def _product(self) -> str:
        """All pairs of rows, with the evaluator's values for them."""
        return "source, target" if not self._asked_on_pairs else f"(source CROSS JOIN target) {_JOIN_ASKED_PAIRS}"

    @property
    def _where_on_may_hold(self) -> str:
        """The pairs of rows on which ON may be TRUE: those that are equal in the columns that a part of ON equates."""
        return self._equal_in(self.merge.join_keys)

    @property
    def _where_on_may_be_null(self) -> str:
        """The pairs of rows on which ON may be NULL, which an AND is not if one of its parts is FALSE.

        A part that equates two columns is TRUE or FALSE if neither holds a NULL.
        """
        return self._equal_in(
            key
            for key in self.merge.join_keys
            if not self._holds_null("target", key.target) and not self._holds_null("source", key.source)
        )

    def _equal_in(self, keys: Iterable[JoinKey]) -> str:
        on = " AND ".join(f"{key.target.sql} = {key.source.sql}" for key in keys)
        return f"source JOIN target ON {on}" if on else self._product

    def _holds_null(self, table: str, column: Typed) -> bool:
        return bool(self._select(f"SELECT 1 FROM {table} WHERE {column.sql} IS NULL LIMIT 1"))

    def _combinations(self, condition: Typed) -> str:
        """All combinations of the cells that a condition uses, each once.

        A condition has no other input. 0.0 and -0.0 are equal for DuckDB, but their texts differ.
        """
        found = []
        for table, side in (("source", TableSide.SOURCE), ("target", TableSide.TARGET)):
            if columns := ", ".join(columns_in(condition.sql, side.value)):
                found.append(
                    f"(SELECT DISTINCT ON ({columns}, CAST(ROW({columns}) AS VARCHAR)) {columns} FROM {table})"
                )
        return ", ".join(found) or "(SELECT 1)"

    @property
    def _lacks_rows(self) -> bool:
        """Whether a table has no row, so that there is no pair of rows."""
        return not self._select("SELECT 1 FROM source, target LIMIT 1")

    @property
    def _full_join(self) -> str:
        """The joined rows, and the rows of each side that join with none."""
        on = "FALSE" if self._lacks_rows else self.merge.on.sql
        if not self._asked_on_pairs:
            return f"source FULL JOIN target ON {on}"
        joined = f"SELECT sid AS pair_sid, rid FROM {self._product} WHERE {on}"
        matched = f"SELECT * FROM target LEFT JOIN ({joined}) USING (rid)"
        return f"source FULL JOIN ({matched}) ON sid = pair_sid"

    def can_compute(self, values: Sequence[Typed], clause: ResolvedClause | None = None, index: int = 0) -> bool:
        """Return whether values can be computed, on the rows to which a clause applies; without a clause once."""
        rows = "" if clause is None else f" FROM {self._applied(clause, index)}"
        try:
            for value in values:
                self._select(f"SELECT count({value.sql}){rows}")
        except duckdb.Error as error:
            rejection_of(error)  # a defect of the reference goes on as it is
            return False
        return True

    def check_conditions(self) -> None:
        """Evaluate every condition that may fail on every joined row, as R-312 allows an executor to do.

        Raises:
            duckdb.Error: if one fails; then the outcome depends on the layout of files and on the executor.
        """
        for constant in self.merge.constants:
            self._select(f"SELECT count({constant.sql})")
        partial = [c.condition for c in self.merge.clauses if c.condition is not None and c.condition.partial]
        if not self._lacks_rows:
            for condition in (*partial, *(part for part in self.merge.on_parts if part.partial)):
                self._select(f"SELECT count({condition.sql}) FROM {self._combinations(condition)}")
        if partial:
            counts = ", ".join(f"count({condition.sql})" for condition in partial)
            self._select(f"SELECT {counts} FROM {self._full_join}")

    def may_fail_without_pairs(self) -> bool:
        """Return whether a condition may fail although there is no pair of rows, since a table has no row (R-312).

        A table without rows is taken to have one of NULLs, so that the parts that use the other table are computed.
        ON cannot be looked at in this way if its values are asked for: Spark computes no part beside a NULL.
        """
        if not self._lacks_rows:
            return False
        if self.merge.on.asked:
            return self.merge.on_may_fail
        partial = [c.condition.sql for c in self.merge.clauses if c.condition is not None and c.condition.partial]
        conditions = (*partial, self.merge.on.sql) if self.merge.on.partial else tuple(partial)
        counts = ", ".join(f"count({sql})" for sql in conditions)
        try:
            self._select(f"SELECT {counts or 1} FROM (SELECT 1) LEFT JOIN source ON TRUE LEFT JOIN target ON TRUE")
        except duckdb.Error as error:
            rejection_of(error)  # a defect of the reference goes on as it is
            return True
        return False

    def failures_of_keys(self) -> frozenset[str]:
        """Give the error classes with which ON fails on a pair of rows, if each table has a row with a key (R-312).

        Returns:
            None of them if there are too many pairs to look at one by one.
        """
        for key in self.merge.keys:
            table = "target" if TableSide.TARGET in key.sides else "source"
            try:
                ((num_keys,),) = self._select(f"SELECT count({key.sql}) FROM {table}")
            except duckdb.Error as error:
                rejection_of(error)  # a defect of the reference goes on as it is
            else:
                if not num_keys:
                    return frozenset()
        pairs = self._select(f"SELECT sid, rid FROM source, target LIMIT {_MAX_FAILING_PAIRS + 1}")
        if not 0 < len(pairs) <= _MAX_FAILING_PAIRS:
            return frozenset()
        found = set()
        for sid, rid in pairs:
            try:
                self._select(f"SELECT {self.merge.on.sql} FROM source, target WHERE sid = {sid} AND rid = {rid}")
            except duckdb.Error as error:
                found.add(rejection_of(error).error_class)
        return frozenset(found)

    def match(self, *, every_pair: bool = False) -> Matches:
        """Create ``pairs``; with ``every_pair``, also read the value of ON for each pair of rows.

        Raises:
            UnsupportedByReferenceError: if more pairs match than can be looked at one by one.
        """
        on = self.merge.on.sql
        pairs = f"SELECT sid, rid FROM {self._where_on_may_hold} WHERE {on} ORDER BY rid, sid"
        self._create("pairs", f"{pairs} LIMIT {_MAX_MATCHED_PAIRS + 1}")
        ((num_pairs,),) = self._select("SELECT count(*) FROM pairs")
        if num_pairs > _MAX_MATCHED_PAIRS:
            raise UnsupportedByReferenceError(f"over {_MAX_MATCHED_PAIRS} pairs of rows that match")
        multi_matched = self._select("SELECT rid FROM pairs GROUP BY rid HAVING count(*) > 1")
        return Matches(
            pairs=tuple(self._select("SELECT sid, rid FROM pairs")),
            multi_matched=frozenset(rid for (rid,) in multi_matched),
            null_on=bool(self._select(f"SELECT 1 FROM {self._where_on_may_be_null} WHERE ({on}) IS NULL LIMIT 1")),
            on_values=self._on_values() if every_pair else None,
        )

    def _on_values(self) -> dict[tuple[int, int], bool | None]:
        found = self._select(f"SELECT sid, rid, ({self.merge.on.sql}) FROM {self._product}")
        return {(sid, rid): value for sid, rid, value in found}

    def holds_in(self, condition: Typed, rids: Sequence[int]) -> bool:
        """Return whether a condition over the target is TRUE on any of some rows."""
        return bool(self._select(f"SELECT 1 FROM ({_rows_of(rids)}) WHERE {condition.sql} LIMIT 1"))

    def holds_for(self, condition: Typed, column: int, value: Typed, rids: Sequence[int]) -> bool:
        """Return whether a condition is TRUE for a value of its one column, between the bounds of some rows."""
        name, data_type = f"t{column}", duckdb_type(self.target.schema.columns[column].type)
        bounds = f"SELECT min({name}) AS low, max({name}) AS high FROM ({_rows_of(rids)})"
        given = f"SELECT TRY_CAST({value.sql} AS {data_type}) AS {name}"
        between = f"{name} BETWEEN low AND high"
        return bool(self._select(f"SELECT 1 FROM ({given}), ({bounds}) WHERE {between} AND {condition.sql}"))

    def candidates(self, kind: Kind) -> tuple[Candidate, ...]:
        """Create the table of a kind, and read which clause applies to each of its rows."""
        clauses = self.merge.of(kind)
        whens = [f"WHEN {_condition(clause)} THEN {index}" for index, clause in enumerate(clauses)]
        applied = f"CASE {' '.join(whens)} END" if whens else "NULL"
        conditions = [f"({_condition(clause)}) AS condition{index}" for index, clause in enumerate(clauses)]
        units = f"{_UNITS[kind]} {_JOIN_ASKED_PAIRS}" if kind is Kind.MATCHED and self._asked_on_pairs else _UNITS[kind]
        columns = ", ".join(["*", f"{applied} AS applied", *conditions])
        self._create(_TABLE_OF[kind], f"SELECT {columns} FROM {units}")
        names = "".join(f", condition{index}" for index in range(len(clauses)))
        found = self._select(f"SELECT {_NUMBERS[kind]}, applied{names} FROM {_TABLE_OF[kind]}")
        return tuple(
            Candidate(sid=sid, rid=rid, applied=applied, conditions=tuple(values))
            for sid, rid, applied, *values in found
        )

    def old_rows(self, values: Sequence[Typed]) -> tuple[Row, ...]:
        """Read all rows of the target before the merge, by rid; ``values`` convert them to the final schema (R-610)."""
        cells = "".join(f", {value.sql} AS c{index}" for index, value in enumerate(values))
        return tuple(self._rows(f"SELECT rid{cells} FROM target ORDER BY rid", "rid").values())

    def new_rows(self, clause: ResolvedClause, index: int, only: Candidate | None = None) -> dict[int, Row]:
        """Compute the rows that a clause makes of the rows to which it applies (R-254), by rid, of an INSERT by sid.

        Empty texts in partition columns are not yet replaced (R-744).
        """
        number = "sid" if clause.kind is Kind.NOT_MATCHED else "rid"
        return self._rows(self.new_rows_query(clause, index, only), number)

    def new_rows_query(self, clause: ResolvedClause, index: int, only: Candidate | None = None) -> str:
        """Write the query of a clause's new rows: the columns of both sides, then c0, c1, ... in some order.

        Generated columns use the others by their names, so they are computed around them (R-222, R-223).
        """
        plain = self._plain_rows_query(clause, index, self._plain(clause), only)
        generated = [sql for i, sql in enumerate(self._named(clause)) if self._is_generated(i)]
        return self._around(clause, index, ["*", *generated], plain) if generated else plain

    def new_value_query(
        self, clause: ResolvedClause, index: int, column: int, only: Candidate, failing: Collection[int] = ()
    ) -> str:
        """Write the query of one value of a new row, which computes no other value that may fail.

        Args:
            clause: an UPDATE or INSERT.
            index: its position among the clauses of its kind.
            column: the value's position in the final schema.
            only: the row to which the clause applies.
            failing: other columns, whose values fail; a generated column is computed as if they were NULL.
        """
        named = self._named(clause)
        if not self._is_generated(column):
            return self.value_query(clause, index, clause.values[column], only)
        columns = self.merge.final_schema.columns
        given = [
            f"CAST(NULL AS {duckdb_type(columns[i].type)}) AS c{i}" if i in failing else sql
            for i, sql in enumerate(named)
            if not self._is_generated(i)
        ]
        return self._around(clause, index, [named[column]], self._plain_rows_query(clause, index, given, only))

    def value_query(self, clause: ResolvedClause, index: int, value: Typed, only: Candidate) -> str:
        """Write the query of a value on a row to which a clause applies, without the columns of the row."""
        return f"SELECT value FROM ({self._plain_rows_query(clause, index, [f'{value.sql} AS value'], only)})"

    def _around(self, clause: ResolvedClause, index: int, columns: Sequence[str], plain: str) -> str:
        rows = f"({plain})"
        if any(one.is_of_new_row for one in clause.asked):
            rows += f" JOIN asked_{_TABLE_OF[clause.kind]}_{index}_new USING ({', '.join(_NUMBERS_OF[clause.kind])})"
        return f"SELECT {', '.join(columns)} FROM {rows}"

    def _plain_rows_query(
        self, clause: ResolvedClause, index: int, columns: Sequence[str], only: Candidate | None = None
    ) -> str:
        rows = f"SELECT {', '.join(['*', *columns])} FROM {self._applied(clause, index)}"
        if only is not None:
            rows += f" AND sid = {only.sid}" if only.rid is None else f" AND rid = {only.rid}"
        return rows

    def _is_generated(self, column: int) -> bool:
        return self.merge.final_schema.columns[column].generated is not None

    def _plain(self, clause: ResolvedClause) -> list[str]:
        return [sql for i, sql in enumerate(self._named(clause)) if not self._is_generated(i)]

    def _named(self, clause: ResolvedClause) -> list[str]:
        return [f"{value.sql} AS c{i}" for i, value in enumerate(clause.values)]

    def _applied(self, clause: ResolvedClause, index: int) -> str:
        """The rows to which a clause applies, with what its values are asked for."""
        table = _TABLE_OF[clause.kind]
        if any(not one.is_of_new_row for one in clause.asked):
            table = f"{table} JOIN asked_{table}_{index} USING ({', '.join(_NUMBERS_OF[clause.kind])})"
        return f"{table} WHERE applied = {index}"

    def null_structs(self, clause: ResolvedClause, index: int) -> tuple[int, ...]:
        """List the assignments of a clause whose value is a NULL struct on some row to which the clause applies."""
        structs = [i for i, assigned in enumerate(clause.assigned) if isinstance(assigned.value.type, StructType)]
        if not structs:
            return ()
        nulls = ", ".join(f"count(*) FILTER (WHERE ({clause.assigned[i].value.sql}) IS NULL)" for i in structs)
        (counts,) = self._select(f"SELECT {nulls} FROM {self._applied(clause, index)}")
        return tuple(i for i, count in zip(structs, counts, strict=True) if count)

    def _load(self, name: str, rows: Sequence[Row], schema: Schema, side: TableSide, number: str) -> None:
        """Create a table of rows, with their numbers 0, 1, ... behind them."""
        columns = (Field(f"{side.value}{i}", column.type) for i, column in enumerate(schema.columns))
        numbered = [(*row, position) for position, row in enumerate(rows)]
        create_table(self.connection, name, numbered, Schema((*columns, Field(number, BIGINT))))

    def _create(self, name: str, query: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def _select(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(query).fetchall()

    def _rows(self, query: str, number: str) -> dict[int, Row]:
        """Read the columns c0, c1, ... of a query, by the numbers of its rows."""
        columns = [f"c{index}" for index in range(len(self.merge.final_schema.columns))]
        schema = Schema((Field(number, BIGINT), *self.merge.final_schema.columns))
        found = read_rows(self.connection, f"SELECT {', '.join([number, *columns])} FROM ({query})", schema)
        return {rid: tuple(row) for rid, *row in found}


def columns_in(sql: str, letter: str) -> list[str]:
    """List the columns of the evaluation's tables that begin with a letter and that an expression uses."""
    return sorted(set(re.findall(rf"\b{letter}\d+\b", _QUOTED.sub("", sql))))


def _condition(clause: ResolvedClause) -> str:
    return "TRUE" if clause.condition is None else clause.condition.sql


def _rows_of(rids: Sequence[int]) -> str:
    return f"SELECT * FROM target WHERE rid IN ({', '.join(map(str, rids))})"
