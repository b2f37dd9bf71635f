"""Candidates for a smaller statement: without evolution, a part of its source query, a condition, an assignment.

A clause also becomes plainer: DELETE for an update, a star for a list.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.clause_action import UPDATE, assignments, insert_action, insert_lists
from mergecheck.harness.properties.merge_text import bracketed, cut_merge, outer_places, split_outer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.properties.merge_text import ClauseText
    from mergecheck.model.case import Case

_BY_TARGET = re.compile(r"\s+BY\s+TARGET\b", re.IGNORECASE)
# The table in front of a column that is assigned.
_QUALIFIER = re.compile(r"^(`[^`]*`|\w+)\s*\.\s*(?=[\w`])")
_EVOLUTION = re.compile(r"\s+WITH\s+SCHEMA\s+EVOLUTION\b", re.IGNORECASE)
_DISTINCT = re.compile(r"\bSELECT\s+DISTINCT\b", re.IGNORECASE)
_SOURCE = "source"
# Words at which a part of a query begins that it may do without.
_TAILS = frozenset({"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION"})


def with_clauses(case: Case, clauses: tuple[ClauseText, ...]) -> Case:
    """Give the case with these clauses only."""
    return replace(case, sql=replace(cut_merge(case.sql), clauses=clauses).sql())


def head_candidates(sql: str) -> Iterator[str]:
    """Yield statements without schema evolution, and with less of a query as the source."""
    text = cut_merge(sql)
    for head in _smaller_heads(text.head):
        if head != text.head:
            yield replace(text, head=head).sql()


def condition_candidates(sql: str) -> Iterator[str]:
    """Yield statements with a condition, a part of one, an assignment or an inserted column less."""
    text = cut_merge(sql)
    if text.condition is not None:
        for condition in _smaller_conditions(text.condition):
            yield replace(text, condition=condition).sql()
    for i, clause in enumerate(text.clauses):
        for smaller in _smaller_clauses(clause):
            yield replace(text, clauses=(*text.clauses[:i], smaller, *text.clauses[i + 1 :])).sql()


def clause_candidates(sql: str) -> Iterator[str]:
    """Yield statements with a plainer clause: DELETE for an update, a star for a list, without BY TARGET."""
    text = cut_merge(sql)
    for i, clause in enumerate(text.clauses):
        plainer = [replace(clause, when=_BY_TARGET.sub("", clause.when))]
        plainer += [replace(clause, action=action) for action in _plainer_actions(clause.action)]
        for candidate in plainer:
            if candidate != clause:
                yield replace(text, clauses=(*text.clauses[:i], candidate, *text.clauses[i + 1 :])).sql()


def _smaller_heads(head: str) -> Iterator[str]:
    yield _EVOLUTION.sub("", head, count=1)
    query = bracketed(head)
    if query is None:
        return
    start, end = query
    inner = head[start + 1 : end]
    yield head[:start] + _SOURCE + head[end + 1 :]
    for smaller in (*_smaller_queries(inner), _DISTINCT.sub("SELECT", inner, count=1)):
        yield f"{head[: start + 1]}{smaller}{head[end:]}"


def _smaller_queries(query: str) -> Iterator[str]:
    """Yield a query without each of the parts behind its FROM."""
    starts = [start for word, start in outer_places(query) if word in _TAILS]
    for i, start in enumerate(starts):
        end = starts[i + 1] if i + 1 < len(starts) else len(query)
        yield f"{query[:start].rstrip()} {query[end:]}".rstrip()


def _smaller_clauses(clause: ClauseText) -> Iterator[ClauseText]:
    if clause.condition is not None:
        yield replace(clause, condition=None)
        for condition in _smaller_conditions(clause.condition):
            yield replace(clause, condition=condition)
    if clause.action.upper().startswith(UPDATE):
        for kept in _less(clause.action[len(UPDATE) :].strip(), ","):
            yield replace(clause, action=f"{UPDATE} {kept}")
    for action in _smaller_inserts(clause.action):
        yield replace(clause, action=action)


def _smaller_conditions(condition: str) -> Iterator[str]:
    """Yield a condition without each of its conjuncts or alternatives, or without the brackets around it."""
    yield from _less(condition, "AND")
    yield from _less(condition, "OR")
    if bracketed(condition) == (0, len(condition) - 1):
        yield condition[1:-1].strip()


def _smaller_inserts(action: str) -> Iterator[str]:
    """Yield ``INSERT (...) VALUES (...)`` without each of its columns and its value."""
    lists = insert_lists(action)
    if lists is None or len(lists[0]) < 2:  # noqa: PLR2004 - an INSERT list cannot be empty
        return
    columns, cells = lists
    for i in range(len(columns)):
        yield insert_action(columns[:i] + columns[i + 1 :], cells[:i] + cells[i + 1 :])


def _plainer_actions(action: str) -> Iterator[str]:
    """Yield a simpler action: DELETE for an update, a star for a list, columns without their table."""
    items = assignments(action)
    if items or action == f"{UPDATE} *":
        yield "DELETE"
    if items:
        yield f"{UPDATE} *"
        yield f"{UPDATE} {', '.join(_QUALIFIER.sub('', item) for item in items)}"
    if insert_lists(action) is not None:
        yield "INSERT *"


def _less(text: str, separator: str) -> Iterator[str]:
    """Yield a list without each of its items, as long as it has two."""
    items = split_outer(text, separator)
    joint = f" {separator} " if separator.isalpha() else f"{separator} "
    if len(items) > 1:
        for i in range(len(items)):
            yield joint.join(items[:i] + items[i + 1 :])
