"""Translate Spark SQL expressions to DuckDB, with types, and only if both are known to mean the same.

Every operator and function here was compared between the two engines (harness/specification/text/spark-and-duckdb.md).
Anything else raises ``UnsupportedByReferenceError``: the reference does not guess. Columns are the ones of
the evaluation's temporary tables: column *i* of the target is ``t<i>``, of the source ``s<i>``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from mergecheck.model.errors import CaseFormatError, RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
)
from mergecheck.model.types.ddl import parse_type
from mergecheck.model.types.typed import Typed, combine
from mergecheck.reference.casts.nested_casts import cast_value, try_cast_value
from mergecheck.reference.expressions.arithmetic import arithmetic, divide, divide_whole, negative
from mergecheck.reference.expressions.array_functions import array_call, array_contains
from mergecheck.reference.expressions.comparisons import COMPARISONS, compare, is_between, is_in
from mergecheck.reference.expressions.constructors import constructed
from mergecheck.reference.expressions.date_functions import date_call, shifted
from mergecheck.reference.expressions.functions import function, same_type
from mergecheck.reference.expressions.higher_order import higher_order
from mergecheck.reference.expressions.literals import (
    cast_literal,
    decimal_literal,
    integer_literal,
    narrow_literal,
    text_literal,
    whole_number,
)
from mergecheck.reference.expressions.named_functions import named_call
from mergecheck.reference.expressions.number_functions import bits, no_bits
from mergecheck.reference.expressions.text_functions import text_call
from mergecheck.reference.syntax.statement import is_name, name_parts

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator

    from mergecheck.reference.expressions.names import Scope

_TIMES: dict[type[exp.Expr], str] = {
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentDate: "current_date",
    exp.Localtimestamp: "localtimestamp",
}
_BIT_SYMBOLS: dict[type[exp.Expr], str] = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^"}
_NULL_CONDITION = Typed(sql="CAST(NULL AS BOOLEAN)", type=BOOLEAN)


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates the expressions of one scope.

    Attributes:
        subqueries: evaluates scalar subqueries (R-134), None if there may be none.
        in_order: AND and OR look at their right side only if the left one does not decide. Delta evaluates
            constraints so; elsewhere an optimizer may change the order.
        special: translates what stands in a query only: aggregates and windows; None leaves a node to the translator.
        clock: the statement's one time (R-136), None if its value must not be known: a stored time would never
            equal an engine's.
        is_search_condition: whether the expression is the ON of a merge, which is never cast to BOOLEAN.
    """

    scope: Scope
    subqueries: Callable[[exp.Expr, Scope], Typed] | None = None
    clock: dt.datetime | None = None
    is_search_condition: bool = False
    in_order: bool = False
    special: Callable[[exp.Expr], Typed | None] | None = None

    def translate(self, node: exp.Expr) -> Typed:
        """Translate one expression.

        Raises:
            RejectedError: if a name does not resolve.
            UnsupportedByReferenceError: if the meaning in DuckDB is not known to be Spark's.
        """
        if self.special is not None and (meant := self.special(node)) is not None:
            return meant
        translate = self._BY_CLASS.get(type(node))
        if translate is not None:
            return translate(self, node)
        for call in (named_call, constructed, array_call, array_contains, text_call, date_call):
            found = call(node, self.translate)
            if found is not None:
                return found
        found = higher_order(node, self.translate, self._bound)
        return function(node, self.translate) if found is None else found

    def _bound(self, function_: exp.Lambda, *values: Typed) -> Typed:
        """Translate the body of a lambda: its variables hide columns of the same names."""
        variables = [variable.name for variable in function_.expressions]

        def special(node: exp.Expr) -> Typed | None:
            named = [v for v, value in enumerate(values) if is_name(node) and self._is_variable(node, variables[v])]
            if not named:
                return None if self.special is None else self.special(node)
            found = values[named[0]]
            for field in name_parts(node)[1:]:
                sql, data_type = self.scope.extract(found.sql, found.type, field)
                found = combine(sql, data_type, found)
            return found

        return replace(self, special=special).translate(function_.this)

    def _is_variable(self, node: exp.Expr, variable: str) -> bool:
        return self.scope.same(name_parts(node)[0], variable)

    def condition(self, node: exp.Expr) -> Typed:
        """Translate a condition.

        Raises:
            RejectedError: if it is not boolean, an untyped NULL included; the class depends on the executor (R-135).
        """
        typed = self.translate(node)
        if typed.type == STRING and not self.is_search_condition:
            raise UnsupportedByReferenceError("a condition of type STRING, which some executors cast (R-135)")
        if typed.type != BOOLEAN:
            also = {"DATATYPE_MISMATCH"} | (set() if self.is_search_condition else {"CANNOT_UP_CAST_DATATYPE"})
            raise RejectedError(
                "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
                f"the condition {node.sql(dialect='databricks')} is of type {typed.type.ddl()}",
                frozenset(also),
            )
        return typed

    def constants(self, node: exp.Expr) -> Iterator[Typed]:
        """Give the largest parts of an expression that use no column and may fail: Spark computes them beforehand."""
        if node.find(exp.Column, exp.Dot, exp.Subquery) is None:
            with suppress(UnsupportedByReferenceError):  # a part that is no expression by itself
                constant = self.translate(node)
                if constant.partial:
                    yield constant
                return
        for child in node.iter_expressions():
            yield from self.constants(child)

    def operand(self, node: exp.Expr) -> Typed:
        """Translate an operand of AND, OR and NOT, for which Spark casts an untyped NULL to BOOLEAN.

        Raises:
            UnsupportedByReferenceError: if it is of another type.
        """
        typed = self.translate(node)
        if typed.type == VOID:
            return _NULL_CONDITION
        if typed.type != BOOLEAN:
            raise UnsupportedByReferenceError("a logical operator on something that is not boolean")
        return typed

    def _called_now(self, node: exp.Expr) -> Typed:
        if node.this is not None:
            raise UnsupportedByReferenceError("the time of the statement with an operand")
        return self._now(_TIMES[type(node)])

    def _now(self, function: str) -> Typed:
        if self.clock is None:
            raise UnsupportedByReferenceError("the time of the statement in a value")
        text = self.clock.strftime("%Y-%m-%d %H:%M:%S")
        if function == "current_date":
            return Typed(sql=f"DATE '{text[:10]}'", type=DATE)
        if function == "localtimestamp":
            return Typed(sql=f"TIMESTAMP '{text}'", type=TIMESTAMP_NTZ)
        return Typed(sql=f"TIMESTAMPTZ '{text}+00'", type=TIMESTAMP)

    def _name(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Dot) and not is_name(node) and isinstance(node.expression, exp.Identifier):
            value = self.translate(node.this)
            sql, data_type = self.scope.extract(value.sql, value.type, node.expression.name)
            return combine(sql, data_type, value)
        parts = name_parts(node)
        function = self.scope.literal_function(parts)
        if function is not None and function in _TIMES.values():
            return self._now(function)
        return self.scope.resolve(parts).typed()

    def _subquery(self, node: exp.Expr) -> Typed:
        if self.subqueries is None or node.args.get("alias") is not None:
            raise UnsupportedByReferenceError("a subquery here")
        if any(relation.chars for relation in self.scope.relations):
            raise UnsupportedByReferenceError("a subquery beside CHAR columns (R-822)")  # it looks like a constant
        return self.subqueries(node.this, self.scope)

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
        number = whole_number(node)
        return negative(self.translate(node.this)) if number is None else integer_literal(number)

    def _paren(self, node: exp.Expr) -> Typed:
        return self.translate(node.this)

    def _null(self, _: exp.Expr) -> Typed:
        return Typed(sql="NULL", type=VOID)

    def _truth_value(self, node: exp.Expr) -> Typed:
        return Typed(sql="TRUE" if node.this else "FALSE", type=BOOLEAN)

    def _not(self, node: exp.Expr) -> Typed:
        operand = self.operand(node.this)
        return combine(f"(NOT {operand.sql})", BOOLEAN, operand)

    def _logical(self, node: exp.Expr) -> Typed:
        left, right = self.operand(node.this), self.operand(node.expression)
        word = "AND" if isinstance(node, exp.And) else "OR"
        sql = f"({left.sql} {word} {right.sql})"
        if self.in_order and right.partial:
            decided = "FALSE" if word == "AND" else "TRUE"
            sql = f"(CASE WHEN ({left.sql}) IS NOT DISTINCT FROM {decided} THEN {decided} ELSE {sql} END)"
        return combine(sql, BOOLEAN, left, right)

    def _is(self, node: exp.Expr) -> Typed:
        if isinstance(node.expression, exp.Null):
            operand = self.translate(node.this)
            return combine(f"(({operand.sql}) IS NULL)", BOOLEAN, operand)
        if isinstance(node.expression, exp.Boolean):
            operand = self.operand(node.this)
            word = "TRUE" if node.expression.this else "FALSE"
            return combine(f"(({operand.sql}) IS NOT DISTINCT FROM {word})", BOOLEAN, operand)
        raise UnsupportedByReferenceError("IS with something else than NULL, TRUE, FALSE")

    def _compare(self, node: exp.Expr) -> Typed:
        return compare(type(node), self.translate(node.this), self.translate(node.expression))

    def _in(self, node: exp.Expr) -> Typed:
        if node.args.get("query") is not None or not node.expressions:
            raise UnsupportedByReferenceError("IN with a query")
        return is_in(self.translate(node.this), [self.translate(item) for item in node.expressions])

    def _between(self, node: exp.Expr) -> Typed:
        low, high = self.translate(node.args["low"]), self.translate(node.args["high"])
        return is_between(self.translate(node.this), low, high)

    def _case(self, node: exp.Expr) -> Typed:
        branches = node.args["ifs"]
        if node.this is None:
            conditions = [self._branch(branch.this) for branch in branches]
        else:
            value = self.translate(node.this)
            conditions = [compare(exp.EQ, value, self.translate(branch.this)) for branch in branches]
        default = node.args.get("default") or exp.Null()
        results = same_type([self.translate(item) for item in (*(b.args["true"] for b in branches), default)])
        return _branches(conditions, results)

    def _branch(self, node: exp.Expr) -> Typed:
        condition = self.translate(node)
        if condition.type != BOOLEAN:
            raise UnsupportedByReferenceError("a branch whose condition is not boolean")
        return condition

    def _if(self, node: exp.Expr) -> Typed:
        otherwise = node.args.get("false") or exp.Null()
        results = same_type([self.translate(node.args["true"]), self.translate(otherwise)])
        return _branches([self._branch(node.this)], results)

    def _cast(self, node: exp.Expr) -> Typed:
        try:
            target = parse_type(node.args["to"].sql(dialect="databricks"))
        except CaseFormatError:
            raise UnsupportedByReferenceError("CAST to a type that case files do not have") from None
        inner = node.this
        if isinstance(inner, exp.Literal) and inner.is_string:
            try:
                return cast_literal(str(inner.this), target)
            except UnsupportedByReferenceError:
                # DATE 'text' and CAST('text' AS DATE) look alike here, but fail at different times.
                if target in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
                    raise
        number = whole_number(inner)
        narrowed = None if number is None else narrow_literal(number, target)
        return replace(cast_value(self.translate(inner), target), char_length=None) if narrowed is None else narrowed

    def _try_cast(self, node: exp.Expr) -> Typed:
        try:
            target = parse_type(node.args["to"].sql(dialect="databricks"))
        except CaseFormatError:
            raise UnsupportedByReferenceError("TRY_CAST to a type that case files do not have") from None
        return try_cast_value(self.translate(node.this), target)

    def _hex(self, node: exp.Expr) -> Typed:
        return Typed(sql=f"unhex({text_literal(str(node.this))})", type=BINARY)

    def _binary(self, node: exp.Expr) -> Typed:
        moved = shifted(node, self.translate) if isinstance(node, exp.Add | exp.Sub) else None
        if moved is not None:
            return moved
        left, right = self.translate(node.this), self.translate(node.expression)
        if isinstance(node, exp.Div):
            return divide(node, left, right)
        if isinstance(node, exp.IntDiv):
            return divide_whole(left, right)
        return arithmetic(node, left, right)

    def _bits(self, node: exp.Expr) -> Typed:
        return bits(_BIT_SYMBOLS[type(node)], self.translate(node.this), self.translate(node.expression))

    def _no_bits(self, node: exp.Expr) -> Typed:
        return no_bits(self.translate(node.this))

    _BY_CLASS: ClassVar[dict[type[exp.Expr], Callable[[Translator, Any], Typed]]] = {
        exp.Column: _name,
        exp.Dot: _name,
        exp.Subquery: _subquery,
        exp.Paren: _paren,
        exp.Null: _null,
        exp.Boolean: _truth_value,
        exp.Literal: _literal,
        exp.Neg: _negative,
        exp.Not: _not,
        exp.And: _logical,
        exp.Or: _logical,
        exp.Is: _is,
        exp.In: _in,
        exp.Between: _between,
        exp.Case: _case,
        exp.If: _if,
        exp.Cast: _cast,
        exp.TryCast: _try_cast,
        exp.HexString: _hex,
        exp.BitwiseNot: _no_bits,
        **dict.fromkeys(_BIT_SYMBOLS, _bits),
        **dict.fromkeys(_TIMES, _called_now),
        **dict.fromkeys(COMPARISONS, _compare),
        **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Div, exp.IntDiv), _binary),
    }


def _branches(conditions: list[Typed], results: list[Typed]) -> Typed:
    whens = " ".join(
        f"WHEN {condition.sql} THEN {result.sql}" for condition, result in zip(conditions, results, strict=False)
    )
    sql = f"CASE {whens} ELSE {results[-1].sql} END"
    return combine(sql, results[0].type, *conditions, *results, evaluated=results)
