"""Spark SQL expressions in DataFusion's words, for exactly what both are known to mean alike.

A merge is tested here, not a dialect: whatever the two read differently (the type of a literal, overflow, casts,
-0.0, the order of nested values) is ``UntranslatableError``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from mergecheck.harness.engines.delta_rs.literals import cast_text, fits, number, quoted, text_literal, text_value
from mergecheck.harness.engines.delta_rs.types import (
    Translated,
    UntranslatableError,
    are_comparable,
    cast_value,
    is_float,
    one_type,
    sql_type,
    width,
)
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.types.data_types import (
    BINARY,
    BOOLEAN,
    VOID,
    AtomicType,
    DecimalType,
    StructType,
    type_word,
)
from mergecheck.model.types.ddl import parse_type
from mergecheck.reference.expressions.comparisons import COMPARISONS
from mergecheck.reference.syntax.query_tree import described
from mergecheck.reference.syntax.statement import is_name, name_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.harness.engines.delta_rs.numbers import HeldNumbers
    from mergecheck.model.types.data_types import Field, Schema


_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


@dataclass(frozen=True, slots=True)
class AliasedTable:
    """A table under the alias that the statement gives it, and under the one that delta-rs gets.

    Attributes:
        held: the numbers in it.
    """

    alias: str
    delta_alias: str
    schema: Schema
    held: HeldNumbers


@dataclass(frozen=True, slots=True)
class ExpressionTranslator:
    """Translates the expressions of one scope.

    Attributes:
        sides: the tables whose columns may be used.
        held: the numbers in both tables, whichever may be used.
    """

    sides: tuple[AliasedTable, ...]
    held: tuple[HeldNumbers, ...]

    def translate(self, node: exp.Expr) -> Translated:
        """Translate one expression.

        Raises:
            UntranslatableError: if its meaning differs between the two systems.
        """
        cases: dict[type[exp.Expr], Callable[[Any], Translated]] = {
            exp.Column: self._name,
            exp.Dot: self._name,
            exp.Paren: lambda given: self.translate(given.this),
            exp.Null: lambda _: Translated("NULL", VOID),
            exp.Boolean: lambda given: Translated("TRUE" if given.this else "FALSE", BOOLEAN),
            exp.Literal: lambda given: text_value(given) if given.is_string else number(str(given.this)),
            exp.HexString: lambda given: Translated(f"X'{given.this}'", BINARY),
            exp.Neg: self._negative,
            exp.Not: lambda given: Translated(f"(NOT {self._boolean(given.this)})", BOOLEAN),
            exp.And: lambda given: self._logical(given, "AND"),
            exp.Or: lambda given: self._logical(given, "OR"),
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Coalesce: self._coalesce,
            exp.Cast: self._cast,
            **dict.fromkeys(COMPARISONS, self._compare),
            **dict.fromkeys(_ARITHMETIC, self._arithmetic),
        }
        way = cases.get(type(node))
        if way is None:
            raise UntranslatableError(described(node))
        return way(node)

    def condition(self, node: exp.Expr) -> str:
        """Translate a condition."""
        return self._boolean(node)

    def _boolean(self, node: exp.Expr) -> str:
        translated = self.translate(node)
        if translated.type == VOID:
            return "CAST(NULL AS BOOLEAN)"
        if translated.type != BOOLEAN:
            raise UntranslatableError("a condition that is not boolean")
        return translated.sql

    def _name(self, node: exp.Expr) -> Translated:
        if not is_name(node):
            raise UntranslatableError("expression of a field")
        parts = name_parts(node)
        # a name behind an alias goes before a field of a column that is called like the alias
        found = self._columns(parts, 1) or self._columns(parts, 0)
        if len(found) != 1:
            raise UntranslatableError("a name that could mean several columns")
        side, column, path = found[0]
        sql, data_type = f"{quoted(side.delta_alias)}.{quoted(column.name)}", column.type
        for name in path:
            members = data_type.fields if isinstance(data_type, StructType) else ()
            member = next((one for one in members if one.name.lower() == name.lower()), None)
            if member is None:
                raise UntranslatableError("expression of an element")
            sql, data_type = f"{sql}[{text_literal(member.name)}]", member.type
        return Translated(sql, data_type)

    def _columns(self, parts: tuple[str, ...], skipped: int) -> list[tuple[AliasedTable, Field, tuple[str, ...]]]:
        """Find the columns that a name may mean behind ``skipped`` qualifiers, with the fields that follow."""
        return [
            (side, column, parts[skipped + 1 :])
            for side in self.sides
            if len(parts) > skipped and (not skipped or parts[0].lower() == side.alias.lower())
            for column in side.schema.columns
            if column.name.lower() == parts[skipped].lower()
        ]

    def _negative(self, node: exp.Expr) -> Translated:
        if not isinstance(node.this, exp.Literal) or node.this.is_string:
            raise UntranslatableError("expression neg")
        translated = number(f"-{node.this.this}")
        return Translated(f"({translated.sql})" if translated.sql.startswith("-") else translated.sql, translated.type)

    def _logical(self, node: exp.Expr, word: str) -> Translated:
        return Translated(f"({self._boolean(node.this)} {word} {self._boolean(node.expression)})", BOOLEAN)

    def _is(self, node: exp.Expr) -> Translated:
        if isinstance(node.expression, exp.Null):
            return Translated(f"({self.translate(node.this).sql} IS NULL)", BOOLEAN)
        if isinstance(node.expression, exp.Boolean):
            return Translated(f"({self._boolean(node.this)} IS {'TRUE' if node.expression.this else 'FALSE'})", BOOLEAN)
        raise UntranslatableError("expression is")

    def _compare(self, node: exp.Expr) -> Translated:
        left, right = self.translate(node.this), self.translate(node.expression)
        self._check_comparable([left, right])
        return Translated(f"({left.sql} {COMPARISONS[type(node)]} {right.sql})", BOOLEAN)

    def _in(self, node: exp.Expr) -> Translated:
        if node.args.get("query") is not None or not node.expressions:
            raise UntranslatableError("expression in with a query")
        first, *others = [self.translate(item) for item in (node.this, *node.expressions)]
        self._check_comparable([first, *others])
        return Translated(f"({first.sql} IN ({', '.join(other.sql for other in others)}))", BOOLEAN)

    def _between(self, node: exp.Expr) -> Translated:
        value, low, high = (self.translate(item) for item in (node.this, node.args["low"], node.args["high"]))
        self._check_comparable([value, low, high])
        return Translated(f"({value.sql} BETWEEN {low.sql} AND {high.sql})", BOOLEAN)

    def _case(self, node: exp.Expr) -> Translated:
        if node.this is not None:
            conditions = [
                self._compare(exp.EQ(this=node.this, expression=branch.this)).sql for branch in node.args["ifs"]
            ]
        else:
            conditions = [self._boolean(branch.this) for branch in node.args["ifs"]]
        values = [self.translate(branch.args["true"]) for branch in node.args["ifs"]]
        return _branches(conditions, values, self.translate(node.args.get("default") or exp.Null()))

    def _if(self, node: exp.Expr) -> Translated:
        otherwise = self.translate(node.args.get("false") or exp.Null())
        return _branches([self._boolean(node.this)], [self.translate(node.args["true"])], otherwise)

    def _coalesce(self, node: exp.Expr) -> Translated:
        values = [self.translate(item) for item in (node.this, *node.expressions)]
        return Translated(f"COALESCE({', '.join(value.sql for value in values)})", one_type(values))

    def _cast(self, node: exp.Expr) -> Translated:
        try:
            wanted = parse_type(node.args["to"].sql(dialect="databricks"))
        except CaseFormatError:
            raise UntranslatableError("expression cast to a type that tables do not have") from None
        inner = node.this
        negative = isinstance(inner, exp.Neg) and isinstance(inner.this, exp.Literal)
        literal = inner.this if negative else inner
        if isinstance(literal, exp.Literal) and isinstance(wanted, DecimalType):
            text = f"-{literal.this}" if negative else str(literal.this)
            if fits(text, wanted):
                return Translated(f"CAST('{text}' AS {sql_type(wanted)})", wanted)
        if isinstance(inner, exp.Literal) and inner.is_string:
            return cast_text(str(inner.this), wanted)
        return cast_value(self.translate(node.this), wanted)

    def _arithmetic(self, node: exp.Expr) -> Translated:
        left, right = self.translate(node.this), self.translate(node.expression)
        widths = [width(left.type), width(right.type)]
        if not all(widths):
            raise UntranslatableError("expression arithmetic on other than integers")
        smallest = min(widths)
        spare = smallest // 2 - 2 if isinstance(node, exp.Mul) else smallest - 4
        numbers = [int(item.this) for item in node.find_all(exp.Literal) if str(item.this).isdigit()]
        names = {part.lower() for column in node.find_all(exp.Column, exp.Dot) for part in name_parts(column)}
        numbers += [side.held.largest_integer(names) for side in self.sides]
        if max(numbers, default=0) >= 1 << spare:
            raise UntranslatableError("expression arithmetic near the end of a type")
        wider = left.type if widths[0] >= widths[1] else right.type
        return Translated(f"({left.sql} {_ARITHMETIC[type(node)]} {right.sql})", wider)

    def _check_comparable(self, operands: Sequence[Translated]) -> None:
        given = [operand.type for operand in operands if operand.type != VOID]
        for data_type in given:
            if not isinstance(data_type, AtomicType | DecimalType):
                raise UntranslatableError("comparison of nested values")
        if any(is_float(data_type) for data_type in given) and any(held.has_negative_zero for held in self.held):
            raise UntranslatableError("comparison with -0.0")
        for data_type in given[1:]:
            if not are_comparable(given[0], data_type):
                raise UntranslatableError(f"comparison of {type_word(given[0])} with {type_word(data_type)}")


def _branches(conditions: Sequence[str], values: Sequence[Translated], otherwise: Translated) -> Translated:
    data_type = one_type([*values, otherwise])
    whens = " ".join(f"WHEN {condition} THEN {value.sql}" for condition, value in zip(conditions, values, strict=True))
    return Translated(f"(CASE {whens} ELSE {otherwise.sql} END)", data_type)
