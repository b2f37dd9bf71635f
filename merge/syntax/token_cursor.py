"""A cursor over the tokens of an SQL text, which reads names and pieces of text."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.syntax.lexer import Kind, lexemes, syntax_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.merge.syntax.lexer import Lexeme

MAX_DEPTH: Final = 60
"""Limit of brackets within brackets: whatever reads a statement or its trees stays within Python's stack."""

_T = TypeVar("_T")
_NAMES: Final = frozenset({Kind.WORD, Kind.QUOTED})
_OPEN: Final = {"(": ")", "[": "]"}
QUERY_WORDS: Final = frozenset({"SELECT", "WITH", "FROM", "TABLE", "VALUES"})
"""The words that begin a query."""

# What may follow these words in a query, and what makes them a name before an operator.
_SIGNS: Final = frozenset({"(", "-", "+", "~", "/*+"})
_INFIX: Final = frozenset(
    {"AND", "OR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "DIV", "COLLATE"}
)


class TokenCursor:
    """A position before a token of a text, whose final semicolons do not count.

    Words are compared case-insensitively; quoted names are no words.

    Attributes:
        tokens: the tokens. at: position of the next.
    """

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self.tokens = lexemes(sql)
        self._depth = 0
        self.at = 0

    def drop_final_semicolons(self) -> None:
        """Let the text end before them."""
        while self.tokens and self.tokens[-1].key == ";":
            self.tokens = self.tokens[:-1]

    @property
    def done(self) -> bool:
        """Whether the text has ended."""
        return self.at >= len(self.tokens)

    def ahead(self, distance: int = 0) -> Lexeme | None:
        """Give the token at a distance from the next; None beyond the end."""
        place = self.at + distance
        return self.tokens[place] if place < len(self.tokens) else None

    def key(self, distance: int = 0) -> str:
        """Give the word or symbol at a distance from the next token; empty if there is none."""
        token = self.ahead(distance)
        return "" if token is None else token.key

    def is_name(self, distance: int = 0) -> bool:
        """Return whether a token can be a name: Spark reserves no word."""
        token = self.ahead(distance)
        return token is not None and token.kind in _NAMES

    def accept(self, *keys: str) -> bool:
        """Skip these words and symbols if they come next, and return whether they do."""
        found = all(self.key(distance) == key for distance, key in enumerate(keys))
        self.at += len(keys) if found else 0
        return found

    def accept_any(self, *keys: str) -> str:
        """Skip and return the next token if it is among these words or symbols; otherwise return an empty text."""
        found = self.key() if self.key() in keys else ""
        self.at += bool(found)
        return found

    def expect(self, *keys: str) -> None:
        """Skip words or symbols that must come next.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; one does not.
        """
        for key in keys:
            if not self.accept(key):
                raise self.wrong(f"{key} is expected here.")

    def part(self) -> Lexeme:
        """Read one part of a name.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; there is no name here.
        """
        token = self.ahead()
        if token is None or token.kind not in _NAMES:
            raise self.wrong("A name is expected here.")
        self.at += 1
        return token

    def name(self) -> tuple[str, ...]:
        """Read a dotted name: its parts, unquoted.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; there is no name here.
        """
        parts = [self.part().name]
        while self.accept("."):
            parts.append(self.part().name)
        return tuple(parts)

    def attempt(self, read: Callable[[], _T]) -> _T | None:
        """Read, or come back to this place and give None if that fails."""
        first = self.at
        try:
            return read()
        except AnalysisError:
            self.at = first
            return None

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Count one level of nesting.

        Raises:
            UnsupportedStatementError: there are too many.
        """
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise too_deep()
        try:
            yield
        finally:
            self._depth -= 1

    def skip_group(self) -> None:
        """Skip the group that opens here, with the bracket that closes it.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; nothing closes it.
        """
        first, awaited = self.at, []
        while not self.done:
            key = self.key()
            if key in _OPEN:
                awaited.append(_OPEN[key])
                if len(awaited) > MAX_DEPTH:
                    raise too_deep()
            elif key in _OPEN.values() and key != (awaited.pop() if awaited else ""):
                break
            self.at += 1
            if not awaited:
                return
        self.at = first
        raise self.wrong("This is never closed.")

    def starts_query(self) -> bool:
        """Return whether a query begins behind the bracket here, if the text is valid."""
        word, after = self.key(1), self.ahead(2)
        if word not in QUERY_WORDS or after is None:
            return False
        if after.key == "*":
            return word == "SELECT" and self.key(3) in {"", "FROM", ",", ")", "EXCEPT"}
        if after.kind is Kind.SYMBOL:
            return after.key in _SIGNS and word in {"SELECT", "VALUES", "FROM"}
        return after.key not in _INFIX and (word in {"SELECT", "VALUES"} or after.kind in _NAMES)

    def may_start_query(self) -> bool:
        """Return whether a query may begin after one or several brackets here, or before an operator's name."""
        distance = 1
        while self.key(distance) == "(":
            distance += 1
        return self.key() == "(" and self.key(distance) in QUERY_WORDS

    def text_from(self, first: int) -> str:
        """Cut out the text from the token at a position to the one just passed."""
        return self._sql[self.tokens[first].start : self.tokens[self.at - 1].end]

    def wrong(self, what: str) -> AnalysisError:
        """Build the error with the expected token, the found one, and its place."""
        token = self.ahead()
        if token is None:
            return syntax_error(f"{what} The statement ends too early.", self._sql)
        before = self._sql[: token.start]
        line, column = before.count("\n") + 1, token.start - (before.rfind("\n") + 1) + 1
        return syntax_error(f"{what} Found {token.text!r} at line {line}, column {column}.", self._sql)


def too_deep() -> UnsupportedStatementError:
    """Build the error for an expression that is nested too deeply."""
    return UnsupportedStatementError(
        f"an expression of more than {MAX_DEPTH} levels of brackets or operators",
        hint="Compute parts of it in the source query.",
    )
