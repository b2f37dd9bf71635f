"""The text of a MERGE as Spark's parser reads it, for sqlglot: refused, or written so that it has one reading."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.grammar import Tree
from mergecheck.reference.syntax.spark_grammar import BEYOND, SPARK
from mergecheck.reference.syntax.spark_text import TRAVEL, write
from mergecheck.reference.syntax.spark_tokens import read_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.syntax.grammar import Part
    from mergecheck.reference.syntax.spark_tokens import Token

_MOST_TOKENS = 5000
_NEAR = 4  # tokens between a word that the grammar does not know and where reading ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseTexts:
    """The expressions of a WHEN clause as they are written.

    Attributes:
        condition: None if the clause has none.
        values: the assigned values, in order; empty for stars and DELETE.
    """

    condition: str | None
    values: tuple[str, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeText:
    """A MERGE for sqlglot, and its expressions as they are written.

    Attributes:
        plain: the statement with its brackets, quotes and AS, and with a leading WITH inside its source.
        source_query: with the leading WITH; None if the source is a table.
        travels: the tables that it reads in another version or with options (R-139), which are left out of all texts.
    """

    plain: str
    on: str
    clauses: tuple[ClauseTexts, ...]
    source_query: str | None
    travels: tuple[Travel, ...] = ()


def read_merge(sql: str) -> MergeText:
    """Read a MERGE.

    Raises:
        RejectedError: if Spark's parser refuses the text.
        UnsupportedByReferenceError: if the grammar is too small to decide, or Spark's reading cannot be written.
    """
    with _shallow():
        tree = _read(sql, "statement")
        return MergeText(
            plain=_plain(tree),
            on=_text_of(tree.trees("expression")[0], sql),
            clauses=tuple(_clause_texts(clause.parts[0], sql) for clause in tree.trees("clause")),
            source_query=_source_text(tree, sql),
            travels=tuple(
                travel for part in _walk(tree) if part.rule == "relation_primary" for travel in _travels(part)
            ),
        )


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
    with _shallow():
        tree = _read(sql, "statement" if is_statement else "expression")
        aliases = {_bare(name) for part in _walk(tree) if part.rule in ("named", "names") for name in _names(part)}
        return tuple(call for part in _walk(tree) if (call := _plain_call(part)) is not None), frozenset(aliases)


def _walk(tree: Tree) -> Iterator[Tree]:
    yield tree
    for part in tree.parts:
        if isinstance(part, Tree):
            yield from _walk(part)


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
                end=tokens[-1].start + len(tokens[-1].text),
                is_name=not is_call,
            )
    return None


def plain_merge(sql: str) -> str:
    """Write a MERGE with its brackets, quotes and AS, and with a leading WITH inside its source; see ``read_merge``."""
    return read_merge(sql).plain


def _plain(tree: Tree) -> str:
    if not tree.trees("clause"):
        raise RejectedError("MERGE_WITHOUT_WHEN", "a MERGE needs at least one WHEN clause")
    place = next(i for i, part in enumerate(tree.parts) if isinstance(part, Tree) and part.rule == "source")
    words = [write(part) for part in tree.parts[:place] if not isinstance(part, Tree) or part.rule != "ctes"]
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
    with _shallow():
        return write(_read(sql, "expression"))


@contextmanager
def _shallow() -> Iterator[None]:
    """Reject a text that is nested too deeply, instead of failing on it."""
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
    (ctes,) = tree.trees("ctes")
    names = {write(cte.trees("name")[0]).strip("`").lower() for cte in ctes.trees("cte")}
    if write(tree.trees("target")[0]).strip("`").lower() in names:
        raise UnsupportedByReferenceError("a target named like a query of WITH")
    if any(_holds_query(part) for part in tree.trees("expression", "clause")):
        raise UnsupportedByReferenceError("a leading WITH beside subqueries")
    queries = source.trees("query")
    if queries and queries[0].trees("ctes"):
        raise UnsupportedByReferenceError("a leading WITH before another")
    body = write(queries[0]) if queries else f"SELECT * FROM {write(source)}"
    return f"({write(ctes)} {body})"


def _source_text(tree: Tree, sql: str) -> str | None:
    (source,) = tree.trees("source")
    ctes, queries = tree.trees("ctes"), source.trees("query")
    if not ctes and not queries:
        return None
    body = _text_of(queries[0], sql) if queries else f"SELECT * FROM {_text_of(source, sql)}"
    return f"{_text_of(ctes[0], sql)} {body}" if ctes else body


def _text_of(tree: Tree, sql: str) -> str:
    """Return the text that a tree has read, unchanged but for the versions of tables."""
    tokens = tree.tokens
    at, end, kept = tokens[0].start, tokens[-1].start + len(tokens[-1].text), ""
    for part in _walk(tree):
        if part.rule in TRAVEL:
            left_out = part.tokens
            kept, at = kept + sql[at : left_out[0].start], left_out[-1].start + len(left_out[-1].text)
    return kept + sql[at:end]


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


def _clause_texts(clause: Part, sql: str) -> ClauseTexts:
    assert isinstance(clause, Tree), "a clause is no single word"  # noqa: S101 - for mypy
    conditions = [condition.trees("expression")[0] for condition in clause.trees("condition")]
    values = [
        value
        for action in clause.trees("matched_action", "source_action", "inserted")
        for part in (action, *(one for many in action.trees("assignments") for one in many.trees("assignment")))
        for value in part.trees("expression")
    ]
    return ClauseTexts(
        condition=_text_of(conditions[0], sql) if conditions else None,
        values=tuple(_text_of(value, sql) for value in values),
    )


def _holds_query(tree: Tree) -> bool:
    return any(isinstance(part, Tree) and (part.rule == "query" or _holds_query(part)) for part in tree.parts)
