"""Spark 4's tokens (SqlBaseLexer.g4, with the settings that are the default)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError


class TokenKind(Enum):
    """The sort of a token; the value is its name in the grammar."""

    WORD = "<word>"
    STRICT = "<strict>"
    QUOTED = "<quoted>"
    STRING = "<string>"
    INTEGER = "<integer>"
    NUMBER = "<number>"
    SYMBOL = "<symbol>"
    END = "<end>"


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
        key: a word in upper case, or a symbol; empty for all others.
        text: as written.
        start: where it begins in the text.
    """

    kind: TokenKind
    key: str
    text: str
    start: int


STRICT_WORDS = frozenset(
    [
        "ANTI",
        "CROSS",
        "EXCEPT",
        "FULL",
        "INNER",
        "INTERSECT",
        "JOIN",
        "LATERAL",
        "LEFT",
        "NATURAL",
        "ON",
        "RIGHT",
        "SEMI",
        "MINUS",
        "UNION",
        "USING",
    ]
)
"""The words that name no table alias (strictNonReserved); every other word may be any name."""

_PIPED = frozenset(  # Spark refuses them behind a single |, which it takes for a misspelt |>
    (
        "AGGREGATE",
        "ANTI",
        "AS",
        "CLUSTER",
        "CROSS",
        "DISTRIBUTE",
        "DROP",
        "EXCEPT",
        "EXTEND",
        "FULL",
        "INNER",
        "INTERSECT",
        "JOIN",
        "LATERAL",
        "LEFT",
        "LIMIT",
        "NATURAL",
        "OFFSET",
        "ORDER",
        "PIVOT",
        "RIGHT",
        "SELECT",
        "SEMI",
        "SET",
        "MINUS",
        "SORT",
        "TABLESAMPLE",
        "UNION",
        "UNPIVOT",
        "WHERE",
        "WINDOW",
    )
)
_COMPLEX = ("ARRAY", "MAP", "STRUCT")  # behind these, >> closes two types

_DECIMAL = r"(?:\d+\.\d*|\.\d+)"
_TOKEN = re.compile(
    rf"""
    (?P<space>(?:\s|--(?:\\\n|[^\r\n])*)+)   # behind a backslash a comment goes on
  | (?P<comment>/\*(?!\+))
  | (?P<string>[rR]'[^']*'|[rR]"[^"]*"|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<number>\d+[eE][+-]?\d+(?:[dDfF]|[bB][dD])?(?!\w)|{_DECIMAL}(?:[eE][+-]?\d+)?(?:[dDfF]|[bB][dD])?(?!\w)
      |\d+(?:[lLsSyYdDfF]|[bB][dD])(?!\w))
  | (?P<integer>\d+(?!\w))
  | (?P<word>\w+)
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<symbol><=>|>>>|>>|<<|<=|>=|<>|!=|==|!>|!<|\|\||\|>|::|->|=>|/\*\+|\*/|[][;(),.!=<>+\-*/%~&|^:?])
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = {
    "string": TokenKind.STRING,
    "number": TokenKind.NUMBER,
    "integer": TokenKind.INTEGER,
    "quoted": TokenKind.QUOTED,
}
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def read_tokens(sql: str) -> tuple[Token, ...]:
    """Split a text into tokens, the last of which is the end.

    Raises:
        RejectedError: for characters that form no token of Spark's.
        UnsupportedByReferenceError: for strings between dollar signs.
    """
    found: list[Token] = []
    at = open_types = 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        if match is None or match.lastgroup is None:
            raise _no_token(sql, at)
        start, at, text = match.start(), match.end(), match.group()
        if match.lastgroup == "comment":
            at = _behind_comment(sql, at)
        elif match.lastgroup == "word":
            key = text.upper()
            if not text.isascii():
                raise RejectedError("INVALID_IDENTIFIER", f"The unquoted name {text} needs backticks.")
            found.append(Token(TokenKind.STRICT if key in STRICT_WORDS else TokenKind.WORD, key, text, start))
            open_types += key in _COMPLEX
        elif match.lastgroup == "symbol":
            if text in (">>", ">>>") and open_types:
                at, text = start + 1, ">"
            if text == ">" and open_types:
                open_types -= 1
            found.append(Token(TokenKind.SYMBOL, text, text, start))
        elif match.lastgroup != "space":
            found.append(Token(_KINDS[match.lastgroup], "", text, start))
    for before, token in pairwise(found):
        if before.key == "|" and token.key in _PIPED:
            raise RejectedError("PARSE_SYNTAX_ERROR", f"Syntax error at or near '|' before {token.text}.")
    return (*found, Token(TokenKind.END, "", "", len(sql)))


def _behind_comment(sql: str, at: int) -> int:
    """Skip a comment, which may hold others."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(sql, at):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return edge.end()
    raise RejectedError("UNCLOSED_BRACKETED_COMMENT", "a comment has no end")


def _no_token(sql: str, at: int) -> RejectedError | UnsupportedByReferenceError:
    if sql[at] == "$":
        return UnsupportedByReferenceError("a string between dollar signs")
    return RejectedError("PARSE_SYNTAX_ERROR", f"Syntax error at or near {sql[at]!r}.")
