"""A small scope: its tables and its statements, all of them, each with a number.

What is the same merge twice is left out and counted: another order of a table's rows, and the two values swapped in a
statement without a literal.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from mergecheck.harness.lab.exhaustive.row_model import Function, Merge, compiled
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.storage import TargetLayout
from mergecheck.model.types.data_types import Schema, StructType, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType

Expression: TypeAlias = Any
"""A column as text, a literal, or an operator with its operands in a tuple."""

MATCHED, NOT_MATCHED, BY_SOURCE = KINDS = ("matched", "not matched", "not matched by source")
DELETE, STAR = "delete", "*"
_INSERT_ONLY = "spark.databricks.delta.merge.optimizeInsertOnlyMerge.enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """How the pairs of tables are stored, and the settings of their merges.

    Attributes:
        target, source: columns, if they are not the scope's.
        files: ``apart``, a row in each file, or ``together``, all in one.
        evolves: whether statements begin with MERGE WITH SCHEMA EVOLUTION.
    """

    name: str
    target: Schema
    source: Schema
    files: str = "apart"
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    layout: TargetLayout = field(default_factory=TargetLayout)
    evolves: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tables; ``weight`` is the number of pairs of lists of rows for which it stands."""

    target: tuple[Row, ...]
    source: tuple[Row, ...]
    weight: int


@dataclass(frozen=True, slots=True)
class Clause:
    """A WHEN clause; the action is DELETE, a star, or a value for each assigned column."""

    kind: str
    condition: Expression
    action: str | tuple[tuple[str, Expression], ...]

    def sql(self) -> str:
        """Write the clause."""
        condition = "" if self.condition is True else f" AND {condition_sql(self.condition)}"
        return f"WHEN {self.kind.upper()}{condition} THEN {self._action()}"

    def _action(self) -> str:
        if self.action == DELETE:
            return "DELETE"
        if isinstance(self.action, str):
            return "INSERT *" if self.kind == NOT_MATCHED else "UPDATE SET *"
        if self.kind == NOT_MATCHED:
            values = ", ".join(expression_sql(value) for _, value in self.action)
            return f"INSERT ({', '.join(quote(column) for column, _ in self.action)}) VALUES ({values})"
        return "UPDATE SET " + ", ".join(f"{quote(column)} = {expression_sql(value)}" for column, value in self.action)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of the scope on tables of one kind."""

    number: int
    tables: Tables
    on: Expression
    clauses: tuple[Clause, ...]

    @cached_property
    def sql(self) -> str:
        """The statement as text."""
        merge = "MERGE WITH SCHEMA EVOLUTION INTO" if self.tables.evolves else "MERGE INTO"
        clauses = " ".join(clause.sql() for clause in self.clauses)
        return f"{merge} target t USING source s ON {condition_sql(self.on)} {clauses}"

    @property
    def final_columns(self) -> tuple[str, ...]:
        """The columns of the target after the merge."""
        old = self.tables.target.names
        if not self.tables.evolves:
            return tuple(old)
        assigned = {name for c in self.clauses if not isinstance(c.action, str) for name, _ in c.action}
        star = any(clause.action == STAR for clause in self.clauses)
        return (*old, *(name for name in self.tables.source.names if name not in old and (star or name in assigned)))

    @property
    def is_insert_only(self) -> bool:
        """Whether all clauses are inserts."""
        return all(clause.kind == NOT_MATCHED for clause in self.clauses)

    @property
    def is_path_a(self) -> bool:
        """Whether it is one anti-join, which looks for no ambiguity (R-402)."""
        return self.is_insert_only and self.tables.conf.get(_INSERT_ONLY, "true") == "true"

    @property
    def is_sole_delete(self) -> bool:
        """Whether its only MATCHED clause is a DELETE without a condition (R-006).

        A second definition on purpose: the row model checks the reference, and shares nothing with it.
        """
        return [(c.condition, c.action) for c in self.clauses if c.kind == MATCHED] == [(True, DELETE)]

    @property
    def is_symmetric(self) -> bool:
        """Whether the values may be swapped: there is no literal, and no operator but those on equality."""
        parts: list[Expression] = [self.on]
        for clause in self.clauses:
            parts += [clause.condition, *(() if isinstance(clause.action, str) else (v for _, v in clause.action))]
        return not any(map(_has_order, parts))

    def merge(self) -> Merge:
        """Return the statement for the row model."""
        names = {"t": self.final_columns, "s": tuple(self.tables.source.names)}
        clauses = {
            kind: [(compiled(c.condition, names), self._values(c, names)) for c in self.clauses if c.kind == kind]
            for kind in KINDS
        }
        return Merge(
            on=compiled(self.on, names),
            matched=clauses[MATCHED],
            inserts=clauses[NOT_MATCHED],
            by_source=clauses[BY_SOURCE],
            takes_several=self.is_path_a or self.is_sole_delete,
        )

    def case(self, pair: Pair) -> Case:
        """Return the merge of one pair of tables."""
        tables = self.tables
        files = tuple((row,) for row in pair.target) if tables.files == "apart" else (pair.target,)
        return Case(
            id="pair",
            target=Target(
                schema=tables.target,
                files=tuple(file for file in files if file),
                partition_by=tables.partition_by,
                properties=tables.properties,
                layout=tables.layout,
            ),
            source=Source(schema=tables.source, rows=pair.source),
            sql=self.sql,
            conf=tables.conf,
        )

    def placed(self, pair: Pair) -> list[tuple[object, Row]]:
        """Return the target rows as they are after the schema has evolved, each with its file."""
        tables = self.tables
        added = (None,) * (len(self.final_columns) - len(tables.target.names))
        places = [tables.target.names.index(name) for name in tables.partition_by]
        return [
            ((number if tables.files == "apart" else 0, *(row[place] for place in places)), (*row, *added))
            for number, row in enumerate(pair.target)
        ]

    def _values(self, clause: Clause, names: Mapping[str, tuple[str, ...]]) -> tuple[Function, ...] | None:
        if clause.action == DELETE:
            return None
        inserts = clause.kind == NOT_MATCHED
        values: dict[str, Expression] = {name: None if inserts else f"t.{name}" for name in names["t"]}
        if isinstance(clause.action, str):
            values |= {name: f"s.{name}" for name in names["t"] if name in names["s"]}
        else:
            values |= dict(clause.action)
        return tuple(compiled(value, names) for value in values.values())


@dataclass(frozen=True, kw_only=True)
class Scope:
    """All merges of some small tables by some statements.

    Attributes:
        digest: of the scope's data: another one numbers its statements in another way.
        splits: whether pairs that take another path, or have an empty table, are merged apart from the others.
        paths: the paths of R-402 that the whole scope has to take.
    """

    name: str
    summary: str
    digest: str
    values: tuple[Value, ...]
    target_rows: int
    source_rows: int
    kinds: tuple[tuple[str, ...], ...]
    on: tuple[Expression, ...]
    conditions: Mapping[str, tuple[Expression, ...]]
    actions: Mapping[str, tuple[str | tuple[tuple[str, Expression], ...], ...]]
    tables: tuple[Tables, ...]
    every: int = 1
    splits: bool = False
    paths: tuple[str, ...] = ()

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """All statements, by their numbers."""
        found = itertools.product(self.tables, self.on, (c for kinds in self.kinds for c in self._clauses(kinds)))
        chosen = itertools.islice(found, 0, None, self.every)
        return tuple(
            Statement(number=number, tables=tables, on=on, clauses=clauses)
            for number, (tables, on, clauses) in enumerate(chosen)
        )

    @property
    def num_statements(self) -> int:
        """The number of all statements, before ``every`` leaves some out."""
        lists = sum(math.prod(map(len, self._choices(kinds))) for kinds in self.kinds)
        return len(self.tables) * len(self.on) * lists

    def pairs(self, statement: Statement) -> tuple[Pair, ...]:
        """Return the pairs of tables that a statement is tried on."""
        tables = statement.tables
        are_two_numbers = set(map(repr, self.values)) == {"None", "0", "1"}  # False equals 0, and is no number
        return self._pairs(tables.target, tables.source, swaps=statement.is_symmetric and are_two_numbers)

    def _pairs(self, target: Schema, source: Schema, *, swaps: bool) -> tuple[Pair, ...]:
        key = (target, source, swaps)
        if key not in self._known:
            self._known[key] = tuple(self._all_pairs(target, source, swaps=swaps))
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[Schema, Schema, bool], tuple[Pair, ...]]:
        return {}

    def _all_pairs(self, target: Schema, source: Schema, *, swaps: bool) -> Iterator[Pair]:
        targets = _tables(target, self.values, self.target_rows)
        sources = _tables(source, self.values, self.source_rows)
        for one, other in itertools.product(targets, sources):
            swapped = (_swapped_rows(one), _swapped_rows(other)) if swaps else (one, other)
            if repr((one, other)) <= repr(swapped):
                factor = 2 if swapped != (one, other) else 1
                yield Pair(one, other, factor * _orders(one) * _orders(other))

    def _clauses(self, kinds: tuple[str, ...]) -> Iterator[tuple[Clause, ...]]:
        return itertools.product(*self._choices(kinds))

    def _choices(self, kinds: tuple[str, ...]) -> list[list[Clause]]:
        return [
            [
                Clause(kind, condition, action)
                for condition in self.conditions[kind]
                for action in self.actions[kind]
                if condition is not True or kind not in kinds[place + 1 :]
            ]
            for place, kind in enumerate(kinds)
        ]


def expression_sql(expression: Expression) -> str:
    """Write an expression."""
    if isinstance(expression, str):
        side, _, column = expression.partition(".")
        return f"{side}.{quote(column)}"
    if not isinstance(expression, tuple):
        return "NULL" if expression is None else str(expression).upper()
    operator, *operands = expression
    texts = [f"({expression_sql(o)})" if isinstance(o, tuple) else expression_sql(o) for o in operands]
    if operator == "is null":
        return f"{texts[0]} IS NULL"
    return f"NOT {texts[0]}" if operator == "not" else f" {operator.upper()} ".join(texts)


def condition_sql(condition: Expression) -> str:
    """Write a condition; NULL needs a type there."""
    return "CAST(NULL AS BOOLEAN)" if condition is None else expression_sql(condition)


def _has_order(expression: Expression) -> bool:
    if isinstance(expression, tuple):
        return expression[0] in ("<", "+") or any(map(_has_order, expression[1:]))
    return isinstance(expression, int) and not isinstance(expression, bool)


def _domain(kind: DataType, values: tuple[Value, ...]) -> tuple[Value, ...]:
    if isinstance(kind, StructType):
        return (None, *itertools.product(*(_domain(part.type, values) for part in kind.fields)))
    return values


def _tables(schema: Schema, values: tuple[Value, ...], most: int) -> list[tuple[Row, ...]]:
    rows = list(itertools.product(*(_domain(column.type, values) for column in schema.columns)))
    return [table for size in range(most + 1) for table in itertools.combinations_with_replacement(rows, size)]


def _swapped(value: Value) -> Value:
    return tuple(map(_swapped, value)) if isinstance(value, tuple) else None if value is None else 1 - value


def _swapped_rows(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Swap the values of a table, whose rows stay in the order of ``_tables``."""
    return tuple(sorted(map(_swapped, rows), key=_rank))


def _rank(value: Value) -> tuple[Any, ...]:
    return tuple((0, ()) if v is None else (1, _rank(v) if isinstance(v, tuple) else (v,)) for v in value)


def _orders(rows: tuple[Row, ...]) -> int:
    """Count the lists of these rows."""
    return math.factorial(len(rows)) // math.prod(map(math.factorial, Counter(rows).values()))
