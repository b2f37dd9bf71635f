"""Put the WHEN clauses of a MERGE into the order that SQL text must have (R-101).

A case's text also represents a call of the builder, which may interleave the kinds (R-102). A merge's result depends
on the order within each kind only, so an engine that takes SQL text gets the same statement, sorted.
"""

from __future__ import annotations

from mergecheck.harness.properties.merge_text import clause_starts


def in_sql_order(sql: str) -> str:
    """Return the statement with its clauses sorted: matched, not matched, not matched by source.

    Text that is in this order already, or that is no MERGE, comes back as it is.
    """
    starts = clause_starts(sql)
    if not starts:
        return sql
    ends = [*starts[1:], len(sql)]
    clauses = [sql[start:end] for start, end in zip(starts, ends, strict=True)]
    ranks = [_rank(clause) for clause in clauses]
    if ranks == sorted(ranks):
        return sql
    order = sorted(range(len(clauses)), key=lambda i: ranks[i])  # stable: the order within a kind decides
    return sql[: starts[0]] + " ".join(clauses[i].strip().removesuffix(";") for i in order)


def _rank(clause: str) -> int:
    words = clause.upper().split()
    if words[1] != "NOT":
        return 0
    return 2 if words[3:5] == ["BY", "SOURCE"] else 1
