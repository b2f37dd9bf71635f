"""MERGE text cut at its clauses, so that a statement can be shown line by line and made smaller piece by piece.

The text is only cut, and names replaced, never rewritten: every piece keeps the author's spelling. It is no parser;
a text that it cannot cut stays whole.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import tokenize
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlglot.tokens import Token

_EVOLUTION = re.compile(r"^(\s*MERGE)\s+WITH\s+SCHEMA\s+EVOLUTION(\s+INTO\b)", re.IGNORECASE)
_OPENERS = {"(", "[", "{"}
_CLOSERS = {")", "]", "}"}
_QUOTED_OR_SPACE = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)|\s+""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseText:
    """One WHEN clause: ``WHEN ... [AND condition] THEN action``; ``when`` ends before the condition."""

    when: str
    condition: str | None
    action: str

    def sql(self) -> str:
        """Format the clause on one line."""
        condition = f" AND {self.condition}" if self.condition is not None else ""
        return f"{self.when}{condition} THEN {self.action}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeText:
    """A MERGE statement in pieces: everything before ON, the ON condition, the clauses."""

    head: str
    condition: str | None
    clauses: tuple[ClauseText, ...]

    def lines(self) -> tuple[str, ...]:
        """Format the statement with ON and every clause on its own line."""
        on = () if self.condition is None else (f"  ON {self.condition}",)
        return (self.head, *on, *(f"  {clause.sql()}" for clause in self.clauses))

    def sql(self) -> str:
        """Format the statement on one line."""
        return " ".join(line.strip() for line in self.lines())


def without_evolution(sql: str) -> tuple[str, bool]:
    """Take WITH SCHEMA EVOLUTION out of a statement, and return whether it was there."""
    plain, number = _EVOLUTION.subn(r"\1\2", sql)
    return plain, bool(number)


def cut_merge(sql: str) -> MergeText:
    """Cut a statement at ON, WHEN and THEN.

    A text that is no MERGE, or that cannot be read as tokens, comes back as a head alone.
    """
    starts = clause_starts(sql)
    if not starts:
        return MergeText(head=_one_line(sql), condition=None, clauses=())
    ons = [start for word, start in _outer_words(sql) if word == "ON" and start < starts[0]]
    head, condition = _cut_head(sql[: starts[0]], ons)
    bounds = [*starts, len(sql.rstrip().rstrip(";"))]
    clauses = tuple(_cut_clause(sql[low:high]) for low, high in itertools.pairwise(bounds))
    return MergeText(head=head, condition=condition, clauses=clauses)


def clause_starts(sql: str) -> tuple[int, ...]:
    """Return the offsets at which WHEN clauses begin; a table may be called WHEN, too."""
    following = itertools.pairwise(_outer_words(sql))
    return tuple(start for (word, start), (then, _) in following if word == "WHEN" and then in {"MATCHED", "NOT"})


def split_outer(text: str, separator: str) -> tuple[str, ...]:
    """Split an expression list at a word or comma outside parentheses and CASE.

    ``BETWEEN a AND b`` is split like any other AND: callers verify the texts that they build from the pieces.
    """
    positions = [(start, start + len(separator)) for word, start in _outer_words(text) if word == separator]
    pieces = []
    low = 0
    for start, end in positions:
        pieces.append(text[low:start].strip())
        low = end
    pieces.append(text[low:].strip())
    return tuple(pieces)


def outer_places(text: str) -> tuple[tuple[str, int], ...]:
    """Return the words outside brackets and CASE, upper-cased, each with its offset."""
    return tuple(_outer_words(text))


def bracketed(text: str, *, start: int = 0) -> tuple[int, int] | None:
    """Return the offsets of the first opening parenthesis from ``start`` on and of the one that closes it."""
    depth, first = 0, None
    try:
        tokens = sql_tokens(text)
    except TokenError:
        return None
    for token in tokens:
        if token.start < start:
            continue
        if token.text == "(":
            first = token.start if first is None else first
            depth += 1
        elif token.text == ")" and first is not None:
            depth -= 1
            if depth == 0:
                return first, token.start
    return None


def words_of(sql: str) -> frozenset[str]:
    """Return the names that occur in a text, unquoted and in lower case."""
    try:
        return frozenset(token.text.lower() for token in sql_tokens(sql))
    except TokenError:
        return frozenset()


def num_tokens(text: str) -> int:
    """Count the tokens of a text; its characters, if it cannot be read as tokens."""
    try:
        return len(sql_tokens(text))
    except TokenError:
        return len(text)


def num_tokens_behind_using(sql: str) -> int:
    """Count the tokens behind USING, which a person has to read; all tokens of the text if it has no USING."""
    start = next((start for word, start in _outer_words(sql) if word == "USING"), None)
    return num_tokens(sql if start is None else sql[start + len("USING") :])


def renamed_in(sql: str, names: Mapping[str, str], *, qualifiers: Mapping[str, str | None] | None = None) -> str:
    """Write other names for columns, and for tables where they qualify a column; texts in quotes stay as they are.

    Args:
        sql: a statement or an expression.
        names: the new names of columns, plain words, by their old ones in lower case.
        qualifiers: the same of tables, None for a name that stays. Without a dot in front, it is no column's name.
    """
    try:
        tokens = sql_tokens(sql)
    except TokenError:
        return sql
    tables = qualifiers or {}
    for i in reversed(range(len(tokens))):
        token, after = tokens[i], tokens[i + 1].text if i + 1 < len(tokens) else ""
        before = tokens[i - 1].text if i else ""
        name = token.text.lower()
        is_function = after == "(" and token.token_type is not TokenType.IDENTIFIER
        new = names.get(name)
        if name in tables and before != ".":
            new = tables[name] if after == "." else None
        if new is not None and token.token_type is not TokenType.STRING and not is_function:
            sql = sql[: token.start] + new + sql[token.end + 1 :]
    return sql


def with_texts_at(sql: str, places: Iterable[tuple[int, int, str]]) -> str:
    """Write other texts at some places of a text.

    Args:
        sql: any text.
        places: offsets of the first and of the last character to replace, and the replacement, in order.
    """
    written, end = "", 0
    for first, last, text in places:
        written, end = written + sql[end:first] + text, last + 1
    return written + sql[end:]


def with_operator(sql: str, old: str, new: str) -> str:
    """Replace every occurrence of some operators in a text by another."""
    try:
        tokens = sql_tokens(sql)
    except TokenError:
        return sql
    for token in reversed(tokens):
        if sql[token.start : token.end + 1] == old:
            sql = sql[: token.start] + new + sql[token.end + 1 :]
    return sql


def without_field(sql: str, column: str, field: str) -> str:
    """Write a column wherever a text names a field of it: ``c`` for ``c.f``; names are compared without case."""
    try:
        tokens = sql_tokens(sql)
    except TokenError:
        return sql
    for name, dot, member in reversed(list(zip(tokens, tokens[1:], tokens[2:], strict=False))):
        if (name.text.lower(), dot.text, member.text.lower()) == (column.lower(), ".", field.lower()):
            sql = sql[: name.end + 1] + sql[member.end + 1 :]
    return sql


def _cut_head(text: str, on_starts: list[int]) -> tuple[str, str | None]:
    if not on_starts:
        return _one_line(text), None
    return _one_line(text[: on_starts[-1]]), _one_line(text[on_starts[-1] + len("ON") :])


def _cut_clause(text: str) -> ClauseText:
    words = list(_outer_words(text))
    then = next((start for word, start in words if word == "THEN"), None)
    if then is None:
        return ClauseText(when=_one_line(text), condition=None, action="")
    conjunction = next((start for word, start in words if word == "AND" and start < then), None)
    action = _one_line(text[then + len("THEN") :])
    if conjunction is None:
        return ClauseText(when=_one_line(text[:then]), condition=None, action=action)
    condition = _one_line(text[conjunction + len("AND") : then])
    return ClauseText(when=_one_line(text[:conjunction]), condition=condition, action=action)


def _outer_words(sql: str) -> Iterator[tuple[str, int]]:
    """Yield words and punctuation outside parentheses and CASE ... END, upper-cased, with their offsets."""
    depth = 0
    try:
        tokens = sql_tokens(sql)
    except TokenError:
        return
    for token in tokens:
        text = sql[token.start : token.end + 1].upper()
        if text in _OPENERS or text == "CASE":
            depth += 1
        elif depth and (text in _CLOSERS or text == "END"):
            depth -= 1
        elif depth == 0:
            yield text, token.start


def sql_tokens(sql: str) -> list[Token]:
    """Cut a text of SQL into its tokens; comments are none."""
    return tokenize(sql, read="databricks")


def _one_line(text: str) -> str:
    """Join lines outside of quotes; a text with a line comment stays as it is, since joining would change it."""
    if "--" in text:
        return text.strip()
    return _QUOTED_OR_SPACE.sub(lambda found: found.group(1) or " ", text).strip()
