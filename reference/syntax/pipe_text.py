"""Queries with pipes, ``FROM t |> WHERE a |> SELECT b``, written as queries of queries.

A step that has no such form, or whose names may be qualifiers of an earlier step, is written as a call that no reader
knows: then the whole query has no translation, and its tables and expressions are still in the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError
from mergecheck.reference.syntax.dialect import read_sql
from mergecheck.reference.syntax.grammar import Tree
from mergecheck.reference.syntax.spark_tokens import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.reference.syntax.grammar import Part

    Write = Callable[[Part], str]

UNKNOWN_STEP = "step_of_a_pipe"
"""The function that stands for a step without a form as a query."""
_OPERATORS = ("UNION", "EXCEPT", "MINUS", "INTERSECT")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """The rows before a step.

    Attributes:
        source: what may stand behind FROM.
        has_qualifiers: whether names in the next step may have the qualifiers of ``source``.
        alias: the only qualifier of ``source``; None if there are others, or none. Steps that keep all columns keep it.
        ordered: the query with its ORDER BY, which LIMIT and OFFSET of the next step go by; None without an order.
    """

    source: str
    has_qualifiers: bool = False
    alias: str | None = None
    ordered: str | None = None

    @property
    def query(self) -> str:
        return f"SELECT * FROM {self.source}"

    def with_all_columns(self, query: str, ordered: str | None = None) -> _Left:
        """Give the rows of a query that has the same columns."""
        if self.alias is None:
            return _Left(source=f"({query})", ordered=ordered)
        return _Left(source=f"({query}) AS {self.alias}", has_qualifiers=True, alias=self.alias, ordered=ordered)


def piped(term: Tree, pipes: tuple[Tree, ...], write: Write) -> str:
    """Write the steps behind a query.

    Args:
        term: what stands before the first step.
        pipes: the steps, in order.
        write: writes a tree of another rule.
    """
    left = _start(term, write)
    for pipe in pipes:
        left = _after(left, pipe.trees("pipe_step")[0], write)
    return left.query


def _start(term: Tree, write: Write) -> _Left:
    part: Part = term
    while isinstance(part, Tree) and len(part.parts) == 1 and part.rule != "from":
        part = part.parts[0]
    if isinstance(part, Tree) and part.rule == "from":
        source = write(part).removeprefix("FROM").strip()
        return _Left(source=source, has_qualifiers=True, alias=_alias(part, write))
    if isinstance(part, Tree) and part.rule == "table_query":
        name = write(part.trees("reference")[0])
        return _Left(source=name, has_qualifiers=True, alias=name)
    return _Left(source=f"({write(term)})")


def _alias(from_: Tree, write: Write) -> str | None:
    """Give the name that qualifies the columns of FROM, if it has one plain table."""
    relations = from_.trees("relation")
    if len(from_.parts) > len(relations) + 1 or len(relations) > 1 or len(relations[0].parts) > 1:
        return None
    (table,) = relations[0].trees("relation_primary")
    aliases, names = table.trees("alias"), table.trees("reference")
    if len(table.parts) > len(aliases) + len(names) or not names:
        return None
    if not aliases or not aliases[0].parts:
        return write(names[0])
    return None if aliases[0].trees("names") else write(aliases[0].trees("strict_name")[0])


def _after(left: _Left, step: Tree, write: Write) -> _Left:
    first = step.parts[0]
    word = first.key if isinstance(first, Token) else first.rule
    if word == "AS":
        name = write(step.trees("name")[0])
        return _Left(source=f"({left.query}) AS {name}", has_qualifiers=True, alias=name)
    if not left.has_qualifiers and any(part.rule == "suffix" and part.has(".") for part in step.walk()):
        return _unknown(left, step, write)
    if word == "join":
        return replace(left, source=f"{left.source} {write(first)}", alias=None, ordered=None)
    if word == "where":
        return left.with_all_columns(f"{left.query} {write(first)}")
    if word == "organization" and isinstance(first, Tree):
        return _organized(left, first, write)
    if word == "AGGREGATE":
        query = _aggregated(left, step, write)
    elif word in _OPERATORS:
        query = f"{left.query} {' '.join(map(write, step.parts))}"
    else:
        query = _plain(left, step, word, write)
    return _unknown(left, step, write) if query is None else _Left(source=f"({query})")


def _plain(left: _Left, step: Tree, word: str, write: Write) -> str | None:
    """Write a step that keeps, adds or leaves out columns and rows; None if it has no form as a query."""
    named = [write(part) for part in step.trees("named")]
    text = " ".join(map(write, step.parts))
    if _aggregates(named) or not text:
        return None
    if word == "SELECT":
        behind = [write(part) for part in step.trees("windows")]
        listed = " ".join(write(part) for part in step.parts if not (isinstance(part, Tree) and part.rule == "windows"))
        return " ".join([listed, "FROM", left.source, *behind])
    if word == "EXTEND":
        return f"SELECT *, {', '.join(named)} FROM {left.source}"
    if word == "DROP":
        return f"SELECT * EXCEPT ({', '.join(map(write, step.trees('name')))}) FROM {left.source}"
    if word == "SET":
        return _replaced(left, step, write)
    if word in ("pivot", "unpivot", "sample"):
        return f"{left.query} {text}"
    return None


def _replaced(left: _Left, step: Tree, write: Write) -> str | None:
    """Write SET: each new value is computed from the rows with the new values before it."""
    query = ""
    for change in step.trees("pipe_set"):
        name, value = change.trees("name")[0], write(change.trees("expression")[0])
        if _aggregates([value]):
            return None
        query = f"SELECT * REPLACE ({value} AS {write(name)}) FROM {f'({query})' if query else left.source}"
    return query


def _organized(left: _Left, organization: Tree, write: Write) -> _Left:
    """Write ORDER BY, LIMIT and OFFSET; the ones of the next step may follow the order of this one."""
    if organization.trees("windows"):
        raise RejectedError("UNSUPPORTED_FEATURE.CLAUSE_WITH_PIPE_OPERATORS", "WINDOW behind |>")
    text = write(organization)
    if not text:
        return left
    is_cut = (organization.has("LIMIT") and not organization.has("ALL")) or organization.has("OFFSET")
    if is_cut and organization.has("BY"):
        raise RejectedError("MULTIPLE_QUERY_RESULT_CLAUSES_WITH_PIPE_OPERATORS", "an order and LIMIT in one step")
    if left.ordered is not None and not organization.has("BY"):
        return left.with_all_columns(f"{left.ordered} {text}")
    query = f"{left.query} {text}"
    return left.with_all_columns(query, query if organization.has("ORDER") and not is_cut else None)


def _aggregated(left: _Left, step: Tree, write: Write) -> str | None:
    """Write AGGREGATE as a query with GROUP BY; the columns by which it groups come first."""
    groups = [part for found in step.trees("pipe_grouping") for part in found.trees("named")]
    is_plain = len(step.trees("pipe_grouping")) == len([found for found in step.trees("pipe_grouping") if groups])
    keys = [part.parts[0] for part in groups]
    values = [write(part) for part in step.trees("named")]
    if not is_plain or any(_is_number(key) for key in keys) or _aggregates(list(map(write, keys))):
        return None
    if not all(_aggregates([value]) for value in values):
        return None
    by = f" GROUP BY {', '.join(map(write, keys))}" if keys else ""
    return f"SELECT {', '.join([*map(write, groups), *values])} FROM {left.source}{by}"


def _unknown(left: _Left, step: Tree, write: Write) -> _Left:
    values = [write(part) for part in _expressions(step)]
    return _Left(source=f"(SELECT {UNKNOWN_STEP}({', '.join(values)}) AS {UNKNOWN_STEP} FROM {left.source})")


def _expressions(tree: Tree) -> list[Tree]:
    """List the outermost expressions of a step, and the queries in its joins as values."""
    found: list[Tree] = []
    for part in tree.parts:
        if isinstance(part, Tree):
            found += [part] if part.rule == "expression" else _expressions(part)
    return found


def _aggregates(items: list[str]) -> bool:
    """Return whether one of some expressions has an aggregate that is no window's."""
    calls = [call for item in items for call in read_sql(f"SELECT {item}").find_all(exp.AggFunc)]
    return any(call.find_ancestor(exp.Window, exp.Subquery) is None for call in calls)


def _is_number(part: Part) -> bool:
    tokens = [part] if isinstance(part, Token) else list(part.tokens)
    return len(tokens) == 1 and tokens[0].kind in (TokenKind.INTEGER, TokenKind.NUMBER)
