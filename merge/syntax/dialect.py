"""Spark SQL text as sqlglot's tokens, and names as text.

Spark runs the user's own text with names replaced in place, so that sqlglot's spelling cannot change a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from mergecheck.merge.syntax.lexer import syntax_error
from mergecheck.merge.syntax.token_cursor import TokenCursor

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import DialectType

_NO_WORDS = frozenset((TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.VAR))  # or names anyway


class MergeDialect(Spark):
    """Spark SQL as Spark 4 reads it: a doubled quote inside a string is that quote."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens, with doubled quotes."""

        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - the form that sqlglot reads

    def tokenize(self, sql: str, dialect: DialectType = None) -> list[Token]:
        """Split a text into tokens; a word beside a dot is a name, whatever it means elsewhere: ``when.id``."""
        tokens = super().tokenize(sql, dialect)
        dots = {place for place, token in enumerate(tokens) if token.token_type is TokenType.DOT}
        for place in {beside for dot in dots for beside in (dot - 1, dot + 1) if 0 <= beside < len(tokens)}:
            token = tokens[place]
            if token.token_type not in _NO_WORDS and token.text.replace("_", "a").isalnum():
                tokens[place] = Token(
                    TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end, token.comments
                )
        return tokens


def tokenize(sql: str) -> tuple[Token, ...]:
    """Split SQL text into tokens whose ``start`` and ``end`` are positions in it, both included.

    Raises:
        AnalysisError: ``PARSE_SYNTAX_ERROR`` if a string, a name or a comment has no end.
    """
    try:
        return tuple(MergeDialect().tokenize(sql))
    except SqlglotError as error:
        raise syntax_error(f"Not readable as SQL: {_first_line(error)}", sql) from error


def without_final_comment(text: str) -> str:
    """Cut off a comment after the last token, which would hide text that is appended to the expression."""
    return text[: tokenize(text)[-1].end + 1]


def parse_name(text: str) -> tuple[str, ...]:
    """Split a dotted, possibly backticked name into its parts (R-104).

    Raises:
        AnalysisError: ``PARSE_SYNTAX_ERROR`` if the text is not a name.
    """
    cursor = TokenCursor(text)
    parts = cursor.name()
    if not cursor.done:
        raise cursor.wrong("Not a column name. Write a, a.b or `a name with spaces`.")
    return parts


def quote_name(name: str) -> str:
    """Quote one part of a name with backticks."""
    return "`" + name.replace("`", "``") + "`"


def quote_string(text: str) -> str:
    """Write a string literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _first_line(error: Exception) -> str:
    return str(error).split("\n", maxsplit=1)[0]
