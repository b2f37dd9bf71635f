"""SQL texts, read by the grammar of the reference: their calls, and relations they read beyond the given tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from mergecheck.harness.configuration.trust.functions import TABLE_FUNCTIONS, WITHOUT_BRACKETS, is_allowed
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.grammar import Tree
from mergecheck.reference.syntax.spark_grammar import SPARK
from mergecheck.reference.syntax.spark_tokens import Token, TokenKind, read_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Tables: TypeAlias = Mapping[str, frozenset[str]]
"""The columns of each relation that may be read, all names in lower case."""

NO_TABLE: Final = "a table that the case does not have"
"""The end of a harm that is an unknown name and nothing more."""
_NONE: Final[frozenset[str]] = frozenset()
_OTHERS: Final = ("from_first", "values")  # queries whose columns are not looked for


def harm_in(text: str, rule: str, *, tables: Tables, columns: frozenset[str] = frozenset()) -> str | None:
    """Return why a text is not harmless, or that it cannot be read; None if no harm is found.

    Args:
        text: SQL.
        rule: ``statement`` for a MERGE, ``expression`` for a default, a generation expression or a condition.
        tables: the columns of each relation that may be read, all names in lower case.
        columns: of an expression: the columns that it may name without a relation.
    """
    try:
        tree = SPARK.read(rule, read_tokens(text))
        return next(_harms(tree, tables, columns), None) if isinstance(tree, Tree) else "cannot be read"
    except (RejectedError, UnsupportedByReferenceError, RecursionError):
        return "cannot be read"


def _harms(tree: Tree, tables: Tables, columns: frozenset[str]) -> Iterator[str]:
    """Go through a tree. A query of WITH may be read by later queries of WITH and by the query that follows.

    Args:
        tree: the tree that a rule has read.
        tables: the columns of the relations.
        columns: those that are shown to be visible here without a relation; there may be others.
    """
    for cte in (cte for ctes in tree.trees("ctes") for cte in ctes.trees("cte")):
        yield from _harms(cte, tables, _NONE)
        name = _name(cte.trees("name")[0])
        found = _renamed(cte, _output(cte.trees("query")[0], tables))
        # who ignores the query reads the table of that name
        tables = {**tables, name: found & tables[name] if name in tables else found}
    yield from _own_harm(tree, tables, columns)
    for part, visible in _scopes(tree, tables, columns):
        if part.rule != "ctes":
            yield from _harms(part, tables, visible)


def _scopes(tree: Tree, tables: Tables, columns: frozenset[str]) -> Iterator[tuple[Tree, frozenset[str]]]:
    """Yield the parts of a tree with the columns that are visible there.

    In a subquery only the columns of its own FROM are visible: Spark takes ``user`` for the function before it looks at
    the outer query. ORDER BY, HAVING and QUALIFY see the query's output, so that no column is shown to be visible
    there.
    """
    parts = [part for part in tree.parts if isinstance(part, Tree)]
    if tree.rule == "statement":
        yield from _scopes_of_merge(tree, tables)
    elif tree.rule in {"select", "from_first"}:
        inside = _columns_of(tree.trees("from"), tables)
        for part in parts:
            yield part, inside if part.rule in {"named", "where", "grouping", "lateral_view"} else _NONE
    elif tree.rule == "relation":
        visible = _NONE
        for part in parts:
            if part.rule == "relation_primary":
                visible = _columns_of([part], tables)
                yield part, _NONE
            elif part.rule == "join":
                yield part, visible | _columns_of(part.trees("relation_primary"), tables)
                visible = _behind(part, visible, tables)
            else:
                yield part, visible
                visible = _NONE
    elif tree.rule == "from":
        inside = _columns_of(tree.trees("relation"), tables)
        for part in parts:
            yield part, _NONE if part.rule == "relation" else inside
    elif tree.rule in {"query", "relation_primary", "values", "ctes"}:
        yield from ((part, _NONE) for part in parts)
    else:
        yield from ((part, columns) for part in parts)


def _scopes_of_merge(statement: Tree, tables: Tables) -> Iterator[tuple[Tree, frozenset[str]]]:
    """A clause sees the columns of the tables that have a row there."""
    (source,) = statement.trees("source")
    queries = source.trees("query")
    read = _output(queries[0], tables) if queries else _named(source, tables)
    of_target = _renamed(statement, tables.get("target", _NONE), alias="target_alias")
    of_source = _renamed(statement, read, alias="source_alias")
    visible = {"expression": of_target | of_source, "target": _NONE, "source": _NONE}
    of_clause = {
        "matched": of_target | of_source,
        "not_matched": of_source,
        "not_matched_by_source": of_target,
    }
    for part in statement.parts:
        if isinstance(part, Tree) and part.rule == "clause":
            yield from ((clause, of_clause[clause.rule]) for clause in part.parts if isinstance(clause, Tree))
        elif isinstance(part, Tree):
            yield part, visible.get(part.rule, _NONE)


def _output(query: Tree, tables: Tables) -> frozenset[str]:
    """Give the columns that a query is shown to have; it may have others."""
    for cte in (cte for ctes in query.trees("ctes") for cte in ctes.trees("cte")):
        tables = {**tables, _name(cte.trees("name")[0]): _renamed(cte, _output(cte.trees("query")[0], tables))}
    if query.trees("pipe"):  # its steps may take columns away
        return _NONE
    first = query
    while first.rule in {"query", "query_term", "intersection", "query_primary"}:
        first = first.trees("query_term", "intersection", "query_primary", "query", "select", "table_query", *_OTHERS)[
            0
        ]
        if first.rule == "query":
            return _output(first, tables)
    if first.rule == "table_query":
        return _named(first, tables)
    if first.rule != "select":
        return _NONE
    inside = _columns_of(first.trees("from"), tables)
    return _NONE.union(*(_called(item, inside) for item in first.trees("named")))


def _called(item: Tree, inside: frozenset[str]) -> frozenset[str]:
    """Give the names of an item of SELECT: its alias, the last name of a column, or all columns for a star."""
    if names := item.trees("name"):
        return frozenset({_name(names[0])})
    if item.trees("names"):
        return _NONE
    whole: Tree = item
    while len(whole.parts) == 1 and isinstance(whole.parts[0], Tree) and whole.rule != "column":
        whole = whole.parts[0]
    if whole.rule == "column":
        return frozenset({_name(whole.trees("name")[0])})
    if whole.rule == "star":
        return inside if len(whole.parts) == 1 else _NONE
    suffixes = whole.trees("suffix") if whole.rule == "primary" else ()
    return frozenset(_name(name) for name in suffixes[-1].trees("name")) if suffixes else _NONE


def _columns_of(relations: Iterable[Tree], tables: Tables) -> frozenset[str]:
    """Give the columns that relations of a FROM are shown to have."""
    found = _NONE
    for tree in relations:
        if tree.rule == "from":
            behind = tree.trees("pivot", "unpivot")
            found |= _NONE if behind else _columns_of(tree.trees("relation"), tables)
        elif tree.rule == "relation":
            visible = _columns_of(tree.trees("relation_primary"), tables)
            for part in tree.trees("join", "pivot", "unpivot"):
                visible = _behind(part, visible, tables) if part.rule == "join" else _NONE
            found |= visible
        elif queries := tree.trees("query"):
            found |= _renamed(tree, _output(queries[0], tables))
        elif inner := tree.trees("relation"):
            found |= _renamed(tree, _columns_of(inner, tables))
        elif tree.trees("reference"):
            found |= _renamed(tree, _named(tree, tables))
        else:
            found |= _renamed(tree, _NONE)
    return found


def _behind(join: Tree, left: frozenset[str], tables: Tables) -> frozenset[str]:
    """Return the columns after a join: a semi or anti join has only the columns of its left side."""
    kinds = join.trees("join_type")
    one_sided = any(kind.has("SEMI") or kind.has("ANTI") for kind in kinds)
    return left if one_sided else left | _columns_of(join.trees("relation_primary"), tables)


def _renamed(tree: Tree, columns: frozenset[str], *, alias: str = "alias") -> frozenset[str]:
    """Give the columns of a relation by the names that its alias gives them, if it names columns."""
    inner = [found for one in tree.trees(alias) for found in (one.trees("alias") or (one,))]
    names = [names for one in (tree, *inner) for names in one.trees("names")]
    return frozenset(_name(name) for name in names[0].trees("name")) if names else columns


def _named(tree: Tree, tables: Tables) -> frozenset[str]:
    table = _table(tree)
    return tables.get(table[0], _NONE) if table is not None and len(table) == 1 else _NONE


def _own_harm(tree: Tree, tables: Tables, columns: frozenset[str]) -> Iterator[str]:
    if tree.rule == "target" and _table(tree) != ("target",):
        yield f"merges into {_shown(tree)}, which is not the case's target"
    elif tree.rule in {"source", "relation_primary", "table_query"} and tree.trees("reference"):
        table = _table(tree)
        if table is None or len(table) != 1 or table[0] not in tables:
            ends = NO_TABLE if table is not None and len(table) == 1 else "which is no table of the case"
            yield f"reads {_shown(tree.trees('reference')[0])}, {ends}"
        if tree.trees("options"):
            yield f"gives options to {_shown(tree.trees('reference')[0])}"
    elif tree.rule == "relation_primary" and tree.trees("function"):
        (function,) = tree.trees("function")
        name = _table_or_function(function)
        if name is None or len(name) != 1 or name[0] not in TABLE_FUNCTIONS:
            yield f"reads {_shown(function)}(), which is not among the allowed functions"
    elif tree.rule in {"call", "lateral_view"}:
        function = tree.trees("function")[0] if tree.rule == "call" else tree.trees("multipart")[0]
        name = _table_or_function(function)
        if name is None or not is_allowed(name):
            yield f"calls {_shown(function)}(), which is not among the allowed functions"
    elif tree.rule in {"column", "pivot", "unpivoted", "unpivoted_set"}:
        for word in (one for held in (tree, *tree.trees("multipart", "names")) for one in _names(held)):
            if word in WITHOUT_BRACKETS and word not in columns:
                yield f"calls {word}, which is not among the allowed functions and not shown to be a column there"


def _table(tree: Tree) -> tuple[str, ...] | None:
    """Give the parts of a relation's name; None if an expression names it."""
    return _table_or_function(tree.trees("reference")[0])


def _table_or_function(tree: Tree) -> tuple[str, ...] | None:
    """Give the parts of a name, which may be a text in IDENTIFIER; None if another expression computes it."""
    if tree.rule == "multipart":
        return _names(tree)
    if not tree.has("IDENTIFIER"):
        return _names(tree.trees("multipart")[0])
    tokens = list(_tokens(tree))[2:-1]
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
