"""SQL texts, read by the grammar of the reference: what they call and read beyond the tables they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.trust.functions import TABLE_FUNCTIONS, WITHOUT_BRACKETS, is_allowed
from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.grammar import Tree
from mergecheck.reference.syntax.spark_grammar import SPARK
from mergecheck.reference.syntax.spark_tokens import Token, TokenKind, read_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator


def harm_in(text: str, rule: str, *, tables: frozenset[str], columns: frozenset[str]) -> str | None:
    """Say what a text does that is not harmless, or that it cannot be read; None if nothing is found.

    Args:
        text: SQL.
        rule: ``statement`` for a MERGE, ``expression`` for a default, a generation expression or a condition.
        tables: names that relations may have, in lower case.
        columns: names of columns, in lower case.
    """
    try:
        tree = SPARK.read(rule, read_tokens(text))
    except (RejectedError, UnsupportedByReferenceError, RecursionError):
        return "cannot be read"
    if not isinstance(tree, Tree):
        return "cannot be read"
    return next(_harms(tree, tables, columns), None)


def _harms(tree: Tree, tables: frozenset[str], columns: frozenset[str]) -> Iterator[str]:
    """Go through a tree. A query of WITH may be read by those behind it and by the query that follows."""
    for cte in (cte for ctes in tree.trees("ctes") for cte in ctes.trees("cte")):
        yield from _harms(cte, tables, columns)
        tables |= {_name(cte.trees("name")[0])}
    yield from _own_harm(tree, tables, columns)
    for part in tree.parts:
        if isinstance(part, Tree) and part.rule != "ctes":
            yield from _harms(part, tables, columns)


def _own_harm(tree: Tree, tables: frozenset[str], columns: frozenset[str]) -> Iterator[str]:
    if tree.rule == "target" and _table(tree) != ("target",):
        yield f"merges into {_shown(tree)}, which is not the case's target"
    elif tree.rule in {"source", "relation_primary", "table_query"} and tree.trees("reference"):
        table = _table(tree)
        if table is None or len(table) != 1 or table[0] not in tables:
            yield f"reads {_shown(tree.trees('reference')[0])}, which is no table of the case"
        if tree.trees("options"):
            yield f"gives options to {_shown(tree.trees('reference')[0])}"
    elif tree.rule == "relation_primary" and tree.trees("function"):
        name = _names(tree.trees("function")[0].trees("multipart")[0])
        if len(name) != 1 or name[0] not in TABLE_FUNCTIONS:
            yield f"reads {'.'.join(name)}(), which is not among the allowed functions"
    elif tree.rule in {"call", "lateral_view"}:
        holder = tree.trees("function")[0] if tree.rule == "call" else tree
        name = _names(holder.trees("multipart")[0])
        if not is_allowed(name):
            yield f"calls {'.'.join(name)}(), which is not among the allowed functions"
    elif tree.rule in {"column", "pivot", "unpivoted", "unpivoted_set"}:
        for word in (one for held in (tree, *tree.trees("multipart", "names")) for one in _names(held)):
            if word in WITHOUT_BRACKETS and word not in columns:
                yield f"calls {word}, which is not among the allowed functions"


def _table(tree: Tree) -> tuple[str, ...] | None:
    """Give the parts of a relation's name; None if an expression names it."""
    (reference,) = tree.trees("reference")
    if not reference.has("IDENTIFIER"):
        return _names(reference.trees("multipart")[0])
    tokens = list(_tokens(reference))[2:-1]
    if len(tokens) != 1 or tokens[0].kind is not TokenKind.STRING:
        return None
    text = tokens[0].text[1:-1]
    return (text.lower(),) if text.isidentifier() else None


def _names(tree: Tree) -> tuple[str, ...]:
    return tuple(_name(part) for part in tree.trees("name"))


def _name(tree: Tree) -> str:
    (token,) = _tokens(tree)
    text = token.text[1:-1].replace("``", "`") if token.kind is TokenKind.QUOTED else token.text
    return text.lower()


def _shown(tree: Tree) -> str:
    return "".join(token.text for token in _tokens(tree))


def _tokens(tree: Tree) -> Iterator[Token]:
    for part in tree.parts:
        if isinstance(part, Tree):
            yield from _tokens(part)
        else:
            yield part
