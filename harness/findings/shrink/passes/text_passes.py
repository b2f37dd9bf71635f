"""Candidates for a smaller statement: without evolution, a part of its source query, a condition, an assignment.

A clause also becomes plainer: DELETE for an update, a star for a list. A text that cannot be read has no candidates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import merge_text, operands, plain_columns
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.merge_text import read_piece
from mergecheck.reference.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.harness.properties.merge_text import ClauseText, StatementText
    from mergecheck.model.case import Case

_SOURCE = "source"
# Rules of the parts of a query that it may do without.
_TAILS = ("pipe", "lateral_view", "where", "grouping", "having", "windows", "qualify", "organization", "quantifier")


def with_clauses(case: Case, clauses: tuple[ClauseText, ...]) -> Case:
    """Give the case with these clauses only."""
    text = merge_text(case.sql)
    return case if text is None else replace(case, sql=replace(text, clauses=clauses).sql())


def clauses_of(case: Case) -> tuple[ClauseText, ...]:
    """List the clauses of a case; none if its statement cannot be read."""
    text = merge_text(case.sql)
    return () if text is None else text.clauses


def head_candidates(sql: str) -> Iterator[str]:
    """Yield statements without schema evolution, and with less of a query as the source."""
    text = merge_text(sql)
    if text is None:
        return
    if text.evolves:
        yield replace(text, evolves=False).sql()
    if text.ctes is not None:
        yield replace(text, ctes=None).sql()
    if text.query is not None:
        yield replace(text, source=_SOURCE).sql()
        for smaller in _smaller_queries(text.query):
            yield replace(text, source=f"({smaller})").sql()


def condition_candidates(sql: str) -> Iterator[str]:
    """Yield statements with a condition, a part of one, an assignment or an inserted column less."""
    text = merge_text(sql)
    if text is None:
        return
    for on in _smaller_conditions(text.on):
        yield replace(text, on=on).sql()
    yield from _with_each_clause(text, _smaller_clauses)


def clause_candidates(sql: str) -> Iterator[str]:
    """Yield statements with a plainer clause: DELETE for an update, a star for a list, without BY TARGET."""
    text = merge_text(sql)
    if text is not None:
        yield from _with_each_clause(text, _plainer_clauses)


def _with_each_clause(text: StatementText, change: Callable[[ClauseText], Iterator[ClauseText]]) -> Iterator[str]:
    for i, clause in enumerate(text.clauses):
        for candidate in change(clause):
            if candidate != clause:
                yield text.with_clause(i, candidate).sql()


def _smaller_queries(query: str) -> Iterator[str]:
    """Yield a query without each of the parts that it may do without, and without what is behind a UNION."""
    try:
        whole = read_piece(query, "query")
    except (RejectedError, UnsupportedByReferenceError):
        return
    for tree in whole.tree.walk():
        if tree.rule in _TAILS and tree.tokens:
            yield _without(query, tree.start, tree.end)
        elif tree.rule == "query_term" and len(tree.parts) > 1:
            first = tree.trees("intersection")[0]
            yield _without(query, first.end, tree.end)


def _without(text: str, start: int, end: int) -> str:
    return f"{text[:start].rstrip()} {text[end:].lstrip()}".strip()


def _smaller_clauses(clause: ClauseText) -> Iterator[ClauseText]:
    if clause.condition is not None:
        yield replace(clause, condition=None)
        for condition in _smaller_conditions(clause.condition):
            yield replace(clause, condition=condition)
    if len(clause.columns) == len(clause.values) > 1:  # a list cannot be empty
        for i in range(len(clause.columns)):
            columns, values = (items[:i] + items[i + 1 :] for items in (clause.columns, clause.values))
            yield clause.assigning(columns, values)


def _smaller_conditions(condition: str) -> Iterator[str]:
    """Yield a condition without each of its conjuncts or alternatives, or without the brackets around it."""
    for word in ("AND", "OR"):
        parts = operands(condition, word)
        if len(parts) > 1:
            yield from (f" {word} ".join(parts[:i] + parts[i + 1 :]) for i in range(len(parts)))
    inner = condition[1:-1].strip()
    if condition.startswith("(") and condition.endswith(")") and _is_expression(inner):
        yield inner


def _is_expression(text: str) -> bool:
    try:
        read_piece(text, "expression")
    except (RejectedError, UnsupportedByReferenceError):
        return False
    return True


def _plainer_clauses(clause: ClauseText) -> Iterator[ClauseText]:
    """Yield a clause without BY TARGET, and with a simpler action: DELETE, a star, columns without their table."""
    yield replace(clause, by_target=False)
    if clause.action is Action.UPDATE:
        yield clause.deleting()
    if clause.columns:
        yield clause.assigning((), ())
        if clause.action is Action.UPDATE:
            yield replace(clause, columns=plain_columns(clause.columns))
