"""Write the MERGE of a case in DuckDB's SQL.

Expressions are translated as the reference translates them, with their casts spelled out, so that DuckDB is held
against the meaning of a merge and not against Spark's dialect. Everything else stays as it is written: names and their
qualifiers, the order of clauses, conjuncts and parentheses, stars if DuckDB's mean the same, subqueries. What breaks
a rule of the specification is handed over as it is, for DuckDB to find.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.engines.duckdb.native_names import WrittenNames, native_relation
from mergecheck.harness.engines.duckdb.native_values import AlignedValues, GeneratedColumnError
from mergecheck.harness.engines.duckdb.plain_sql import with_bound_fields, with_plain_casts
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import VOID, Schema
from mergecheck.model.types.typed import TableSide, Typed, identifier
from mergecheck.reference.analysis.clause_names import ClauseNames
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.queries.query_reader import Reader, Rows
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.harness.engines.duckdb.options import DuckDbOptions
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.expressions.names import Scope
    from mergecheck.reference.syntax.statement import Clause, Statement

_WORDS = {
    Kind.MATCHED: "MATCHED",
    Kind.NOT_MATCHED: "NOT MATCHED",
    Kind.NOT_MATCHED_BY_SOURCE: "NOT MATCHED BY SOURCE",
}
_STARS = {
    (Action.UPDATE, True): "UPDATE SET *",
    (Action.INSERT, True): "INSERT *",
    (Action.UPDATE, False): "UPDATE BY NAME",
    (Action.INSERT, False): "INSERT BY NAME",
}
_SHORT = {Action.UPDATE: "UPDATE", Action.INSERT: "INSERT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeWriter:
    """Writes one statement.

    Attributes:
        tables: the tables that a subquery may read, by lower-case name.
        source_text: the text after USING for a source that is a table, in DuckDB SQL.
    """

    statement: Statement
    target_schema: Schema
    source_schema: Schema
    settings: Settings
    options: DuckDbOptions
    tables: Mapping[str, Rows]
    source_text: str

    def text(self) -> str:
        """Write the statement without RETURNING.

        Raises:
            UnsupportedByReferenceError: if DuckDB, or this project, cannot express it.
        """
        alias = f" AS {identifier(self.statement.target_alias)}" if self.statement.target_alias else ""
        parts = [f"MERGE INTO {identifier(self.statement.target)}{alias}", f"USING {self._source()}"]
        parts.append(f"ON {self._condition(self.statement.on, Kind.MATCHED)}")
        parts += [self._clause(clause) for clause in self.statement.clauses]
        if self.options.clauses == "do-nothing" and self.statement.clauses:
            parts += self._nothing()
        return with_bound_fields(with_plain_casts(" ".join(parts)))

    @property
    def target_name(self) -> str:
        """What qualifies the target's columns."""
        return self.statement.target_alias or self.statement.target

    @property
    def source_name(self) -> str:
        """What qualifies the source's columns; a query may go without a name."""
        return self.statement.source_alias or self.statement.source

    def _source(self) -> str:
        alias = f" AS {identifier(self.statement.source_alias)}" if self.statement.source_alias else ""
        if self.statement.source_query is None:
            named = self.source_text == identifier(self.statement.source)
            return self.source_text + (alias if alias or named else f" AS {identifier(self.statement.source)}")
        rows = Reader(case_sensitive=self.settings.case_sensitive).read(self.statement.source_query, self.tables)
        listed = ", ".join(f"c{i} AS {identifier(column.name)}" for i, column in enumerate(rows.schema.columns))
        return f"(SELECT {listed} FROM ({rows.sql})){alias}"

    def _names(self) -> ClauseNames:
        return ClauseNames(
            target=native_relation(TableSide.TARGET, self.target_name, self.target_schema),
            source=native_relation(TableSide.SOURCE, self.source_name, self.source_schema),
            case_sensitive=self.settings.case_sensitive,
        )

    def _scope(self, kind: Kind) -> WrittenNames:
        scope = self._names().scope(kind, "clause")
        return WrittenNames(relations=scope.relations, place=scope.place, case_sensitive=scope.case_sensitive)

    def _translator(self, kind: Kind) -> Translator:
        return Translator(self._scope(kind), subqueries=self._subquery, clock=dt.datetime.now(dt.UTC))

    def _subquery(self, query: exp.Expr, outer: Scope) -> Typed:
        rows = Reader(case_sensitive=outer.case_sensitive).read(query, self.tables, named=False)
        if len(rows.schema.columns) != 1:
            raise UnsupportedByReferenceError("a subquery that gives more than one value")
        data_type = rows.schema.columns[0].type
        return Typed(sql="NULL" if data_type == VOID else f"(SELECT c0 FROM ({rows.sql}))", type=data_type)

    def _condition(self, node: exp.Expr, kind: Kind) -> str:
        """Keep conjuncts and parentheses of the outermost level as they are written."""
        if isinstance(node, exp.Paren):
            return f"({self._condition(node.this, kind)})"
        if isinstance(node, exp.And):
            return f"{self._condition(node.this, kind)} AND {self._condition(node.expression, kind)}"
        return self._or_written(lambda: self._translator(kind).condition(node).sql, node)

    def _or_written(self, translate: Callable[[], str], node: exp.Expr) -> str:
        try:
            return translate()
        except RejectedError:
            return node.sql(dialect="duckdb")

    def _clause(self, clause: Clause) -> str:
        words = _WORDS[clause.kind]
        if clause.kind is Kind.NOT_MATCHED and self.options.clauses == "by-target":
            words += " BY TARGET"
        condition = "" if clause.condition is None else f" AND {self._condition(clause.condition, clause.kind)}"
        return f"WHEN {words}{condition} THEN {self._action(clause)}"

    def _nothing(self) -> list[str]:
        """Return clauses that do nothing, for every kind that may let a row pass."""
        open_kinds = [
            kind for kind in Kind if not any(c.kind is kind and c.condition is None for c in self.statement.clauses)
        ]
        return [f"WHEN {_WORDS[kind]} THEN DO NOTHING" for kind in open_kinds]

    def _action(self, clause: Clause) -> str:
        if clause.action is Action.DELETE:
            return "DELETE"
        if clause.star and (star := self._star(clause.action)) is not None and self.options.star != "explicit":
            return star
        try:
            values = self._values().of(clause)
        except GeneratedColumnError:
            raise
        except RejectedError:
            return self._written(clause)
        return _assignment_text(clause.action, values)

    def _star(self, action: Action) -> str | None:
        """Give DuckDB's own star, if source and target have the same columns of the same types; else None."""
        columns = {column.name.lower(): column.type for column in self.source_schema.columns}
        if columns != {column.name.lower(): column.type for column in self.target_schema.columns}:
            return None
        if any(column.generated is not None for column in self.target_schema.columns):
            return None
        same_order = list(columns) == [column.name.lower() for column in self.target_schema.columns]
        if same_order and self.options.star == "short":
            return _SHORT[action]
        return _STARS[action, same_order and self.options.star != "by-name"]

    def _values(self) -> AlignedValues:
        return AlignedValues(names=self._names(), settings=self.settings, translator=self._translator)

    def _written(self, clause: Clause) -> str:
        """Hand a clause that breaks a rule over as it is written, a star as the columns that it means (R-201)."""
        if clause.star:
            names = [identifier(column.name) for column in self.target_schema.columns]
            source = identifier(self.source_name)
            return _assignment_text(clause.action, {name: f"{source}.{name}" for name in names}, quoted=True)
        columns = [self._written_column(path) for path in clause.columns]
        translator = self._translator(clause.kind)
        values = [self._or_written(partial(_translated, translator, value), value) for value in clause.values]
        if clause.action is Action.INSERT:
            return f"INSERT ({', '.join(columns)}) VALUES ({', '.join(values)})"
        return "UPDATE SET " + ", ".join(f"{c} = {v}" for c, v in zip(columns, values, strict=True))

    def _written_column(self, path: tuple[str, ...]) -> str:
        own = len(path) > 1 and path[0].lower() == self.target_name.lower()
        return ".".join(identifier(part) for part in (path[1:] if own else path))


def _translated(translator: Translator, node: exp.Expr) -> str:
    return translator.translate(node).sql


def _assignment_text(action: Action, values: Mapping[str, str], *, quoted: bool = False) -> str:
    names = [name if quoted else identifier(name) for name in values]
    if action is Action.INSERT:
        return f"INSERT ({', '.join(names)}) VALUES ({', '.join(values.values())})"
    return "UPDATE SET " + ", ".join(f"{name} = {value}" for name, value in zip(names, values.values(), strict=True))


def readable(relation: str, schema: Schema) -> Rows:
    """Give a relation, in DuckDB SQL, as queries see it: columns ``c0``, ``c1``, ..."""
    listed = ", ".join(f"{identifier(column.name)} AS c{i}" for i, column in enumerate(schema.columns))
    return Rows(sql=f"SELECT {listed} FROM {relation}", schema=schema.plain)
