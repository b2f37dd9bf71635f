"""A cursor over the tokens of an SQL text, which reads names and pieces of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot.tokens import TokenType

from mergecheck.merge.syntax.dialect import is_name, syntax_error, tokenize

if TYPE_CHECKING:
    from sqlglot.tokens import Token

    from mergecheck.merge.errors import AnalysisError

_OPEN: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSE: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})


class TokenCursor:
    """A position before a token of a text, whose final semicolon does not count.

    Words are compared case-insensitively; quoted names and members, such as ``t.when``, are no words.

    Attributes:
        at: position of the next token.
    """

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._tokens = _without_final_semicolon(tokenize(sql))
        self.at = 0

    def name(self) -> tuple[str, ...]:
        """Read a dotted name: its parts, unquoted.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; there is no name here.
        """
        parts = [self._name_part()]
        while self.accept("."):
            parts.append(self._name_part())
        return tuple(parts)

    def _name_part(self) -> str:
        if self.done or not is_name(self._tokens[self.at]):
            raise self.wrong("A name is expected here.")
        self.at += 1
        return self._tokens[self.at - 1].text

    def skip_group(self) -> None:
        """Skip the group that opens here, with the bracket or END that closes it.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; nothing closes it.
        """
        first, depth = self.at, 0
        while not self.done:
            if self.opens():
                depth += 1
            elif self._closes():
                depth -= 1
            self.at += 1
            if depth == 0:
                return
        self.at = first
        raise self.wrong("This is never closed.")

    def opens(self) -> bool:
        """Tell whether a bracket or CASE opens here."""
        return self._tokens[self.at].token_type in _OPEN and not self._is_member()

    def _closes(self) -> bool:
        return self._tokens[self.at].token_type in _CLOSE and not self._is_member()

    def _is_member(self) -> bool:
        """Tell whether the word here follows a dot, so that it is a name and no keyword: ``t.when``."""
        return self.at > 0 and self._tokens[self.at - 1].token_type is TokenType.DOT

    @property
    def done(self) -> bool:
        """Whether the text has ended."""
        return self.at >= len(self._tokens)

    def peek_is(self, *words: str) -> bool:
        """Tell whether the next token is one of the words or signs."""
        if self.done:
            return False
        token = self._tokens[self.at]
        if token.token_type in {TokenType.IDENTIFIER, TokenType.STRING} or self._is_member():
            return False
        return token.text.upper() in words

    def accept(self, word: str) -> bool:
        """Skip a word or sign if it is the next token, and tell whether it is."""
        found = self.peek_is(word)
        self.at += found
        return found

    def expect(self, word: str) -> None:
        """Skip a word or sign that must be the next token.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; it does not.
        """
        if not self.accept(word):
            raise self.wrong(f"{word} is expected here.")

    def text_from(self, first: int) -> str:
        """Cut out the text from the token at a position to the one just passed."""
        return self._sql[self._tokens[first].start : self._tokens[self.at - 1].end + 1]

    def wrong(self, what: str) -> AnalysisError:
        """Build the error that says what is expected, what was found, and where."""
        if self.done:
            return syntax_error(f"{what} The statement ends too early.", self._sql)
        token = self._tokens[self.at]
        before = self._sql[: token.start]
        line, column = before.count("\n") + 1, token.start - (before.rfind("\n") + 1) + 1
        return syntax_error(f"{what} Found {token.text!r} at line {line}, column {column}.", self._sql)


def _without_final_semicolon(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    if tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        return tokens[:-1]
    return tokens
