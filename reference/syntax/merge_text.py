"""The text of a MERGE as Spark's parser reads it, for sqlglot: refused, or written so that it has one reading."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.grammar import Tree
from mergecheck.reference.syntax.spark_grammar import BEYOND, SPARK
from mergecheck.reference.syntax.spark_text import TRAVEL, write
from mergecheck.reference.syntax.spark_tokens import read_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.reference.syntax.grammar import Part
    from mergecheck.reference.syntax.spark_tokens import Token

_MOST_TOKENS = 5000
_NEAR = 4  # tokens between a word that the grammar does not know and where reading ends


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of a text that a rule has read; compared by identity.

    Attributes:
        tree: what was read.
        sql: the whole text.
    """

    tree: Tree
    sql: str

    @property
    def start(self) -> int:
        """The offset of its first character."""
        return self.tree.start

    @property
    def end(self) -> int:
        """The offset behind its last character."""
        return self.tree.end

    @property
    def text(self) -> str:
        """The part as it is written."""
        return self.sql[self.start : self.end]

    @property
    def timeless(self) -> str:
        """The part as it is written, but for versions and options of tables (R-139)."""
        at, end, kept = self.start, self.end, ""
        for part in self.tree.walk():
            if part.rule in TRAVEL:
                kept, at = kept + self.sql[at : part.start], part.end
        return kept + self.sql[at:end]

    def pieces(self, *rules: str) -> tuple[Piece, ...]:
        """Return the parts that some rules have read in it."""
        return tuple(Piece(tree, self.sql) for tree in self.tree.trees(*rules))

    def piece(self, rule: str) -> Piece | None:
        """Return the part that a rule has read in it; None if there is none."""
        return next(iter(self.pieces(rule)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Travel:
    """A table that a query reads in some version.

    Attributes:
        table: its name.
        key: ``VERSION`` or ``TIMESTAMP``, or the name of an option in upper case.
        value: as it is written, a text without its quotes.
    """

    table: str
    key: str
    value: str


def read_piece(sql: str, rule: str) -> Piece:
    """Read a text by a rule of Spark's grammar, such as ``statement`` or ``expression``.

    Raises:
        RejectedError: if Spark's parser refuses the text.
        UnsupportedByReferenceError: if the grammar is too small to decide.
    """
    with shallow():
        return Piece(_read(sql, rule), sql)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCall:
    """A call without arguments, or a name of one part, which may mean a function (R-123).

    Attributes:
        name: in upper case, without quotes.
        start, end: its place in the text; the end is not included.
        is_name: whether it has no brackets.
    """

    name: str
    start: int
    end: int
    is_name: bool


def plain_calls(sql: str, *, is_statement: bool) -> tuple[tuple[PlainCall, ...], frozenset[str]]:
    """Find the calls without arguments in a MERGE or an expression, and the aliases of its columns, in upper case.

    Raises:
        RejectedError: if Spark's parser refuses the text.
        UnsupportedByReferenceError: if the grammar is too small to decide.
    """
    with shallow():
        tree = _read(sql, "statement" if is_statement else "expression")
        aliases = {_bare(name) for part in tree.walk() if part.rule in ("named", "names") for name in _names(part)}
        return tuple(call for part in tree.walk() if (call := _plain_call(part)) is not None), frozenset(aliases)


def _names(tree: Tree) -> tuple[Tree, ...]:
    return tree.trees("name")


def _bare(name: Tree) -> str:
    return name.tokens[0].text.strip("`").upper()


def _plain_call(tree: Tree) -> PlainCall | None:
    if tree.rule == "primary" and len(tree.parts) == 1:
        inner = tree.parts[0]
        inner = inner.parts[0] if isinstance(inner, Tree) else inner
        if not isinstance(inner, Tree):
            return None
        is_call = inner.rule == "call" and len(inner.parts) == 3 and len(inner.trees("function")[0].tokens) == 1  # noqa: PLR2004 - a name and two brackets
        if is_call or inner.rule == "column":
            tokens = inner.tokens
            return PlainCall(
                name=tokens[0].text.strip("`").upper(),
                start=tokens[0].start,
                end=inner.end,
                is_name=not is_call,
            )
    return None


def plain_merge(sql: str, *, with_evolution: bool = True) -> str:
    """Write a MERGE with its brackets, quotes and AS, and with a leading WITH inside its source.

    Args:
        sql: the statement.
        with_evolution: whether to write the words WITH SCHEMA EVOLUTION, too, which sqlglot does not read.

    Raises:
        RejectedError: if Spark's parser refuses the text.
        UnsupportedByReferenceError: if the grammar is too small to decide, or Spark's reading cannot be written.
    """
    with shallow():
        return _plain(_read(sql, "statement"), left_out=("ctes",) if with_evolution else ("ctes", "evolution"))


def _plain(tree: Tree, *, left_out: Sequence[str]) -> str:
    if not tree.trees("clause"):
        raise RejectedError("MERGE_WITHOUT_WHEN", "a MERGE needs at least one WHEN clause")
    place = next(i for i, part in enumerate(tree.parts) if isinstance(part, Tree) and part.rule == "source")
    words = [write(part) for part in tree.parts[:place] if not isinstance(part, Tree) or part.rule not in left_out]
    behind = tree.parts[place + 1 :]
    source = _source(tree)
    has_alias = bool(tree.trees("source_alias"))
    if tree.trees("ctes") and not has_alias and not tree.trees("source")[0].has("("):
        source = f"{source} AS {write(tree.trees('source')[0]).split('.')[-1]}"
    return " ".join([*words, source, *(write(part) for part in behind)]).rstrip("; ")


def plain_expression(sql: str) -> str:
    """Write one expression with its brackets and quotes.

    Raises:
        RejectedError: if Spark's parser refuses the text.
        UnsupportedByReferenceError: if the grammar is too small to decide, or Spark's reading cannot be written.
    """
    with shallow():
        return write(_read(sql, "expression"))


def names_a_column_by_text(sql: str) -> bool:
    """Return whether an expression has ``IDENTIFIER('name')`` in place of a column; a function so named is none."""
    tokens = read_tokens(sql)
    for place, (word, after) in enumerate(pairwise(tokens)):
        if word.key != "IDENTIFIER" or after.key != "(":
            continue
        depth = 0
        for last, token in enumerate(tokens[place + 1 :], start=place + 1):
            depth += (token.key == "(") - (token.key == ")")
            if not depth:
                if tokens[last + 1 : last + 2] and tokens[last + 1].key == "(":
                    break
                return True
    return False


@contextmanager
def shallow() -> Iterator[None]:
    """Turn the failure on a text that is nested too deeply into a refusal.

    Raises:
        UnsupportedByReferenceError: in place of a RecursionError.
    """
    try:
        yield
    except RecursionError:
        raise UnsupportedByReferenceError("a statement that is nested too deeply") from None


def _read(sql: str, rule: str) -> Tree:
    tokens = read_tokens(sql)
    if len(tokens) > _MOST_TOKENS:
        raise UnsupportedByReferenceError(f"a statement of more than {_MOST_TOKENS} tokens")
    found = SPARK.read(rule, tokens)
    if isinstance(found, Tree):
        return found
    if any(token.key in BEYOND for token in tokens[max(0, found - _NEAR) : found + 1]):
        raise UnsupportedByReferenceError("a statement beyond the reference's grammar")
    raise RejectedError("PARSE_SYNTAX_ERROR", f"Syntax error at or near {_shown(tokens[found])}.")


def _shown(token: Token) -> str:
    return repr(token.text) if token.text else "end of input"


def _source(tree: Tree) -> str:
    (source,) = tree.trees("source")
    if not tree.trees("ctes"):
        return write(source)
    return f"({query_of(tree)})"


def query_of(statement: Tree) -> str | None:
    """Write the source query of a MERGE, with a leading WITH inside; None if the source is a table.

    Raises:
        UnsupportedByReferenceError: if the WITH cannot be moved into the source.
    """
    (source,) = statement.trees("source")
    queries = source.trees("query")
    if not statement.trees("ctes"):
        return write(queries[0]) if queries else None
    (ctes,) = statement.trees("ctes")
    names = {write(cte.trees("name")[0]).strip("`").lower() for cte in ctes.trees("cte")}
    if write(statement.trees("target")[0]).strip("`").lower() in names:
        raise UnsupportedByReferenceError("a target named like a query of WITH")
    if any(part.holds("query") for part in statement.trees("expression", "clause")):
        raise UnsupportedByReferenceError("a leading WITH beside subqueries")
    if queries and queries[0].trees("ctes"):
        raise UnsupportedByReferenceError("a leading WITH before another")
    body = write(queries[0]) if queries else f"SELECT * FROM {write(source)}"
    return f"{write(ctes)} {body}"


def travels_of(statement: Tree) -> tuple[Travel, ...]:
    """List the tables that a statement reads in another version, or with options (R-139)."""
    relations = (part for part in statement.walk() if part.rule == "relation_primary")
    return tuple(travel for relation in relations for travel in _travels(relation))


def _travels(relation: Tree) -> Iterator[Travel]:
    for version in relation.trees("version"):
        key = next(word for word in ("VERSION", "TIMESTAMP") if _says(version, word))
        yield Travel(table=_table(relation), key=key, value=write(version.parts[-1]).strip("'\""))
    for option in (one for options in relation.trees("options") for one in options.trees("option")):
        name, *value = (write(part).strip("'\"`") for part in option.parts if not _is_equals(part))
        yield Travel(table=_table(relation), key=name.upper(), value=" ".join(value))


def _table(relation: Tree) -> str:
    return write(relation.trees("reference")[0]).replace("`", "")


def _says(version: Tree, word: str) -> bool:
    return version.has(word) or version.has({"VERSION": "SYSTEM_VERSION", "TIMESTAMP": "SYSTEM_TIME"}[word])


def _is_equals(part: Part) -> bool:
    return not isinstance(part, Tree) and part.key == "="
