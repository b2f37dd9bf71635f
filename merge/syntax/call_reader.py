"""Calls of functions, with what only some of them take: units of time, words between arguments, windows."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from mergecheck.merge.errors import UnsupportedStatementError
from mergecheck.merge.syntax.token_cursor import QUERY_WORDS
from mergecheck.merge.syntax.types_reader import TypeReader

if TYPE_CHECKING:
    from collections.abc import Callable

# Calls with keywords between their arguments: the keyword that identifies the form, and all keywords in their order.
_WORDED: Final = {
    "EXTRACT": ("FROM",),
    "OVERLAY": ("PLACING", "FROM", "FOR"),
    "POSITION": ("IN",),
    "SUBSTR": ("FROM", "FOR"),
    "SUBSTRING": ("FROM", "FOR"),
    "TRIM": ("FROM",),
}
_OF_UNITS: Final = ("TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF")
_UNITS: Final = frozenset(
    """YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND""".split()  # noqa: SIM905 - a word list reads better
)
_COALESCING: Final = ("COALESCE", "IFNULL", "NVL")
_IGNORING_NULLS: Final = ("FIRST", "LAST", "ANY_VALUE")


class CallReader(TypeReader):
    """Reads calls."""

    @abstractmethod
    def expression(self) -> exp.Expr:
        """Read an expression of any level."""

    @abstractmethod
    def value(self, least: int = 1) -> exp.Expr:
        """Read an expression of a level above the predicates."""

    def call(self, num_tokens: int) -> exp.Expr:
        """Read a call of a function whose name has so many tokens."""
        first, word = self.at, self.key() if num_tokens == 1 else ""
        self.at += num_tokens
        if word == "IDENTIFIER":
            raise UnsupportedStatementError("IDENTIFIER of anything but a plain name", hint="Write the name itself.")
        if word in QUERY_WORDS:  # in brackets it would be a query
            raise UnsupportedStatementError(f"a function {word}", hint="Write its name in backticks.")
        name = self.text_from(first)
        with self.deeper():
            if word in _WORDED and self._group_has(_WORDED[word][0]):
                found = self.attempt(lambda: self._worded(word))
                if found is not None:
                    return found
            arguments = self._arguments(word)
            trailing = self._trailing()
        over = self._over() if self.accept("OVER") else None
        if word in _COALESCING and arguments and not trailing:
            function: exp.Expr = exp.Coalesce(this=arguments[0], expressions=arguments[1:])
        else:
            function = exp.Anonymous(this=name, expressions=[*arguments, *trailing])
        if over is not None:
            over.set("this", function)
        return function if over is None else over

    def _group_has(self, word: str) -> bool:
        """Return whether a word stands in the group that opens here, outside further brackets."""
        depth, distance = 0, 0
        while self.ahead(distance) is not None:
            key = self.key(distance)
            depth += (key in ("(", "[")) - (key in (")", "]"))
            if not depth:
                return False
            if depth == 1 and key == word:
                return True
            distance += 1
        return False

    def _worded(self, function: str) -> exp.Expr:
        """Read a call with words between its arguments."""
        found: list[exp.Expr] = []
        self.expect("(")
        words = _WORDED[function]
        if function == "EXTRACT":
            found.append(exp.var(self.part().name))
        elif function == "TRIM":
            self.accept_any("BOTH", "LEADING", "TRAILING")
            if self.key() != "FROM":
                found.append(self.value())
        else:
            found.append(self.value())
        for word in words:
            if word == "FOR" and self.key() != "FOR":
                break
            self.expect(word)
            found.append(self.value())
        self.expect(")")
        return exp.Anonymous(this=function, expressions=found)

    def _arguments(self, function: str) -> list[exp.Expr]:
        self.expect("(")
        found: list[exp.Expr] = []
        if not self.accept(")"):
            if function in _OF_UNITS and self.key() in _UNITS and self.key(1) == ",":
                units = self.attempt(self._behind_unit)
                if units is not None:
                    return units
            found = self._quantified() or self.listed(self._argument)
            if function in _IGNORING_NULLS and self.accept("IGNORE"):
                self.expect("NULLS")
            self.expect(")")
        return found

    def _behind_unit(self) -> list[exp.Expr]:
        """Read ``unit, expression, expression)``; with fewer arguments the unit is a column."""
        unit = exp.var(self.part().name)
        self.expect(",")
        one = self.value()
        self.expect(",")
        other = self.value()
        self.expect(")")
        return [unit, one, other]

    def _quantified(self) -> list[exp.Expr]:
        """Read arguments behind DISTINCT or ALL; nothing if the word is a column."""
        word = self.key()
        if word not in ("DISTINCT", "ALL"):
            return []

        def read() -> list[exp.Expr]:
            self.at += 1
            found = self.listed(self._argument)
            return [exp.Distinct(expressions=found)] if word == "DISTINCT" else found

        return self.attempt(read) or []

    def _argument(self) -> exp.Expr:
        if self.is_name() and self.key(1) == "=>":
            name = exp.var(self.part().name)
            self.expect("=>")
            return exp.Kwarg(this=name, expression=self.expression())
        return self.expression()

    def _trailing(self) -> list[exp.Expr]:
        """Read what may follow the arguments, and give the expressions in it."""
        found: list[exp.Expr] = []
        if self.accept("WITHIN", "GROUP", "("):
            self.expect("ORDER", "BY")
            found += self.listed(self._sorted)
            self.expect(")")
        if self.accept("FILTER", "("):
            self.expect("WHERE")
            found.append(self.expression())
            self.expect(")")
        if self.key() in ("IGNORE", "RESPECT") and self.key(1) == "NULLS":
            self.at += 2
        return found

    def _over(self) -> exp.Window:
        """Read a window: its name, or the expressions in it."""
        if not self.accept("("):
            return exp.Window(alias=exp.to_identifier(self.part().name))
        if self.is_name() and self.key(1) == ")":
            name = self.part().name
            self.expect(")")
            return exp.Window(alias=exp.to_identifier(name))
        return exp.Window(partition_by=self._window())

    def _window(self) -> list[exp.Expr]:
        """Read the tokens between the brackets of a window, and the closing bracket."""
        found: list[exp.Expr] = []
        if self.accept_any("PARTITION", "DISTRIBUTE", "CLUSTER"):
            self.expect("BY")
            found += self.listed(self.expression)
        if self.accept_any("ORDER", "SORT"):
            self.expect("BY")
            found += self.listed(self._sorted)
        if self.accept_any("ROWS", "RANGE"):
            if self.accept("BETWEEN"):
                found += self._bound()
                self.expect("AND")
            found += self._bound()
        self.expect(")")
        return found

    def _bound(self) -> list[exp.Expr]:
        if (
            self.accept("CURRENT", "ROW")
            or self.accept("UNBOUNDED", "PRECEDING")
            or self.accept("UNBOUNDED", "FOLLOWING")
        ):
            return []
        bound = self.expression()
        if not self.accept_any("PRECEDING", "FOLLOWING"):
            raise self.wrong("PRECEDING or FOLLOWING is expected here.")
        return [bound]

    def _sorted(self) -> exp.Expr:
        value = self.expression()
        self.accept_any("ASC", "DESC")
        if self.accept("NULLS") and not self.accept_any("FIRST", "LAST"):
            raise self.wrong("FIRST or LAST is expected here.")
        return value

    def listed(self, read: Callable[[], exp.Expr]) -> list[exp.Expr]:
        """Read a list with commas between."""
        found = [read()]
        while self.accept(","):
            found.append(read())
        return found
