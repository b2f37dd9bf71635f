"""``USING (SELECT ...)``: the rows of a source that is a query (R-101), evaluated in DuckDB before the merge.

Each part of a query becomes a relation whose columns are ``c0``, ``c1``, ...; names live in the schema beside it.
What the reference does not know for certain is unsupported: limits, windows, grouping of floating-point values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from reference.aggregates import aggregate, check_groupable
from reference.arrow import rows_to_table, table_to_rows
from reference.errors import RejectedError, UnsupportedByReferenceError
from reference.expressions import Translator
from reference.functions import same_type
from reference.names import Relation, Scope, Side
from reference.query_tree import aliased, allow, output_name, table_name
from reference.types import INT, VOID, Field, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reference.case import Row
    from reference.typed import Typed

_UNRESOLVED = "UNRESOLVED_COLUMN"  # its sub-class says whether Spark has a suggestion
_TABLE = "source_query_"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """A relation: a DuckDB query with columns ``c<i>``, and the queries that must not fail if Spark's do not."""

    sql: str
    schema: Schema
    probes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _From:
    """What FROM offers: its DuckDB text, and the relations that names may mean."""

    sql: str = ""
    relations: tuple[Relation, ...] = ()
    probes: tuple[str, ...] = ()


def source_relation(
    query: exp.Expr,
    tables: Mapping[str, tuple[Schema, tuple[Row, ...]]],
    connection: duckdb.DuckDBPyConnection,
    *,
    case_sensitive: bool,
    named: bool = True,
) -> tuple[Schema, tuple[Row, ...]]:
    """Evaluate the source query of a merge.

    Args:
        query: what stands in the parentheses after USING.
        tables: the tables that it may read, by lower-case name, with their rows before the merge (R-810).
        connection: a DuckDB whose time zone is UTC; temporary names are taken away again.
        case_sensitive: ``spark.sql.caseSensitive``.
        named: whether the names of the result matter.

    Returns:
        The schema and the rows of the source, in any order.

    Raises:
        RejectedError: where Spark's analysis refuses the query.
        UnsupportedByReferenceError: where the reference does not know what it means, or where it fails on some row.
    """
    known = {
        name: _Rows(
            sql=f"SELECT {_columns(len(schema.columns))} FROM {_TABLE}{name}",
            schema=Schema(tuple(Field(column.name, column.type) for column in schema.columns)),
        )
        for name, (schema, _) in tables.items()
    }
    result = _Reader(case_sensitive=case_sensitive).read(query, known, named=named)
    try:
        for name, (schema, rows) in tables.items():
            if not schema.columns:
                continue
            loaded = rows_to_table(rows, schema).rename_columns([f"c{i}" for i in range(len(schema.columns))])
            connection.register(f"{_TABLE}{name}", loaded)
        for probe in result.probes:
            connection.execute(probe).fetchall()
        table = connection.sql(result.sql).to_arrow_table()
    except duckdb.Error:
        raise UnsupportedByReferenceError("a source query that fails on some row") from None
    finally:
        for name in tables:
            connection.unregister(f"{_TABLE}{name}")
    # DuckDB gives an untyped NULL the type INTEGER.
    readable = Schema(tuple(Field(c.name, INT if c.type == VOID else c.type) for c in result.schema.columns))
    return result.schema, table_to_rows(table, readable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Translates the parts of a query; ``known`` are the tables and the WITH queries in sight."""

    case_sensitive: bool

    def read(self, node: exp.Expr, known: Mapping[str, _Rows], *, named: bool = True) -> _Rows:
        """Translate a query; ``named`` is False where nobody sees the names of its columns."""
        if isinstance(node, exp.Query) and (with_ := node.args.get("with_")) is not None:
            known = self._with(with_, known)
        if isinstance(node, exp.Select):
            return self._select(node, known, named=named)
        if isinstance(node, exp.Union):
            return self._union(node, known, named=named)
        if isinstance(node, exp.Subquery) and not node.args.get("alias"):
            allow(node, "this", "with_")
            return self.read(node.this, known, named=named)
        raise UnsupportedByReferenceError(f"source query {type(node).__name__}")

    def _with(self, node: exp.Expr, known: Mapping[str, _Rows]) -> Mapping[str, _Rows]:
        allow(node, "expressions")
        inner = dict(known)
        for query in node.expressions:
            allow(query, "this", "alias")
            inner[query.alias.lower()] = self._renamed(self.read(query.this, inner), query)
        return inner

    def _union(self, node: exp.Union, known: Mapping[str, _Rows], *, named: bool) -> _Rows:
        allow(node, "this", "expression", "distinct", "with_")
        left, right = self.read(node.this, known, named=named), self.read(node.expression, known, named=False)
        if len(left.schema.columns) != len(right.schema.columns):
            raise UnsupportedByReferenceError("a UNION of different widths")
        pairs = [same_type([_column(side, i) for side in (left, right)]) for i in range(len(left.schema.columns))]
        schema = Schema(tuple(Field(c.name, p[0].type) for c, p in zip(left.schema.columns, pairs, strict=True)))
        if node.args.get("distinct"):
            check_groupable(schema)
        parts = [
            f"SELECT {_listed([pair[i] for pair in pairs])} FROM ({side.sql})" for i, side in enumerate((left, right))
        ]
        word = "UNION" if node.args.get("distinct") else "UNION ALL"
        return _Rows(sql=f"({parts[0]}) {word} ({parts[1]})", schema=schema, probes=left.probes + right.probes)

    def _select(self, node: exp.Select, known: Mapping[str, _Rows], *, named: bool) -> _Rows:
        allow(node, "expressions", "from_", "joins", "where", "group", "distinct", "with_", "hint", "kind")
        source = self._from(node, known)
        translator = self._translator(source)
        probes = list(source.probes)
        where = ""
        if node.args.get("where") is not None:
            condition = translator.condition(node.args["where"].this)
            where = f" WHERE {condition.sql}"
            if condition.partial:  # whatever order Spark evaluates it in
                parts = [translator.condition(part) for part in _conjuncts(node.args["where"].this)]
                probes.append(f"SELECT {', '.join(f'count({part.sql})' for part in parts)}{source.sql}")
        group = self._grouping(node, translator)
        columns = self._columns(node.expressions, source, translator, group, named=named)
        schema = Schema(tuple(Field(name, value.type) for name, value in columns))
        distinct = ""
        if node.args.get("distinct") is not None:
            allow(node.args["distinct"])
            check_groupable(schema)
            distinct = "DISTINCT "
        grouped = f" GROUP BY {', '.join(value.sql for value in group)}" if group else ""
        listed = _listed([value for _, value in columns])
        return _Rows(sql=f"SELECT {distinct}{listed}{source.sql}{where}{grouped}", schema=schema, probes=tuple(probes))

    def _grouping(self, node: exp.Select, translator: Translator) -> list[Typed] | None:
        """Give the grouping columns; None where the query does not aggregate."""
        group = node.args.get("group")
        if group is None:
            aggregates = any(item.find(exp.AggFunc) is not None for item in node.expressions)
            return [] if aggregates else None
        allow(group, "expressions")
        if not all(isinstance(item, exp.Column) for item in group.expressions):
            raise UnsupportedByReferenceError("GROUP BY something else than columns")
        try:
            values = [translator.translate(item) for item in group.expressions]
        except RejectedError:
            raise UnsupportedByReferenceError("GROUP BY an alias") from None
        check_groupable(Schema(tuple(Field("", value.type) for value in values)))
        return values

    def _columns(
        self,
        items: Sequence[exp.Expr],
        source: _From,
        translator: Translator,
        group: list[Typed] | None,
        *,
        named: bool,
    ) -> list[tuple[str, Typed]]:
        columns: list[tuple[str, Typed]] = []
        for number, item in enumerate(items):
            if item.is_star and isinstance(item, exp.Star | exp.Column):
                if group is not None:
                    raise UnsupportedByReferenceError("a star beside an aggregate")
                columns += _star(item, source, translator.scope)
                continue
            name = output_name(item) if named else f"col{number}"
            value = self._value(aliased(item), translator, group, [seen for seen, _ in columns])
            columns.append((name, value))
        return columns

    def _value(self, node: exp.Expr, translator: Translator, group: list[Typed] | None, before: Sequence[str]) -> Typed:
        try:
            if group is not None and isinstance(node, exp.AggFunc):
                return aggregate(node, translator)
            value = translator.translate(node)
        except RejectedError as rejected:
            used = [column.parts[0].name for column in node.find_all(exp.Column)]
            if rejected.error_class == _UNRESOLVED and any(translator.scope.same(u, b) for u in used for b in before):
                raise UnsupportedByReferenceError("a column alias used beside it") from None
            raise
        if group is not None and not any(value.sql == one.sql for one in group) and node.find(exp.Column):
            raise UnsupportedByReferenceError("a column beside an aggregate")
        return value

    def _from(self, node: exp.Select, known: Mapping[str, _Rows]) -> _From:
        if node.args.get("from_") is None:
            return _From()
        source = self._relation(node.args["from_"].this, known, 0)
        crossed = False
        for number, join in enumerate(node.args.get("joins") or (), start=1):
            allow(join, "this", "side", "kind", "on")
            kind, side = str(join.args.get("kind") or "").upper(), str(join.args.get("side") or "").upper()
            on = join.args.get("on")
            if kind not in ("", "INNER", "CROSS", "OUTER") or (crossed and on is not None) or (side and on is None):
                raise UnsupportedByReferenceError("this kind of join")
            crossed = crossed or kind == "CROSS"
            source = self._joined(source, self._relation(join.this, known, number), side, on)
        return source

    def _joined(self, left: _From, right: _From, side: str, on: exp.Expr | None) -> _From:
        relations, probes = left.relations + right.relations, left.probes + right.probes
        right_sql = right.sql.removeprefix(" FROM ")
        crossed = f"{left.sql} CROSS JOIN {right_sql}"
        if on is None:
            return _From(sql=crossed, relations=relations, probes=probes)
        condition = self._translator(_From(relations=relations)).condition(on)
        if condition.partial:
            probes = (*probes, f"SELECT count({condition.sql}){crossed}")
        sql = f"{left.sql} {side} JOIN {right_sql} ON {condition.sql}"
        return _From(sql=sql, relations=relations, probes=probes)

    def _relation(self, node: exp.Expr, known: Mapping[str, _Rows], number: int) -> _From:
        if isinstance(node, exp.Table):
            rows = known.get(table_name(node).lower())
            if rows is None:
                raise RejectedError("TABLE_OR_VIEW_NOT_FOUND", f"The table or view {node.name} cannot be found.")
            if not rows.schema.columns:
                raise UnsupportedByReferenceError("a source query over a table without columns")
            qualifier = node.alias or node.name
        elif isinstance(node, exp.Subquery):
            allow(node, "this", "alias", "with_")
            rows, qualifier = self.read(node.this, known), node.alias
        elif isinstance(node, exp.Values):
            rows, qualifier = self._values(node), node.alias
        else:
            raise UnsupportedByReferenceError(f"source query from {type(node).__name__}")
        rows = self._renamed(rows, node)
        values = tuple(f"q{number}.c{i}" for i in range(len(rows.schema.columns)))
        relation = Relation(side=Side.SOURCE, qualifier=qualifier, schema=rows.schema, values=values)
        return _From(sql=f" FROM ({rows.sql}) AS q{number}", relations=(relation,), probes=rows.probes)

    def _values(self, node: exp.Values) -> _Rows:
        """Read an inline table; Spark evaluates it during analysis."""
        allow(node, "expressions", "alias")
        translator = self._translator(_From())
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        if len({len(row) for row in rows}) != 1:
            raise UnsupportedByReferenceError("an inline table of different widths")
        try:
            by_column = [
                same_type([translator.translate(item) for item in column]) for column in zip(*rows, strict=True)
            ]
        except RejectedError:
            raise UnsupportedByReferenceError("an inline table that does not resolve") from None
        schema = Schema(tuple(Field(f"col{i}", column[0].type) for i, column in enumerate(by_column, start=1)))
        parts = [f"SELECT {_listed([column[i] for column in by_column])}" for i in range(len(rows))]
        return _Rows(sql=" UNION ALL ".join(parts), schema=schema)

    def _renamed(self, rows: _Rows, node: exp.Expr) -> _Rows:
        """Apply ``AS v(a, b)``."""
        alias = node.args.get("alias")
        names = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
        if not names:
            return rows
        if len(names) != len(rows.schema.columns):
            raise UnsupportedByReferenceError("column aliases of another number than the columns")
        columns = tuple(Field(name, c.type) for name, c in zip(names, rows.schema.columns, strict=True))
        return _Rows(sql=rows.sql, schema=Schema(columns), probes=rows.probes)

    def _translator(self, source: _From) -> Translator:
        return Translator(
            Scope(
                relations=source.relations,
                place="source query",
                case_sensitive=self.case_sensitive,
                unresolved=_UNRESOLVED,
            )
        )


def _star(item: exp.Expr, source: _From, scope: Scope) -> list[tuple[str, Typed]]:
    star = item if isinstance(item, exp.Star) else item.this
    allow(star)
    relations = source.relations
    if isinstance(item, exp.Column):
        relations = tuple(r for r in relations if scope.same(r.qualifier, item.table))
    if not relations:
        raise UnsupportedByReferenceError("a star of something else than a table")
    return [
        (column.name, relation.typed(index))
        for relation in relations
        for index, column in enumerate(relation.schema.columns)
    ]


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    inner = node.unnest()
    return list(inner.flatten()) if isinstance(inner, exp.And) else [inner]


def _column(rows: _Rows, index: int) -> Typed:
    values = tuple(f"c{i}" for i in range(len(rows.schema.columns)))
    return Relation(side=Side.SOURCE, qualifier="", schema=rows.schema, values=values).typed(index)


def _columns(width: int) -> str:
    return ", ".join(f"c{i}" for i in range(width))


def _listed(values: Sequence[Typed]) -> str:
    return ", ".join(f"{value.sql} AS c{i}" for i, value in enumerate(values))
