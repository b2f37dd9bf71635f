"""MergeOutputGeneration: which clause fires on a row (R-301, R-423, R-A14).

Delta dispatches once per output column. Here a row's clause is found once, as ``_clause_``, and every output column
depends on that number, so that a value is evaluated only if its clause fires (R-254).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.merge.executors.merge_run import clause_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from mergecheck.merge.expressions.resolved import ResolvedClause

CLAUSE = "_clause_"
"""The column that holds the position of the clause that fires, ``COPIED`` or NULL."""
COPIED = "-1"
IGNORED = "CAST(NULL AS INT)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecomputedClause:
    """A clause whose condition, if it has one, has become a column.

    Its position among the clauses that were precomputed together is the value of ``_clause_`` if it fires.
    """

    clause: ResolvedClause
    position: int
    condition_column: str | None


def generate_precomputed_conditions_and_df(
    frame: DataFrame, clauses: Sequence[ResolvedClause]
) -> tuple[DataFrame, tuple[PrecomputedClause, ...]]:
    """Add a boolean column per clause condition, each evaluated once per row and on every row (R-312, R-423)."""
    precomputed = precompute_clauses(clauses)
    kept = [(clause.condition_column, clause.clause.condition) for clause in precomputed]
    conditions = [f"({condition.sql}) AS {name}" for name, condition in kept if condition is not None]
    return frame.selectExpr("*", *conditions) if conditions else frame, precomputed


def precompute_clauses(clauses: Sequence[ResolvedClause]) -> tuple[PrecomputedClause, ...]:
    """Number the clauses and name their condition columns."""
    result: list[PrecomputedClause] = []
    num_conditions = 0
    for position, clause in enumerate(clauses):
        result.append(rewrite_condition(clause, position=position, num_conditions=num_conditions))
        num_conditions += clause.condition is not None
    return tuple(result)


def rewrite_condition(clause: ResolvedClause, *, position: int, num_conditions: int) -> PrecomputedClause:
    """Replace a clause's condition, if it has one, by the name of the column that holds it (R-423).

    The column is numbered by the conditions before it, the clause by its position among the clauses.
    """
    name = None if clause.condition is None else f"_{clause_type(clause)}_condition_{num_conditions}_"
    return PrecomputedClause(clause=clause, position=position, condition_column=name)


def generate_clause_output_exprs(clauses: Sequence[PrecomputedClause], *, otherwise: str) -> str:
    """Write which of the clauses of one kind fires: the first whose condition holds (R-301, R-A14).

    If none of them holds, the result is the fallback, ``COPIED`` or ``IGNORED``.
    """
    branches: list[str] = []
    for clause in clauses:
        if clause.condition_column is None:
            otherwise = str(clause.position)
            break
        branches.append(f"WHEN {clause.condition_column} THEN {clause.position}")
    return f"CASE {' '.join(branches)} ELSE {otherwise} END" if branches else otherwise


def describe_clauses(clauses: Sequence[PrecomputedClause]) -> list[str]:
    """Format each clause's condition column and values, for the log (R-A19)."""
    return [f"{clause_type(c.clause)} {c.condition_column or 'always'}: {', '.join(c.clause.values)}" for c in clauses]
