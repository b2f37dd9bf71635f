"""Expressions by Spark's grammar, as trees of sqlglot's nodes.

sqlglot's own parser is not used: its operators have other precedences, and it knows words that Spark takes as names.
Where Spark takes the first of several readings with which the whole text is read, this reader takes the first with
which it can go on. So it may fail on a text that Spark reads, but it does not read another meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from mergecheck.merge.syntax.operand_reader import OperandReader
from mergecheck.merge.syntax.token_cursor import too_deep

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_TREE_DEPTH: Final = 120
"""Limit of a tree's depth, which bounds the recursion of whatever walks it."""

# Operators above the predicates, with their levels: each level is read from left to right.
_OPERATORS: Final[dict[str, tuple[int, type[exp.Expr] | None]]] = {
    "=": (1, exp.EQ),
    "==": (1, exp.EQ),
    "<>": (1, exp.NEQ),
    "!=": (1, exp.NEQ),
    "<": (1, exp.LT),
    "<=": (1, exp.LTE),
    "!>": (1, exp.LTE),
    ">": (1, exp.GT),
    ">=": (1, exp.GTE),
    "!<": (1, exp.GTE),
    "<=>": (1, exp.NullSafeEQ),
    "|": (2, exp.BitwiseOr),
    "^": (3, exp.BitwiseXor),
    "&": (4, exp.BitwiseAnd),
    "<<": (5, exp.BitwiseLeftShift),
    ">>": (5, exp.BitwiseRightShift),
    ">>>": (5, None),
    "+": (6, exp.Add),
    "-": (6, exp.Sub),
    "||": (6, exp.DPipe),
    "*": (7, exp.Mul),
    "/": (7, exp.Div),
    "%": (7, exp.Mod),
    "DIV": (7, exp.IntDiv),
}
_LIKE: Final = {"LIKE": exp.Like, "ILIKE": exp.ILike}


class ExpressionReader(OperandReader):
    """Reads expressions."""

    def whole(self) -> exp.Expr:
        """Read an expression of any level, whose tree is not too deep.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; there is none.
            UnsupportedStatementError: the expression is unknown to this reader, or nested too deeply.
        """
        tree = self.expression()
        level: list[exp.Expr] = [tree]
        for _ in range(MAX_TREE_DEPTH):
            level = [child for node in level for child in node.iter_expressions()]
            if not level:
                return tree
        raise too_deep()

    def expression(self) -> exp.Expr:
        """Read an expression of any level."""
        first = self.at
        alternatives: list[exp.Expr] = []
        while True:
            start = self.at
            parts = [self._negated()]
            while self.accept("AND"):
                parts.append(self._negated())
            alternatives.append(_joined(exp.And, parts))
            if len(parts) > 1:
                self.spanned(start, alternatives[-1])
            if not self.accept("OR"):
                break
        tree = _joined(exp.Or, alternatives)
        return self.spanned(first, tree) if len(alternatives) > 1 else tree

    def _negated(self) -> exp.Expr:
        first = self.at
        if self.accept("!"):
            with self.deeper():
                return self.spanned(first, exp.Not(this=self._negated()))
        if self.key() == "NOT":
            found = self.attempt(self._not)
            if found is not None:
                return self.spanned(first, found)
        if self.accept("EXISTS"):
            if self.may_start_query():
                self.skip_group()
                return exp.Exists(this=exp.Subquery(this=exp.Select()))
            self.at = first
        value = self.value()
        predicate = self.attempt(lambda: self._predicate(value))
        return value if predicate is None else self.spanned(first, predicate)

    def _not(self) -> exp.Expr:
        self.expect("NOT")
        with self.deeper():
            return exp.Not(this=self._negated())

    def _predicate(self, value: exp.Expr) -> exp.Expr | None:
        """Read what may follow a value, once; None if nothing does."""
        if self.accept("IS"):
            return self._is(value)
        negated = self.accept("NOT")
        word = self.accept_any("BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP")
        if word == "BETWEEN":
            low = self.value()
            self.expect("AND")
            found: exp.Expr = exp.Between(this=value, low=low, high=self.value())
        elif word == "IN":
            found = self._in(value)
        elif word in _LIKE:
            found = self._like(value, _LIKE[word])
        elif word:
            found = exp.RegexpLike(this=value, expression=self.value())
        elif negated:
            raise self.wrong("A predicate is expected here.")
        else:
            return None
        return exp.Not(this=found) if negated else found

    def _is(self, value: exp.Expr) -> exp.Expr:
        negated = self.accept("NOT")
        if self.accept("DISTINCT", "FROM"):
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return kind(this=value, expression=self.value())
        word = self.accept_any("NULL", "TRUE", "FALSE", "UNKNOWN")
        if not word:
            raise self.wrong("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM is expected here.")
        other = exp.null() if word in ("NULL", "UNKNOWN") else exp.Boolean(this=word == "TRUE")
        found = exp.Is(this=value, expression=other)
        return exp.Not(this=found) if negated else found

    def _in(self, value: exp.Expr) -> exp.Expr:
        found = None
        if not self.starts_query():
            if not self.may_start_query():
                return self._in_list(value)
            found = self.attempt(lambda: self._in_list(value))
        if found is not None:
            return found
        self.skip_group()
        return exp.In(this=value, query=exp.Subquery(this=exp.Select()))

    def _in_list(self, value: exp.Expr) -> exp.Expr:
        self.expect("(")
        with self.deeper():
            values = self.listed(self.expression)
        self.expect(")")
        return exp.In(this=value, expressions=values)

    def _like(self, value: exp.Expr, kind: type[exp.Expr]) -> exp.Expr:
        if self.key() in ("ANY", "SOME", "ALL") and self.key(1) == "(":
            self.at += 1
            self.expect("(")
            patterns = self.listed(self.expression)
            self.expect(")")
            return kind(this=value, expression=exp.Tuple(expressions=patterns))
        found: exp.Expr = kind(this=value, expression=self.value())
        if self.accept("ESCAPE"):
            return exp.Escape(this=found, expression=self._text())
        return found

    def value(self, least: int = 1) -> exp.Expr:
        """Read an expression of a level above the predicates."""
        first = self.at
        left = self._signed()
        while True:
            level, kind = _OPERATORS.get(self.key(), (0, None))
            if level < least or not level:
                return left
            sign = self.key()
            self.at += 1
            right = self.value(level + 1)
            made = (
                exp.Anonymous(this=sign, expressions=[left, right])
                if kind is None
                else kind(this=left, expression=right)
            )
            left = self.spanned(first, made)

    def _signed(self) -> exp.Expr:
        first, sign = self.at, self.key()
        number = self.ahead(1)
        if sign not in ("-", "+", "~") or (
            sign == "-" and number is not None and not number.key and number.text[:1] in ".0123456789"
        ):
            return self.operand()
        self.at += 1
        with self.deeper():
            operand = self._signed()
        if sign == "+":
            return self.spanned(first, exp.Anonymous(this="positive", expressions=[operand]))
        return self.spanned(first, exp.Neg(this=operand) if sign == "-" else exp.BitwiseNot(this=operand))


def _joined(kind: type[exp.Expr], parts: Sequence[exp.Expr]) -> exp.Expr:
    """Join conditions by AND or OR. The tree is balanced, so that long conditions are not deep; it means the same."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return kind(this=_joined(kind, parts[:middle]), expression=_joined(kind, parts[middle:]))


def parse_expression(text: str) -> exp.Expr:
    """Read one Spark SQL expression.

    Identifiers, and nodes of several operands, know their places in the text; see ``span``.

    Raises:
        AnalysisError: ``PARSE_SYNTAX_ERROR`` if the text is not exactly one expression.
        UnsupportedStatementError: the expression is unknown to the reader, or nested too deeply.
    """
    reader = ExpressionReader(text)
    tree = reader.whole()
    if not reader.done:
        raise reader.wrong("One SQL expression is allowed here, without an alias, but this is more than that.")
    return tree


def span(node: exp.Expr) -> tuple[int, int]:
    """Locate a node of a ``parse_expression`` tree: start and end (excluded) in the text."""
    return node.meta["start"], node.meta["end"]
