"""Expressions in PostgreSQL's SQL, if they mean the same there as in Spark, by their types.

What breaks a rule of Delta's, such as a name that does not resolve, is handed over as it is written, for PostgreSQL to
refuse. What could mean something else is unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.engines.postgres.tables import identifier, postgres_type, quoted
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types import data_types as t
from mergecheck.model.types.data_types import type_word
from mergecheck.model.types.ddl import parse_type
from mergecheck.reference.expressions.comparisons import COMPARISONS
from mergecheck.reference.syntax.query_tree import described
from mergecheck.reference.syntax.statement import name_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.types.data_types import DataType, Schema

_SUMS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-"}


class Family(Enum):
    """Types that compare, and are assigned, alike in both systems."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    SINGLE = "single precision"
    DOUBLE = "double precision"
    TEXT = "text"
    TRUTH = "truth"
    BYTES = "bytes"
    DATE = "date"
    MOMENT = "moment"
    LOCAL_MOMENT = "local moment"
    NULL = "NULL"
    """an untyped NULL, which is of every type"""


_FAMILIES: dict[DataType, Family] = {
    **dict.fromkeys(t.INTEGER_BITS, Family.INTEGER),
    t.FLOAT: Family.SINGLE,
    t.DOUBLE: Family.DOUBLE,
    t.STRING: Family.TEXT,
    t.BOOLEAN: Family.TRUTH,
    t.BINARY: Family.BYTES,
    t.DATE: Family.DATE,
    t.TIMESTAMP: Family.MOMENT,
    t.TIMESTAMP_NTZ: Family.LOCAL_MOMENT,
}
_NUMBERS = {frozenset({Family.INTEGER, Family.DECIMAL}), frozenset({Family.INTEGER, Family.DOUBLE})} | {
    frozenset({Family.SINGLE, Family.DOUBLE})
}
"""Families that compare as numbers of one common type in both systems."""


@dataclass(frozen=True, slots=True)
class Written:
    """An expression in PostgreSQL's SQL and its type; None for an untyped NULL, and for what does not resolve."""

    sql: str
    type: DataType | None

    @property
    def family(self) -> Family:
        """How the value compares."""
        return Family.NULL if self.type is None else family_of(self.type)


def family_of(data_type: DataType) -> Family:
    """Return how values of a type compare.

    Raises:
        UnsupportedByReferenceError: for a type that PostgreSQL does not have.
    """
    if isinstance(data_type, t.DecimalType):
        return Family.DECIMAL
    if data_type not in _FAMILIES:
        raise UnsupportedByReferenceError(f"type {type_word(data_type)}")
    return _FAMILIES[data_type]


@dataclass(frozen=True, slots=True)
class Table:
    """A table in scope: what qualifies its columns, and the columns."""

    qualifier: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class ExpressionWriter:
    """Writes expressions over the columns of some tables."""

    tables: Sequence[Table]

    def condition(self, node: exp.Expr) -> str:
        """Write a condition.

        Raises:
            UnsupportedByReferenceError: for what could mean something else.
        """
        return self.write(node).sql

    def write(self, node: exp.Expr) -> Written:
        """Write an expression.

        Raises:
            UnsupportedByReferenceError: for what could mean something else.
        """
        match node:
            case exp.Paren():
                inner = self.write(node.this)
                return Written(f"({inner.sql})", inner.type)
            case exp.Column() | exp.Dot():
                return self._column(node)
            case exp.Null():
                return Written("NULL", None)
            case exp.Boolean():
                return Written("TRUE" if node.this else "FALSE", t.BOOLEAN)
            case exp.Literal() | exp.Neg() | exp.HexString():
                return _literal(node)
            case exp.And() | exp.Or():
                word = "AND" if isinstance(node, exp.And) else "OR"
                return Written(f"({self._truth(node.this)} {word} {self._truth(node.expression)})", t.BOOLEAN)
            case exp.Not():
                return Written(f"(NOT {self._truth(node.this)})", t.BOOLEAN)
            case exp.Is():
                return self._is(node)
            case exp.In() if not node.args.get("query"):
                value, *options = self._alike(node.this, *node.expressions)
                return Written(f"({value} IN ({', '.join(options)}))", t.BOOLEAN)
            case exp.Between():
                value, low, high = self._alike(node.this, node.args["low"], node.args["high"])
                return Written(f"({value} BETWEEN {low} AND {high})", t.BOOLEAN)
            case exp.Cast():
                return self._cast(node)
            case exp.Coalesce():
                parts = [self.write(each) for each in (node.this, *node.expressions)]
                return Written(f"COALESCE({', '.join(part.sql for part in parts)})", _common_type("COALESCE", parts))
            case exp.Case():
                return self._case(node)
            case exp.IntDiv():
                left, right = self._integers(node)
                return Written(f"CAST({left.sql} / {right.sql} AS bigint)", t.BIGINT)
        if type(node) in COMPARISONS:
            one, other = self._alike(node.this, node.expression)
            return Written(f"({one} {COMPARISONS[type(node)]} {other})", t.BOOLEAN)
        if type(node) in _SUMS:
            left, right = self._integers(node)
            wide = t.BIGINT if t.BIGINT in (left.type, right.type) else left.type
            return Written(f"({left.sql} {_SUMS[type(node)]} {right.sql})", wide)
        raise UnsupportedByReferenceError(described(node))

    def _column(self, node: exp.Expr) -> Written:
        try:
            *qualifier, name = name_parts(node)
        except RejectedError:
            raise UnsupportedByReferenceError("a name that is none") from None
        if len(qualifier) > 1:
            raise UnsupportedByReferenceError("a field of a struct")
        return self.named(name, *qualifier)

    def named(self, name: str, *qualifier: str) -> Written:
        """Write a column; one that is not there, or twice, is handed over as it is written."""
        found = [
            (table, column)
            for table in self.tables
            if not qualifier or table.qualifier.lower() == qualifier[0].lower()
            for column in table.schema.columns
            if column.name.lower() == name.lower()
        ]
        if len(found) != 1:
            return Written(".".join(map(identifier, (*qualifier, name))), None)
        table, column = found[0]
        postgres_type(column.type)
        return Written(f"{identifier(table.qualifier)}.{identifier(column.name)}", column.type)

    def _truth(self, node: exp.Expr) -> str:
        written = self.write(node)
        if written.family not in (Family.TRUTH, Family.NULL):
            raise UnsupportedByReferenceError(f"a condition of type {written.family.value}")
        return written.sql

    def _alike(self, node: exp.Expr, *others: exp.Expr) -> list[str]:
        """Write an operand, and those that it is compared with."""
        one, *rest = (self.write(each) for each in (node, *others))
        for two in rest:
            families = {one.family, two.family} - {Family.NULL}
            if len(families) > 1 and frozenset(families) not in _NUMBERS:
                raise UnsupportedByReferenceError("a comparison of " + " and ".join(sorted(f.value for f in families)))
        return [one.sql, *(two.sql for two in rest)]

    def _integers(self, node: exp.Expr) -> tuple[Written, Written]:
        left, right = self.write(node.this), self.write(node.expression)
        for each in (left, right):
            if each.type not in (t.INT, t.BIGINT):
                raise UnsupportedByReferenceError(f"arithmetic of type {each.family.value}")
        return left, right

    def _is(self, node: exp.Is) -> Written:
        negated = isinstance(node.expression, exp.Not)
        tested = node.expression.this if negated else node.expression
        if not isinstance(tested, exp.Null | exp.Boolean):
            raise UnsupportedByReferenceError("IS beside NULL, TRUE and FALSE")
        word = f"IS {'NOT ' if negated else ''}{self.write(tested).sql}"
        return Written(f"({self.write(node.this).sql} {word})", t.BOOLEAN)

    def _cast(self, node: exp.Cast) -> Written:
        wanted = parse_type(node.to.sql(dialect="databricks"))
        inner, constant = self.write(node.this), isinstance(node.this, exp.Literal | exp.Neg)
        same = inner.type is None or inner.type == wanted
        numbers = {inner.family, family_of(wanted)} <= {Family.INTEGER, Family.DECIMAL}
        if not (same or (inner.family is Family.INTEGER and numbers) or constant):
            raise UnsupportedByReferenceError(f"expression cast from {inner.family.value}")
        name = postgres_type(wanted).removesuffix(' COLLATE "C"')
        return Written(f"CAST({inner.sql} AS {name})", wanted)

    def _case(self, node: exp.Case) -> Written:
        if node.this is not None:
            raise UnsupportedByReferenceError("CASE with an operand")
        branches = [(self._truth(each.this), self.write(each.args["true"])) for each in node.args["ifs"]]
        otherwise = self.write(node.args.get("default") or exp.Null())
        whens = " ".join(f"WHEN {condition} THEN {value.sql}" for condition, value in branches)
        common = _common_type("CASE", [*(value for _, value in branches), otherwise])
        return Written(f"(CASE {whens} ELSE {otherwise.sql} END)", common)


def _common_type(function: str, parts: Sequence[Written]) -> DataType | None:
    """Find the type of an expression that takes its value from any of its parts."""
    types = {part.type for part in parts if part.type is not None}
    if len(types) > 1 and not types <= t.INTEGER_BITS.keys():
        raise UnsupportedByReferenceError(f"{function} of several types")
    return max(types, key=lambda each: t.INTEGER_BITS.get(each, 0), default=None)


def _literal(node: exp.Expr) -> Written:
    if isinstance(node, exp.HexString):
        return Written(f"CAST('\\x{node.name}' AS bytea)", t.BINARY)
    if isinstance(node, exp.Neg):
        inner = _literal(node.this) if isinstance(node.this, exp.Literal) else None
        if inner is None or inner.family is Family.TEXT:
            raise UnsupportedByReferenceError("the negation of what is no number")
        return Written(f"(-{inner.sql})", inner.type)
    if node.is_string:
        return Written(quoted(node.name), t.STRING)
    number = Decimal(node.name)
    if "e" in node.name.lower():
        return Written(f"CAST({quoted(node.name)} AS double precision)", t.DOUBLE)
    if number != number.to_integral_value() or "." in node.name:
        digits = number.as_tuple()
        scale = -int(digits.exponent)
        return Written(node.name, t.DecimalType(max(len(digits.digits), scale), scale))
    if abs(number) >= 2**63:
        return Written(node.name, t.DecimalType(len(node.name), 0))
    wide = abs(number) > 2**31 - 1
    return Written(f"CAST({node.name} AS {'bigint' if wide else 'integer'})", t.BIGINT if wide else t.INT)
