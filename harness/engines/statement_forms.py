"""A MERGE in the form that an engine's SQL has: its clauses in order, schema evolution as words or as a setting.

A text that cannot be read is handed over as it is: the engine has to find its faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import written_merge
from mergecheck.harness.properties.vocabulary import AUTO_MERGE, evolves_by_session
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from mergecheck.model.case import Case


def in_sql_order(sql: str) -> str:
    """Return the statement with its clauses sorted: matched, not matched, not matched by source (R-101).

    A case's text also represents a call of the builder, which may interleave the kinds (R-102). A merge's result
    depends on the order within each kind only (R-330). Text that is in this order already comes back as it is.
    """
    merge = written_merge(sql)
    if merge is None:
        return sql
    of_kind = [clause for kind in Kind for clause in merge.clauses if clause.kind is kind]
    if of_kind == list(merge.clauses):
        return sql
    return sql[: merge.clauses[0].piece.start] + " ".join(clause.piece.text for clause in of_kind)


def with_evolution_clause(case: Case) -> str:
    """Give the statement; schema evolution that a setting asks for is written into it."""
    merge = written_merge(case.sql) if evolves_by_session(case) else None
    if merge is None or merge.evolution is not None:
        return case.sql
    return f"{case.sql[: merge.into_start]}WITH SCHEMA EVOLUTION {case.sql[merge.into_start :]}"


def has_place_for_clause(case: Case) -> bool:
    """Return whether schema evolution is in the statement, or can be written into it."""
    return written_merge(case.sql) is not None


def with_evolution_setting(case: Case) -> tuple[str, dict[str, str]]:
    """Give the statement without the words, and the setting that means the same if they were there."""
    merge = written_merge(case.sql)
    if merge is None or merge.evolution is None:
        return case.sql, {}
    return case.sql[: merge.evolution.start] + case.sql[merge.into_start :], {AUTO_MERGE: "true"}
