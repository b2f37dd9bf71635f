"""Readings of rows with NaN, which Spark's Parquet reader leaves out where bounds in a file leave NaN out (R-801).

Conditions are pushed down to the scan of a merge that only inserts, and of one that marks rows in deletion vectors.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.rows import rows_without
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.core.merge_text import cut_merge
from mergecheck.harness.deviations.readings.judged import Judged, Phase, Reading
from mergecheck.harness.deviations.readings.statements import with_statement
from mergecheck.reference.outcome import MergePath, Prediction
from mergecheck.reference.types.data_types import DOUBLE, FLOAT, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.case.model import Value

_CLAUSES = "matchedPredicates"
_VECTORS = ("numTargetDeletionVectorsAdded", "numTargetDeletionVectorsUpdated", "numTargetDeletionVectorsRemoved")


def _not_found(now: Judged) -> Judged | None:
    """Without INSERT, MATCHED clauses do not apply to rows with NaN."""
    answer, trace = now.reference.answer, now.reference.trace
    text = cut_merge(now.case.sql)
    names = [quote(name) for name in _columns_with_nan(now)]
    if not isinstance(answer, Prediction) or answer.path is not MergePath.E or trace.statement is None or not names:
        return None
    if trace.merge is None or not trace.merge.is_matched_only:
        return None
    alias = quote(trace.statement.target_alias or trace.statement.target)
    holds = " AND ".join(f"NOT ({alias}.{name} <=> CAST('NaN' AS DOUBLE))" for name in names)
    clauses = (
        replace(clause, condition=holds if clause.condition is None else f"({clause.condition}) AND {holds}")
        for clause in text.clauses
    )
    other = with_statement(now, replace(text, clauses=tuple(clauses)).sql())
    return None if other is None else _with_clauses_of(answer, other)


def _inserted_again(now: Judged) -> Judged | None:
    """A merge that only inserts does not find rows with NaN, if a conjunct of ON speaks of their column alone."""
    answer, statement = now.reference.answer, now.reference.trace.statement
    if not isinstance(answer, Prediction) or answer.path is not MergePath.A or statement is None:
        return None
    alias = statement.target_alias or statement.target
    asked = {name.lower() for name in _columns_of_conjuncts(statement.on, alias)}
    names = [name for name in _columns_with_nan(now) if name.lower() in asked]
    text = cut_merge(now.case.sql)
    if not names or text.condition is None:
        return None
    holds = " AND ".join(f"NOT ({quote(alias)}.{quote(name)} <=> CAST('NaN' AS DOUBLE))" for name in names)
    return with_statement(now, replace(text, condition=f"({text.condition}) AND {holds}").sql())


def _columns_of_conjuncts(on: exp.Expr, alias: str) -> Iterator[str]:
    """Name the columns of the table that stand in conjuncts which mention no column of the source."""
    for conjunct in on.unnest().flatten() if isinstance(on.unnest(), exp.And) else (on.unnest(),):
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


def _columns_with_nan(now: Judged) -> Iterator[str]:
    """Name the columns of the table that hold NaN, if the statement mentions them."""
    target = now.case.target
    for place, column in enumerate(target.schema.columns):
        has_nan = column.type in (DOUBLE, FLOAT) and any(map(_is_nan, (row[place] for row in target.rows)))
        if has_nan and column.name.lower() in now.case.sql.lower():
            yield column.name


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _old_rows_stay(now: Judged) -> Judged | None:
    """Rows with NaN that are updated or deleted, and counted so, stay: no vector marks them.

    If nothing else is written, there is no commit, and so no metrics.
    """
    found, wanted, effects = now.result, now.reference.answer, now.reference.trace.effects
    if not isinstance(found, TableOutcome) or not isinstance(wanted, Prediction) or effects is None:
        return None
    if wanted.path is not MergePath.E or found.schema != wanted.schema:
        return None
    surplus = rows_without(found.rows, wanted.rows, wanted.schema)
    changed = (*effects.updated, *effects.deleted)
    identities = {row_identity(row, wanted.schema) for row in surplus}
    with_nan = [rid for rid in changed if any(map(_is_nan, effects.old[rid]))]
    missed = [rid for rid in with_nan if row_identity(effects.old[rid], wanted.schema) in identities]
    if not surplus or rows_without(surplus, [effects.old[rid] for rid in missed], wanted.schema):
        return None
    files = now.reference.trace.files
    num_unmarked = len({files[rid] for rid in missed} - {files[rid] for rid in changed if rid not in missed})
    metrics = dict(found.metrics)
    if not found.committed:
        metrics = {name: bound.low for name, bound in wanted.metrics.items()} | metrics
    elif not _counts_less(found, wanted, num_unmarked):
        return None
    else:
        metrics |= {name: wanted.metrics[name].low for name in _VECTORS}
    repaired = replace(
        found,
        rows=tuple(rows_without(found.rows, surplus, wanted.schema)),
        metrics=metrics,
        num_records_removed=found.num_records_removed + len(surplus),
        committed=found.committed or None,
    )
    return replace(now, result=repaired)


def _counts_less(found: TableOutcome, wanted: Prediction, num_unmarked: int) -> bool:
    """Tell whether the metrics of vectors leave out the files that get no vector, and the vectors that these have."""
    if not found.metrics.keys() >= set(_VECTORS):
        return False
    added, updated, removed = (wanted.metrics[name].low - found.metrics[name] for name in _VECTORS)
    return added == num_unmarked and updated == removed and 0 <= updated <= added


READINGS = (
    Reading(
        name="if rows are marked in vectors clauses do not find rows with NaN", phase=Phase.REWRITE, apply=_not_found
    ),
    Reading(name="a merge that only inserts does not find rows with NaN", phase=Phase.REWRITE, apply=_inserted_again),
    Reading(name="if rows are marked in vectors rows with NaN stay", phase=Phase.REPAIR, apply=_old_rows_stay),
)
