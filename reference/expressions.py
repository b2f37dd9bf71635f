"""Translate Spark SQL expressions to DuckDB, with types, and only where both are known to mean the same.

Every operator and function here was compared between the two engines (semantics.md 9.3). Anything else raises
``UnsupportedByReferenceError``: the reference would rather say nothing than guess. Columns are those of the
evaluation's temporary tables: column *i* of the target is ``t<i>``, of the source ``s<i>``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from reference.conversions import Failure, cast, common_type
from reference.ddl import parse_schema
from reference.errors import CaseFormatError, UnsupportedByReferenceError
from reference.literals import cast_literal, decimal_literal, integer_literal, text_literal
from reference.statement import name_parts
from reference.typed import Typed, identifier
from reference.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    STRING,
    VOID,
    ArrayType,
    Field,
    MapType,
    StructType,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference.names import Scope
    from reference.types import DataType

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}
_NO_ORDER = (MapType,)


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates the expressions of one scope."""

    scope: Scope
    _cases: dict[type[exp.Expr], Callable[[exp.Expr], Typed]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        cases: dict[type[exp.Expr], Callable[[Any], Typed]] = {
            exp.Column: self._name,
            exp.Dot: self._name,
            exp.Paren: lambda node: self.translate(node.this),
            exp.Null: lambda _: Typed(sql="NULL", type=VOID),
            exp.Boolean: lambda node: Typed(sql="TRUE" if node.this else "FALSE", type=BOOLEAN),
            exp.Literal: self._literal,
            exp.Neg: self._negative,
            exp.Not: self._not,
            exp.And: lambda node: self._logical(node, "AND"),
            exp.Or: lambda node: self._logical(node, "OR"),
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Coalesce: self._coalesce,
            exp.Concat: self._adjacent,
            exp.Cast: self._cast,
            exp.HexString: self._hex,
            exp.Struct: self._struct,
            exp.Array: self._array,
            exp.Div: self._divide,
            **dict.fromkeys(_COMPARISONS, self._compare),
            **dict.fromkeys(_ARITHMETIC, self._arithmetic),
        }
        self._cases.update(cases)

    def translate(self, node: exp.Expr) -> Typed:
        """Translate one expression.

        Raises:
            RejectedError: where a name does not resolve.
            UnsupportedByReferenceError: where the meaning in DuckDB is not known to be Spark's.
        """
        translate = self._cases.get(type(node))
        if translate is None:
            raise UnsupportedByReferenceError(f"expression {type(node).__name__}")
        return translate(node)

    def condition(self, node: exp.Expr) -> Typed:
        """Translate a condition, which must be boolean (R-135)."""
        return self._boolean(node)

    def _boolean(self, node: exp.Expr) -> Typed:
        typed = self.translate(node)
        if typed.type == VOID:
            return Typed(sql="CAST(NULL AS BOOLEAN)", type=BOOLEAN)
        if typed.type != BOOLEAN:
            raise UnsupportedByReferenceError("a condition that is not boolean")
        return typed

    def _name(self, node: exp.Expr) -> Typed:
        name = self.scope.resolve(name_parts(node))
        return Typed(sql=name.sql, type=name.type, sides=frozenset({name.side}))

    def _literal(self, node: exp.Expr) -> Typed:
        text = str(node.this)
        if node.is_string:
            return Typed(sql=text_literal(text), type=STRING)
        if text.isdigit():
            return integer_literal(int(text))
        if "e" in text.lower():
            return Typed(sql=f"CAST({text} AS DOUBLE)", type=DOUBLE)
        return decimal_literal(text)

    def _negative(self, node: exp.Expr) -> Typed:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string and str(inner.this).isdigit():
            return integer_literal(-int(inner.this))
        operand = self.translate(inner)
        if operand.type not in INTEGER_BITS and operand.type not in (FLOAT, DOUBLE):
            if isinstance(inner, exp.Literal):
                return Typed(sql=f"(-{operand.sql})", type=operand.type)
            raise UnsupportedByReferenceError(f"minus of {operand.type.ddl().split('(')[0]}")
        return Typed(sql=f"(-({operand.sql}))", type=operand.type, sides=operand.sides, partial=True)

    def _not(self, node: exp.Expr) -> Typed:
        operand = self._boolean(node.this)
        return _combine(f"(NOT {operand.sql})", BOOLEAN, operand)

    def _logical(self, node: exp.Expr, word: str) -> Typed:
        left, right = self._boolean(node.this), self._boolean(node.expression)
        return _combine(f"({left.sql} {word} {right.sql})", BOOLEAN, left, right)

    def _is(self, node: exp.Expr) -> Typed:
        if isinstance(node.expression, exp.Null):
            operand = self.translate(node.this)
            return _combine(f"(({operand.sql}) IS NULL)", BOOLEAN, operand)
        if isinstance(node.expression, exp.Boolean):
            operand = self._boolean(node.this)
            word = "TRUE" if node.expression.this else "FALSE"
            return _combine(f"(({operand.sql}) IS NOT DISTINCT FROM {word})", BOOLEAN, operand)
        raise UnsupportedByReferenceError("IS with something else than NULL, TRUE, FALSE")

    def _compare(self, node: exp.Expr) -> Typed:
        left, right = self.bring_together([self.translate(node.this), self.translate(node.expression)])
        _check_comparable(left.type)
        return _combine(f"(({left.sql}) {_COMPARISONS[type(node)]} ({right.sql}))", BOOLEAN, left, right)

    def _in(self, node: exp.Expr) -> Typed:
        if node.args.get("query") is not None or not node.expressions:
            raise UnsupportedByReferenceError("IN with a query")
        operands = self.bring_together([self.translate(item) for item in (node.this, *node.expressions)])
        _check_comparable(operands[0].type)
        listed = ", ".join(operand.sql for operand in operands[1:])
        return _combine(f"(({operands[0].sql}) IN ({listed}))", BOOLEAN, *operands)

    def _between(self, node: exp.Expr) -> Typed:
        bounds = [node.this, node.args["low"], node.args["high"]]
        value, low, high = self.bring_together([self.translate(item) for item in bounds])
        _check_comparable(value.type)
        sql = f"(({value.sql}) >= ({low.sql}) AND ({value.sql}) <= ({high.sql}))"
        return _combine(sql, BOOLEAN, value, low, high)

    def _case(self, node: exp.Expr) -> Typed:
        if node.this is not None:
            raise UnsupportedByReferenceError("CASE with an operand")
        conditions = [self._boolean(branch.this) for branch in node.args["ifs"]]
        default = node.args.get("default") or exp.Null()
        results = self.bring_together(
            [self.translate(branch.args["true"]) for branch in node.args["ifs"]] + [self.translate(default)]
        )
        return _branches(conditions, results)

    def _if(self, node: exp.Expr) -> Typed:
        otherwise = node.args.get("false") or exp.Null()
        results = self.bring_together([self.translate(node.args["true"]), self.translate(otherwise)])
        return _branches([self._boolean(node.this)], results)

    def _adjacent(self, node: exp.Expr) -> Typed:
        """Join literals that stand side by side, ``'a' 'b'``; Spark reads them as one."""
        if not all(isinstance(item, exp.Literal) and item.is_string for item in node.expressions):
            raise UnsupportedByReferenceError("expression Concat")
        return Typed(sql=text_literal("".join(str(item.this) for item in node.expressions)), type=STRING)

    def _coalesce(self, node: exp.Expr) -> Typed:
        operands = self.bring_together([self.translate(item) for item in (node.this, *node.expressions)])
        listed = ", ".join(operand.sql for operand in operands)
        return _combine(f"COALESCE({listed})", operands[0].type, *operands)

    def _cast(self, node: exp.Expr) -> Typed:
        try:
            target = parse_schema(f"x {node.args['to'].sql(dialect='databricks')}").columns[0].type
        except CaseFormatError:
            raise UnsupportedByReferenceError("CAST to a type that case files do not have") from None
        inner = node.this
        if isinstance(inner, exp.Literal) and inner.is_string:
            return cast_literal(str(inner.this), target)
        operand = self.translate(inner)
        sql = cast(operand.sql, operand.type, target, Failure.ERROR, "CAST_OVERFLOW")
        return Typed(sql=sql, type=target, sides=operand.sides, partial=operand.partial or sql != operand.sql)

    def _hex(self, node: exp.Expr) -> Typed:
        return Typed(sql=f"unhex({text_literal(str(node.this))})", type=BINARY)

    def _struct(self, node: exp.Expr) -> Typed:
        fields, operands = [], []
        for item in node.expressions:
            if not isinstance(item, exp.PropertyEQ):
                raise UnsupportedByReferenceError("a struct without field names")
            operand = self.translate(item.expression)
            fields.append(Field(item.this.name, operand.type))
            operands.append(operand)
        packed = ", ".join(f"{identifier(f.name)} := {o.sql}" for f, o in zip(fields, operands, strict=True))
        return _combine(f"struct_pack({packed})", StructType(tuple(fields)), *operands)

    def _array(self, node: exp.Expr) -> Typed:
        operands = self.bring_together([self.translate(item) for item in node.expressions])
        if not operands or operands[0].type == VOID:
            raise UnsupportedByReferenceError("an array without typed elements")
        listed = ", ".join(operand.sql for operand in operands)
        return _combine(f"list_value({listed})", ArrayType(operands[0].type), *operands)

    def _arithmetic(self, node: exp.Expr) -> Typed:
        left, right = self.bring_together([self.translate(node.this), self.translate(node.expression)])
        if left.type not in INTEGER_BITS:
            raise UnsupportedByReferenceError(f"arithmetic on {left.type.ddl().split('(')[0]}")
        sql = f"(({left.sql}) {_ARITHMETIC[type(node)]} ({right.sql}))"
        typed = _combine(sql, left.type, left, right)
        return Typed(sql=typed.sql, type=typed.type, sides=typed.sides, partial=True)

    def _divide(self, node: exp.Expr) -> Typed:
        left, right = self.translate(node.this), self.translate(node.expression)
        if left.type not in INTEGER_BITS or right.type not in INTEGER_BITS:
            raise UnsupportedByReferenceError("division of anything but integers")
        quotient = f"CAST({left.sql} AS DOUBLE) / CAST({right.sql} AS DOUBLE)"
        sql = f"CASE WHEN ({right.sql}) = 0 THEN error('DIVIDE_BY_ZERO') ELSE {quotient} END"
        return Typed(sql=f"({sql})", type=DOUBLE, sides=left.sides | right.sides, partial=True)

    @staticmethod
    def bring_together(operands: list[Typed]) -> list[Typed]:
        """Bring operands to the type in which Spark compares them.

        Raises:
            UnsupportedByReferenceError: where the reference does not know that type.
        """
        wanted: DataType = VOID
        for operand in operands:
            wanted = common_type(wanted, operand.type)
        if wanted == VOID:
            return operands
        return [_bring(operand, wanted) for operand in operands]


def _bring(operand: Typed, wanted: DataType) -> Typed:
    if operand.type == wanted:
        return operand
    sql = cast(operand.sql, operand.type, wanted, Failure.ERROR, "CAST_OVERFLOW")
    return Typed(sql=sql, type=wanted, sides=operand.sides, partial=operand.partial)


def _combine(sql: str, data_type: DataType, *operands: Typed) -> Typed:
    return Typed(
        sql=sql,
        type=data_type,
        sides=frozenset(side for operand in operands for side in operand.sides),
        partial=any(operand.partial for operand in operands),
    )


def _branches(conditions: list[Typed], results: list[Typed]) -> Typed:
    whens = " ".join(
        f"WHEN {condition.sql} THEN {result.sql}" for condition, result in zip(conditions, results, strict=False)
    )
    return _combine(f"CASE {whens} ELSE {results[-1].sql} END", results[0].type, *conditions, *results)


def _check_comparable(data_type: DataType) -> None:
    if isinstance(data_type, _NO_ORDER):
        raise UnsupportedByReferenceError("comparison of MAP values")
