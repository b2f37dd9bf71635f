"""Bug models of rows with NaN: Spark's Parquet reader leaves them out where bounds in a file leave NaN out (R-801).

It happens in a merge that only inserts, and in one that marks rows in deletion vectors.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.statements import with_statement
from mergecheck.harness.deviations.bug_models.unread.leaves import TableNames, holds_float, leaves
from mergecheck.harness.deviations.bug_models.unread.old_rows import old_rows_stay
from mergecheck.harness.properties.merge_text import merge_text
from mergecheck.model.outcome import MergePath, Prediction
from mergecheck.model.types.data_types import quote
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.deviations.bug_models.unread.leaves import Leaf

_CLAUSES = "matchedPredicates"


def _not_found(now: Judged) -> Judged | None:
    """Without INSERT, MATCHED clauses do not apply to rows with NaN."""
    answer, trace = now.reference.answer, now.reference.trace
    text = merge_text(now.case.sql)
    known = _leaves_with_nan(now)
    if (
        not isinstance(answer, Prediction)
        or answer.path is not MergePath.E
        or trace.statement is None
        or text is None
        or not known
    ):
        return None
    if trace.merge is None or not trace.merge.is_matched_only:
        return None
    holds = _is_no_nan(trace.statement.target_alias or trace.statement.target, known)
    clauses = (
        replace(clause, condition=holds if clause.condition is None else f"({clause.condition}) AND {holds}")
        for clause in text.clauses
    )
    other = with_statement(now, replace(text, clauses=tuple(clauses)).sql())
    return None if other is None else _with_clauses_of(answer, other)


def _not_found_by_on(now: Judged) -> Judged | None:
    """Rows with NaN are not found if a conjunct of ON speaks of their column alone.

    It is pushed down to the scan of a merge that only inserts, and of one that marks rows in vectors and inserts. BY
    SOURCE clauses need all rows.
    """
    answer, statement = now.reference.answer, now.reference.trace.statement
    if not isinstance(answer, Prediction) or answer.path not in (MergePath.A, MergePath.E) or statement is None:
        return None
    if statement.of(Kind.NOT_MATCHED_BY_SOURCE) or not statement.of(Kind.NOT_MATCHED):
        return None
    alias = statement.target_alias or statement.target
    asked = set(_leaves_of_conjuncts(statement.on, TableNames(alias, leaves(now.case.target.schema))))
    known = [leaf for leaf in _leaves_with_nan(now) if leaf in asked]
    text = merge_text(now.case.sql)
    if not known or text is None:
        return None
    holds = _is_no_nan(alias, known)
    return with_statement(now, replace(text, on=f"({text.on}) AND {holds}").sql())


def _leaves_of_conjuncts(on: exp.Expr, names: TableNames) -> Iterator[Leaf]:
    """Give the leaves of the table in the conjuncts of ON that have no column of the source."""
    for conjunct in conjuncts(on):
        columns = list(conjunct.find_all(exp.Column))
        if all(map(names.has, columns)):
            yield from filter(None, map(names.leaf, columns))


def _with_clauses_of(answer: Prediction, other: Judged) -> Judged:
    """Give the commit the clauses as they were given, without the conditions that are added here."""
    found = other.reference.answer
    if not isinstance(found, Prediction) or found.commit_info is None or answer.commit_info is None:
        return other
    said = {**found.commit_info, _CLAUSES: answer.commit_info[_CLAUSES]}
    return replace(other, reference=replace(other.reference, answer=replace(found, commit_info=said)))


def _is_no_nan(alias: str, known: Sequence[Leaf]) -> str:
    return " AND ".join(f"NOT ({quote(alias)}.{leaf.sql} <=> CAST('NaN' AS DOUBLE))" for leaf in known)


def _leaves_with_nan(now: Judged) -> list[Leaf]:
    """List the leaves of the table that hold NaN, if the statement mentions them."""
    target, sql = now.case.target, now.case.sql.lower()
    mentioned = (leaf for leaf in leaves(target.schema) if leaf.names[-1].lower() in sql)
    return [leaf for leaf in mentioned if any(holds_float(row, (leaf,), math.isnan) for row in target.rows)]


def _with_nan(now: Judged) -> set[int]:
    """Number the rows that have NaN."""
    effects, known = now.reference.trace.effects, leaves(now.case.target.schema)
    old = () if effects is None else effects.old
    return {rid for rid, row in enumerate(old) if holds_float(row, known, math.isnan)}


BUG_MODELS = (
    BugModel(
        name="if rows are marked in vectors clauses do not find rows with NaN", phase=Phase.REWRITE, apply=_not_found
    ),
    BugModel(
        name="conditions of ON on the table alone do not find rows with NaN",
        phase=Phase.REWRITE,
        apply=_not_found_by_on,
    ),
    BugModel(
        name="if rows are marked in vectors rows with NaN stay", phase=Phase.REPAIR, apply=old_rows_stay(_with_nan)
    ),
)
