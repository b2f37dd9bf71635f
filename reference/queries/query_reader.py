"""Translate the parts of a source query to DuckDB: WITH, UNION, SELECT, FROM, joins, inline tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.expressions.functions import same_type
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.queries.aggregates import check_groupable
from mergecheck.reference.queries.query_columns import UNRESOLVED, columns, grouping, in_query, origins
from mergecheck.reference.syntax.query_tree import allow, described, table_name
from mergecheck.reference.types.data_types import Field, Schema
from mergecheck.reference.types.typed import Side, Typed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A relation: a DuckDB query with columns ``c<i>``, and the queries that must not fail if Spark's do not.

    Attributes:
        origins, qualifiers: as of ``mergecheck.reference.expressions.names.Relation``.
    """

    sql: str
    schema: Schema
    probes: tuple[str, ...] = ()
    origins: tuple[int, ...] | None = None
    qualifiers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class From:
    """What FROM offers: its DuckDB text, and the relations that names may mean."""

    sql: str = ""
    relations: tuple[Relation, ...] = ()
    probes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Translates the parts of a query; ``known`` are the tables and the WITH queries in sight."""

    case_sensitive: bool

    def read(self, node: exp.Expr, known: Mapping[str, Rows], *, named: bool = True) -> Rows:
        """Translate a query; ``named`` is False if nobody sees the names of its columns."""
        if isinstance(node, exp.Query) and (with_ := node.args.get("with_")) is not None:
            known = self._with(with_, known)
        if isinstance(node, exp.Select):
            return self._select(node, known, named=named)
        if isinstance(node, exp.Union | exp.Except | exp.Intersect):
            return self._union(node, known, named=named)
        if isinstance(node, exp.Subquery) and not node.args.get("alias"):
            allow(node, "this", "with_")
            return self.read(node.this, known, named=named)
        raise UnsupportedByReferenceError(f"a source query that begins with {described(node)}")

    def _with(self, node: exp.Expr, known: Mapping[str, Rows]) -> Mapping[str, Rows]:
        allow(node, "expressions")
        inner = dict(known)
        for query in node.expressions:
            allow(query, "this", "alias")
            inner[query.alias.lower()] = self._renamed(self.read(query.this, inner), query)
        return inner

    def _union(self, node: exp.SetOperation, known: Mapping[str, Rows], *, named: bool) -> Rows:
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
        if not isinstance(node, exp.Union) and not node.args.get("distinct"):
            raise UnsupportedByReferenceError(f"{node.key.upper()} ALL")
        word = f"{node.key.upper()}{'' if node.args.get('distinct') else ' ALL'}"
        # Spark names the columns of a UNION by those of its first part, and takes them for the same.
        sql = f"({parts[0]}) {word} ({parts[1]})"
        # A column that is cast for it is another one.
        kept = zip(left.qualifiers or ("",) * len(pairs), left.schema.columns, schema.columns, strict=True)
        qualifiers = tuple(name if before.type == after.type else "" for name, before, after in kept)
        return Rows(
            sql=sql,
            schema=schema,
            probes=left.probes + right.probes,
            origins=left.origins,
            qualifiers=qualifiers,
        )

    def _select(self, node: exp.Select, known: Mapping[str, Rows], *, named: bool) -> Rows:
        allow(node, "expressions", "from_", "joins", "where", "group", "having", "distinct", "with_", "hint", "kind")
        source = self._from(node, known)
        translator = replace(self._translator(source), subqueries=self._subqueries(known))
        probes = list(source.probes)
        where = ""
        if node.args.get("where") is not None:
            condition = translator.condition(node.args["where"].this)
            probes += [f"SELECT {constant.sql}" for constant in translator.constants(node.args["where"].this)]
            where = f" WHERE {condition.sql}"
            if condition.partial:  # whatever order Spark evaluates it in
                parts = [translator.operand(part) for part in _conjuncts(node.args["where"].this)]
                probes.append(f"SELECT {', '.join(f'count({part.sql})' for part in parts)}{source.sql}")
        parts_of_list = (translator.constants(item) for item in node.expressions)
        probes += [f"SELECT {constant.sql}" for constants in parts_of_list for constant in constants]
        group = grouping(node, translator)
        grouped = f" GROUP BY {', '.join(value.sql for value in group)}" if group else ""
        having = ""
        if (filter_ := node.args.get("having")) is not None:
            if not group:
                raise UnsupportedByReferenceError("HAVING without GROUP BY")
            condition = in_query(translator, group).condition(filter_.this)
            having = f" HAVING {condition.sql}"
            parts = [in_query(translator, group).condition(part) for part in _conjuncts(filter_.this)]
            probes.append(f"SELECT {', '.join(part.sql for part in parts)}{source.sql}{where}{grouped}")
        listed = columns(node.expressions, translator, group, named=named)
        schema = Schema(tuple(Field(item.name, item.value.type) for item in listed))
        distinct = ""
        if node.args.get("distinct") is not None:
            allow(node.args["distinct"])
            check_groupable(schema)
            distinct = "DISTINCT "
        values = _listed([item.value for item in listed])
        sql = f"SELECT {distinct}{values}{source.sql}{where}{grouped}{having}"
        qualifiers = tuple(item.qualifier for item in listed)
        return Rows(sql=sql, schema=schema, probes=tuple(probes), origins=origins(listed), qualifiers=qualifiers)

    def _from(self, node: exp.Select, known: Mapping[str, Rows]) -> From:
        if node.args.get("from_") is None:
            return From()
        source = self._relation(node.args["from_"].this, known, 0)
        crossed = False
        for number, join in enumerate(node.args.get("joins") or (), start=1):
            allow(join, "this", "side", "kind", "on")
            kind, side = str(join.args.get("kind") or "").upper(), str(join.args.get("side") or "").upper()
            on = join.args.get("on")
            if kind in ("SEMI", "ANTI") and side in ("", "LEFT") and on is not None:
                source = self._filtered(source, self._relation(join.this, known, number), kind, on)
                continue
            if kind not in ("", "INNER", "CROSS", "OUTER") or (crossed and on is not None) or (side and on is None):
                raise UnsupportedByReferenceError("this kind of join")
            crossed = crossed or kind == "CROSS"
            source = self._joined(source, self._relation(join.this, known, number), side, on)
        return source

    def _joined(self, left: From, right: From, side: str, on: exp.Expr | None) -> From:
        relations, probes = left.relations + right.relations, left.probes + right.probes
        right_sql = right.sql.removeprefix(" FROM ")
        crossed = f"{left.sql} CROSS JOIN {right_sql}"
        if on is None:
            return From(sql=crossed, relations=relations, probes=probes)
        condition = self._translator(From(relations=relations)).condition(on)
        if condition.partial:
            probes = (*probes, f"SELECT count({condition.sql}){crossed}")
        sql = f"{left.sql} {side} JOIN {right_sql} ON {condition.sql}"
        return From(sql=sql, relations=relations, probes=probes)

    def _filtered(self, left: From, right: From, kind: str, on: exp.Expr) -> From:
        """Keep the rows on the left that have a partner, or those that have none."""
        both = self._joined(left, right, "", on)
        condition = self._translator(From(relations=both.relations)).condition(on)
        sql = f"{left.sql} {kind} JOIN {right.sql.removeprefix(' FROM ')} ON {condition.sql}"
        return From(sql=sql, relations=left.relations, probes=both.probes)

    def _relation(self, node: exp.Expr, known: Mapping[str, Rows], number: int) -> From:
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
            raise UnsupportedByReferenceError(f"a source query from {described(node)}")
        rows = self._renamed(rows, node)
        values = tuple(f"q{number}.c{i}" for i in range(len(rows.schema.columns)))
        relation = Relation(
            side=Side.SOURCE,
            qualifier=qualifier,
            schema=rows.schema,
            values=values,
            origins=rows.origins,
            qualifiers=None if qualifier else rows.qualifiers,
            has_metadata=None,
        )
        return From(sql=f" FROM ({rows.sql}) AS q{number}", relations=(relation,), probes=rows.probes)

    def _values(self, node: exp.Values) -> Rows:
        """Read an inline table; Spark evaluates it during analysis."""
        allow(node, "expressions", "alias")
        translator = self._translator(From())
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
        return Rows(sql=" UNION ALL ".join(parts), schema=schema)

    def _renamed(self, rows: Rows, node: exp.Expr) -> Rows:
        """Apply ``AS v(a, b)``."""
        alias = node.args.get("alias")
        names = [column.name for column in alias.args.get("columns") or ()] if alias is not None else []
        if not names:
            return rows
        if len(names) != len(rows.schema.columns):
            raise UnsupportedByReferenceError("column aliases of another number than the columns")
        columns = tuple(Field(name, c.type) for name, c in zip(names, rows.schema.columns, strict=True))
        return Rows(sql=rows.sql, schema=Schema(columns), probes=rows.probes)

    def _subqueries(self, known: Mapping[str, Rows]) -> Callable[[exp.Expr, Scope], Typed]:
        """Give what translates a query of one value that uses no column from outside of it."""

        def value(query: exp.Expr, _: Scope) -> Typed:
            try:
                rows = self.read(query, known, named=False)
            except RejectedError:
                raise UnsupportedByReferenceError("a subquery that does not resolve by itself") from None
            if len(rows.schema.columns) != 1 or rows.probes:
                raise UnsupportedByReferenceError("a subquery that gives more than one value, or that may fail")
            one = _column(rows, 0)
            return Typed(sql=f"(SELECT {one.sql} FROM ({rows.sql}))", type=one.type, partial=True)

        return value

    def _translator(self, source: From) -> Translator:
        return Translator(
            Scope(
                relations=source.relations,
                place="source query",
                case_sensitive=self.case_sensitive,
                unresolved=UNRESOLVED,
            )
        )


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    inner = node.unnest()
    return list(inner.flatten()) if isinstance(inner, exp.And) else [inner]


def _column(rows: Rows, index: int) -> Typed:
    values = tuple(f"c{i}" for i in range(len(rows.schema.columns)))
    return Relation(side=Side.SOURCE, qualifier="", schema=rows.schema, values=values).typed(index)


def _listed(values: Sequence[Typed]) -> str:
    return ", ".join(f"{value.sql} AS c{i}" for i, value in enumerate(values))
