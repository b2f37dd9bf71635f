"""Translate the parts of a source query to DuckDB: WITH, UNION, SELECT, FROM, joins, inline tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import Field, Schema
from mergecheck.model.types.typed import TableSide, Typed
from mergecheck.reference.expressions.comparisons import compare
from mergecheck.reference.expressions.functions import same_type
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.queries.aggregates import check_groupable
from mergecheck.reference.queries.generators import generated, is_generator
from mergecheck.reference.queries.query_columns import UNRESOLVED, Listed, columns, grouping, in_query, origins
from mergecheck.reference.queries.row_limits import cut, having_of, qualifying, sort_keys
from mergecheck.reference.queries.windows import with_named_windows
from mergecheck.reference.syntax.query_tree import aliased, allow, asks_query, conjuncts, described, table_name
from mergecheck.reference.syntax.statement import is_name, name_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_SELECT = (
    *("expressions", "from_", "joins", "laterals", "where", "group", "having", "windows", "qualify", "distinct"),
    *("order", "limit", "offset", "with_", "hint", "kind"),
)


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
    """Translates the parts of a query; ``known`` are the tables and the WITH queries in sight.

    Attributes:
        depth: in how many queries of EXISTS and IN it reads, so that each has names of its own for its relations.
    """

    case_sensitive: bool
    depth: int = 0

    def read(self, node: exp.Expr, known: Mapping[str, Rows], *, named: bool = True) -> Rows:
        """Translate a query; ``named`` is False if the names of its columns are not visible."""
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
        # Spark takes the names of a UNION's columns from its first part, and identifies the columns with that part's.
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
        allow(node, *_SELECT)
        node = with_named_windows(node)
        source = self._from(node, known)
        translator = replace(self._translator(source), subqueries=self._subqueries(known))
        probes = list(source.probes)
        where = ""
        if node.args.get("where") is not None:
            where, more = self._where(node.args["where"].this, translator, source, known)
            probes += more
        parts_of_list = (translator.constants(item) for item in node.expressions)
        probes += [f"SELECT {constant.sql}" for constants in parts_of_list for constant in constants]
        group = grouping(node, translator)
        grouped = f" GROUP BY {', '.join(value.sql for value in group)}" if group else ""
        having = ""
        if (filter_ := node.args.get("having")) is not None:
            if not group:
                raise UnsupportedByReferenceError("HAVING without GROUP BY")
            filter_ = having_of(node, filter_.this, translator)
            having = f" HAVING {in_query(translator, group).condition(filter_).sql}"
            parts = [in_query(translator, group).condition(part) for part in _conjuncts(filter_)]
            probes.append(f"SELECT {', '.join(part.sql for part in parts)}{source.sql}{where}{grouped}")
        source, listed = self._listed_columns(node, source, translator, group, named=named)
        schema = Schema(tuple(Field(item.name, item.value.type) for item in listed))
        qualify = ""
        if (filter_ := node.args.get("qualify")) is not None:
            qualify = f" QUALIFY {qualifying(node, filter_.this, translator, group, listed).sql}"
        distinct = ""
        if node.args.get("distinct") is not None:
            allow(node.args["distinct"])
            check_groupable(schema)
            distinct = "DISTINCT "
        keys = sort_keys(node, in_query(translator, group), listed)
        is_cut = node.args.get("limit") is not None or node.args.get("offset") is not None
        if not is_cut and any(key.value.partial for key in keys):
            raise UnsupportedByReferenceError("ORDER BY values that may fail, without a LIMIT")
        values = _listed([*(item.value for item in listed), *(key.value for key in keys if is_cut)])
        sql = f"SELECT {distinct}{values}{source.sql}{where}{grouped}{having}{qualify}"
        if is_cut:
            sql = cut(node, sql, keys, len(listed))
        qualifiers = tuple(item.qualifier for item in listed)
        return Rows(sql=sql, schema=schema, probes=tuple(probes), origins=origins(listed), qualifiers=qualifiers)

    def _where(
        self, node: exp.Expr, translator: Translator, source: From, known: Mapping[str, Rows]
    ) -> tuple[str, list[str]]:
        """Translate WHERE; EXISTS and IN with a query are parts of their own, which AND joins with the others."""
        parts = _conjuncts(node)
        asking = [part for part in parts if asks_query(part)]
        plain = [part for part in parts if not asks_query(part)]
        probes: list[str] = []
        written = []
        if plain and asking:
            node = exp.and_(*plain, copy=True)
        if plain:
            condition = translator.condition(node)
            written.append(condition.sql)
            probes += [f"SELECT {constant.sql}" for constant in translator.constants(node)]
            if condition.partial:  # whatever order Spark evaluates it in
                operands = [translator.operand(part) for part in _conjuncts(node)]
                probes.append(f"SELECT {', '.join(f'count({part.sql})' for part in operands)}{source.sql}")
        for part in asking:
            sql, more = self._existence(part, translator, known)
            written.append(sql)
            probes += more
        return f" WHERE {' AND '.join(written)}", probes

    def _existence(self, node: exp.Expr, outer: Translator, known: Mapping[str, Rows]) -> tuple[str, tuple[str, ...]]:
        """Translate ``[NOT] EXISTS (query)`` or ``[NOT] value IN (query)``, a part of WHERE.

        ``NOT IN`` keeps a row only if its comparison with every row of the query is FALSE, ``IN`` if one is TRUE.
        """
        negated = isinstance(node, exp.Not)
        bare = node.this.unnest() if isinstance(node, exp.Not) else node
        query = bare.this if isinstance(bare, exp.Exists) else bare.args["query"].this
        inner = replace(self, depth=self.depth + 1)
        source, where, values = inner.members(query, outer, known)
        if isinstance(bare, exp.In):
            tested = bare.this.expressions if isinstance(bare.this.unnest(), exp.Tuple) else [bare.this]
            if len(tested) != len(values):
                raise UnsupportedByReferenceError("IN with a query of another width")
            pairs = [compare(exp.EQ, outer.translate(one), value) for one, value in zip(tested, values, strict=True)]
            if any(pair.partial for pair in pairs):
                raise UnsupportedByReferenceError("IN with a query, on values that may fail")
            equal = " AND ".join(pair.sql for pair in pairs)
            where = [*where, f"COALESCE({equal}, TRUE)" if negated else equal]
        filtered = f" WHERE {' AND '.join(where)}" if where else ""
        return f"({'NOT ' if negated else ''}EXISTS (SELECT 1{source.sql}{filtered}))", source.probes

    def members(
        self, query: exp.Expr, outer: Translator, known: Mapping[str, Rows]
    ) -> tuple[From, list[str], list[Typed]]:
        """Give FROM, conditions and columns of a query of EXISTS or IN; names that it does not know are the outer's."""
        clauses = {name for name, value in query.args.items() if value}
        if not isinstance(query, exp.Select) or not clauses <= {"expressions", "from_", "joins", "where"}:
            return self._closed_members(query, known)
        if any(item.find(exp.AggFunc, exp.Window, exp.UDTF) for item in query.expressions):
            return self._closed_members(query, known)
        source = self._from(query, known)
        inner = self._translator(source)

        def special(node: exp.Expr) -> Typed | None:
            if not is_name(node):
                return None
            try:
                inner.scope.column(name_parts(node))
            except RejectedError as rejected:
                if rejected.error_class != UNRESOLVED:
                    raise
                return outer.translate(node)
            return None

        translator = replace(inner, special=special)
        parts = [] if query.args.get("where") is None else _conjuncts(query.args["where"].this)
        conditions = [translator.condition(part) for part in parts if not asks_query(part)]
        # a query inside this one sees the names of this one only, not those outside of it
        nested = [self._existence(part, inner, known) for part in parts if asks_query(part)]
        values = [] if query.is_star else [translator.translate(aliased(item)) for item in query.expressions]
        if any(value.partial for value in (*conditions, *values)):
            raise UnsupportedByReferenceError("EXISTS or IN with a query that may fail")
        if query.is_star and source.relations:
            values = [relation.typed(i) for relation in source.relations for i in range(len(relation.schema.columns))]
        probes = (*source.probes, *(probe for _, more in nested for probe in more))
        return replace(source, probes=probes), [*(one.sql for one in conditions), *(sql for sql, _ in nested)], values

    def _closed_members(self, query: exp.Expr, known: Mapping[str, Rows]) -> tuple[From, list[str], list[Typed]]:
        try:
            rows = self.read(query, known, named=False)
        except RejectedError:
            raise UnsupportedByReferenceError("a query of EXISTS or IN that does not resolve by itself") from None
        name = self._alias("")
        values = [replace(_column(rows, i), sql=f"{name}.c{i}") for i in range(len(rows.schema.columns))]
        return From(sql=f" FROM ({rows.sql}) AS {name}", probes=rows.probes), [], values

    def _listed_columns(
        self, node: exp.Select, source: From, translator: Translator, group: list[Typed] | None, *, named: bool
    ) -> tuple[From, list[Listed]]:
        """Translate the columns of a SELECT, of which one may be a generator, which gives a row for each element."""
        places = [i for i, item in enumerate(node.expressions) if is_generator(aliased(item))]
        if not places:
            return source, columns(node.expressions, translator, group, named=named)
        if len(places) > 1 or group is not None or node.find(exp.Window) is not None:
            raise UnsupportedByReferenceError("a generator beside another, an aggregate or a window")
        item = node.expressions[places[0]]
        names = [item.alias] if isinstance(item, exp.Alias) else [name.name for name in _aliases(item)]
        made = generated(aliased(item), translator, self._alias("g"), names)
        parts = [node.expressions[: places[0]], node.expressions[places[0] + 1 :]]
        before, after = (columns(part, translator, group, named=named) for part in parts)
        mine = [
            Listed(name=column.name, value=made.relation.typed(i))
            for i, column in enumerate(made.relation.schema.columns)
        ]
        from_sql = source.sql or " FROM (SELECT 1) AS nothing"
        return replace(source, sql=f"{from_sql}{made.sql}"), [*before, *mine, *after]

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
        for number, view in enumerate(node.args.get("laterals") or ()):
            allow(view, "this", "view", "outer", "alias")
            alias = view.args["alias"]
            names = [column.name for column in alias.args.get("columns") or ()]
            made = generated(view.this, self._translator(source), self._alias(f"v{number}"), names, view)
            source = From(
                sql=f"{source.sql}{made.sql}", relations=(*source.relations, made.relation), probes=source.probes
            )
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
        name = self._alias(number)
        relation = Relation(
            side=TableSide.SOURCE,
            qualifier=qualifier,
            schema=rows.schema,
            values=_columns_of(name, len(rows.schema.columns)),
            origins=rows.origins,
            qualifiers=None if qualifier else rows.qualifiers,
            has_metadata=None,
        )
        return From(sql=f" FROM ({rows.sql}) AS {name}", relations=(relation,), probes=rows.probes)

    def _alias(self, number: int | str) -> str:
        return f"{'q' * (self.depth + 1)}{number}"

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


def _aliases(item: exp.Expr) -> list[exp.Expr]:
    return item.expressions if isinstance(item, exp.Aliases) else []


def _columns_of(name: str, width: int) -> tuple[str, ...]:
    return tuple(f"{name}.c{i}" for i in range(width))


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    return list(conjuncts(node))


def _column(rows: Rows, index: int) -> Typed:
    values = tuple(f"c{i}" for i in range(len(rows.schema.columns)))
    return Relation(side=TableSide.SOURCE, qualifier="", schema=rows.schema, values=values).typed(index)


def _listed(values: Sequence[Typed]) -> str:
    return ", ".join(f"{value.sql} AS c{i}" for i, value in enumerate(values))
