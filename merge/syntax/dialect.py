"""Spark SQL text as tokens and trees, through one dialect of sqlglot.

Trees only describe an expression: the names that it uses, and what data skipping may conclude from it. Spark runs the
user's own text with names replaced in place, so that sqlglot's spelling cannot change a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from mergecheck.merge.errors import AnalysisError

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


_SELECT = "SELECT "


def syntax_error(what: str, text: str) -> AnalysisError:
    """Build Spark's ``PARSE_SYNTAX_ERROR`` for a text that is no Spark SQL or no MERGE (R-101)."""
    return AnalysisError("PARSE_SYNTAX_ERROR", f"{what}\n\n  {text.strip()}")


def tokenize(sql: str) -> tuple[Token, ...]:
    """Split SQL text into tokens whose ``start`` and ``end`` are positions in it, both included.

    Raises:
        AnalysisError: ``PARSE_SYNTAX_ERROR`` if a string, a name or a comment has no end.
    """
    try:
        return tuple(MergeDialect().tokenize(sql))
    except SqlglotError as error:
        raise syntax_error(f"Not readable as SQL: {_first_line(error)}", sql) from error


def parse_expression(text: str) -> exp.Expr:
    """Parse one Spark SQL expression.

    Identifiers carry ``meta["start"]`` and ``meta["end"]``; use ``span`` to get positions in ``text``.

    Raises:
        AnalysisError: ``PARSE_SYNTAX_ERROR`` if the text is not exactly one expression.
    """
    try:
        statements = [s for s in MergeDialect().parse(_SELECT + text) if s is not None]
    except SqlglotError as error:
        raise syntax_error(f"Not an expression of Spark SQL: {_first_line(error)}", text) from error
    ends = tokenize(text)
    if len(statements) != 1 or not _is_bare_select(statements[0]) or ends[-1].token_type is TokenType.SEMICOLON:
        raise syntax_error("One SQL expression is allowed here, but this is more than that:", text)
    tree: exp.Expr = statements[0].expressions[0].pop()
    if isinstance(tree, exp.Alias | exp.Aliases):
        raise syntax_error("An expression cannot have an alias here. Leave the alias out:", text)
    return tree


def span(identifier: exp.Expr) -> tuple[int, int]:
    """Locate an identifier of a ``parse_expression`` tree: start and end (excluded) in the text parsed."""
    return identifier.meta["start"] - len(_SELECT), identifier.meta["end"] + 1 - len(_SELECT)


def without_final_comment(text: str) -> str:
    """Cut off a comment after the last token, which would hide what is appended to the expression."""
    return text[: tokenize(text)[-1].end + 1]


def parse_name(text: str) -> tuple[str, ...]:
    """Split a dotted, possibly backticked name into its parts (R-104).

    Raises:
        AnalysisError: ``PARSE_SYNTAX_ERROR`` if the text is not a name.
    """
    tokens = tokenize(text)
    parts: list[str] = []
    for index, token in enumerate(tokens):
        if index % 2 and token.token_type is not TokenType.DOT:
            break
        if index % 2 == 0:
            if not is_name(token):
                break
            parts.append(token.text)
    else:
        if len(tokens) % 2:
            return tuple(parts)
    raise syntax_error("Not a column name. Write a, a.b or `a name with spaces`:", text)


def is_name(token: Token) -> bool:
    """Tell whether a token can be one part of a name: a quoted identifier or any word."""
    if token.token_type is TokenType.IDENTIFIER:
        return True
    if token.token_type in {TokenType.STRING, TokenType.NUMBER}:
        return False
    return token.text.replace("_", "a").isalnum()


def quote_name(name: str) -> str:
    """Quote one part of a name with backticks."""
    return "`" + name.replace("`", "``") + "`"


def quote_string(text: str) -> str:
    """Write a string literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _is_bare_select(statement: exp.Expr) -> bool:
    """Tell whether parsing ``SELECT <text>`` gave one projection and nothing else."""
    if not isinstance(statement, exp.Select) or len(statement.expressions) != 1:
        return False
    return all(not value for key, value in statement.args.items() if key != "expressions")


def _first_line(error: Exception) -> str:
    return str(error).split("\n", maxsplit=1)[0]
