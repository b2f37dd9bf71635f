"""Spark 4's tokens, after SqlBaseLexer.g4 with the settings that are the default."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError


class Kind(Enum):
    """The kind of a token; the values name the groups of the pattern that finds them."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A token of Spark's.

    Attributes:
        key: a word in upper case, or a symbol; empty for all others.
        text: as written.
        start: its place in the text.
    """

    kind: Kind
    key: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The place behind it."""
        return self.start + len(self.text)

    @property
    def name(self) -> str:
        """The name, without backticks."""
        return self.text[1:-1].replace("``", "`") if self.kind is Kind.QUOTED else self.text


_PATTERN: Final = re.compile(
    r"""
    (?P<blank>\s+|--(?:\\\n|[^\r\n])*)
  | (?P<comment>/\*(?!\+))
  | (?P<string>[rR](?:'[^']*'|"[^"]*")|'(?:\\.|''|[^'\\])*'|"(?:\\.|""|[^"\\])*")
  | (?P<quoted>`(?:``|[^`])*`)
  | (?P<number>(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[dDfF]|[bB][dD])?
      |\d+(?:[eE][+-]?\d+(?:[dDfF]|[bB][dD])?|[lLsSyYdDfF]|[bB][dD])?)(?!\w))
  | (?P<word>\w+)
  | (?P<symbol><=>|>>>|/\*\+|<<|>>|<=|>=|<>|!=|==|!>|!<|\|\||\|>|::|->|=>|\*/|[][;(),.!=<>+\-*/%~&|^:?{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE: Final = re.compile(r"/\*|\*/")
_NESTED_TYPES: Final = ("ARRAY", "MAP", "STRUCT")
# What begins a step of a pipe: Spark refuses it behind a single |, which it takes for a misspelt |>.
_PIPE_STEPS: Final = frozenset(
    """AGGREGATE ANTI AS CLUSTER CROSS DISTRIBUTE DROP EXCEPT EXTEND FULL INNER INTERSECT JOIN LATERAL LEFT LIMIT MINUS
    NATURAL OFFSET ORDER PIVOT RIGHT SELECT SEMI SET SORT TABLESAMPLE UNION UNPIVOT WHERE WINDOW""".split()  # noqa: SIM905 - a word list reads better
)


def syntax_error(what: str, text: str) -> AnalysisError:
    """Build Spark's ``PARSE_SYNTAX_ERROR`` for a text that is no Spark SQL or no MERGE (R-101)."""
    return AnalysisError("PARSE_SYNTAX_ERROR", f"{what}\n\n  {shortened(text.strip())}")


def shortened(text: str) -> str:
    """Cut a text that is too long for a message."""
    longest = 2000
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


def lexemes(sql: str) -> tuple[Lexeme, ...]:
    """Split a text into tokens, leaving out blanks and comments.

    Raises:
        AnalysisError: the text has a part that is no token of Spark's.
        UnsupportedStatementError: for strings between dollar signs.
    """
    found: list[Lexeme] = []
    at = open_types = 0
    while at < len(sql):
        match = _PATTERN.match(sql, at)
        if match is None:
            raise _no_token(sql, at)
        start, at, text, group = at, match.end(), match.group(), match.lastgroup
        if group == "blank":
            continue
        if group == "comment":
            at = _behind_comment(sql, at)
            continue
        if group == "symbol":
            if text in {">>", ">>>"} and open_types:  # closes two types
                at, text = start + 1, ">"
            open_types -= text == ">" and open_types > 0
        key = text.upper() if group in {"word", "symbol"} else ""
        open_types += key in _NESTED_TYPES
        _check(sql, found, key, text)
        found.append(Lexeme(Kind(group), key, text, start))
    return tuple(found)


def _check(sql: str, before: list[Lexeme], key: str, text: str) -> None:
    if key and not text.isascii():
        raise AnalysisError(
            "INVALID_IDENTIFIER", f"The unquoted identifier {text} is invalid and must be back quoted as: `{text}`."
        )
    if key in _PIPE_STEPS and before and before[-1].key == "|":
        raise syntax_error(f"{text} cannot follow a single |.", sql)


def _behind_comment(sql: str, at: int) -> int:
    """Skip a comment, which may hold others."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(sql, at):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return edge.end()
    raise AnalysisError("UNCLOSED_BRACKETED_COMMENT", "Found an unclosed bracketed comment. Append */ at its end.")


def _no_token(sql: str, at: int) -> AnalysisError | UnsupportedStatementError:
    if sql[at] == "$":
        return UnsupportedStatementError("a string between dollar signs", hint="Write it between apostrophes.")
    ends = {"'": "string", '"': "string", "`": "quoted name"}
    what = f"This {ends[sql[at]]} has no end" if sql[at] in ends else f"{sql[at]!r} is no word or sign of SQL"
    return syntax_error(f"{what}: {shortened(sql[at:])}", sql)
