"""A MERGE as text: its parts by the reference's grammar, to be shown, changed and written again.

A changed statement keeps the author's spelling of names and expressions; its key words are written in capitals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import tokenize
from sqlglot.errors import TokenError
from sqlglot.tokens import TokenType

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.merge_text import read_piece
from mergecheck.reference.syntax.statement import Action, Kind, names_of, read_merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlglot.tokens import Token

    from mergecheck.reference.syntax.merge_text import Piece
    from mergecheck.reference.syntax.statement import WrittenClause, WrittenMerge

_QUOTED_OR_SPACE = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)|\s+""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseText:
    """One WHEN clause; an INSERT that Spark refuses may have more values than columns, or fewer.

    Attributes:
        star: ``UPDATE SET *`` or ``INSERT *``.
        columns: the names that are assigned, with their qualifiers.
        by_target: whether the words BY TARGET are there.
    """

    kind: Kind
    action: Action
    condition: str | None = None
    star: bool = False
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    by_target: bool = False

    def sql(self) -> str:
        """Write the clause."""
        by_target = " BY TARGET" if self.by_target else ""
        condition = f" AND {self.condition}" if self.condition is not None else ""
        return f"WHEN {self.kind.value.upper()}{by_target}{condition} THEN {self._action()}"

    def _action(self) -> str:
        if self.action is Action.DELETE:
            return "DELETE"
        if self.action is Action.INSERT:
            return "INSERT *" if self.star else f"INSERT ({', '.join(self.columns)}) VALUES ({', '.join(self.values)})"
        pairs = zip(self.columns, self.values, strict=True)
        return "UPDATE SET " + ("*" if self.star else ", ".join(f"{column} = {value}" for column, value in pairs))

    def deleting(self) -> ClauseText:
        """Return the clause with DELETE for its action."""
        return replace(self, action=Action.DELETE, star=False, columns=(), values=())

    def assigning(self, columns: tuple[str, ...], values: tuple[str, ...]) -> ClauseText:
        """Return the clause with other assignments; with a star if there are none."""
        return replace(self, star=not columns, columns=columns, values=values)

    def with_value(self, place: int, value: str) -> ClauseText:
        """Return the clause with another value at a place."""
        return replace(self, values=(*self.values[:place], value, *self.values[place + 1 :]))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementText:
    """A MERGE in pieces.

    Attributes:
        ctes: a leading WITH; None if there is none.
        evolves: whether the words WITH SCHEMA EVOLUTION are there.
        target_alias, source_alias: without AS; None if there is none.
        source: a name, or a query in brackets.
    """

    ctes: str | None
    evolves: bool
    target: str
    target_alias: str | None
    source: str
    source_alias: str | None
    on: str
    clauses: tuple[ClauseText, ...]

    @property
    def query(self) -> str | None:
        """The source query without its brackets; None if the source is a name."""
        return self.source[1:-1].strip() if self.source.startswith("(") else None

    @property
    def is_source_table(self) -> bool:
        """Whether the source is a table, and no query."""
        return self.query is None and self.ctes is None

    @property
    def target_name(self) -> str:
        """The name that qualifies columns of the target, as it is written."""
        return self.target_alias or self.target

    @property
    def source_name(self) -> str:
        """The name that qualifies columns of a source that is a table, as it is written."""
        return self.source_alias or self.source

    @property
    def head(self) -> str:
        """What stands before ON."""
        merge = "MERGE WITH SCHEMA EVOLUTION INTO" if self.evolves else "MERGE INTO"
        words = (self.ctes, merge, self.target, self.target_alias, "USING", self.source, self.source_alias)
        return " ".join(word for word in words if word is not None)

    def sql(self) -> str:
        """Write the statement on one line."""
        return " ".join([self.head, "ON", self.on, *(clause.sql() for clause in self.clauses)])

    def with_clause(self, place: int, clause: ClauseText) -> StatementText:
        """Return the statement with another clause at a place."""
        return replace(self, clauses=(*self.clauses[:place], clause, *self.clauses[place + 1 :]))


def merge_text(sql: str) -> StatementText | None:
    """Read a statement; None if Spark's parser refuses it, or if it is beyond the reference's grammar."""
    merge = written_merge(sql)
    if merge is None:
        return None
    return StatementText(
        ctes=None if merge.ctes is None else _one_line(merge.ctes.text),
        evolves=merge.evolution is not None,
        target=merge.target.text,
        target_alias=_alias(merge.target_alias),
        source=_one_line(merge.source.text),
        source_alias=_alias(merge.source_alias),
        on=_one_line(merge.on.text),
        clauses=tuple(map(_clause, merge.clauses)),
    )


def num_clauses(sql: str) -> int:
    """Count the clauses of a statement; none if it cannot be read."""
    merge = written_merge(sql)
    return 0 if merge is None else len(merge.clauses)


def statement_lines(sql: str) -> tuple[str, ...]:
    """Show a statement as it is written, with ON and every clause on a line of its own.

    A text that cannot be read is one line.
    """
    merge = written_merge(sql)
    if merge is None:
        return (_one_line(sql),)
    starts = [0, merge.on_start, *(clause.piece.start for clause in merge.clauses)]
    lines = [_one_line(sql[low:high]) for low, high in zip(starts, [*starts[1:], merge.piece.end], strict=True)]
    return (lines[0], *(f"  {line.removesuffix(';').rstrip()}" for line in lines[1:]))


def operands(text: str, word: str) -> tuple[str, ...]:
    """Return the operands that AND or OR joins on the outermost level; the text alone if there are none."""
    try:
        whole = read_piece(text, "expression")
    except (RejectedError, UnsupportedByReferenceError):
        return (text,)
    parts = whole.pieces("conjunction")
    if word == "AND":
        parts = parts[0].pieces("negated") if len(parts) == 1 else ()
    return tuple(part.text for part in parts) or (text,)


def plain_columns(names: Iterable[str]) -> tuple[str, ...]:
    """Return names without their first part, the table of a column, if they have several."""
    found = []
    for name in names:
        first, *rest = read_piece(name, "multipart").pieces("name")
        found.append(name[rest[0].start :] if rest else first.text)
    return tuple(found)


def name_parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name, such as ``t.v``, without quotes; the name alone if it is none."""
    try:
        return names_of(read_piece(name, "multipart"))
    except (RejectedError, UnsupportedByReferenceError):
        return (name,)


def written_merge(sql: str) -> WrittenMerge | None:
    """Read a statement with the places of its parts; None as for ``merge_text``."""
    try:
        return read_merge(sql)
    except (RejectedError, UnsupportedByReferenceError):
        return None


def _alias(alias: Piece | None) -> str | None:
    if alias is None:
        return None
    (inner,) = alias.pieces("alias")
    return " ".join(part.text for part in inner.pieces("strict_name", "names"))


def _clause(clause: WrittenClause) -> ClauseText:
    return ClauseText(
        kind=clause.kind,
        action=clause.action,
        condition=None if clause.condition is None else _one_line(clause.condition.text),
        star=clause.star,
        columns=tuple(column.text for column in clause.columns),
        values=tuple(_one_line(value.text) for value in clause.values),
        by_target=clause.by_target,
    )


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
    """Count the tokens behind USING, which a person has to read; all tokens of a text that cannot be read."""
    merge = written_merge(sql)
    return num_tokens(sql if merge is None else sql[merge.source.start :])


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


def sql_tokens(sql: str) -> list[Token]:
    """Cut a text of SQL into its tokens; comments are none."""
    return tokenize(sql, read="databricks")


def _one_line(text: str) -> str:
    """Join lines outside of quotes; a text with a line comment stays as it is, since joining would change it."""
    if "--" in text:
        return text.strip()
    return _QUOTED_OR_SPACE.sub(lambda found: found.group(1) or " ", text).strip()
