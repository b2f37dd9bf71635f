"""Subqueries in conditions and values: the Delta tables that they read become views (R-133, R-134)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.merge.expressions.functions import subqueries
from mergecheck.merge.syntax.source_query import plan_query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.merge.syntax.statement import Clause, MergeStatement


def bind_subqueries(
    statement: MergeStatement, path_of: Callable[[tuple[str, ...]], str | None]
) -> tuple[MergeStatement, Mapping[str, str]]:
    """Replace the Delta tables that subqueries read by views. Conditions with subqueries are refused later (R-133).

    ``path_of`` gives the path of a Delta table by the parts of its name, None for any other table.

    Returns:
        The statement, and the names of the temporary views to create with the paths of the tables that they show.

    Raises:
        UnsupportedStatementError: a subquery asks for an older version of a Delta table.
    """
    views: dict[str, str] = {}

    def bound(text: str) -> str:
        for query in subqueries(text):
            plan = plan_query(query, path_of)
            views.update(plan.views)
            text = text.replace(query, plan.text, 1)
        return text

    def bound_clause(clause: Clause) -> Clause:
        return replace(
            clause,
            condition=None if clause.condition is None else bound(clause.condition),
            assignments=tuple(replace(a, value=bound(a.value)) for a in clause.assignments),
        )

    clauses = tuple(bound_clause(clause) for clause in statement.clauses)
    return replace(statement, condition=bound(statement.condition), clauses=clauses), views
