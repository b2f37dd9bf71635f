"""What operators stand between: names, constants, brackets, CASE, casts and calls, with members and subscripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from mergecheck.merge.syntax.call_reader import CallReader
from mergecheck.merge.syntax.lexer import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.merge.syntax.lexer import Lexeme

_SUFFIXES: Final = {"L": "BIGINT", "S": "SMALLINT", "Y": "TINYINT", "D": "DOUBLE", "F": "FLOAT", "BD": "DECIMAL"}
_TYPED: Final = {
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMPLTZ",
    "TIMESTAMP_NTZ": "TIMESTAMPNTZ",
}
_UNITS: Final = frozenset(
    """YEAR YEARS MONTH MONTHS WEEK WEEKS DAY DAYS HOUR HOURS MINUTE MINUTES SECOND SECONDS MILLISECOND MILLISECONDS
    MICROSECOND MICROSECONDS NANOSECOND NANOSECONDS""".split()  # noqa: SIM905 - a word list reads better
)
_MOST_PARTS: Final = 4  # of a column in sqlglot


class OperandReader(CallReader):
    """Reads operands."""

    def __init__(self, sql: str) -> None:
        super().__init__(sql)
        self._parameters: list[str] = []  # of the lambdas around this place

    def operand(self) -> exp.Expr:
        """Read an operand with its members, subscripts and types."""
        first = self.at
        node = self._atom()
        while True:
            if self.key() == "." and self.is_name(1):
                self.at += 1
                node = exp.Dot(this=node, expression=self._identifier(self.part()))
            elif self.accept("["):
                with self.deeper():
                    node = exp.Bracket(this=node, expressions=[self.value()])
                self.expect("]")
            elif self.accept("::"):
                node = exp.TryCast(this=node, to=self.type())
            elif self.accept("COLLATE"):
                node = exp.Collate(this=node, expression=exp.var(".".join(self.name())))
            else:
                return node
            self.spanned(first, node)

    def spanned(self, first: int, node: exp.Expr) -> exp.Expr:
        """Note in a tree which piece of the text it is: from a token to the one just passed."""
        node.meta["start"], node.meta["end"] = self.tokens[first].start, self.tokens[self.at - 1].end
        return node

    def _atom(self) -> exp.Expr:
        token = self.ahead()
        if token is None:
            raise self.wrong("An expression is expected here.")
        if token.kind is Kind.STRING:
            return self._text()
        if token.kind is Kind.NUMBER:
            self.at += 1
            return _number(token)
        if token.key == "-" and (number := self.ahead(1)) is not None and number.kind is Kind.NUMBER:
            self.at += 2
            return exp.Neg(this=_number(number))
        if token.key == "(":
            return self._bracketed()
        if token.key == "*":
            self.at += 1
            self._except()
            return exp.Star()
        if token.key == "?":
            self.at += 1
            return exp.Placeholder()
        if token.key == ":" and self.is_name(1):
            self.at += 1
            return exp.Placeholder(this=self.part().name)
        if token.kind is Kind.SYMBOL:
            raise self.wrong("An expression is expected here.")
        return self._special(token) or self._named_operand()

    def _special(self, token: Lexeme) -> exp.Expr | None:
        """Read what begins with a word of the language; None if the word is a name here."""
        after = self.ahead(1)
        if token.key == "CASE":
            found = self.attempt(self._case)
            if found is None and any(later.key == "END" for later in self.tokens[self.at + 1 :]):
                raise self.wrong("This CASE cannot be read up to its END.")  # nor need it be a name
            return found
        if token.key == "INTERVAL":
            return self.attempt(self._interval)
        if after is not None and after.kind is Kind.STRING and token.kind is Kind.WORD:
            return self._typed(token)
        if after is not None and after.key == "(":
            if token.key in ("CAST", "TRY_CAST"):
                return self.attempt(self._cast)
            return self.attempt(self._struct) if token.key == "STRUCT" else None
        if token.key == "CURRENT_PATH":  # the only function without brackets that hides columns
            self.at += 1
            return exp.Anonymous(this=token.key)
        if token.key in ("NULL", "TRUE", "FALSE") and (after is None or after.key != "->"):
            self.at += 1
            return exp.null() if token.key == "NULL" else exp.Boolean(this=token.key == "TRUE")
        return None

    def _named_operand(self) -> exp.Expr:
        """Read a call, a lambda, a star or a column."""
        distance = 1
        while self.key(distance) == "." and self.is_name(distance + 1):
            distance += 2
        if self.key(distance) == "(":
            return self.call(distance)
        if self.key(1) == "->":
            return self._lambda([self.part().name])
        names = [self._identifier(self.tokens[self.at + place]) for place in range(0, distance, 2)]
        self.at += distance
        if self.key() == "." and self.key(1) == "*":
            self.at += 2
            self._except()
            return _column([*names, exp.Star()])
        if names[0].name.lower() in self._parameters:
            return _dots(names[0], names[1:])
        return _column(names)

    def _except(self) -> None:
        if self.accept("EXCEPT", "("):
            self.name()
            while self.accept(","):
                self.name()
            self.expect(")")

    @staticmethod
    def _identifier(token: Lexeme) -> exp.Expr:
        identifier = exp.Identifier(this=token.name, quoted=token.kind is Kind.QUOTED)
        identifier.meta["start"], identifier.meta["end"] = token.start, token.end
        return identifier

    def _text(self) -> exp.Expr:
        """Read a string, or several, which are one."""
        parts = []
        while (token := self.ahead()) is not None and token.kind is Kind.STRING:
            self.at += 1
            raw = token.text[0] in "rR"
            quote = token.text[-1]
            parts.append(token.text[2:-1].replace("\\", "\\\\") if raw else token.text[1:-1].replace(quote * 2, quote))
        return exp.Literal.string("".join(parts))

    def _typed(self, token: Lexeme) -> exp.Expr:
        """Read a literal behind the name of its type."""
        if token.key not in (*_TYPED, "X", "TIME"):
            raise self.wrong("This is no type of literals.")
        self.at += 1
        text = self._text()
        if token.key not in _TYPED:
            return exp.Anonymous(this=f"{token.key} literal")
        return exp.Cast(this=text, to=exp.DataType.build(_TYPED[token.key]))

    def _interval(self) -> exp.Expr:
        self.expect("INTERVAL")
        pairs = 0
        while True:
            first = self.at
            self.accept_any("+", "-")
            token = self.ahead()
            if token is None or token.kind not in (Kind.STRING, Kind.NUMBER):
                self.at = first
                break
            self.at += 1
            if not self.accept_any(*_UNITS):
                if pairs or token.kind is Kind.NUMBER:
                    raise self.wrong("A unit of time is expected here.")
                return exp.Anonymous(this="INTERVAL literal")
            pairs += 1
            if self.key() == "TO" and self.key(1) in _UNITS:
                self.at += 2
                break
        if not pairs:
            raise self.wrong("A number or a string is expected here.")
        return exp.Anonymous(this="INTERVAL literal")

    def _case(self) -> exp.Expr:
        self.expect("CASE")
        with self.deeper():
            found = self.attempt(lambda: self._branches(None))
            return found or self._branches(self.expression())

    def _branches(self, operand: exp.Expr | None) -> exp.Expr:
        branches = []
        while self.accept("WHEN"):
            condition = self.expression()
            self.expect("THEN")
            branches.append(exp.If(this=condition, true=self.expression()))
        if not branches:
            raise self.wrong("WHEN is expected here.")
        default = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return exp.Case(this=operand, ifs=branches, default=default)

    def _cast(self) -> exp.Expr:
        self.at += 1
        self.expect("(")
        with self.deeper():
            value = self.expression()
        self.expect("AS")
        wanted = self.type()
        self.expect(")")
        return exp.TryCast(this=value, to=wanted)

    def _struct(self) -> exp.Expr:
        self.expect("STRUCT", "(")
        with self.deeper():
            fields = [] if self.key() == ")" else self.listed(self._aliased)
        self.expect(")")
        return exp.Anonymous(this="STRUCT", expressions=fields)

    def _aliased(self) -> exp.Expr:
        """Read an expression that may have a name."""
        value = self.expression()
        if self.accept("AS") or self.is_name():
            return exp.Alias(this=value, alias=self.part().name)
        return value

    def _bracketed(self) -> exp.Expr:
        parameters = self._lambda_parameters()
        if parameters:
            return self._lambda(parameters)
        found = None
        if not self.starts_query():
            if not self.may_start_query():
                return self._row()
            found = self.attempt(self._row)
        if found is not None:
            return found
        self.skip_group()
        return exp.Subquery(this=exp.Select())

    def _row(self) -> exp.Expr:
        self.expect("(")
        with self.deeper():
            values = self.listed(self._aliased)
        if len(values) == 1:
            if isinstance(values[0], exp.Alias):
                raise self.wrong("An expression in brackets cannot have an alias.")
            self.expect(")")
            return exp.Paren(this=values[0])
        self.expect(")")
        return exp.Tuple(expressions=values)

    def _lambda_parameters(self) -> list[str]:
        """Read ``(x, y)`` before an arrow; nothing if this is something else."""
        distance = 1
        while self.is_name(distance) and self.key(distance + 1) == ",":
            distance += 2
        if distance == 1 or not self.is_name(distance):
            return []
        if (self.key(distance + 1), self.key(distance + 2)) != (")", "->"):
            return []
        names = [self.tokens[self.at + place].name for place in range(1, distance + 1, 2)]
        self.at += distance + 2
        return names

    def _lambda(self, parameters: Sequence[str]) -> exp.Expr:
        self.expect("->")
        known = len(self._parameters)
        self._parameters += [name.lower() for name in parameters]
        try:
            with self.deeper():
                body = self.expression()
        finally:
            del self._parameters[known:]
        return exp.Lambda(this=body, expressions=[exp.to_identifier(name) for name in parameters])


def _number(token: Lexeme) -> exp.Expr:
    """Write a number as sqlglot does: a suffix is a cast."""
    text = token.text.upper()
    suffix = next((one for one in ("BD", "L", "S", "Y", "D", "F") if text.endswith(one)), "")
    literal = exp.Literal.number(text.removesuffix(suffix).lower())
    return exp.TryCast(this=literal, to=exp.DataType.build(_SUFFIXES[suffix])) if suffix else literal


def _column(names: Sequence[exp.Expr]) -> exp.Expr:
    """Build a column; parts after the fourth are members."""
    parts = names[:_MOST_PARTS]
    keys = ("this", "table", "db", "catalog")
    column = exp.Column(**dict(zip(keys, reversed(parts), strict=False)))
    return _dots(column, names[_MOST_PARTS:])


def _dots(node: exp.Expr, names: Sequence[exp.Expr]) -> exp.Expr:
    for name in names:
        node = exp.Dot(this=node, expression=name)
    return node
