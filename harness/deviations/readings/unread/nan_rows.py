"""Readings of rows with NaN: Spark's Parquet reader leaves them out where bounds in a file leave NaN out (R-801).

It happens in a merge that only inserts, and in one that marks rows in deletion vectors.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.core.merge_text import cut_merge
from mergecheck.harness.deviations.readings.judged import Judged, Phase, Reading
from mergecheck.harness.deviations.readings.statements import with_statement
from mergecheck.harness.deviations.readings.unread.old_rows import old_rows_stay
from mergecheck.reference.outcome import MergePath, Prediction
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import Kind
from mergecheck.reference.types.data_types import DOUBLE, FLOAT, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.reference.case.model import Value

_CLAUSES = "matchedPredicates"


def _not_found(now: Judged) -> Judged | None:
    """Without INSERT, MATCHED clauses do not apply to rows with NaN."""
    answer, trace = now.reference.answer, now.reference.trace
    text = cut_merge(now.case.sql)
    names = list(_columns_with_nan(now))
    if not isinstance(answer, Prediction) or answer.path is not MergePath.E or trace.statement is None or not names:
        return None
    if trace.merge is None or not trace.merge.is_matched_only:
        return None
    holds = _is_no_nan(trace.statement.target_alias or trace.statement.target, names)
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
    asked = {name.lower() for name in _columns_of_conjuncts(statement.on, alias)}
    names = [name for name in _columns_with_nan(now) if name.lower() in asked]
    text = cut_merge(now.case.sql)
    if not names or text.condition is None:
        return None
    holds = _is_no_nan(alias, names)
    return with_statement(now, replace(text, condition=f"({text.condition}) AND {holds}").sql())


def _columns_of_conjuncts(on: exp.Expr, alias: str) -> Iterator[str]:
    """Name the table's columns in the conjuncts of ON that have no column of the source."""
    for conjunct in conjuncts(on):
        columns = list(conjunct.find_all(exp.Column))
        if all(column.table.lower() in ("", alias.lower()) for column in columns):
            yield from (column.name for column in columns)


def _with_clauses_of(answer: Prediction, other: Judged) -> Judged:
    """Let the commit tell of the clauses as they were given, without the conditions that are added here."""
    found = other.reference.answer
    if not isinstance(found, Prediction) or found.commit_info is None or answer.commit_info is None:
        return other
    said = {**found.commit_info, _CLAUSES: answer.commit_info[_CLAUSES]}
    return replace(other, reference=replace(other.reference, answer=replace(found, commit_info=said)))


def _is_no_nan(alias: str, names: Sequence[str]) -> str:
    return " AND ".join(f"NOT ({quote(alias)}.{quote(name)} <=> CAST('NaN' AS DOUBLE))" for name in names)


def _columns_with_nan(now: Judged) -> Iterator[str]:
    """Name the columns of the table that hold NaN, if the statement mentions them."""
    target = now.case.target
    for place, column in enumerate(target.schema.columns):
        has_nan = column.type in (DOUBLE, FLOAT) and any(map(_is_nan, (row[place] for row in target.rows)))
        if has_nan and column.name.lower() in now.case.sql.lower():
            yield column.name


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _with_nan(now: Judged) -> set[int]:
    """Number the rows that have NaN."""
    effects = now.reference.trace.effects
    return set() if effects is None else {rid for rid, row in enumerate(effects.old) if any(map(_is_nan, row))}


READINGS = (
    Reading(
        name="if rows are marked in vectors clauses do not find rows with NaN", phase=Phase.REWRITE, apply=_not_found
    ),
    Reading(
        name="conditions of ON on the table alone do not find rows with NaN",
        phase=Phase.REWRITE,
        apply=_not_found_by_on,
    ),
    Reading(
        name="if rows are marked in vectors rows with NaN stay", phase=Phase.REPAIR, apply=old_rows_stay(_with_nan)
    ),
)
